#include "core/circuits/position_scores.h"

#include "core/model/families/attention_parts.h"
#include "core/model/families/layer_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise {

namespace {

template <typename Scalar>
Scalar capped(Scalar score, Scalar cap)
{
    return cap > 0 ? cap * std::tanh(score / cap) : score;
}

/// A logit that takes nothing where there is no sink.
double logitOf(std::optional<double> sink)
{
    return sink.value_or(-std::numeric_limits<double>::infinity());
}

Eigen::Index firstSeen(Eigen::Index query, int window)
{
    return window > 0 ? std::max<Eigen::Index>(0, query + 1 - window) : 0;
}

} // namespace

Matrix<double> positionVectors(const ProcessedWeights& weights, int layer, Eigen::Index n)
{
    return normalized(weights.ln1<double>(layer), weights.W_pos<double>(0, n));
}

Matrix<double> positionScores(const ProcessedWeights& weights, HeadId head, const Matrix<double>& x)
{
    return positionScores(weights, head.layer, weights.head<double>(head), x);
}

template <typename Scalar>
Matrix<Scalar> positionScores(const ProcessedWeights& weights, int layer, const HeadWeights<Scalar>& head,
                              const Matrix<Scalar>& x)
{
    QueriesAndKeys<Scalar> qk =
        queriesAndKeys(head, sharedQkScale(weights, layer, x), weights.config().qkvLimit, x);
    qk.q *= static_cast<Scalar>(weights.config().attentionScaleOf(layer));
    const auto cap = static_cast<Scalar>(weights.config().attentionSoftCap);
    Matrix<Scalar> scores = qk.k * qk.q.transpose();
    if (cap > 0)
        scores = scores.unaryExpr([cap](Scalar score) { return capped(score, cap); }).eval();
    return scores;
}

template Matrix<float> positionScores(const ProcessedWeights&, int, const HeadWeights<float>&,
                                      const Matrix<float>&);
template Matrix<double> positionScores(const ProcessedWeights&, int, const HeadWeights<double>&,
                                       const Matrix<double>&);

Matrix<double> distanceScores(const ProcessedWeights& weights, HeadId head, Eigen::Index n)
{
    Matrix<double> scores = Matrix<double>::Zero(n, n);
    DistanceBias(weights, n).addTo(head.head, scores);
    return scores.transpose();
}

RowVector<double> offsetScores(const ProcessedWeights& weights, HeadId head, const RowVector<double>& mean,
                               Eigen::Index n)
{
    return offsetScores(weights, head.layer, weights.head<double>(head), mean, n);
}

RowVector<double> offsetScores(const ProcessedWeights& weights, int layer, const HeadWeights<double>& head,
                               const RowVector<double>& mean, Eigen::Index n)
{
    const ModelConfig& config = weights.config();
    const Matrix<double> x = normalized<double>(weights.ln1<double>(layer), mean);
    const QueriesAndKeys<double> qk =
        queriesAndKeys(head, sharedQkScale(weights, layer, x), weights.config().qkvLimit, x);
    const RowVector<double> q = qk.q.row(0);
    const RowVector<double> k = qk.k.row(0);
    const Rotation rotation(config.rotaryOf(layer));
    RowVector<double> scores(n);
    for (Eigen::Index offset = 0; offset < n; ++offset) {
        const double score =
            rotation.turned(q, static_cast<double>(offset)).dot(k) * config.attentionScaleOf(layer);
        scores(offset) = capped(score, config.attentionSoftCap);
    }
    return scores;
}

