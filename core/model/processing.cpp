#include "core/model/processing.h"

#include "core/base/parallel.h"
#include "core/model/processing_state.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index blockSize = 2048; // Tokens at a time: 12 MB in double at d_model 768.

Eigen::Index blockCount(Eigen::Index size)
{
    return (size + blockSize - 1) / blockSize;
}

/// A matrix that reads the residual stream and the bias beside it.
struct Reader {
    Matrix<double> W;    // [d, columns]
    RowVector<double> b; // [columns]
};

/// (x̂ ⊙ w + b) W = x̂ (diag(w) W) + b W. The output x̂ of a LayerNorm has mean 0, so what W does to the mean is free.
void foldNorm(const Norm<double>& norm, const Processing& processing, Reader& reader)
{
    if (!processing.foldLayerNorm || norm.kind == NormKind::None)
        return;
    const bool keepsBias = norm.b.size() > 0 && !processing.foldBiases;
    if (norm.b.size() > 0 && !keepsBias)
        reader.b += norm.b * reader.W;
    if (norm.w.size() > 0)
        reader.W.array().colwise() *= norm.w.transpose().array();
    if (norm.kind == NormKind::LayerNorm && processing.centerWeights && !keepsBias)
        reader.W.rowwise() -= reader.W.colwise().mean().eval();
}

/// What is left of a norm: nothing but its kind, or β/w where biases stay.
Norm<double> remaining(const Norm<double>& norm, const Processing& processing)
{
    if (!processing.foldLayerNorm || norm.kind == NormKind::None)
        return norm;
    Norm<double> left{norm.kind, norm.eps, {}, {}};
    if (!processing.foldBiases && norm.b.size() > 0) {
        left.b = norm.b;
        if (norm.w.size() > 0)
            left.b = (norm.b.array() == 0).select(0, norm.b.array() / norm.w.array());
    }
    return left;
}

void centerRows(Matrix<double>& m)
{
    m.colwise() -= m.rowwise().mean().eval();
}

RowVector<double> readRow(const ModelWeights& weights, TensorKind kind, int layer, int head,
                          Eigen::Index size)
{
    if (weights.has(kind, layer, head))
        return weights.read<double>(kind, layer, head);
    return RowVector<double>::Zero(size);
}

Reader readReader(const ModelWeights& weights, TensorKind W, TensorKind b, int layer, int head)
{
    Reader reader{weights.read<double>(W, layer, head), {}};
    reader.b = readRow(weights, b, layer, head, reader.W.cols());
    return reader;
}

template <typename Scalar>
Norm<Scalar> castNorm(const Norm<double>& norm)
{
    return {norm.kind, norm.eps, norm.w.template cast<Scalar>(), norm.b.template cast<Scalar>()};
}

ModelConfig processedConfig(const ModelConfig& original, const Processing& applied,
                            const OriginalNorms& norms)
{
    ModelConfig config = original;
    if (applied.foldLayerNorm) {
        const auto hasBias = [&](const Norm<double>& norm) { return remaining(norm, applied).b.size() > 0; };
        config.normHasParameters = std::ranges::any_of(norms.ln1, hasBias)
            || std::ranges::any_of(norms.ln2, hasBias) || std::ranges::any_of(norms.mlpLn, hasBias)
            || hasBias(norms.lnFinal);
        config.rmsUsesOffset = false;
    }
    if (applied.foldLayerNorm || applied.centerWritingWeights || applied.centerUnembed)
        config.tiedEmbeddings = false;
    if (applied.refactorAttention)
        config.nKvHeads = config.nHeads;
    return config;
}

} // namespace

struct ProcessedWeights::State {
    std::shared_ptr<const ModelWeights> weights;
    ProcessingPlan plan;
    ModelConfig config;
    OriginalNorms norms;
    std::vector<RowVector<double>>
        b_O;                       ///< [n_layers] of [d], as processed; empty: none in the file and none made
    RowVector<double> unembedMean; ///< [d], mean of the columns of the folded W_U; empty unless centred
    RowVector<double> b_U;         ///< [V], as processed
    std::shared_ptr<const std::vector<HeadWeights<double>>> refactored; ///< null unless refactored
    bool rounded = false; ///< to float32, as `process` writes them

