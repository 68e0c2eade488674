#pragma once

#include "core/analysis/catalogue.h"
#include "core/analysis/shared/random_heads.h"

#include <optional>

namespace headwise {

// Eigenvalues of the circuits of random heads: the null of copying, matching and normality.
// A few directions dominate the E and W_U of a trained model.
// Copying and matching therefore spread up to several times wider than for the weights alone, 1.5/d_head.

/// Returns A · B or B · A, whichever is smaller. Both have the same non-zero eigenvalues.
/// Fewer zeros help: eigenvalue solvers are inaccurate for many zeros at once. \param A [n, m] \param B [m, n]
template <typename Scalar>
Matrix<Scalar> smallerProduct(const Matrix<Scalar>& A, const Matrix<Scalar>& B)
{
    return A.rows() < A.cols() ? Matrix<Scalar>(A * B) : Matrix<Scalar>(B * A);
}

enum class EigenvalueNumber {
    Positivity, ///< Re Σλ / Σ|λ|; its mean is exactly 0, because a factor may change sign.
    Normality,  ///< Σ|λ|² / ‖W‖_F²
};

/// Writes the null of Gaussian heads between the model's own E and W_U into `array` [n_layers, n_heads].
/// Sets null_mean and null_deviation, and adds the number of heads and their seed to the definition.
/// Also sets layer0NullMean and layer0NullDeviation if layer 0 reads a different E from the later layers.
/// Leaves the array unchanged if E or W_U is zero or not finite.
///
/// The heads are all pairs of a few left and a few right factors. Heads that share a factor are not quite independent.
/// Separate factors for each head would cost d_model/d_head times as much and barely narrow the deviation.
/// Errors: Cancelled, OutOfMemory.
/// Cost: with n = 10 factors a side (16 where d_head ≤ 32, 8 where it is over 128) 2 n d² r flops in float32, and n²
/// eigenvalue problems of [r, r].
Result<Done> addEigenvalueNull(ResultArray& array, const AnalysisContext& context, CircuitKind kind,
                               EigenvalueNumber number, const Task& task);

/// Returns the null of the positivity of E W_OV¹ W_OV² W_U for two Gaussian heads, with the E of the first head's layer.
/// Returns none if E or W_U is zero or not finite.
Result<std::optional<HeadNull>> virtualHeadNull(const AnalysisContext& context, int layer, const Task& task);

/// Returns the text "100 Gaussian heads of seed 0".
std::string gaussianHeads(const AnalysisContext& context);

/// Returns the cost of one null in flops, not counting the heads of the model.
double eigenvalueNullFlops(const ModelConfig& config);

} // namespace headwise
