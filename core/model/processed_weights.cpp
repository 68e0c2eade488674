#include "core/model/processing_state.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace headwise {

ProcessedWeights::ProcessedWeights(std::shared_ptr<const ProcessingState> state)
    : m_state(std::move(state))
{
}

const ModelConfig& ProcessedWeights::config() const
{
    return m_state->config;
}

const ProcessingPlan& ProcessedWeights::plan() const
{
    return m_state->plan;
}

const ModelWeights& ProcessedWeights::original() const
{
    return *m_state->weights;
}

ProcessedWeights ProcessedWeights::asStored() const
{
    return rounded(m_state->config.isFloat64 ? Rounding::None : Rounding::Float32);
}

ProcessedWeights ProcessedWeights::rounded(Rounding rounding) const
{
    ProcessingState state = *m_state;
    state.rounding = rounding;
    return ProcessedWeights(std::make_shared<const ProcessingState>(std::move(state)));
}

ProcessedWeights ProcessedWeights::inBasis(std::shared_ptr<const ResidualBasis> basis) const
{
    ProcessingState state = *m_state;
    state.basis = std::move(basis);
    return ProcessedWeights(std::make_shared<const ProcessingState>(std::move(state)));
}

template <typename Scalar>
HeadWeights<Scalar> ProcessedWeights::head(HeadId id, HeadParts parts) const
{
    const ProcessingState& s = *m_state;
    assert(id.layer < s.config.nLayers && id.head < s.config.nHeads);
    HeadWeights<double> head = s.processedHead(id, parts);
    for (Matrix<double>* reading : {&head.W_Q, &head.W_K, &head.W_V}) {
        if (reading->size() > 0)
            s.read(*reading);
    }
    if (head.W_O.size() > 0)
        s.write(head.W_O);
    return s.finishHead<Scalar>(std::move(head));
}

template <typename Scalar>
RowVector<Scalar> ProcessedWeights::b_O(int layer) const
{
    RowVector<double> b = m_state->merging ? mergedAttentionBias(*m_state, layer)
                                           : m_state->b_O[static_cast<std::size_t>(layer)];
    m_state->write(b);
    return m_state->finish<Scalar>(b);
}

std::optional<double> ProcessedWeights::sink(HeadId id) const
{
    if (!m_state->config.attentionSinks)
        return std::nullopt;
    return m_state->finish<double>(m_state->weights->read<double>(TensorKind::sink_logit, id.layer, id.head))(
        0, 0);
}

template <typename Scalar>
MlpWeights<Scalar> ProcessedWeights::mlp(int layer) const
{
    const ProcessingState& s = *m_state;
    if (s.config.attentionOnly)
        return {};
    if (s.config.nExperts == 0 || !s.weights->has(TensorKind::W_router, layer))
        return s.foldedMlp<Scalar>(layer, 0);
    MlpWeights<Scalar> mixture;
    ReadingMatrix router = readReading(*s.weights, TensorKind::W_router, TensorKind::b_router, layer, 0);
    foldNorm(s.norms.ln2[static_cast<std::size_t>(layer)], s.applied(), router);
    mergeInput(s, layer, router);
    s.read(router.W);
    mixture.W_router = s.finish<Scalar>(router.W);
    mixture.b_router = s.finish<Scalar>(router.b);
    if (s.config.mixture.hasSigmoids)
        mixture.correction =
            s.finish<Scalar>(readRow(*s.weights, TensorKind::router_correction, layer, 0, router.b.size()));
    for (int expert = 0; expert < s.config.nExperts || s.weights->has(TensorKind::W_in, layer, expert);
         ++expert)
        mixture.experts.push_back(s.foldedMlp<Scalar>(layer, expert));
    return mixture;
}

template <typename Scalar>
LatentMaps<Scalar> ProcessedWeights::latents(int layer) const
{
    const ProcessingState& s = *m_state;
    const auto map = [&](TensorKind kind) {
        if (!s.weights->has(kind, layer))
            return Matrix<Scalar>();
        Matrix<double> stored = s.weights->read<double>(kind, layer);
        const Eigen::Index size = stored.cols();
        ReadingMatrix down{std::move(stored), RowVector<double>::Zero(size)};
        foldNorm(s.norms.ln1[static_cast<std::size_t>(layer)], s.applied(), down);
        s.read(down.W);
        return s.finish<Scalar>(down.W);
    };
    return {map(TensorKind::W_DQ), map(TensorKind::W_DKV)};
}

template <typename Scalar>
Norm<Scalar> ProcessedWeights::ln1(int layer) const
{
    return m_state->finishNorm<Scalar>(m_state->norms.ln1[static_cast<std::size_t>(layer)]);
}

