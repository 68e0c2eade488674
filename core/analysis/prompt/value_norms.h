#pragma once

#include "core/model/forward.h"

#include <vector>

namespace headwise {

/// ‖v_j W_O‖₂ with b_V in v: the norm of a head's output when all its attention is on position j.
///
/// Threads: of() may be called from several threads at once.
/// Source: Kobayashi et al. 2020, "Attention is Not Only a Weight", section 3.
template <typename Scalar>
class ValueNorms {
public:
    /// \param weights, run  must outlive this object; the run must use these weights
    ValueNorms(const ProcessedWeights& weights, const ForwardResult<Scalar>& run);

    /// \returns [n]
    Eigen::VectorXd of(HeadId head) const;

private:
    const ProcessedWeights& m_weights;
    std::vector<Matrix<Scalar>> m_read; // [layer]: [n, d], what the layer's heads read
};

} // namespace headwise
