#pragma once

#include "core/analysis/catalogue.h"

namespace headwise {

/// How much every head attends to the asked token whatever the query, and what the tokens in use have on average:
/// analyses/token_card/prior, prior_null_mean, prior_null_deviation.
///
/// Where the analysis 'token_prior' applies it is the same number, T^e = b_Q W_Kᵀ e/σ̄ of the raw token; elsewhere
/// (rotary positions; sums of tokens and positions that are normalised together) b_Q W_Kᵀ LN(e)ᵀ of the E in use.
/// Source: Kamoda et al. 2025, arXiv 2501.15754.
/// Errors: Cancelled.
Result<Done> addCardPriors(ResultSet& results, const AnalysisContext& context, const Task& task);

double cardPriorsFlops(const ModelConfig& config, double heads);

} // namespace headwise