template <typename Scalar>
Norm<Scalar> ProcessedWeights::ln2(int layer) const
{
    return m_state->finishNorm<Scalar>(m_state->norms.ln2[static_cast<std::size_t>(layer)]);
}

template <typename Scalar>
Norm<Scalar> ProcessedWeights::ln1Post(int layer) const
{
    return m_state->finishKeptNorm<Scalar>(m_state->norms.ln1Post[static_cast<std::size_t>(layer)]);
}

template <typename Scalar>
Norm<Scalar> ProcessedWeights::ln2Post(int layer) const
{
    return m_state->finishKeptNorm<Scalar>(m_state->norms.ln2Post[static_cast<std::size_t>(layer)]);
}

template <typename Scalar>
Norm<Scalar> ProcessedWeights::lnFinal() const
{
    return m_state->finishNorm<Scalar>(m_state->norms.lnFinal);
}

template <typename Scalar>
Norm<Scalar> ProcessedWeights::lnEmbedding() const
{
    if (!m_state->config.embeddingNormSeesPositions)
        return {};
    return m_state->finishKeptNorm<Scalar>(m_state->norms.embedding);
}

template <typename Scalar>
HeadTransform<Scalar> ProcessedWeights::headTransform() const
{
    using enum TensorKind;
    const ProcessingState& s = *m_state;
    if (!s.config.hasHeadTransform)
        return {};
    const ReadingMatrix head = readReading(*s.weights, W_head, b_head, 0, 0);
    const NormKind kind = s.weights->has(ln_head_w) ? s.config.norm : NormKind::None;
    return {s.finish<Scalar>(head.W), s.finish<Scalar>(head.b),
            s.finishKeptNorm<Scalar>(readNorm(*s.weights, kind, {ln_head_w, ln_head_b, 0}))};
}

template <typename Scalar>
Matrix<Scalar> ProcessedWeights::W_E(Eigen::Index firstToken, Eigen::Index count) const
{
    const ProcessingState& s = *m_state;
    if (s.keepsEmbedding() && s.rounding == Rounding::None)
        return s.weights->readRows<Scalar>(TensorKind::W_E, firstToken, count);
    // In double panel by panel, so that no second whole copy in double stands beside the result.
    const Eigen::Index panel = s.panelSize();
    Matrix<Scalar> out(count, s.config.dModel);
    for (Eigen::Index at = 0; at < count; at += panel) {
        const Eigen::Index rows = std::min(panel, count - at);
        out.middleRows(at, rows) = s.finish<Scalar>(s.embeddingRows(firstToken + at, rows));
    }
    return out;
}

template <typename Scalar>
Matrix<Scalar> ProcessedWeights::W_pos(Eigen::Index first, Eigen::Index count) const
{
    const ProcessingState& s = *m_state;
    if (!s.weights->has(TensorKind::W_pos))
        return Matrix<Scalar>::Zero(count, s.config.dModel);
    Matrix<double> rows = s.weights->readRows<double>(TensorKind::W_pos, first, count);
    if (s.weights->config().positionsOverRoot)
        rows /= std::sqrt(s.config.dModel);
    if (s.weights->config().normsNarrowEmbeddings())
        rows = (rows * s.weights->read<double>(TensorKind::W_Eproj)).eval();
    if (s.applied().centerWritingWeights)
        centerRows(rows);
    if (s.merging)
        rows = (rows * s.merging->entry.W).eval();
    s.write(rows);
    return s.finish<Scalar>(rows);
}

template <typename Scalar>
Matrix<Scalar> ProcessedWeights::W_U(Eigen::Index firstToken, Eigen::Index count) const
{
    const ProcessingState& s = *m_state;
    const Eigen::Index panel = s.panelSize();
    Matrix<Scalar> out(s.config.dModel, count);
    for (Eigen::Index at = 0; at < count; at += panel) {
        const Eigen::Index columns = std::min(panel, count - at);
        ReadingMatrix block{s.unembeddingColumns(firstToken + at, columns), RowVector<double>::Zero(columns)};
        foldNorm(s.norms.lnFinal, s.applied(), block);
        if (s.unembedMean.size() > 0)
            block.W.colwise() -= s.unembedMean.transpose();
        s.read(block.W);
        out.middleCols(at, columns) = s.finish<Scalar>(block.W);
    }
    return out;
}

template <typename Scalar>
RowVector<Scalar> ProcessedWeights::b_U(Eigen::Index firstToken, Eigen::Index count) const
{
    return m_state->finish<Scalar>(m_state->b_U.segment(firstToken, count));
}