    const Processing& applied() const { return plan.applied; }

    template <typename Scalar>
    Matrix<Scalar> finish(const Matrix<double>& m) const
    {
        if (rounded)
            return m.cast<float>().template cast<Scalar>();
        return m.cast<Scalar>();
    }
    template <typename Scalar>
    RowVector<Scalar> finishRow(const RowVector<double>& row) const
    {
        if (rounded)
            return row.cast<float>().template cast<Scalar>();
        return row.cast<Scalar>();
    }
    template <typename Scalar>
    Norm<Scalar> finishNorm(const Norm<double>& original) const
    {
        Norm<double> norm = remaining(original, applied());
        const double offset =
            config.rmsUsesOffset && norm.kind == NormKind::Rms ? 1 : 0; // The file has w − offset.
        norm.w = finishRow<double>((norm.w.array() - offset).matrix()).array() + offset;
        norm.b = finishRow<double>(norm.b);
        return castNorm<Scalar>(norm);
    }

    HeadWeights<double> foldedHead(HeadId id) const
    {
        using enum TensorKind;
        const int kv = id.head / (weights->config().nHeads / weights->config().nKvHeads);
        Reader q = readReader(*weights, W_Q, TensorKind::b_Q, id.layer, id.head);
        Reader k = readReader(*weights, W_K, b_K, id.layer, kv);
        Reader v = readReader(*weights, W_V, b_V, id.layer, kv);
        for (Reader* reader : {&q, &k, &v})
            foldNorm(norms.ln1[static_cast<std::size_t>(id.layer)], applied(), *reader);
        HeadWeights<double> head{std::move(q.W),
                                 std::move(k.W),
                                 std::move(v.W),
                                 std::move(q.b),
                                 std::move(k.b),
                                 std::move(v.b),
                                 weights->read<double>(W_O, id.layer, id.head)};
        if (applied().foldValueBiases)
            head.b_V.setZero();
        if (applied().centerWritingWeights)
            centerRows(head.W_O);
        return head;
    }

    /// Columns of W_U before they are centred over the vocabulary, and their part of b_U.
    Reader foldedUnembed(Eigen::Index first, Eigen::Index count) const
    {
        Reader reader{weights->readColumns<double>(TensorKind::W_U, first, count),
                      RowVector<double>::Zero(count)};
        if (weights->has(TensorKind::b_U))
            reader.b = weights->readColumns<double>(TensorKind::b_U, first, count);
        foldNorm(norms.lnFinal, applied(), reader);
        return reader;
    }

    /// b_O + Σ_h b_V W_O, centred.
    RowVector<double> foldedAttentionBias(int layer) const
    {
        using enum TensorKind;
        const int nHeads = weights->config().nHeads;
        const int perKv = nHeads / weights->config().nKvHeads;
        RowVector<double> b = readRow(*weights, TensorKind::b_O, layer, 0, weights->config().dModel);
        const Norm<double>& norm = norms.ln1[static_cast<std::size_t>(layer)];
        const bool foldsNormBias = applied().foldLayerNorm && applied().foldBiases && norm.b.size() > 0;
        for (int head = 0; applied().foldValueBiases && head < nHeads; ++head) {
            const int kv = head / perKv;
            if (!weights->has(b_V, layer, kv) && !foldsNormBias)
                continue;
            RowVector<double> value = readRow(*weights, b_V, layer, kv, weights->config().dHead);
            if (foldsNormBias)
                value += norm.b * weights->read<double>(W_V, layer, kv);
            b += value * weights->read<double>(W_O, layer, head);
        }
        if (applied().centerWritingWeights)
            b.array() -= b.mean();
        return b;
    }

    Result<Done> prepareAttentionBiases(const Task& task)
    {
        b_O.resize(static_cast<std::size_t>(config.nLayers));
        return parallelFor(config.nLayers, task, "layers", [&](int layer) -> Result<Done> {
            b_O[static_cast<std::size_t>(layer)] = foldedAttentionBias(layer);
            return Done{};
        });
    }

