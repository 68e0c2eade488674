#include "core/analysis/position_scores.h"

#include "core/model/layer_parts.h"

#include <cmath>
#include <limits>

namespace headwise {

namespace {

double capped(double score, double cap)
{
    return cap > 0 ? cap * std::tanh(score / cap) : score;
}

} // namespace

RowVector<double> rotated(const RowVector<double>& q, double offset, const Rotary& rotary)
{
    RowVector<double> out = q;
    const int half = rotary.dim / 2;
    for (int i = 0; i < half; ++i) {
        const int a = rotary.adjacentPairs ? 2 * i : i;
        const int b = rotary.adjacentPairs ? 2 * i + 1 : i + half;
        const double angle = offset * std::pow(rotary.base, -2.0 * i / rotary.dim);
        out(a) = q(a) * std::cos(angle) - q(b) * std::sin(angle);
        out(b) = q(b) * std::cos(angle) + q(a) * std::sin(angle);
    }
    return out;
}

Matrix<double> positionVectors(const ProcessedWeights& weights, int layer, Eigen::Index n)
{
    return normalized(weights.ln1<double>(layer), weights.W_pos<double>(0, n));
}

Matrix<double> positionScores(const ProcessedWeights& weights, HeadId head, const Matrix<double>& x)
{
    const HeadWeights<double> h = weights.head<double>(head);
    Matrix<double> q = x * h.W_Q;
    Matrix<double> k = x * h.W_K;
    q.rowwise() += h.b_Q;
    k.rowwise() += h.b_K;
    q *= weights.config().attentionScale;
    const double cap = weights.config().attentionSoftCap;
    Matrix<double> scores = k * q.transpose();
    if (cap > 0)
        scores = scores.unaryExpr([cap](double score) { return capped(score, cap); }).eval();
    return scores;
}

RowVector<double> offsetScores(const ProcessedWeights& weights, HeadId head, const RowVector<double>& mean,
                               Eigen::Index n)
{
    const HeadWeights<double> h = weights.head<double>(head);
    const ModelConfig& config = weights.config();
    const RowVector<double> x = normalized<double>(weights.ln1<double>(head.layer), mean);
    const RowVector<double> q = x * h.W_Q + h.b_Q;
    const RowVector<double> k = x * h.W_K + h.b_K;
    RowVector<double> scores(n);
    for (Eigen::Index offset = 0; offset < n; ++offset) {
        const double score =
            rotated(q, static_cast<double>(offset), config.rotary).dot(k) * config.attentionScale;
        scores(offset) = capped(score, config.attentionSoftCap);
    }
    return scores;
}

RowVector<double> meanToken(const Matrix<float>& E)
{
    return E.cast<double>().colwise().sum() / static_cast<double>(E.rows());
}

PositionKernel positionKernel(const Matrix<double>& scores)
{
    const Eigen::Index n = scores.rows();
    PositionKernel kernel{std::vector<double>(static_cast<std::size_t>(n)),
                          std::vector<double>(static_cast<std::size_t>(n))};
    for (Eigen::Index i = 0; i < n; ++i) {
        const double rowMean = scores.col(i).head(i + 1).mean();
        for (Eigen::Index offset = 0; offset <= i; ++offset) {
            const auto index = static_cast<std::size_t>(offset);
            const double count = static_cast<double>(n - offset);
            kernel.mean[index] += scores(i - offset, i) / count;
            kernel.centred[index] += (scores(i - offset, i) - rowMean) / count;
        }
    }
    return kernel;
}

Matrix<float> positionPattern(const Matrix<double>& scores)
{
    const Eigen::Index n = scores.rows();
    Matrix<float> pattern = Matrix<float>::Zero(n, n);
    for (Eigen::Index i = 0; i < n; ++i) {
        const Eigen::ArrayXd row = scores.col(i).head(i + 1).array();
        const Eigen::ArrayXd weights = (row - row.maxCoeff()).exp();
        pattern.row(i).head(i + 1) = (weights / weights.sum()).matrix().transpose().cast<float>();
    }
    return pattern;
}

double previousTokenScore(const Matrix<double>& scores)
{
    const Eigen::Index n = scores.rows();
    if (n < 2)
        return std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    for (Eigen::Index i = 1; i < n; ++i) {
        const auto row = scores.col(i).head(i + 1).array();
        const double largest = row.maxCoeff();
        sum += std::exp(row(i - 1) - largest) / (row - largest).exp().sum();
    }
    return sum / static_cast<double>(n - 1);
}

double previousTokenScore(const RowVector<double>& offsetScores)
{
    const Eigen::Index n = offsetScores.size();
    if (n < 2)
        return std::numeric_limits<double>::quiet_NaN();
    const RowVector<double> weights = (offsetScores.array() - offsetScores.maxCoeff()).exp();
    double sum = 0;
    double total = weights(0);
    for (Eigen::Index i = 1; i < n; ++i) { // query i sees the offsets 0 … i
        total += weights(i);
        sum += weights(1) / total;
    }
    return sum / static_cast<double>(n - 1);
}

} // namespace headwise