namespace {

/// Returns the matrix A with W_E = stored · A; none if the way is not linear.
std::optional<Matrix<double>> embeddingMap(const ProcessingState& s)
{
    using enum TensorKind;
    const ModelConfig& original = s.weights->config();
    if (s.merging || s.rounding != Rounding::None || original.embeddingNorm != NormKind::None
        || s.weights->has(W_Eproj) || s.weights->has(b_E))
        return std::nullopt;
    const Eigen::Index d = s.config.dModel;
    Matrix<double> map = original.embeddingScale * Matrix<double>::Identity(d, d);
    if (s.applied().centerWritingWeights)
        centerRows(map);
    s.write(map);
    return map;
}

/// Returns the matrix B with W_U = B · stored but for its mean; none if the way is not linear.
std::optional<Matrix<double>> unembeddingMap(const ProcessingState& s)
{
    using enum TensorKind;
    if (s.merging || s.rounding != Rounding::None || s.weights->has(W_Uproj)
        || s.weights->form(W_U).hasUnitColumns)
        return std::nullopt;
    const Eigen::Index d = s.config.dModel;
    ReadingMatrix block{Matrix<double>::Identity(d, d), RowVector<double>::Zero(d)};
    if (s.weights->config().unembedOverRoot)
        block.W /= std::sqrt(s.config.dModel);
    foldNorm(s.norms.lnFinal, s.applied(), block);
    s.read(block.W);
    return std::move(block.W);
}

/// Returns what is subtracted from every column of W_U, [d].
Eigen::VectorXd unembeddingMean(const ProcessingState& s)
{
    if (s.unembedMean.size() == 0)
        return Eigen::VectorXd::Zero(s.config.dModel);
    Matrix<double> mean = s.unembedMean.transpose();
    s.read(mean);
    return mean.col(0);
}

} // namespace

std::optional<StoredEnd> ProcessedWeights::storedEnd(TensorKind end) const
{
    const ProcessingState& s = *m_state;
    const bool isUnembedding = end == TensorKind::W_U;
    const auto map = isUnembedding ? unembeddingMap(s) : embeddingMap(s);
    if (!map || !map->isDiagonal(0))
        return std::nullopt;
    return StoredEnd{map->diagonal(),
                     isUnembedding ? unembeddingMean(s) : Eigen::VectorXd::Zero(map->rows())};
}

std::optional<TiedEnds> ProcessedWeights::tiedEnds() const
{
    using enum TensorKind;
    const ProcessingState& s = *m_state;
    const auto& views = s.weights->views();
    const auto in = views.find({W_E, 0, 0}), out = views.find({W_U, 0, 0});
    if (in == views.end() || out == views.end())
        return std::nullopt;
    TensorView turned = out->second;
    std::swap(turned.rows, turned.cols);
    std::swap(turned.rowStride, turned.colStride);
    if (turned != in->second)
        return std::nullopt;
    auto embedding = embeddingMap(s), unembedding = unembeddingMap(s);
    if (!embedding || !unembedding)
        return std::nullopt;
    return TiedEnds{*std::move(embedding), s.weights->form(W_U).factor * *unembedding, unembeddingMean(s)};
}

#define HEADWISE_INSTANTIATE(Scalar)                                                                         \
    template HeadWeights<Scalar> ProcessedWeights::head(HeadId, HeadParts) const;                            \
    template RowVector<Scalar> ProcessedWeights::b_O(int) const;                                             \
    template MlpWeights<Scalar> ProcessedWeights::mlp(int) const;                                            \
    template LatentMaps<Scalar> ProcessedWeights::latents(int) const;                                        \
    template Norm<Scalar> ProcessedWeights::ln1(int) const;                                                  \
    template Norm<Scalar> ProcessedWeights::ln2(int) const;                                                  \
    template Norm<Scalar> ProcessedWeights::ln1Post(int) const;                                              \
    template Norm<Scalar> ProcessedWeights::ln2Post(int) const;                                              \
    template Norm<Scalar> ProcessedWeights::lnFinal() const;                                                 \
    template Norm<Scalar> ProcessedWeights::lnEmbedding() const;                                             \
    template HeadTransform<Scalar> ProcessedWeights::headTransform() const;                                  \
    template Matrix<Scalar> ProcessedWeights::W_E(Eigen::Index, Eigen::Index) const;                         \
    template Matrix<Scalar> ProcessedWeights::W_pos(Eigen::Index, Eigen::Index) const;                       \
    template Matrix<Scalar> ProcessedWeights::W_U(Eigen::Index, Eigen::Index) const;                         \
    template RowVector<Scalar> ProcessedWeights::b_U(Eigen::Index, Eigen::Index) const;

HEADWISE_INSTANTIATE(float)
HEADWISE_INSTANTIATE(double)

#undef HEADWISE_INSTANTIATE

} // namespace headwise
