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
    Matrix<Scalar> v = (m_read[static_cast<std::size_t>(id.layer)] * head.W_V).rowwise() + head.b_V;
    limit(m_weights.config().qkvLimit, v);
    const Matrix<Scalar> written = v * head.W_O;
    return written.template cast<double>().rowwise().norm();
}

template class ValueNorms<float>;
template class ValueNorms<double>;

} // namespace headwise
