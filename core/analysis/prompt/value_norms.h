#pragma once

#include "core/model/forward.h"

#include <vector>

namespace headwise {

/// ‖v_j W_O‖₂ with b_V in v: how much of a position a head writes where it attends to it wholly.
///
/// Threads: of() from several at once is fine.
/// Source: Kobayashi et al. 2020, "Attention is Not Only a Weight", section 3.
template <typename Scalar>
class ValueNorms {
public:
    /// \param weights, run  both outlive it; the run is of these weights
    ValueNorms(const ProcessedWeights& weights, const ForwardResult<Scalar>& run);

    /// \returns [n]
    Eigen::VectorXd of(HeadId head) const;

private:
    const ProcessedWeights& m_weights;
    std::vector<Matrix<Scalar>> m_read; // [layer]: [n, d], what the layer's heads read
};

} // namespace headwise
