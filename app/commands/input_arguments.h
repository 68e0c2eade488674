#pragma once

#include "app/commands/model_arguments.h"
#include "core/analysis/catalogue.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headwise::app {

/// What some analyses are about beside the weights: --prompt or --tokens, --token, --pair, --relation, --seed.
struct InputArguments {
    std::shared_ptr<PromptArguments> prompt;
    std::optional<std::string> token, pair;
    std::vector<std::string> relationFiles;
    std::uint64_t seed = 0;
};
std::shared_ptr<InputArguments> addInputArguments(CLI::App& command);

/// The same, looked up in the model.
/// Errors: InvalidArgument (a pair that is not two heads of this model, the first in an earlier layer; two relations of one
/// name); NotFound (a token, a tokenizer for --prompt); those of readRelations.
Result<AnalysisInputs> analysisInputs(const InputArguments& arguments, const ModelArguments& model,
                                      const ModelWeights& weights, const std::optional<Tokenizer>& tokenizer);

} // namespace headwise::app
