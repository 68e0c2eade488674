#pragma once

#include "core/analysis/catalogue.h"

#include <string>
#include <vector>

namespace headwise {

// Layer 0's norm divides the sum of a position p and a token e by σ(p, e) = √(Var(p) + Var(e) + 2 Cov(p, e) + ε).
// RMSNorm uses mean squares instead of variances. Without a norm, σ = 1. If no positions are added, p = 0.
// Source: Kamoda et al. 2025, arXiv 2501.15754.

/// Returns why the heads of layer 0 do not read the norm of W_E + W_pos; empty if they do.
std::string whyNotTokenPlusPosition(const ModelConfig& config);

/// Returns rows of W_E or W_pos as the norm sees them: LayerNorm subtracts their mean.
Matrix<double> seenRows(const Norm<double>& norm, Matrix<double> rows);

/// Returns `seenRows` of the positions first … first + count − 1, [count, d]. One row of zeros if no positions are added.
Matrix<double> seenPositions(const ProcessedWeights& weights, Eigen::Index first, Eigen::Index count);

/// Returns the number of positions that are added to tokens: n_ctx, or 1 (p = 0) if none are.
Eigen::Index addedPositions(const ModelConfig& config);

/// Returns σ, [positions, tokens]. \param positions, tokens `seenRows`
Matrix<double> divisors(const Norm<double>& norm, const Matrix<double>& positions,
                        const Matrix<double>& tokens);

/// Summary statistics of σ over every position and token.
struct DivisorSpread {
    Eigen::VectorXd positionMean, positionMin, positionMax; ///< [n], over the tokens in use
    Eigen::VectorXd inverseMean, inverseDeviation;          ///< [n], of 1/σ over the tokens in use
    Eigen::VectorXd tokenMean, tokenMin, tokenMax;          ///< [V], over the positions
    Eigen::VectorXd tokenSquares;                           ///< [V], ‖e‖² of `seenRows`
};

/// Computes the statistics of σ. \param unused true: an id without a token, left out of statistics over tokens; empty: none
/// Errors: Cancelled.
/// Cost: 2 n V d flops, in float32 unless `precision` is F64; memory a block of 256 tokens per thread.
Result<DivisorSpread> divisorSpread(const ProcessedWeights& weights, const std::vector<bool>& unused,
                                    Precision precision, const Task& task);

/// Estimates only the statistics over tokens, from `count` evenly spaced tokens in use and in float32.
/// Errors: Cancelled. Cost: 2 n d flops per token.
Result<DivisorSpread> sampledDivisorSpread(const ProcessedWeights& weights, const std::vector<bool>& unused,
                                           Eigen::Index count, const Task& task);

/// A layer-0 head that reads x/σ. Its weights include the norm's factor and bias.
struct FoldedHead {
    Matrix<double> W_Q, W_K;    // [d, r]
    RowVector<double> b_Q, b_K; // [r]
};

FoldedHead foldedHead(const ProcessedWeights& weights, HeadId head);

} // namespace headwise
