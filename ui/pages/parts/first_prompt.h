#pragma once

#include <QString>

namespace headwise {
class Tokenizer;
}

namespace headwise::ui {

/// Returns an initial prompt: a few words twice, which shows induction.
QString repeatedWords(const Tokenizer& tokenizer);

} // namespace headwise::ui
