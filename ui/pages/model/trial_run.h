#pragma once

#include "core/base/task.h"
#include "core/model/architecture.h"

#include <QString>

#include <string>
#include <vector>

namespace headwise::ui {

/// A prompt to run through a model as a names map describes it.
struct TrialQuestion {
    ModelSource source;
    std::string map;    ///< JSON; need not be in a file.
    std::string prompt; ///< Text if the model has a tokenizer, else token ids.
};

struct TrialToken {
    QString text;
    double probability = 0;
};

/// Runs the prompt through the model as stored.
/// \returns the most likely next tokens, at most `count`, the likeliest first; ties go to the lower id
/// Errors: those of loadModel(), promptTokens() and forward(); Corrupt for logits that are not finite.
Result<std::vector<TrialToken>> runTrial(const TrialQuestion& question, int count, const Task& task);

} // namespace headwise::ui
