#pragma once

#include <QString>

namespace headwise::ui {

class OpenModel;

/// Returns an initial prompt: a few words twice, which shows induction. Without a tokenizer, a few ids twice, or the first
/// ids once if the context is too short.
QString firstPrompt(const OpenModel& model);

/// Returns the hint in an empty prompt field: text, or token ids without a tokenizer.
QString promptHint(const OpenModel& model);

} // namespace headwise::ui
