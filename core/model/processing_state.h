#pragma once

#include "core/model/processing.h"

namespace headwise {

// What processing.cpp, processing_plan.cpp and refactoring.cpp share; nobody else includes it.

/// The norms of a model as they are in the file, w being the effective factor (1 + w where there is an offset).
struct OriginalNorms {
    std::vector<Norm<double>> ln1;   ///< [n_layers]
    std::vector<Norm<double>> ln2;   ///< [n_layers], ln1's where parallel blocks share it
    std::vector<Norm<double>> mlpLn; ///< [n_layers], solu_ln only
    Norm<double> lnFinal;
};

OriginalNorms readNorms(const ModelWeights& weights);

/// The heads of the whole model after `refactor-factored-attention`, [n_layers · n_heads].
///
/// Of a head with the augmented matrices Q' = [W_Q; b_Q] and K' = [W_K; b_K]: Q' K'ᵀ = U S Vᵀ gives Q' ← U √S, K' ← V √S;
/// W_V W_O = U S Vᵀ gives W_V ← U S, W_O ← Vᵀ. Singular values of rounding size become 0, and W_O is completed to
/// orthonormal rows, orthogonal to 1 where all its rows were (d_head < d_model); with d_head > d_model the surplus is 0.
/// Errors: Corrupt (weights that are not finite), Cancelled.
Result<std::vector<HeadWeights<double>>> refactorHeads(const ProcessedWeights& folded, const Task& task);

} // namespace headwise
