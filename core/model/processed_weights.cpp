#include "core/model/layer_parts.h"
#include "core/model/processing_state.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index blockSize = 2048; // Tokens at a time: 12 MB in double at d_model 768.

} // namespace

template <typename Scalar>
Norm<Scalar> ProcessedWeights::State::finishNorm(const Norm<double>& original) const
{
    return finishKeptNorm<Scalar>(remainingNorm(original, applied()));
}

template <typename Scalar>
Norm<Scalar> ProcessedWeights::State::finishKeptNorm(Norm<double> norm) const
{
    const double offset =
        config.rmsUsesOffset && norm.kind == NormKind::Rms ? 1 : 0; // The file has w − offset.
    norm.w = finish<double>((norm.w.array() - offset).matrix()).array() + offset;
    norm.b = finish<double>(norm.b);
    return {norm.kind, norm.eps, norm.w.template cast<Scalar>(), norm.b.template cast<Scalar>()};
}

HeadWeights<double> ProcessedWeights::State::foldedHead(HeadId id) const
{
    using enum TensorKind;
    const int kv = id.head / (weights->config().nHeads / weights->config().nKvHeads);
    ReadingMatrix q = readReading(*weights, W_Q, TensorKind::b_Q, id.layer, id.head);
    ReadingMatrix k = readReading(*weights, W_K, b_K, id.layer, kv);
    ReadingMatrix v = readReading(*weights, W_V, b_V, id.layer, kv);
    for (ReadingMatrix* reading : {&q, &k, &v})
        foldNorm(norms.ln1[static_cast<std::size_t>(id.layer)], applied(), *reading);
    HeadWeights<double> head{std::move(q.W),
                             std::move(k.W),
                             std::move(v.W),
                             std::move(q.b),
                             std::move(k.b),
                             std::move(v.b),
                             weights->read<double>(W_O, id.layer, id.head),
                             {},
                             {}};
    const NormKind kind = config.qkNorm;
    head.qNorm = readNorm(*weights, kind, {q_norm_w, std::nullopt, id.layer, id.head});
    head.kNorm = readNorm(*weights, kind, {k_norm_w, std::nullopt, id.layer, kv});
    if (applied().foldValueBiases)
        head.b_V.setZero();
    if (applied().centerWritingWeights)
        centerRows(head.W_O);
    return head;
}

template <typename Scalar>
HeadWeights<Scalar> ProcessedWeights::State::finishHead(const HeadWeights<double>& h) const
{
    return {finish<Scalar>(h.W_Q), finish<Scalar>(h.W_K),           finish<Scalar>(h.W_V),
            finish<Scalar>(h.b_Q), finish<Scalar>(h.b_K),           finish<Scalar>(h.b_V),
            finish<Scalar>(h.W_O), finishKeptNorm<Scalar>(h.qNorm), finishKeptNorm<Scalar>(h.kNorm)};
}

ProcessedWeights::ProcessedWeights(std::shared_ptr<const State> state)
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
    State state = *m_state;
    state.rounded = !state.config.isFloat64;
    return ProcessedWeights(std::make_shared<const State>(std::move(state)));
}

template <typename Scalar>
HeadWeights<Scalar> ProcessedWeights::head(HeadId id) const
{
    const State& s = *m_state;
    assert(id.layer < s.config.nLayers && id.head < s.config.nHeads);
    const auto index = static_cast<std::size_t>(id.layer) * s.config.nHeads + id.head;
    const HeadWeights<double> h = s.refactored ? (*s.refactored)[index] : s.foldedHead(id);
    return s.finishHead<Scalar>(h);
}

template <typename Scalar>
RowVector<Scalar> ProcessedWeights::b_O(int layer) const
{
    return m_state->finish<Scalar>(m_state->b_O[static_cast<std::size_t>(layer)]);
}

