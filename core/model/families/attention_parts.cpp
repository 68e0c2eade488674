#include "core/model/families/attention_parts.h"

#include "core/model/families/layer_parts.h"

#include <cmath>

namespace headwise {

Rotation::Rotation(const Rotary& rotary)
    : m_rotary(rotary)
    , m_frequencies(rotaryFrequencies(rotary))
{
}

template <typename Row>
void Rotation::turn(Row&& row, double position, double length) const
{
    using Scalar = typename std::decay_t<Row>::Scalar;
    const int half = m_rotary.dim / 2;
    for (int i = 0; i < half; ++i) {
        const double angle = position * m_frequencies[static_cast<std::size_t>(i)];
        const auto cosine = static_cast<Scalar>(length * std::cos(angle));
        const auto sine = static_cast<Scalar>(length * std::sin(angle));
        Scalar& a = row(m_rotary.adjacentPairs ? 2 * i : i);
        Scalar& b = row(m_rotary.adjacentPairs ? 2 * i + 1 : i + half);
        const Scalar turned = a * cosine - b * sine;
        b = b * cosine + a * sine;
        a = turned;
    }
}

template <typename Scalar>
void Rotation::apply(Matrix<Scalar>& heads) const
{
    for (Eigen::Index position = 0; position < heads.rows(); ++position)
        turn(heads.row(position), static_cast<double>(position), m_rotary.scaling.attentionFactor);
}

RowVector<double> Rotation::turned(const RowVector<double>& q, double offset) const
{
    RowVector<double> out = q;
    turn(out, offset, m_rotary.scaling.attentionFactor * m_rotary.scaling.attentionFactor);
    return out;
}

DistanceBias::DistanceBias(const ProcessedWeights& weights, Eigen::Index n)
    : m_zero(n - 1)
{
    const ModelConfig& config = weights.config();
    if (!config.hasDistanceBias() || n < 1)
        return;
    const Matrix<double> learned = weights.original().read<double>(TensorKind::b_rel);
    std::vector<double> slopes = alibiSlopes(config.nHeads);
    for (double& slope : slopes)
        slope *= config.alibiScale;
    m_terms.resize(config.nHeads, 2 * n - 1);
    for (Eigen::Index at = 0; at < m_terms.cols(); ++at) {
        const auto offset = static_cast<int>(at - m_zero);
        if (learned.size() > 0)
            m_terms.col(at) =
                learned.row(relativeBucket(config.relativeBias, config.bidirectional, offset)).transpose();
        else
            for (std::size_t head = 0; head < slopes.size(); ++head)
                m_terms(static_cast<Eigen::Index>(head), at) = -slopes[head] * offset;
    }
}

double DistanceBias::of(int head, Eigen::Index offset) const
{
    return m_terms.size() == 0 ? 0 : m_terms(head, m_zero + offset);
}

template <typename Scalar>
void DistanceBias::addTo(int head, Matrix<Scalar>& scores) const
{
    if (m_terms.size() == 0)
        return;
    for (Eigen::Index key = 0; key < scores.cols(); ++key)
        for (Eigen::Index query = 0; query < scores.rows(); ++query)
            scores(query, key) += static_cast<Scalar>(of(head, query - key));
}

namespace {

template <typename Scalar>
Matrix<Scalar> affine(const Matrix<Scalar>& x, const Matrix<Scalar>& W, const RowVector<Scalar>& b)
{
    return (x * W).rowwise() + b;
}

/// Multiplies the rows from column `from` on.
template <typename Scalar>
void scaleRows(const Eigen::VectorXd& factors, Eigen::Index from, Matrix<Scalar>& x)
{
    x.rightCols(x.cols() - from).array().colwise() *= factors.cast<Scalar>().array();
}

/// Normalised over the head itself, or by what all heads of the layer share.
template <typename Scalar>
Matrix<Scalar> qkNormalized(const Norm<Scalar>& norm, const Eigen::VectorXd& shared, Eigen::Index from,
                            const Matrix<Scalar>& x)
{
    if (shared.size() == 0)
        return normalized(norm, x);
    Matrix<Scalar> out = x;
    scaleRows(shared, from, out);
    if (norm.w.size() > 0)
        out.array().rowwise() *= norm.w.array();
    return out;
}

/// The eps of a latent's norm, whatever the config says of the other norms.
/// Source: DeepSeek's modeling_deepseek.py, where DeepseekV2RMSNorm has it by default.
constexpr double latentEps = 1e-6;

template <typename Scalar>
Eigen::VectorXd latentScale(const Matrix<Scalar>& W, const Matrix<Scalar>& x)
{
    if (W.size() == 0)
        return {};
    const Matrix<Scalar> latent = x * W;
    const Eigen::VectorXd squares = latent.template cast<double>().rowwise().squaredNorm();
    return (squares.array() / static_cast<double>(W.cols()) + latentEps).rsqrt();
}

} // namespace

template <typename Scalar>
Eigen::VectorXd valueScale(const ProcessedWeights& weights, int layer, const Matrix<Scalar>& x)
{
    if (!weights.config().latentAttention)
        return {};
    return latentScale(weights.latents<Scalar>(layer).W_DKV, x);
}

template <typename Scalar>
SharedQkScale sharedQkScale(const ProcessedWeights& weights, int layer, const Matrix<Scalar>& x)
{
    const ModelConfig& config = weights.config();
    if (config.latentAttention) {
        const LatentMaps<Scalar> maps = weights.latents<Scalar>(layer);
        return {latentScale(maps.W_DQ, x), latentScale(maps.W_DKV, x), config.rotaryOf(layer).dim};
    }
    if (config.qkNorm == NormKind::None || !config.qkNormOverAllHeads)
        return {};
    const int perKv = config.nHeads / config.nKvHeads;
    SharedQkScale sums{Eigen::VectorXd::Zero(x.rows()), Eigen::VectorXd::Zero(x.rows()), 0};
    for (int i = 0; i < config.nHeads; ++i) {
        const HeadWeights<Scalar> head = weights.head<Scalar>(HeadId{layer, i});
        sums.q += affine(x, head.W_Q, head.b_Q).template cast<double>().rowwise().squaredNorm();
        if (i % perKv == 0)
            sums.k += affine(x, head.W_K, head.b_K).template cast<double>().rowwise().squaredNorm();
    }
    const auto scale = [&](Eigen::VectorXd& squares, int heads) {
        squares = (squares.array() / (heads * config.dHead) + config.normEps).rsqrt();
    };
    scale(sums.q, config.nHeads);
    scale(sums.k, config.nKvHeads);
    return sums;
}

template <typename Scalar>
void limit(double bound, Matrix<Scalar>& x)
{
    if (bound > 0)
        x = x.cwiseMax(static_cast<Scalar>(-bound)).cwiseMin(static_cast<Scalar>(bound)).eval();
}

template <typename Scalar>
QueriesAndKeys<Scalar> queriesAndKeys(const HeadWeights<Scalar>& head, const SharedQkScale& shared,
                                      double bound, const Matrix<Scalar>& x)
{
    Matrix<Scalar> q = affine(x, head.W_Q, head.b_Q);
    Matrix<Scalar> k = affine(x, head.W_K, head.b_K);
    limit(bound, q);
    limit(bound, k);
    return {qkNormalized(head.qNorm, shared.q, 0, q), qkNormalized(head.kNorm, shared.k, shared.keyFrom, k)};
}

template <typename Scalar>
Matrix<Scalar> values(const HeadWeights<Scalar>& head, const Eigen::VectorXd& scale, double bound,
                      const Matrix<Scalar>& x)
{
    Matrix<Scalar> v = affine(x, head.W_V, head.b_V);
    if (scale.size() > 0)
        scaleRows(scale, 0, v);
    limit(bound, v);
    return v;
}

#define HEADWISE_INSTANTIATE(Scalar)                                                                         \
    template void Rotation::apply(Matrix<Scalar>&) const;                                                    \
    template void DistanceBias::addTo(int, Matrix<Scalar>&) const;                                           \
    template SharedQkScale sharedQkScale(const ProcessedWeights&, int, const Matrix<Scalar>&);               \
    template Eigen::VectorXd valueScale(const ProcessedWeights&, int, const Matrix<Scalar>&);                \
    template Matrix<Scalar> values(const HeadWeights<Scalar>&, const Eigen::VectorXd&, double,               \
                                   const Matrix<Scalar>&);                                                   \
    template void limit(double, Matrix<Scalar>&);                                                            \
    template QueriesAndKeys<Scalar> queriesAndKeys(const HeadWeights<Scalar>&, const SharedQkScale&, double, \
                                                   const Matrix<Scalar>&);

HEADWISE_INSTANTIATE(float)
HEADWISE_INSTANTIATE(double)

#undef HEADWISE_INSTANTIATE

} // namespace headwise
