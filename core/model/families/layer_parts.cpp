#include "core/model/families/layer_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

namespace headwise {

namespace {

double activated(Activation activation, double x)
{
    switch (activation) {
    case Activation::Relu: return std::max(x, 0.0);
    case Activation::Gelu: return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::GeluNew:
        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::QuickGelu: return x / (1 + std::exp(-1.702 * x));
    case Activation::Silu: return x / (1 + std::exp(-x));
    case Activation::ReluSquared: return x > 0 ? x * x : 0;
    case Activation::SoluLn: break; // depends on the whole row
    }
    return x;
}

/// x ⊙ softmax(x), row by row.
template <typename Scalar>
void solu(Matrix<Scalar>& x)
{
    for (Eigen::Index row = 0; row < x.rows(); ++row) {
        const RowVector<double> values = x.row(row).template cast<double>();
        const RowVector<double> shifted = (values.array() - values.maxCoeff()).exp();
        x.row(row) = (values.array() * shifted.array() / shifted.sum()).template cast<Scalar>();
    }
}

} // namespace

template <typename Scalar>
void activate(Activation activation, Matrix<Scalar>& x)
{
    if (activation == Activation::SoluLn)
        return solu(x);
    x = x.unaryExpr([activation](Scalar value) {
             return static_cast<Scalar>(activated(activation, static_cast<double>(value)));
         }).eval();
}

template <typename Scalar>
void addRow(Matrix<Scalar>& x, const RowVector<Scalar>& b)
{
    if (b.size() > 0)
        x.rowwise() += b;
}

template <typename Scalar>
Matrix<Scalar> normalized(const Norm<Scalar>& norm, const Matrix<Scalar>& x)
{
    if (norm.kind == NormKind::None)
        return x;
    constexpr Eigen::Index together = 16; // rows lie across memory, so several are read at a time
    Matrix<Scalar> out(x.rows(), x.cols());
    const double size = static_cast<double>(x.cols());
    for (Eigen::Index first = 0; first < x.rows(); first += together) {
        const Eigen::Index count = std::min(together, x.rows() - first);
        Matrix<double> values = x.middleRows(first, count).template cast<double>();
        if (norm.kind == NormKind::LayerNorm)
            values.colwise() -= values.rowwise().mean().eval();
        values.array().colwise() /= (values.rowwise().squaredNorm().array() / size + norm.eps).sqrt().eval();
        if (norm.w.size() > 0)
            values.array().rowwise() *= norm.w.template cast<double>().array();
        if (norm.b.size() > 0)
            values.rowwise() += norm.b.template cast<double>();
        out.middleRows(first, count) = values.template cast<Scalar>();
    }
    return out;
}

namespace {

/// The `count` largest of a row, ties to the lower expert.
std::vector<Eigen::Index> bestOf(const RowVector<double>& scores, int count)
{
    std::vector<Eigen::Index> order(static_cast<std::size_t>(scores.size()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](Eigen::Index a, Eigen::Index b) { return scores(a) > scores(b); });
    order.resize(static_cast<std::size_t>(count));
    return order;
}

/// The best experts of a token by the numbers that choose them, from its best groups alone.
std::vector<Eigen::Index> chosenExperts(RowVector<double> scores, const ModelConfig& config)
{
    const Mixture& mixture = config.mixture;
    if (mixture.groups > 1) {
        const Eigen::Index size = scores.size() / mixture.groups;
        RowVector<double> groups = RowVector<double>::Zero(mixture.groups);
        for (Eigen::Index group = 0; group < groups.size(); ++group)
            for (const Eigen::Index expert : bestOf(scores.segment(group * size, size), mixture.groupVotes))
                groups(group) += scores(group * size + expert);
        RowVector<double> inside =
            RowVector<double>::Constant(scores.size(), -std::numeric_limits<double>::infinity());
        for (const Eigen::Index group : bestOf(groups, mixture.groupsPerToken))
            inside.segment(group * size, size) = scores.segment(group * size, size);
        scores = inside;
    }
    return bestOf(scores, config.expertsPerToken);
}

double sigmoid(double x)
{
    return 1 / (1 + std::exp(-x));
}

/// The shares of each row's experts, 0 elsewhere: their scores, divided by the sum of them or not. The softmax over the best experts
/// is that over all of them renormalised.
/// \returns [n, experts]
template <typename Scalar>
Matrix<double> routed(const MlpWeights<Scalar>& weights, const ModelConfig& config, const Matrix<Scalar>& x)
{
    Matrix<Scalar> scores = x * weights.W_router;
    addRow(scores, weights.b_router);
    Matrix<double> shares = Matrix<double>::Zero(scores.rows(), scores.cols());
    const bool hasSigmoids = config.mixture.hasSigmoids;
    constexpr double leastSum = 1e-20; // of sigmoids, as DeepSeek adds it
    for (Eigen::Index row = 0; row < scores.rows(); ++row) {
        const RowVector<double> all = scores.row(row).template cast<double>();
        RowVector<double> choosing = all;
        if (hasSigmoids)
            choosing = all.unaryExpr([](double output) { return sigmoid(output); })
                + weights.correction.template cast<double>();
        double sum = leastSum;
        const std::vector<Eigen::Index> best = chosenExperts(std::move(choosing), config);
        for (const Eigen::Index expert : best)
            sum += shares(row, expert) =
                hasSigmoids ? sigmoid(all(expert)) : std::exp(all(expert) - all(best.front()));
        if (config.sharesOfAllExperts)
            sum = hasSigmoids ? 1 : (all.array() - all(best.front())).exp().sum();
        shares.row(row) /= sum / config.mixture.factor;
    }
    return shares;
}

template <typename Scalar>
Matrix<Scalar> mixtureOutput(const MlpWeights<Scalar>& weights, const ModelConfig& config,
                             const Matrix<Scalar>& x)
{
    const Matrix<double> shares = routed(weights, config, x);
    Matrix<Scalar> out = Matrix<Scalar>::Zero(x.rows(), x.cols());
    for (std::size_t expert = 0; expert < weights.experts.size(); ++expert) {
        if (static_cast<Eigen::Index>(expert) >= shares.cols()) { // serves every token
            out += mlpOutput(weights.experts[expert], config, x);
            continue;
        }
        const auto share = shares.col(static_cast<Eigen::Index>(expert));
        std::vector<Eigen::Index> rows;
        for (Eigen::Index row = 0; row < x.rows(); ++row)
            if (share(row) > 0)
                rows.push_back(row);
        if (rows.empty())
            continue;
        Matrix<Scalar> read(static_cast<Eigen::Index>(rows.size()), x.cols());
        for (std::size_t i = 0; i < rows.size(); ++i)
            read.row(static_cast<Eigen::Index>(i)) = x.row(rows[i]);
        const Matrix<Scalar> written = mlpOutput(weights.experts[expert], config, read);
        for (std::size_t i = 0; i < rows.size(); ++i)
            out.row(rows[i]) +=
                static_cast<Scalar>(share(rows[i])) * written.row(static_cast<Eigen::Index>(i));
    }
    return out;
}

/// Source: the experts of Hugging Face's modeling_gpt_oss.
template <typename Scalar>
void clampGates(Matrix<Scalar>& gate, Matrix<Scalar>& up)
{
    constexpr Scalar limit = 7;
    gate = gate.cwiseMin(limit).eval();
    up = (up.array().max(-limit).min(limit) + 1).eval();
}

} // namespace

template <typename Scalar>
Matrix<Scalar> mlpOutput(const MlpWeights<Scalar>& weights, const ModelConfig& config,
                         const Matrix<Scalar>& x)
{
    if (!weights.experts.empty())
        return mixtureOutput(weights, config, x);
    Matrix<Scalar> inside = x * weights.W_in; // [n, f]
    if (config.gatedMlp) {
        addRow(inside, weights.b_up);
        Matrix<Scalar> gate = x * weights.W_gate;
        addRow(gate, weights.b_gate);
        if (config.clampedGates)
            clampGates(gate, inside);
        activate(config.activation, gate);
        inside.array() *= gate.array();
        addRow(inside, weights.b_in);
    } else {
        addRow(inside, weights.b_in);
        activate(config.activation, inside);
    }
    inside = normalized(weights.ln, inside);
    Matrix<Scalar> out = inside * weights.W_out;
    addRow(out, weights.b_out);
    return out;
}

template <typename Scalar>
LayerTail<Scalar>::LayerTail(const ProcessedWeights& weights, int layer)
    : LayerTail(weights, layer, weights.mlp<Scalar>(layer))
{
}

template <typename Scalar>
LayerTail<Scalar>::LayerTail(const ProcessedWeights& weights, int layer, MlpWeights<Scalar> read)
    : ln2(weights.ln2<Scalar>(layer))
    , ln1Post(weights.ln1Post<Scalar>(layer))
    , ln2Post(weights.ln2Post<Scalar>(layer))
    , mlp(std::move(read))
{
}

template <typename Scalar>
Matrix<Scalar> LayerTail<Scalar>::apply(const ModelConfig& config, const Matrix<Scalar>& x,
                                        const Matrix<Scalar>& normed, const Matrix<Scalar>& attention) const
{
    if (config.skipless) {
        if (config.attentionOnly)
            return attention;
        if (config.parallelBlocks)
            return attention + mlpOutput(mlp, config, x);
        return mlpOutput(mlp, config, attention);
    }
    const Matrix<Scalar> middle = added(config, config.residualFromNorm ? normed : x, ln1Post, attention);
    if (config.attentionOnly)
        return middle;
    const Matrix<Scalar> read = normalized(ln2, config.parallelBlocks ? x : middle);
    return added(config, config.residualFromNorm ? read : middle, ln2Post, mlpOutput(mlp, config, read));
}

template <typename Scalar>
Matrix<Scalar> LayerTail<Scalar>::beforeMlp(const ModelConfig& config, const Matrix<Scalar>& x,
                                            const Matrix<Scalar>& normed,
                                            const Matrix<Scalar>& attention) const
{
    if (config.parallelBlocks)
        return x;
    return config.skipless ? attention
                           : added(config, config.residualFromNorm ? normed : x, ln1Post, attention);
}

template <typename Scalar>
Matrix<Scalar> LayerTail<Scalar>::added(const ModelConfig& config, const Matrix<Scalar>& to,
                                        const Norm<Scalar>& post, const Matrix<Scalar>& written)
{
    if (config.hasSumNorms)
        return normalized<Scalar>(post, to + written);
    return Matrix<Scalar>(to + normalized(post, written));
}

#define HEADWISE_INSTANTIATE(Scalar)                                                                         \
    template Matrix<Scalar> normalized(const Norm<Scalar>&, const Matrix<Scalar>&);                          \
    template void activate(Activation, Matrix<Scalar>&);                                                     \
    template void addRow(Matrix<Scalar>&, const RowVector<Scalar>&);                                         \
    template Matrix<Scalar> mlpOutput(const MlpWeights<Scalar>&, const ModelConfig&, const Matrix<Scalar>&); \
    template struct LayerTail<Scalar>;

HEADWISE_INSTANTIATE(float)
HEADWISE_INSTANTIATE(double)

#undef HEADWISE_INSTANTIATE

} // namespace headwise
