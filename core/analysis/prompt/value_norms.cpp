#include "core/analysis/prompt/value_norms.h"

#include "core/model/families/attention_parts.h"
#include "core/model/families/layer_parts.h"

namespace headwise {

template <typename Scalar>
ValueNorms<Scalar>::ValueNorms(const ProcessedWeights& weights, const ForwardResult<Scalar>& run)
    : m_weights(weights)
{
    const int layers = weights.config().nLayers;
    m_read.reserve(static_cast<std::size_t>(layers));
    for (int layer = 0; layer < layers; ++layer)
        m_read.push_back(
            normalized(weights.template ln1<Scalar>(layer), run.residuals[static_cast<std::size_t>(layer)]));
}

template <typename Scalar>
Eigen::VectorXd ValueNorms<Scalar>::of(HeadId id) const
{
    const HeadWeights<Scalar> head = m_weights.template head<Scalar>(id);
    const Matrix<Scalar>& x = m_read[static_cast<std::size_t>(id.layer)];
    const Matrix<Scalar> written =
        values(head, valueScale(m_weights, id.layer, x), m_weights.config().qkvLimit, x) * head.W_O;
    return written.template cast<double>().rowwise().norm();
}

template class ValueNorms<float>;
template class ValueNorms<double>;

} // namespace headwise