PositionKernel positionKernel(const Matrix<double>& scores)
{
    const Eigen::Index n = scores.rows();
    const std::vector<double> zeros(static_cast<std::size_t>(n));
    PositionKernel kernel{zeros, zeros, zeros, zeros};
    Eigen::VectorXd rowMeans(n);
    for (Eigen::Index i = 0; i < n; ++i) {
        rowMeans(i) = scores.col(i).head(i + 1).mean();
        for (Eigen::Index offset = 0; offset <= i; ++offset) {
            const auto index = static_cast<std::size_t>(offset);
            const double count = static_cast<double>(n - offset);
            kernel.mean[index] += scores(i - offset, i) / count;
            kernel.centred[index] += (scores(i - offset, i) - rowMeans(i)) / count;
        }
    }
    for (Eigen::Index i = 0; i < n; ++i) // a second pass, so that a large mean does not cancel the digits
        for (Eigen::Index offset = 0; offset <= i; ++offset) {
            const auto index = static_cast<std::size_t>(offset);
            const double score = scores(i - offset, i);
            kernel.deviation[index] += std::pow(score - kernel.mean[index], 2);
            kernel.centredDeviation[index] += std::pow(score - rowMeans(i) - kernel.centred[index], 2);
        }
    for (Eigen::Index offset = 0; offset < n; ++offset)
        for (auto* sums : {&kernel.deviation, &kernel.centredDeviation}) {
            double& sum = (*sums)[static_cast<std::size_t>(offset)];
            sum = std::sqrt(sum / static_cast<double>(n - offset));
        }
    return kernel;
}

Matrix<float> positionPicture(const Matrix<double>& scores, const KeysSeen& seen)
{
    Matrix<float> picture = scores.transpose().cast<float>();
    for (Eigen::Index key = 0; key < picture.cols(); ++key)
        for (Eigen::Index query = 0; query < picture.rows(); ++query)
            if (!seen.of(query, key))
                picture(query, key) = std::numeric_limits<float>::quiet_NaN();
    return picture;
}

Matrix<float> positionPattern(const Matrix<double>& scores, const KeysSeen& seen)
{
    const Eigen::Index n = scores.rows();
    Matrix<float> pattern = Matrix<float>::Zero(n, n);
    for (Eigen::Index i = 0; i < n; ++i) {
        const Eigen::Index first = seen.isCausal ? firstSeen(i, seen.window) : 0;
        const Eigen::Index count = seen.isCausal ? i + 1 - first : n;
        const Eigen::ArrayXd row = scores.col(i).segment(first, count).array();
        const Eigen::ArrayXd weights = (row - row.maxCoeff()).exp();
        pattern.row(i).segment(first, count) = (weights / weights.sum()).matrix().transpose().cast<float>();
    }
    return pattern;
}

template <typename Scalar>
double previousTokenScore(const Matrix<Scalar>& scores, int window, std::optional<double> sink)
{
    const auto aside = static_cast<Scalar>(logitOf(sink));
    const Eigen::Index n = scores.rows();
    if (n < 2 || window == 1)
        return std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    for (Eigen::Index i = 1; i < n; ++i) {
        const Eigen::Index first = firstSeen(i, window);
        const auto row = scores.col(i).segment(first, i + 1 - first).array();
        const Scalar largest = std::max(row.maxCoeff(), aside);
        sum +=
            std::exp(scores(i - 1, i) - largest) / ((row - largest).exp().sum() + std::exp(aside - largest));
    }
    return sum / static_cast<double>(n - 1);
}

template double previousTokenScore(const Matrix<float>&, int, std::optional<double>);
template double previousTokenScore(const Matrix<double>&, int, std::optional<double>);

double previousTokenScore(const RowVector<double>& offsetScores, int window, std::optional<double> sink)
{
    const Eigen::Index n = offsetScores.size();
    if (n < 2 || window == 1)
        return std::numeric_limits<double>::quiet_NaN();
    const double largest = std::max(offsetScores.maxCoeff(), logitOf(sink));
    const RowVector<double> weights = (offsetScores.array() - largest).exp();
    double sum = 0;
    double total = weights(0) + std::exp(logitOf(sink) - largest);
    for (Eigen::Index i = 1; i < n; ++i) { // query i sees the offsets 0 … i
        if (window == 0 || i < window)
            total += weights(i);
        sum += weights(1) / total;
    }
    return sum / static_cast<double>(n - 1);
}

} // namespace headwise
