#pragma once

#include "core/analysis/position_scores.h"

namespace headwise {

/// `positionVectors` of every layer: computed once where no layer's norm has parameters of its own.
class PositionVectors {
public:
    PositionVectors(const ProcessedWeights& weights, Eigen::Index n)
        : m_weights(weights)
        , m_n(n)
    {
        bool isShared = true;
        for (int layer = 0; layer < weights.config().nLayers; ++layer) {
            const Norm<double> norm = weights.ln1<double>(layer);
            isShared = isShared && norm.w.size() == 0 && norm.b.size() == 0;
        }
        if (isShared)
            m_shared = positionVectors(weights, 0, n);
    }

    Matrix<double> of(int layer) const
    {
        return m_shared.size() > 0 ? m_shared : positionVectors(m_weights, layer, m_n);
    }

private:
    const ProcessedWeights& m_weights;
    Eigen::Index m_n;
    Matrix<double> m_shared;
};

} // namespace headwise