    /// One pass over W_U; the order of the sums does not depend on the number of threads.
    Result<Done> prepareUnembedding(const Task& task)
    {
        const Eigen::Index V = config.dVocabOut;
        const bool changesBias =
            applied().foldLayerNorm && applied().foldBiases && norms.lnFinal.b.size() > 0;
        b_U = RowVector<double>::Zero(V);
        if (weights->has(TensorKind::b_U))
            b_U = weights->read<double>(TensorKind::b_U);
        if (!changesBias && !applied().centerUnembed)
            return Done{};
        const auto blocks = static_cast<int>(blockCount(V));
        Matrix<double> sums(blocks, config.dModel);
        const auto done = parallelFor(blocks, task, "blocks of W_U", [&](int block) -> Result<Done> {
            const Eigen::Index first = block * blockSize;
            const Eigen::Index count = std::min(blockSize, V - first);
            const Reader reader = foldedUnembed(first, count);
            b_U.segment(first, count) = reader.b;
            sums.row(block) = reader.W.rowwise().sum().transpose();
            return Done{};
        });
        if (!done || !applied().centerUnembed)
            return done;
        unembedMean = sums.colwise().sum() / static_cast<double>(V);
        b_U.array() -= b_U.mean();
        return Done{};
    }
};

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
    return {s.finish<Scalar>(h.W_Q),    s.finish<Scalar>(h.W_K),    s.finish<Scalar>(h.W_V),
            s.finishRow<Scalar>(h.b_Q), s.finishRow<Scalar>(h.b_K), s.finishRow<Scalar>(h.b_V),
            s.finish<Scalar>(h.W_O)};
}

