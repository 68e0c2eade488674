#pragma once

#include "core/model/architecture.h"
#include "core/model/processing.h"
#include "core/tokenizer/tokenizer.h"

#include <QString>

#include <memory>
#include <vector>

namespace headwise::ui {

/// A model as it comes from its files.
struct OpenedModel {
    ModelSource source;
    std::shared_ptr<const ModelWeights> weights;
    std::shared_ptr<const ProcessedWeights> processed;
    std::shared_ptr<const Tokenizer> tokenizer; // null where the folder has none
    std::vector<bool> unused;                   // ids without a token
    QString tokenizerProblem;
};

/// Errors: those of loadModel, planProcessing and process.
Result<OpenedModel> readModel(const ModelSource& source, const ProcessingWish& wish, const Task& task);

/// Errors: those of planProcessing and process.
Result<std::shared_ptr<const ProcessedWeights>>
processedAs(const ProcessingWish& wish, std::shared_ptr<const ModelWeights> weights, const Task& task);

} // namespace headwise::ui
