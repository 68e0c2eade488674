#pragma once

#include "core/analysis/catalogue.h"

#include <string>
#include <vector>

namespace headwise {

// σ(p, e) = √(Var(p) + Var(e) + 2 Cov(p, e) + ε), by which layer 0's norm divides the sum of a position p and a token e.
// Under RMSNorm mean squares stand in place of variances; without a norm σ = 1. Where no positions are added, p = 0.
// Source: Kamoda et al. 2025, arXiv 2501.15754.

/// Why the heads of layer 0 do not read the norm of W_E + W_pos; empty if they do.
std::string whyNotTokenPlusPosition(const ModelConfig& config);

/// Rows of W_E or W_pos as the norm sees them: without their mean under LayerNorm.
Matrix<double> seenRows(const Norm<double>& norm, Matrix<double> rows);

/// `seenRows` of the positions first … first + count − 1, [count, d]; one row of zeros where none are added.
Matrix<double> seenPositions(const ProcessedWeights& weights, Eigen::Index first, Eigen::Index count);

/// How many positions are added to tokens: n_ctx, or 1, that of p = 0.
Eigen::Index addedPositions(const ModelConfig& config);

/// σ, [positions, tokens]. \param positions, tokens `seenRows`
Matrix<double> divisors(const Norm<double>& norm, const Matrix<double>& positions,
                        const Matrix<double>& tokens);

/// σ of every position with every token, of which only sums are kept.
struct DivisorSpread {
    Eigen::VectorXd positionMean, positionMin, positionMax; ///< [n], over the tokens in use
    Eigen::VectorXd inverseMean, inverseDeviation;          ///< [n], of 1/σ over the tokens in use
    Eigen::VectorXd tokenMean, tokenMin, tokenMax;          ///< [V], over the positions
    Eigen::VectorXd tokenSquares;                           ///< [V], ‖e‖² of `seenRows`
};

/// \param unused true: an id without a token, left out of what is over tokens; empty: none
/// Errors: Cancelled.
/// Cost: 2 n V d flops, in float32 unless `precision` is F64; memory a block of 256 tokens per thread.
Result<DivisorSpread> divisorSpread(const ProcessedWeights& weights, const std::vector<bool>& unused,
                                    Precision precision, const Task& task);

/// What is over tokens alone, over `count` of those in use at even distances and in float32: a first look.
/// Errors: Cancelled. Cost: 2 n d flops per token.
Result<DivisorSpread> sampledDivisorSpread(const ProcessedWeights& weights, const std::vector<bool>& unused,
                                           Eigen::Index count, const Task& task);

/// A layer-0 head that reads x/σ: what is left of the norm's factor and bias is folded into it.
struct FoldedHead {
    Matrix<double> W_Q, W_K;    // [d, r]
    RowVector<double> b_Q, b_K; // [r]
};

FoldedHead foldedHead(const ProcessedWeights& weights, HeadId head);

} // namespace headwise