template <typename Scalar>
RowVector<Scalar> ProcessedWeights::b_O(int layer) const
{
    return m_state->finishRow<Scalar>(m_state->b_O[static_cast<std::size_t>(layer)]);
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

    Reader in = readReader(weights, W_in, gated ? b_up : b_in, layer, 0);
    foldNorm(s.norms.ln2[l], s.applied(), in);
    out.W_in = s.finish<Scalar>(in.W);
    out.b_in = s.finishRow<Scalar>(gated ? readRow(weights, b_in, layer, 0, in.b.size()) : in.b);
    if (gated) {
        Reader gate = readReader(weights, W_gate, b_gate, layer, 0);
        foldNorm(s.norms.ln2[l], s.applied(), gate);
        out.W_gate = s.finish<Scalar>(gate.W);
        out.b_gate = s.finishRow<Scalar>(gate.b);
        out.b_up = s.finishRow<Scalar>(in.b);
    }

    Reader writer = readReader(weights, W_out, b_out, layer, 0);
    foldNorm(s.norms.mlpLn[l], s.applied(), writer);
    if (s.applied().centerWritingWeights) {
        centerRows(writer.W);
        writer.b.array() -= writer.b.mean();
    }
    out.W_out = s.finish<Scalar>(writer.W);
    out.b_out = s.finishRow<Scalar>(writer.b);
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
Norm<Scalar> ProcessedWeights::lnFinal() const
{
    return m_state->finishNorm<Scalar>(m_state->norms.lnFinal);
}

namespace {

/// Rows of an embedding, centred in double block by block so that no second whole copy in double stands beside it.
template <typename Scalar, typename Finish>
Matrix<Scalar> readCentred(const ModelWeights& weights, TensorKind kind, Eigen::Index first,
                           Eigen::Index count, const Finish& finish)
{
    Matrix<Scalar> out(count, weights.config().dModel);
    for (Eigen::Index at = 0; at < count; at += blockSize) {
        const Eigen::Index rows = std::min(blockSize, count - at);
        Matrix<double> block = weights.readRows<double>(kind, first + at, rows);
        centerRows(block);
        out.middleRows(at, rows) = finish(block);
    }
    return out;
}

} // namespace

template <typename Scalar>
Matrix<Scalar> ProcessedWeights::W_E(Eigen::Index firstToken, Eigen::Index count) const
{
    const State& s = *m_state;
    if (!s.applied().centerWritingWeights)
        return s.rounded ? s.finish<Scalar>(s.weights->readRows<double>(TensorKind::W_E, firstToken, count))
                         : s.weights->readRows<Scalar>(TensorKind::W_E, firstToken, count);
    return readCentred<Scalar>(*s.weights, TensorKind::W_E, firstToken, count,
                               [&](const Matrix<double>& m) { return s.finish<Scalar>(m); });
}

template <typename Scalar>
Matrix<Scalar> ProcessedWeights::W_pos(Eigen::Index first, Eigen::Index count) const
{
    const State& s = *m_state;
    if (!s.weights->has(TensorKind::W_pos))
        return Matrix<Scalar>::Zero(count, s.config.dModel);
    if (!s.applied().centerWritingWeights)
        return s.rounded ? s.finish<Scalar>(s.weights->readRows<double>(TensorKind::W_pos, first, count))
                         : s.weights->readRows<Scalar>(TensorKind::W_pos, first, count);
    return readCentred<Scalar>(*s.weights, TensorKind::W_pos, first, count,
                               [&](const Matrix<double>& m) { return s.finish<Scalar>(m); });
}

template <typename Scalar>
Matrix<Scalar> ProcessedWeights::W_U(Eigen::Index firstToken, Eigen::Index count) const
{
    const State& s = *m_state;
    Matrix<Scalar> out(s.config.dModel, count);
    for (Eigen::Index at = 0; at < count; at += blockSize) {
        const Eigen::Index columns = std::min(blockSize, count - at);
        Reader reader = s.foldedUnembed(firstToken + at, columns);
        if (s.unembedMean.size() > 0)
            reader.W.colwise() -= s.unembedMean.transpose();
        out.middleCols(at, columns) = s.finish<Scalar>(reader.W);
    }
    return out;
}

template <typename Scalar>
RowVector<Scalar> ProcessedWeights::b_U(Eigen::Index firstToken, Eigen::Index count) const
{
    return m_state->finishRow<Scalar>(m_state->b_U.segment(firstToken, count));
}

Result<std::shared_ptr<const ProcessedWeights>> process(std::shared_ptr<const ModelWeights> weights,
                                                        ProcessingPlan plan, const Task& task)
{
    auto state = std::make_shared<ProcessedWeights::State>();
    state->norms = readNorms(*weights);
    state->config = processedConfig(weights->config(), plan.applied, state->norms);
    state->weights = std::move(weights);
    state->plan = std::move(plan);
    const Task quiet{task.stop, {}, task.threads};
    if (const auto done = state->prepareAttentionBiases(quiet); !done)
        return done.error();
    if (const auto done = state->prepareUnembedding(state->applied().refactorAttention ? quiet : task); !done)
        return done.error();
    if (state->applied().refactorAttention) {
        auto heads = refactorHeads(ProcessedWeights(state), task);
        if (!heads)
            return heads.error();
        state->refactored = std::make_shared<const std::vector<HeadWeights<double>>>(*std::move(heads));
    }
    return std::make_shared<const ProcessedWeights>(ProcessedWeights(std::move(state)));
}

#define HEADWISE_INSTANTIATE(Scalar)                                                                         \
    template HeadWeights<Scalar> ProcessedWeights::head(HeadId) const;                                       \
    template RowVector<Scalar> ProcessedWeights::b_O(int) const;                                             \
    template MlpWeights<Scalar> ProcessedWeights::mlp(int) const;                                            \
    template Norm<Scalar> ProcessedWeights::ln1(int) const;                                                  \
    template Norm<Scalar> ProcessedWeights::ln2(int) const;                                                  \
    template Norm<Scalar> ProcessedWeights::lnFinal() const;                                                 \
    template Matrix<Scalar> ProcessedWeights::W_E(Eigen::Index, Eigen::Index) const;                         \
    template Matrix<Scalar> ProcessedWeights::W_pos(Eigen::Index, Eigen::Index) const;                       \
    template Matrix<Scalar> ProcessedWeights::W_U(Eigen::Index, Eigen::Index) const;                         \
    template RowVector<Scalar> ProcessedWeights::b_U(Eigen::Index, Eigen::Index) const;

HEADWISE_INSTANTIATE(float)
HEADWISE_INSTANTIATE(double)

#undef HEADWISE_INSTANTIATE

} // namespace headwise