template <typename Scalar>
MlpWeights<Scalar> ProcessedWeights::mlp(int layer) const
{
    using enum TensorKind;
    const State& s = *m_state;
    if (s.config.attentionOnly)
        return {};
    const ModelWeights& weights = *s.weights;
    const auto l = static_cast<std::size_t>(layer);
    const bool gated = s.config.gatedMlp;
    MlpWeights<Scalar> out;

    ReadingMatrix in = readReading(weights, W_in, gated ? b_up : b_in, layer, 0);
    foldNorm(s.norms.ln2[l], s.applied(), in);
    out.W_in = s.finish<Scalar>(in.W);
    out.b_in = s.finish<Scalar>(gated ? readRow(weights, b_in, layer, 0, in.b.size()) : in.b);
    if (gated) {
        ReadingMatrix gate = readReading(weights, W_gate, b_gate, layer, 0);
        foldNorm(s.norms.ln2[l], s.applied(), gate);
        out.W_gate = s.finish<Scalar>(gate.W);
        out.b_gate = s.finish<Scalar>(gate.b);
        out.b_up = s.finish<Scalar>(in.b);
    }

    ReadingMatrix writer = readReading(weights, W_out, b_out, layer, 0);
    foldNorm(s.norms.mlpLn[l], s.applied(), writer);
    if (s.applied().centerWritingWeights) {
        centerRows(writer.W);
        writer.b.array() -= writer.b.mean();
    }
    out.W_out = s.finish<Scalar>(writer.W);
    out.b_out = s.finish<Scalar>(writer.b);
    out.ln = s.finishNorm<Scalar>(s.norms.mlpLn[l]);
    return out;
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

bool ProcessedWeights::State::keepsEmbedding() const
{
    const ModelConfig& original = weights->config();
    return !applied().centerWritingWeights && original.embeddingScale == 1
        && original.embeddingNorm == NormKind::None;
}

Matrix<double> ProcessedWeights::State::embeddingRows(Eigen::Index first, Eigen::Index count) const
{
    Matrix<double> rows = weights->readRows<double>(TensorKind::W_E, first, count);
    rows *= weights->config().embeddingScale;
    rows = normalized(norms.embedding, rows);
    if (applied().centerWritingWeights)
        centerRows(rows);
    return rows;
}

template <typename Scalar>
Matrix<Scalar> ProcessedWeights::W_E(Eigen::Index firstToken, Eigen::Index count) const
{
    const State& s = *m_state;
    if (s.keepsEmbedding() && !s.rounded)
        return s.weights->readRows<Scalar>(TensorKind::W_E, firstToken, count);
    // In double block by block, so that no second whole copy in double stands beside the result.
    Matrix<Scalar> out(count, s.config.dModel);
    for (Eigen::Index at = 0; at < count; at += blockSize) {
        const Eigen::Index rows = std::min(blockSize, count - at);
        out.middleRows(at, rows) = s.finish<Scalar>(s.embeddingRows(firstToken + at, rows));
    }
    return out;
}

template <typename Scalar>
Matrix<Scalar> ProcessedWeights::W_pos(Eigen::Index first, Eigen::Index count) const
{
    const State& s = *m_state;
    if (!s.weights->has(TensorKind::W_pos))
        return Matrix<Scalar>::Zero(count, s.config.dModel);
    Matrix<double> rows = s.weights->readRows<double>(TensorKind::W_pos, first, count);
    if (s.applied().centerWritingWeights)
        centerRows(rows);
    return s.finish<Scalar>(rows);
}

template <typename Scalar>
Matrix<Scalar> ProcessedWeights::W_U(Eigen::Index firstToken, Eigen::Index count) const
{
    const State& s = *m_state;
    Matrix<Scalar> out(s.config.dModel, count);
    for (Eigen::Index at = 0; at < count; at += blockSize) {
        const Eigen::Index columns = std::min(blockSize, count - at);
        ReadingMatrix block{s.weights->readColumns<double>(TensorKind::W_U, firstToken + at, columns),
                            RowVector<double>::Zero(columns)};
        foldNorm(s.norms.lnFinal, s.applied(), block);
        if (s.unembedMean.size() > 0)
            block.W.colwise() -= s.unembedMean.transpose();
        out.middleCols(at, columns) = s.finish<Scalar>(block.W);
    }
    return out;
}

template <typename Scalar>
RowVector<Scalar> ProcessedWeights::b_U(Eigen::Index firstToken, Eigen::Index count) const
{
    return m_state->finish<Scalar>(m_state->b_U.segment(firstToken, count));
}

#define HEADWISE_INSTANTIATE(Scalar)                                                                         \
    template HeadWeights<Scalar> ProcessedWeights::head(HeadId) const;                                       \
    template RowVector<Scalar> ProcessedWeights::b_O(int) const;                                             \
    template MlpWeights<Scalar> ProcessedWeights::mlp(int) const;                                            \
    template Norm<Scalar> ProcessedWeights::ln1(int) const;                                                  \
    template Norm<Scalar> ProcessedWeights::ln2(int) const;                                                  \
    template Norm<Scalar> ProcessedWeights::ln1Post(int) const;                                              \
    template Norm<Scalar> ProcessedWeights::ln2Post(int) const;                                              \
    template Norm<Scalar> ProcessedWeights::lnFinal() const;                                                 \
    template Matrix<Scalar> ProcessedWeights::W_E(Eigen::Index, Eigen::Index) const;                         \
    template Matrix<Scalar> ProcessedWeights::W_pos(Eigen::Index, Eigen::Index) const;                       \
    template Matrix<Scalar> ProcessedWeights::W_U(Eigen::Index, Eigen::Index) const;                         \
    template RowVector<Scalar> ProcessedWeights::b_U(Eigen::Index, Eigen::Index) const;

HEADWISE_INSTANTIATE(float)
HEADWISE_INSTANTIATE(double)

#undef HEADWISE_INSTANTIATE

} // namespace headwise
