#pragma once

// Private to workspace_*.cpp.

#include "ui/workspace.h"

namespace headwise::ui {

struct Workspace::Opened {
    ModelSource source;
    std::shared_ptr<const ModelWeights> weights;
    std::shared_ptr<const ProcessedWeights> processed;
    std::shared_ptr<const Tokenizer> tokenizer; // null where the folder has none
    std::vector<bool> unused;                   // ids without a token
    QString tokenizerProblem;
};

} // namespace headwise::ui
