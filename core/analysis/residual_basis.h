#pragma once

#include "core/analysis/catalogue.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace headwise {

std::string_view metricName(ResidualMetric metric); ///< As on the command line: "identity", "embedding".
std::optional<ResidualMetric> parseMetric(std::string_view name);

/// Whether this run of `analysis` measures lengths by the embedding (AnalysisInputs::metric).
bool isInEmbeddingBasis(const Analysis& analysis, const AnalysisOptions& options);
/// Whether this run of `analysis` cannot begin without the token side and its Gram products.
bool needsTokenSide(const Analysis& analysis, const AnalysisOptions& options);

/// T = √(mean λ) Σ^(−1/2), Σ = Σ λ v vᵀ the covariance of the rows of `tokens.E`: in it the embedding in use varies alike in
/// every direction in which it varies at all, and as much in all of them together as before, so that scores stay comparable.
/// Directions in which it does not vary (λ ≤ d ε max λ; one where what writes is centred) stay as they are.
/// \param tokens with its Gram products
/// \param unusedTokens true: left out of Σ; empty: none
/// Errors: InvalidArgument if fewer than two tokens are used or all their rows are the same; Corrupt if one is not finite.
/// Cost: 9 d³ flops, and 2 d² per unused token.
Result<ResidualBasis> embeddingBasis(const TokenSide& tokens, const std::vector<bool>& unusedTokens);

/// E T, T⁻¹ W_U and their Gram products: with circuits in the same basis every full circuit is as it was.
/// Errors: Cancelled.
Result<std::shared_ptr<const TokenSide>> inBasis(const TokenSide& tokens, const ResidualBasis& basis,
                                                 const Task& task);

enum class TokensInBasis { Kept, LeftOut };

/// What an analysis that follows the metric is given: circuits, and token side where it is kept, in the embedding's basis.
/// Errors: those of embeddingBasis; InvalidArgument where heads do not write to the stream that they read; Cancelled.
Result<AnalysisContext> inEmbeddingBasis(const AnalysisContext& context, TokensInBasis tokens,
                                         const Task& task);

/// Says in every array that it was computed in this embedding's basis: the attributes `metric` and `embedding`, and the
/// definition.
void markMetric(ResultSet& results, Embedding embedding);
bool isInEmbeddingMetric(const ResultArray& array); ///< Whether markMetric marked it.

} // namespace headwise
