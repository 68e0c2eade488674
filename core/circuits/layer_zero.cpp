#include "core/circuits/layer_zero.h"

#include "core/model/families/attention_parts.h"

namespace headwise {

template <typename Scalar>
typename LayerZero<Scalar>::LockedAttention
LayerZero<Scalar>::lockedAttention(const ProcessedWeights& weights)
{
    const ModelConfig& config = weights.config();
    Matrix<double> map = Matrix<double>::Zero(config.dModel, config.dModel);
    RowVector<double> offset = weights.b_O<double>(0);
    for (int head = 0; head < config.nHeads; ++head) {
        const HeadWeights<double> h = weights.head<double>({0, head});
        map.noalias() += h.W_V * h.W_O;
        offset.noalias() += h.b_V * h.W_O;
    }
    return {map.cast<Scalar>(), offset.cast<Scalar>()};
}

template <typename Scalar>
LayerZero<Scalar>::LayerZero(const ProcessedWeights& weights, Embedding embedding, LayerZeroEnd end)
    : m_weights(weights)
    , m_embedding(embedding)
    , m_end(end)
{
    if (embedding == Embedding::Effective) {
        m_attention = lockedAttention(weights);
        m_ln1 = weights.ln1<Scalar>(0);
    }
    if (embedding != Embedding::Effective && embedding != Embedding::Mlp0)
        return;
    const bool usesMlp = end == LayerZeroEnd::Layer;
    m_tail = std::make_unique<const LayerTail<Scalar>>(
        weights, 0, usesMlp ? weights.mlp<Scalar>(0) : MlpWeights<Scalar>());
}

template <typename Scalar>
Matrix<Scalar> LayerZero<Scalar>::apply(const Matrix<Scalar>& x) const
{
    const ModelConfig& config = m_weights.config();
    if (!m_tail)
        return x;
    if (m_embedding == Embedding::Mlp0) {
        if (m_end == LayerZeroEnd::BeforeMlp)
            return x;
        const Matrix<Scalar> written = mlpOutput(m_tail->mlp, config, normalized(m_tail->ln2, x));
        return config.hasSumNorms ? written : normalized(m_tail->ln2Post, written);
    }
    const Matrix<Scalar> normed = normalized(m_ln1, x);
    Matrix<Scalar> written = normed * m_attention.map;
    if (const Eigen::VectorXd scale = valueScale(m_weights, 0, normed); scale.size() > 0)
        written.array().colwise() *= scale.cast<Scalar>().array();
    written.rowwise() += m_attention.offset;
    return m_end == LayerZeroEnd::Layer ? m_tail->apply(config, x, normed, written)
                                        : m_tail->beforeMlp(config, x, normed, written);
}

template class LayerZero<float>;
template class LayerZero<double>;

} // namespace headwise
