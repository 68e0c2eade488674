#pragma once

#include "core/analysis/selected_heads.h"

namespace headwise {

/// Contracts of "analyses/token_card/prior", "…/prior_null_mean" and "…/prior_null_deviation".
std::vector<ArraySpec> cardPriorArrays();

/// Puts each head's query-independent attention to the requested token, and the average over the tokens in use.
///
/// If the analysis 'token_prior' applies, the prior is its number, T^e = b_Q W_Kᵀ e/σ̄ of the raw token.
/// Otherwise (rotary positions; tokens and positions that are normalised together) it is b_Q W_Kᵀ LN(e)ᵀ of the E in use.
/// Source: Kamoda et al. 2025, arXiv 2501.15754.
/// Errors: Cancelled.
Result<Done> putCardPriors(Results& results, const AnalysisContext& context, const Task& task);

double cardPriorsFlops(const ModelConfig& config, double heads);

} // namespace headwise
