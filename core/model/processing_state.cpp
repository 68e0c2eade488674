#include "core/model/processing_state.h"

#include "core/model/families/layer_parts.h"

#include <cmath>
#include <type_traits>
#include <utility>

namespace headwise {

template <typename Scalar>
Norm<Scalar> ProcessingState::finishNorm(const FoldableNorm& original) const
{
    return finishKeptNorm<Scalar>(remainingNorm(original, applied()));
}

template <typename Scalar>
Norm<Scalar> ProcessingState::finishKeptNorm(Norm<double> norm) const
{
    const double offset =
        config.rmsUsesOffset && norm.kind == NormKind::Rms ? 1 : 0; // The file has w − offset.
    norm.w = finish<double>((norm.w.array() - offset).matrix()).array() + offset;
    norm.b = finish<double>(norm.b);
    return {norm.kind, norm.eps, norm.w.template cast<Scalar>(), norm.b.template cast<Scalar>()};
}

HeadWeights<double> ProcessingState::foldedHead(HeadId id, HeadParts parts) const
{
    using enum TensorKind;
    const int kv = id.head / (weights->config().nHeads / weights->config().nKvHeads);
    const auto folded = [&](TensorKind W, TensorKind b, int head) {
        ReadingMatrix reading = readReading(*weights, W, b, id.layer, head);
        foldNorm(norms.ln1[static_cast<std::size_t>(id.layer)], applied(), reading);
        return reading;
    };
    ReadingMatrix q, k, v;
    HeadWeights<double> head;
    if (parts != HeadParts::ValuesAndOutput) {
        q = folded(W_Q, TensorKind::b_Q, id.head);
        k = folded(W_K, b_K, kv);
    }
    if (parts != HeadParts::QueriesAndKeys) {
        v = folded(W_V, b_V, kv);
        head.W_O = readMatrix(*weights, W_O, id.layer, id.head);
        if (applied().centerWritingWeights)
            centerRows(head.W_O);
    }
    head.W_Q = std::move(q.W);
    head.W_K = std::move(k.W);
    head.W_V = std::move(v.W);
    head.b_Q = std::move(q.b);
    head.b_K = std::move(k.b);
    head.b_V = std::move(v.b);
    const NormKind kind = config.qkNorm;
    head.qNorm = readNorm(*weights, kind, {q_norm_w, std::nullopt, id.layer, id.head});
    head.kNorm = readNorm(*weights, kind, {k_norm_w, std::nullopt, id.layer, kv});
    if (applied().foldValueBiases)
        head.b_V.setZero();
    return head;
}

template <typename Scalar>
HeadWeights<Scalar> ProcessingState::finishHead(HeadWeights<double> h) const
{
    if constexpr (std::is_same_v<Scalar, double>) {
        if (rounding == Rounding::None) { // The numbers stay as they are.
            h.qNorm = finishKeptNorm<double>(std::move(h.qNorm));
            h.kNorm = finishKeptNorm<double>(std::move(h.kNorm));
            return h;
        }
    }
    return {finish<Scalar>(h.W_Q), finish<Scalar>(h.W_K),           finish<Scalar>(h.W_V),
            finish<Scalar>(h.b_Q), finish<Scalar>(h.b_K),           finish<Scalar>(h.b_V),
            finish<Scalar>(h.W_O), finishKeptNorm<Scalar>(h.qNorm), finishKeptNorm<Scalar>(h.kNorm)};
}

void ProcessingState::read(Matrix<double>& W) const
{
    if (basis)
        W = (basis->inverse * W).eval();
}

HeadWeights<double> ProcessingState::processedHead(HeadId id, HeadParts parts) const
{
    if (merging)
        return mergedHead(*this, id);
    if (const auto found = changed.find(id); found != changed.end())
        return found->second;
    const auto index = static_cast<std::size_t>(id.layer) * config.nHeads + id.head;
    return refactored ? (*refactored)[index] : foldedHead(id, parts);
}

template <typename Scalar>
MlpWeights<Scalar> ProcessingState::foldedMlp(int layer, int expert) const
{
    using enum TensorKind;
    const auto l = static_cast<std::size_t>(layer);
    const bool gated = config.gatedMlp;
    MlpWeights<Scalar> out;

    ReadingMatrix in = readReading(*weights, W_in, gated ? b_up : b_in, layer, expert);
    foldNorm(norms.ln2[l], applied(), in);
    mergeInput(*this, layer, in);
    read(in.W);
    out.W_in = finish<Scalar>(in.W);
    out.b_in = finish<Scalar>(gated ? readRow(*weights, b_in, layer, expert, in.b.size()) : in.b);
    if (gated) {
        ReadingMatrix gate = readReading(*weights, W_gate, b_gate, layer, expert);
        foldNorm(norms.ln2[l], applied(), gate);
        mergeInput(*this, layer, gate);
        read(gate.W);
        out.W_gate = finish<Scalar>(gate.W);
        out.b_gate = finish<Scalar>(gate.b);
        out.b_up = finish<Scalar>(in.b);
    }

    ReadingMatrix writer = readReading(*weights, W_out, b_out, layer, expert);
    foldNorm(norms.mlpLn[l], applied(), writer);
    if (applied().centerWritingWeights) {
        centerRows(writer.W);
        writer.b.array() -= writer.b.mean();
    }
    mergeOutput(*this, layer, writer);
    write(writer.W);
    write(writer.b);
    out.W_out = finish<Scalar>(writer.W);
    out.b_out = finish<Scalar>(writer.b);
    out.ln = finishNorm<Scalar>(norms.mlpLn[l]);
    return out;
}

bool ProcessingState::keepsEmbedding() const
{
    using enum TensorKind;
    const ModelConfig& original = weights->config();
    const bool isNormalized =
        original.embeddingNorm != NormKind::None && !original.embeddingNormSeesPositions;
    return !merging && !basis && !applied().centerWritingWeights && original.embeddingScale == 1
        && !isNormalized && !weights->has(W_Eproj) && !weights->has(b_E);
}

Matrix<double> ProcessingState::embeddingRows(Eigen::Index first, Eigen::Index count) const
{
    using enum TensorKind;
    Matrix<double> rows = weights->readRows<double>(W_E, first, count);
    rows *= weights->config().embeddingScale;
    if (weights->has(b_E))
        rows.rowwise() += RowVector<double>(weights->read<double>(b_E));
    if (weights->has(W_Eproj))
        rows = (rows * weights->read<double>(W_Eproj)).eval();
    if (weights->has(b_Eproj))
        rows.rowwise() += RowVector<double>(weights->read<double>(b_Eproj));
    if (!config.embeddingNormSeesPositions)
        rows = normalized(norms.embedding, rows);
    if (applied().centerWritingWeights)
        centerRows(rows);
    if (merging)
        rows = ((rows * merging->entry.W).rowwise() + merging->entry.b).eval();
    write(rows);
    return rows;
}

Matrix<double> ProcessingState::unembeddingColumns(Eigen::Index first, Eigen::Index count) const
{
    Matrix<double> stored = weights->readColumns<double>(TensorKind::W_U, first, count);
    if (weights->config().unembedOverRoot)
        stored /= std::sqrt(config.dModel);
    if (!weights->has(TensorKind::W_Uproj))
        return stored;
    return weights->read<double>(TensorKind::W_Uproj) * stored;
}

Eigen::Index ProcessingState::panelSize() const
{
    const bool hasProducts =
        merging || basis || weights->has(TensorKind::W_Eproj) || weights->has(TensorKind::W_Uproj);
    return hasProducts ? processingBlockSize : 64;
}

#define HEADWISE_INSTANTIATE(Scalar)                                                                         \
    template Norm<Scalar> ProcessingState::finishNorm(const FoldableNorm&) const;                            \
    template Norm<Scalar> ProcessingState::finishKeptNorm(Norm<double>) const;                               \
    template HeadWeights<Scalar> ProcessingState::finishHead(HeadWeights<double>) const;                     \
    template MlpWeights<Scalar> ProcessingState::foldedMlp(int, int) const;

HEADWISE_INSTANTIATE(float)
HEADWISE_INSTANTIATE(double)

#undef HEADWISE_INSTANTIATE

} // namespace headwise
