#pragma once

#include "app/commands/model_arguments.h"
#include "core/analysis/catalogue.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headwise::app {

/// What some analyses are about beside the weights: --prompt or --tokens, --query-position, --key-position,
/// --token, --key-token, --pair, --previous-token-heads, --relation, --names, --token-counts, --bigram-counts, --direction, --metric, --seed.
struct InputArguments {
    std::shared_ptr<PromptArguments> prompt;
    std::optional<int> queryPosition, keyPosition;
    std::optional<std::string> token, keyToken, pair, previousTokenHeads, direction;
    std::vector<std::string> relationFiles;
    std::optional<std::string> names, tokenCounts, bigramCounts; ///< Files.
    std::string metric = "identity";
    std::uint64_t seed = 0;
};
std::shared_ptr<InputArguments> addInputArguments(CLI::App& command);

/// --token-counts of a command.
void addTokenCountsOption(CLI::App& command, std::optional<std::string>& file);

/// How often tokens occur; null without a file. Says on stderr how many words of the file are no tokens.
/// Errors: those of readTokenCounts.
Result<std::shared_ptr<const TokenCounts>> tokenCountsOf(const std::optional<std::string>& file,
                                                         const std::optional<Tokenizer>& tokenizer,
                                                         const ModelConfig& config);

/// The same, looked up in the model.
/// \param weights as they are in use: the direction of a token is its row of W_E, or column of W_U, there
/// Errors: InvalidArgument (a position outside the prompt; a key token without a token; a pair that is not two heads of this model, the first in an earlier layer; two relations of one
/// name; a direction of another length than d_model); NotFound (a token, a file, a tokenizer for --prompt); those of
/// readRelations, readWords, readTokenCounts, readBigramCounts and readNpyVector.
Result<AnalysisInputs> analysisInputs(const InputArguments& arguments, const ModelArguments& model,
                                      const ProcessedWeights& weights,
                                      const std::optional<Tokenizer>& tokenizer);

} // namespace headwise::app
