#pragma once

#include <QString>

namespace headwise {
class Tokenizer;
}

namespace headwise::ui {

/// A prompt to begin with: a few words twice, which is where induction shows.
QString repeatedWords(const Tokenizer& tokenizer);

} // namespace headwise::ui
