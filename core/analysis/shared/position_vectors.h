#pragma once

#include "core/circuits/position_scores.h"

#include <memory>

namespace headwise {

/// `positionVectors` of every layer, computed only once if no layer's norm has its own parameters.
template <typename Scalar = double>
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
            m_shared = vectorsOf(0);
    }

    std::shared_ptr<const Matrix<Scalar>> of(int layer) const
    {
        return m_shared ? m_shared : vectorsOf(layer);
    }

private:
    std::shared_ptr<const Matrix<Scalar>> vectorsOf(int layer) const
    {
        return std::make_shared<Matrix<Scalar>>(
            positionVectors(m_weights, layer, m_n).template cast<Scalar>());
    }

    const ProcessedWeights& m_weights;
    Eigen::Index m_n;
    std::shared_ptr<const Matrix<Scalar>> m_shared;
};

} // namespace headwise
