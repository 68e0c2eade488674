#include "core/model/processing.h"

#include "core/base/parallel.h"
#include "core/model/merges.h"
#include "core/model/processing_state.h"

#include <algorithm>
#include <utility>

namespace headwise {

namespace {

ModelConfig processedConfig(const ModelConfig& original, const Processing& applied,
                            const OriginalNorms& norms)
{
    ModelConfig config = original;
    if (applied.foldLayerNorm) {
        const auto hasBias = [&](const FoldableNorm& norm) {
            return remainingNorm(norm, applied).b.size() > 0;
        };
        config.normHasParameters = std::ranges::any_of(norms.ln1, hasBias)
            || std::ranges::any_of(norms.ln2, hasBias) || std::ranges::any_of(norms.mlpLn, hasBias)
            || hasBias(norms.lnFinal) || original.hasPostNorms || original.hasSumNorms;
        config.rmsUsesOffset = false;
    }
    // ProcessedWeights::W_E gives what enters the residual stream.
    const bool isNormalized = config.embeddingNorm != NormKind::None && !config.embeddingNormSeesPositions;
    const bool isRewritten =
        config.embeddingScale != 1 || config.unembedOverRoot || isNormalized || config.dEmbed > 0;
    config.embeddingScale = 1;
    config.positionsOverRoot = config.unembedOverRoot = false;
    config.dEmbed = 0;
    if (isNormalized)
        config.embeddingNorm = NormKind::None;
    if (applied.foldLayerNorm || applied.centerWritingWeights || applied.centerUnembed || isRewritten)
        config.tiedEmbeddings = false;
    if (applied.refactorAttention || !applied.headChanges.empty())
        config.nKvHeads = config.nHeads;
    return config;
}

/// Marks the norms that the plan passes over.
void passOver(OriginalNorms& norms, const std::vector<NormId>& unfolded, const ModelWeights& weights)
{
    for (const NormId& id : unfolded) {
        const auto layer = static_cast<std::size_t>(id.layer);
        if (id.w == TensorKind::ln_final_w)
            norms.lnFinal.isPassedOver = true;
        else if (id.w == TensorKind::ln1_w)
            norms.ln1[layer].isPassedOver = true;
        else if (id.w == TensorKind::mlp_ln_w)
            norms.mlpLn[layer].isPassedOver = true;
        if (id.w == TensorKind::ln2_w || (id.w == TensorKind::ln1_w && sharesNorm(weights, id.layer)))
            norms.ln2[layer].isPassedOver = true;
    }
}

} // namespace

bool foldsBias(const FoldableNorm& norm, const Processing& processing)
{
    return processing.foldLayerNorm && processing.foldBiases && !norm.isPassedOver && norm.b.size() > 0;
}

void foldNorm(const FoldableNorm& norm, const Processing& processing, ReadingMatrix& reading)
{
    if (!processing.foldLayerNorm || norm.kind == NormKind::None || norm.isPassedOver)
        return;
    const bool keepsBias = norm.b.size() > 0 && !processing.foldBiases;
    if (foldsBias(norm, processing))
        reading.b += norm.b * reading.W;
    const bool isCentred = norm.kind == NormKind::LayerNorm && processing.centerWeights && !keepsBias;
    for (auto column : reading.W.colwise()) { // one at a time, so that it stays in the cache
        if (norm.w.size() > 0)
            column.array() *= norm.w.transpose().array();
        if (isCentred)
            column.array() -= column.mean();
    }
}

Norm<double> remainingNorm(const FoldableNorm& norm, const Processing& processing)
{
    if (!processing.foldLayerNorm || norm.kind == NormKind::None || norm.isPassedOver)
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
    if (m.size() == 0)
        return;
    // Column by column, as they lie in memory, and in the order of Eigen's own sum.
    Eigen::VectorXd sum = m.col(0);
    Eigen::Index col = 1;
    for (; col + 3 < m.cols(); col += 4)
        sum += (m.col(col) + m.col(col + 1)) + (m.col(col + 2) + m.col(col + 3));
    for (; col < m.cols(); ++col)
        sum += m.col(col);
    sum /= static_cast<double>(m.cols());
    m.colwise() -= sum;
}

RowVector<double> readRow(const ModelWeights& weights, TensorKind kind, int layer, int head,
                          Eigen::Index size)
{
    if (weights.has(kind, layer, head))
        return weights.read<double>(kind, layer, head);
    return RowVector<double>::Zero(size);
}

Matrix<double> readMatrix(const ModelWeights& weights, TensorKind kind, int layer, int head)
{
    const ModelConfig& c = weights.config();
    const Eigen::Index first = static_cast<Eigen::Index>(head) * c.dHead;
    if (c.merged && kind == TensorKind::W_O)
        return Matrix<double>::Identity(c.attentionWidth(), c.attentionWidth()).middleRows(first, c.dHead);
    if (c.merged && kind == mergedMatrix(*c.merged, c).weight)
        return Matrix<double>::Identity(c.dModel, c.dModel).middleCols(first, c.dHead);
    return weights.read<double>(kind, layer, head);
}

ReadingMatrix readReading(const ModelWeights& weights, TensorKind W, TensorKind b, int layer, int head)
{
    ReadingMatrix reading{readMatrix(weights, W, layer, head), {}};
    reading.b = readRow(weights, b, layer, head, reading.W.cols());
    return reading;
}

namespace {

/// b_O + Σ_h b_V W_O, centred.
RowVector<double> foldedAttentionBias(const ProcessingState& state, int layer)
{
    using enum TensorKind;
    const int nHeads = state.weights->config().nHeads;
    const int perKv = nHeads / state.weights->config().nKvHeads;
    RowVector<double> b =
        readRow(*state.weights, TensorKind::b_O, layer, 0, state.weights->config().attentionWidth());
    const FoldableNorm& norm = state.norms.ln1[static_cast<std::size_t>(layer)];
    const bool foldsNormBias = foldsBias(norm, state.applied());
    for (int head = 0; state.applied().foldValueBiases && head < nHeads; ++head) {
        const int kv = head / perKv;
        if (!state.weights->has(b_V, layer, kv) && !foldsNormBias)
            continue;
        RowVector<double> value = readRow(*state.weights, b_V, layer, kv, state.weights->config().dHead);
        if (foldsNormBias)
            value += norm.b * state.weights->read<double>(W_V, layer, kv);
        b += value * state.weights->read<double>(W_O, layer, head);
    }
    if (state.applied().centerWritingWeights)
        b.array() -= b.mean();
    return b;
}

Result<Done> prepareAttentionBiases(ProcessingState& state, const Task& task)
{
    state.b_O.resize(static_cast<std::size_t>(state.config.nLayers));
    return parallelFor(state.config.nLayers, task, "layers", [&](int layer) -> Result<Done> {
        state.b_O[static_cast<std::size_t>(layer)] = foldedAttentionBias(state, layer);
        return Done{};
    });
}

/// Adds a block of W_U's columns up and gives b_U what folding the norm's bias moves into it.
///
/// Column after column, as they lie in memory: along the rows of a matrix whose height is a power of two, every number would
/// evict the next one from the cache (measured: 15 times as slow at d_model 2048).
Eigen::VectorXd sumUnembedding(ProcessingState& state, Eigen::Index first, Eigen::Index count)
{
    const bool foldsNormBias = foldsBias(state.norms.lnFinal, state.applied());
    const Eigen::Index panel = state.panelSize();
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(state.config.dModel);
    for (Eigen::Index at = 0; at < count; at += panel) {
        const Eigen::Index columns = std::min(panel, count - at);
        const Matrix<double> W = state.unembeddingColumns(first + at, columns);
        if (foldsNormBias)
            state.b_U.segment(first + at, columns) += state.norms.lnFinal.b * W;
        for (Eigen::Index column = 0; column < columns; ++column)
            sum += W.col(column);
    }
    return sum;
}

/// One pass over W_U; the order of the sums does not depend on the number of threads.
Result<Done> prepareUnembedding(ProcessingState& state, const Task& task)
{
    const Eigen::Index V = state.config.dVocabOut;
    const FoldableNorm& norm = state.norms.lnFinal;
    state.b_U = readRow(*state.weights, TensorKind::b_U, 0, 0, V);
    if (!foldsBias(norm, state.applied()) && !state.applied().centerUnembed)
        return Done{};
    const auto blocks = static_cast<int>((V + processingBlockSize - 1) / processingBlockSize);
    Matrix<double> sums(blocks, state.config.dModel);
    const auto done = parallelFor(blocks, task, "blocks of W_U", [&](int block) -> Result<Done> {
        const Eigen::Index first = block * processingBlockSize;
        const Eigen::Index count = std::min(processingBlockSize, V - first);
        sums.row(block) = sumUnembedding(state, first, count).transpose();
        return Done{};
    });
    if (!done || !state.applied().centerUnembed)
        return done;
    // Folding is linear: the mean of the folded columns is the folded mean.
    ReadingMatrix mean{sums.colwise().sum().transpose() / static_cast<double>(V), RowVector<double>::Zero(1)};
    foldNorm(norm, state.applied(), mean);
    state.unembedMean = mean.W.transpose();
    state.b_U.array() -= state.b_U.mean();
    return Done{};
}

} // namespace

Result<std::shared_ptr<const ProcessedWeights>> process(std::shared_ptr<const ModelWeights> weights,
                                                        ProcessingPlan plan, const Task& task)
{
    auto state = std::make_shared<ProcessingState>();
    state->norms = readNorms(*weights);
    passOver(state->norms, plan.unfolded, *weights);
    state->config = processedConfig(weights->config(), plan.applied, state->norms);
    if (weights->form(TensorKind::W_U) != StoredForm{})
        state->config.tiedEmbeddings = false;
    state->weights = std::move(weights);
    state->plan = std::move(plan);
    const Task quiet{task.stop, {}, task.threads};
    if (const auto done = prepareAttentionBiases(*state, quiet); !done)
        return done.error();
    if (const auto done = prepareUnembedding(*state, state->applied().refactorAttention ? quiet : task);
        !done)
        return done.error();
    if (state->applied().refactorAttention) {
        auto heads = refactorHeads(ProcessedWeights(state), task);
        if (!heads)
            return heads.error();
        state->refactored = std::make_shared<const std::vector<HeadWeights<double>>>(*std::move(heads));
    }
    if (const auto done = changeHeads(*state); !done)
        return done.error();
    return std::make_shared<const ProcessedWeights>(ProcessedWeights(std::move(state)));
}

} // namespace headwise
