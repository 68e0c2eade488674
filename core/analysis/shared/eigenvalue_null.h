#pragma once

#include "core/analysis/catalogue.h"
#include "core/analysis/shared/random_heads.h"

#include <optional>

namespace headwise {

// What eigenvalues of circuits of random heads say: the null of copying, matching and normality. Between the E and W_U of a trained
// model, which a few directions dominate, copying and matching spread up to several times wider than those of the weights alone,
// 1.5/d_head.

/// A · B or B · A, whichever is smaller: they share their eigenvalues but for zeros, and many zeros at once are what eigenvalues
/// are bad at. \param A [n, m] \param B [m, n]
template <typename Scalar>
Matrix<Scalar> smallerProduct(const Matrix<Scalar>& A, const Matrix<Scalar>& B)
{
    return A.rows() < A.cols() ? Matrix<Scalar>(A * B) : Matrix<Scalar>(B * A);
}

enum class EigenvalueNumber {
    Positivity, ///< Re Σλ / Σ|λ|; its mean is exactly 0, for a factor may change its sign.
    Normality,  ///< Σ|λ|² / ‖W‖_F²
};

/// Writes into `array` [n_layers, n_heads] what heads of Gaussian weights get between the model's own E and W_U: null_mean and
/// null_deviation, how many they are and their seed into its definition; where layer 0 reads another E than the later
/// layers also layer0NullMean and layer0NullDeviation. Leaves the array as it is where E or W_U is zero or not finite.
///
/// The heads are every pair of a few left and a few right factors. Those that share a factor are not quite independent, but
/// a factor of its own for each would cost d_model/d_head times as much and narrow the deviation hardly more.
/// Errors: Cancelled, OutOfMemory.
/// Cost: with n = 10 factors a side (16 where d_head ≤ 32, 8 where it is over 128) 2 n d² r flops in float32, and n²
/// eigenvalue problems of [r, r].
Result<Done> addEigenvalueNull(ResultArray& array, const AnalysisContext& context, CircuitKind kind,
                               EigenvalueNumber number, const Task& task);

/// Of the positivity of E W_OV¹ W_OV² W_U of two Gaussian heads, E that of the first one's layer; none as above.
Result<std::optional<HeadNull>> virtualHeadNull(const AnalysisContext& context, int layer, const Task& task);

/// "100 Gaussian heads of seed 0".
std::string gaussianHeads(const AnalysisContext& context);

/// What one null costs beside the heads of the model.
double eigenvalueNullFlops(const ModelConfig& config);

} // namespace headwise
