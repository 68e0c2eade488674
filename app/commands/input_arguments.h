#pragma once

#include "app/commands/model_arguments.h"
#include "core/analysis/catalogue.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headwise::app {

/// Inputs that some analyses need besides the weights: --prompt or --tokens, --query-position, --key-position, --token,
/// --key-token, --cycle,
/// --pair, --previous-token-heads, --relation, --name-list, --token-counts, --bigram-counts, --direction, --metric, --seed.
struct InputArguments {
    std::shared_ptr<PromptArguments> prompt;
    std::optional<int> queryPosition, keyPosition;
    std::optional<std::string> token, keyToken, cycle, pair, previousTokenHeads, direction;
    std::vector<std::string> relationFiles;
    std::optional<std::string> names, tokenCounts, bigramCounts; ///< paths of files
    std::string metric = "identity";
    std::uint64_t seed = 0;
};
std::shared_ptr<InputArguments> addInputArguments(CLI::App& command);

/// Adds --token-counts to a command.
void addTokenCountsOption(CLI::App& command, std::optional<std::string>& file);

/// Reads token counts; null without a file. Reports on stderr how many words of the file are not tokens.
/// Errors: those of readTokenCounts.
Result<std::shared_ptr<const TokenCounts>> tokenCountsOf(const std::optional<std::string>& file,
                                                         const std::optional<Tokenizer>& tokenizer,
                                                         const ModelConfig& config);

/// Resolves the inputs against the model.
/// \param weights the weights in use, from which a token's direction is taken (a row of W_E, or a column of W_U)
/// Errors: InvalidArgument (a position outside the prompt; a key token without a token; a pair that is not two heads of
/// this model, the first in an earlier layer; two relations with the same name; a direction whose length is not d_model);
/// NotFound (a token, a file, a tokenizer for --prompt); those of readRelations, readWords, readTokenCounts,
/// readBigramCounts and readNpyVector.
Result<AnalysisInputs> analysisInputs(const InputArguments& arguments, const ModelArguments& model,
                                      const ProcessedWeights& weights,
                                      const std::optional<Tokenizer>& tokenizer);

} // namespace headwise::app
