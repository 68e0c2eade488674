#pragma once

#include "core/analysis/catalogue.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace headwise {

std::string_view metricName(ResidualMetric metric); ///< Name on the command line: "identity", "embedding".
std::optional<ResidualMetric> parseMetric(std::string_view name);

/// Returns whether this run of `analysis` measures lengths in the metric of the embedding (AnalysisInputs::metric).
bool isInEmbeddingBasis(const Analysis& analysis, const AnalysisOptions& options);
/// Returns whether this run of `analysis` requires the token side and its Gram products.
bool needsTokenSide(const Analysis& analysis, const AnalysisOptions& options);

/// Computes T = √(mean λ) Σ^(−1/2), Σ = Σ λ v vᵀ the covariance of the rows of `tokens.E`.
/// In this basis the embedding in use has equal variance in every direction in which it varies.
/// The total variance stays the same, so that scores stay comparable.
/// Directions without variance (λ ≤ d ε max λ) stay as they are. Centred weights have one such direction.
/// \param tokens with its Gram products
/// \param unusedTokens true: left out of Σ; empty: none
/// Errors: InvalidArgument if fewer than two tokens are used or all their rows are the same; Corrupt if one is not finite.
/// Cost: 9 d³ flops, and 2 d² per unused token.
Result<ResidualBasis> embeddingBasis(const TokenSide& tokens, const std::vector<bool>& unusedTokens);

/// Returns E T, T⁻¹ W_U and their Gram products. Full circuits do not change if the circuits use the same basis.
/// Errors: Cancelled.
Result<std::shared_ptr<const TokenSide>> inBasis(const TokenSide& tokens, const ResidualBasis& basis,
                                                 const Task& task);

enum class TokensInBasis { Kept, LeftOut };

/// Returns the context of an analysis that follows the metric: circuits, and token side if kept, in the embedding's basis.
/// Errors: those of embeddingBasis; InvalidArgument if heads do not write to the stream that they read; Cancelled.
Result<AnalysisContext> inEmbeddingBasis(const AnalysisContext& context, TokensInBasis tokens,
                                         const Task& task);

/// Records in every array that it was computed in this embedding's basis.
/// Sets the attributes `metric` and `embedding`, and extends the definition.
void markMetric(ResultSet& results, Embedding embedding);
bool isInEmbeddingMetric(const ResultArray& array); ///< Returns whether markMetric marked it.

} // namespace headwise
