#include "core/analysis/prompt/residual_parts.h"

#include "core/base/parallel.h"
#include "core/model/families/attention_parts.h"
#include "core/model/families/layer_parts.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <utility>

namespace headwise {

template <typename Scalar>
FrozenNorm::FrozenNorm(const Norm<Scalar>& norm, const RowVector<double>& x)
    : m_isCentred(norm.kind == NormKind::LayerNorm)
    , m_factor(RowVector<double>::Ones(x.size()))
    , m_bias(RowVector<double>::Zero(x.size()))
{
    if (norm.kind == NormKind::None)
        return;
    RowVector<double> centred = x;
    if (m_isCentred)
        centred.array() -= x.mean();
    if (norm.w.size() > 0)
        m_factor = norm.w.template cast<double>();
    m_factor /= std::sqrt(centred.squaredNorm() / static_cast<double>(x.size()) + norm.eps);
    if (norm.b.size() > 0)
        m_bias = norm.b.template cast<double>();
}

Matrix<double> FrozenNorm::linear(const Matrix<double>& rows) const
{
    Matrix<double> out = rows;
    if (m_isCentred)
        out.colwise() -= rows.rowwise().mean();
    out.array().rowwise() *= m_factor.array();
    return out;
}

RowVector<double> FrozenNorm::pulledBack(const RowVector<double>& u) const
{
    RowVector<double> out = u.cwiseProduct(m_factor);
    if (m_isCentred)
        out.array() -= out.mean();
    return out;
}

PartList::PartList(const ModelConfig& config)
    : m_nLayers(config.nLayers)
    , m_nHeads(config.nHeads)
    , m_hasPositions(config.positional == Positional::Learned || config.positionsInQueriesAndKeys)
    , m_hasMlp(!config.attentionOnly)
    , m_perLayer(config.nHeads + (m_hasMlp ? 1 : 0))
    , m_count(biases() + 1 + config.nLayers * m_perLayer)
{
}

std::optional<int> PartList::mlp(int layer) const
{
    return m_hasMlp ? std::optional(head({layer, m_nHeads})) : std::nullopt;
}

std::vector<std::string> PartList::names() const
{
    std::vector<std::string> names{"embedding"};
    if (m_hasPositions)
        names.emplace_back("positions");
    names.emplace_back("biases");
    for (int layer = 0; layer < m_nLayers; ++layer) {
        for (int head = 0; head < m_nHeads; ++head)
            names.push_back(headLabel({layer, head}));
        if (m_hasMlp)
            names.push_back(fmt::format("MLP {}", layer));
    }
    return names;
}

namespace {

/// The parts before the first layer where token, position and bias are added and normalised in a narrower space.
template <typename Scalar>
Matrix<double> narrowParts(const ProcessedWeights& weights, const PartList& list, int token, int position)
{
    using enum TensorKind;
    const ModelWeights& stored = weights.original();
    Matrix<double> parts = Matrix<double>::Zero(list.count(), stored.config().dEmbed);
    parts.row(list.embedding()) = stored.readRows<double>(W_E, token, 1);
    if (const auto row = list.positions())
        parts.row(*row) = stored.readRows<double>(W_pos, position, 1);
    parts.row(list.biases()) = stored.read<double>(b_E);
    const FrozenNorm norm(weights.lnEmbedding<Scalar>(), parts.colwise().sum());
    parts = norm.linear(parts);
    parts.row(list.biases()) += norm.bias();
    parts = (parts * stored.read<double>(W_Eproj)).eval();
    parts.row(list.biases()) += stored.read<double>(b_Eproj);
    return parts;
}

} // namespace

template <typename Scalar>
ResidualParts<Scalar>::ResidualParts(const ProcessedWeights& weights, const ForwardResult<Scalar>& run,
                                     std::span<const int> tokens, std::vector<int> positions)
    : m_weights(weights)
    , m_run(run)
    , m_positions(std::move(positions))
    , m_list(weights.config())
{
    const auto lnEmbedding = weights.lnEmbedding<Scalar>();
    for (std::size_t i = 0; i < m_positions.size(); ++i) {
        const int position = m_positions[i];
        if (weights.original().config().normsNarrowEmbeddings()) {
            m_parts.push_back(
                narrowParts<Scalar>(weights, m_list, tokens[static_cast<std::size_t>(position)], position));
            continue;
        }
        Matrix<double>& parts =
            m_parts.emplace_back(Matrix<double>::Zero(m_list.count(), weights.config().dModel));
        parts.row(m_list.embedding()) =
            weights.W_E<Scalar>(tokens[static_cast<std::size_t>(position)], 1).template cast<double>();
        if (const auto row = m_list.positions(); row && !weights.config().positionsInQueriesAndKeys)
            parts.row(*row) = weights.W_pos<Scalar>(position, 1).template cast<double>();
        if (lnEmbedding.kind != NormKind::None)
            pass(i, FrozenNorm(lnEmbedding, total(i)));
    }
}

template <typename Scalar>
void ResidualParts<Scalar>::pass(std::size_t i, const FrozenNorm& norm)
{
    m_parts[i] = norm.linear(m_parts[i]);
    m_parts[i].row(m_list.biases()) += norm.bias();
}

template <typename Scalar>
Result<std::vector<Matrix<Scalar>>> ResidualParts<Scalar>::headOutputs(const Task& task) const
{
    const ModelConfig& config = m_weights.config();
    const auto layer = static_cast<std::size_t>(m_layer);
    const Matrix<Scalar> x = normalized(m_weights.ln1<Scalar>(m_layer), m_run.residuals[layer]);
    const Eigen::VectorXd scale = valueScale(m_weights, m_layer, x);
    std::vector<Matrix<Scalar>> outputs(static_cast<std::size_t>(config.nHeads));
    const Task quiet{task.stop, {}, task.threads};
    const auto done = parallelFor(config.nHeads, quiet, "heads", [&](int head) -> Result<Done> {
        const auto weights = m_weights.head<Scalar>({m_layer, head});
        const Matrix<Scalar> v = values(weights, scale, config.qkvLimit, x);
        const Matrix<Scalar>& pattern = m_run.patterns[layer][static_cast<std::size_t>(head)];
        Matrix<Scalar> mixed(static_cast<Eigen::Index>(m_positions.size()), v.cols());
        for (std::size_t i = 0; i < m_positions.size(); ++i)
            mixed.row(static_cast<Eigen::Index>(i)) = pattern.row(m_positions[i]) * v;
        outputs[static_cast<std::size_t>(head)] = mixed * weights.W_O;
        return Done{};
    });
    if (!done)
        return done.error();
    return outputs;
}

template <typename Scalar>
FrozenNorm ResidualParts<Scalar>::write(std::size_t i, const Written& written, const Norm<Scalar>& post)
{
    auto block = m_parts[i].middleRows(written.first, written.rows.rows());
    if (m_weights.config().hasSumNorms) {
        block = written.rows;
        m_parts[i].row(m_list.biases()) += written.bias;
        const FrozenNorm norm(post, total(i));
        pass(i, norm);
        return norm;
    }
    FrozenNorm norm(post, written.rows.colwise().sum() + written.bias);
    block = norm.linear(written.rows);
    m_parts[i].row(m_list.biases()) += norm.linear(written.bias) + norm.bias();
    return norm;
}

template <typename Scalar>
Result<Done> ResidualParts<Scalar>::addLayer(const Task& task)
{
    const ModelConfig& config = m_weights.config();
    const auto outputs = headOutputs(task);
    if (!outputs)
        return outputs.error();
    const LayerTail<Scalar> tail(m_weights, m_layer);
    const auto ln1 = m_weights.ln1<Scalar>(m_layer);
    const RowVector<double> b_O = m_weights.b_O<Scalar>(m_layer).template cast<double>();
    const auto count = static_cast<Eigen::Index>(m_positions.size());
    Matrix<Scalar> read(count, config.dModel); // what the MLP sees
    m_attentionNorms.clear();
    for (std::size_t i = 0; i < m_positions.size(); ++i) {
        const auto row = static_cast<Eigen::Index>(i);
        Written heads{m_list.head({m_layer, 0}), Matrix<double>(config.nHeads, config.dModel), b_O};
        for (int head = 0; head < config.nHeads; ++head)
            heads.rows.row(head) =
                (*outputs)[static_cast<std::size_t>(head)].row(row).template cast<double>();
        const RowVector<double> before = total(i);
        if (config.residualFromNorm)
            pass(i, FrozenNorm(ln1, before));
        m_attentionNorms.push_back(write(i, heads, tail.ln1Post));
        read.row(row) = (config.parallelBlocks ? before : total(i)).template cast<Scalar>();
    }
    if (const auto mlp = m_list.mlp(m_layer)) {
        const Matrix<Scalar> output = mlpOutput(tail.mlp, config, normalized(tail.ln2, read));
        for (std::size_t i = 0; i < m_positions.size(); ++i) {
            const auto row = static_cast<Eigen::Index>(i);
            if (config.residualFromNorm)
                pass(i, FrozenNorm(tail.ln2, read.row(row).template cast<double>()));
            write(i, {*mlp, output.row(row).template cast<double>(), RowVector<double>::Zero(config.dModel)},
                  tail.ln2Post);
        }
    }
    ++m_layer;
    return checked();
}

template <typename Scalar>
Result<Done> ResidualParts<Scalar>::checked() const
{
    constexpr double largestError = 1e-3; // float32 sums in another order; a missing part is far more
    const Matrix<Scalar>& stream = m_run.residuals[static_cast<std::size_t>(m_layer)];
    for (std::size_t i = 0; i < m_positions.size(); ++i) {
        const RowVector<double> expected = stream.row(m_positions[i]).template cast<double>();
        if ((total(i) - expected).norm() > largestError * expected.norm()) {
            return Error{
                ErrorCode::Internal,
                fmt::format(
                    "The parts of the residual stream after layer {} do not add up to it, so they were skipped.",
                    m_layer - 1)};
        }
    }
    return Done{};
}

template FrozenNorm::FrozenNorm(const Norm<float>&, const RowVector<double>&);
template FrozenNorm::FrozenNorm(const Norm<double>&, const RowVector<double>&);
template class ResidualParts<float>;
template class ResidualParts<double>;

} // namespace headwise
