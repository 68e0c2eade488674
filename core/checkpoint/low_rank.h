#pragma once

#include "core/base/matrix.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace headwise {

class WeightMap;
struct TensorView;

/// m / ‖W + scale · B A‖ of each output, made when the first number of the matrix is read.
struct OutputFactors {
    std::once_flag made;
    std::vector<double> values; // [outputs]
};

/// A change of a stored matrix W [outputs, inputs] by an adapter: W + strength · scale · B A.
///
/// With a magnitude m (DoRA) the adapted matrix is m ∘ (W + scale · B A) / ‖W + scale · B A‖, the norm over the inputs of each
/// output, and strength leads from W to it along a straight line: (1 − strength) · W + strength · adapted. Everything is
/// computed in float64 and rounded once, to the type that is read.
/// Source: Hu et al., arXiv 2106.09685 (LoRA); Kalajdzievski, arXiv 2312.03732 (rsLoRA); Liu et al., arXiv 2402.09353,
/// equation 5 (DoRA).
struct LowRankChange {
    std::shared_ptr<const WeightMap> adapter;
    int a = -1, b = -1; ///< Tensors of the adapter: A [rank, inputs] and B [outputs, rank].
    int magnitude = -1; ///< Tensor of `outputs` numbers; -1: no DoRA.
    std::int64_t outputs = 0, inputs = 0, rank = 0;
    bool isTransposed = false;     ///< W is stored as [inputs, outputs], as GPT-2 does.
    bool isRankStabilised = false; ///< rsLoRA: the scale is alpha / √rank.
    double scale = 1, strength = 1;
    std::shared_ptr<OutputFactors> factors = std::make_shared<OutputFactors>();
};

/// Reads a rectangle of W itself, as it is stored.
using ReadBase = std::function<void(const TensorView&, Matrix<double>&)>;

/// Reads a rectangle of the changed matrix into `out`, resized to [view.rows, view.cols].
/// Cost: rank multiplications a number; the first number of DoRA's reads all of W.
template <typename Scalar>
void readChanged(const LowRankChange& change, const TensorView& view, const ReadBase& readBase,
                 Matrix<Scalar>& out);

} // namespace headwise
