#include "core/model/processing.h"

#include "core/base/parallel.h"
#include "core/model/merges.h"
#include "core/model/processing_state.h"

#include <algorithm>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index processingBlockSize = 2048; // Tokens whose columns of W_U are added up by one thread.

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
    if (norm.w.size() > 0)
        reading.W.array().colwise() *= norm.w.transpose().array();
    if (norm.kind == NormKind::LayerNorm && processing.centerWeights && !keepsBias)
        reading.W.rowwise() -= reading.W.colwise().mean().eval();
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
    m.colwise() -= m.rowwise().mean().eval();
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

/// b_O + Σ_h b_V W_O, centred.
RowVector<double> ProcessedWeights::State::foldedAttentionBias(int layer) const
{
    using enum TensorKind;
    const int nHeads = weights->config().nHeads;
    const int perKv = nHeads / weights->config().nKvHeads;
    RowVector<double> b = readRow(*weights, TensorKind::b_O, layer, 0, weights->config().attentionWidth());
    const FoldableNorm& norm = norms.ln1[static_cast<std::size_t>(layer)];
    const bool foldsNormBias = foldsBias(norm, applied());
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

Result<Done> ProcessedWeights::State::prepareAttentionBiases(const Task& task)
{
    b_O.resize(static_cast<std::size_t>(config.nLayers));
    return parallelFor(config.nLayers, task, "layers", [&](int layer) -> Result<Done> {
        b_O[static_cast<std::size_t>(layer)] = foldedAttentionBias(layer);
        return Done{};
    });
}

Eigen::Index ProcessedWeights::State::panelSize() const
{
    const bool hasProducts =
        merging || basis || weights->has(TensorKind::W_Eproj) || weights->has(TensorKind::W_Uproj);
    return hasProducts ? processingBlockSize : 64;
}

/// Adds a block of W_U's columns up and gives b_U what folding the norm's bias moves into it.
///
/// Column after column, as they lie in memory: along the rows of a matrix whose height is a power of two, every number would
/// evict the next one from the cache (measured: 15 times as slow at d_model 2048).
Eigen::VectorXd ProcessedWeights::State::sumUnembedding(Eigen::Index first, Eigen::Index count)
{
    const bool foldsNormBias = foldsBias(norms.lnFinal, applied());
    const Eigen::Index panel = panelSize();
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(config.dModel);
    for (Eigen::Index at = 0; at < count; at += panel) {
        const Eigen::Index columns = std::min(panel, count - at);
        const Matrix<double> W = unembeddingColumns(first + at, columns);
        if (foldsNormBias)
            b_U.segment(first + at, columns) += norms.lnFinal.b * W;
        for (Eigen::Index column = 0; column < columns; ++column)
            sum += W.col(column);
    }
    return sum;
}

/// One pass over W_U; the order of the sums does not depend on the number of threads.
Result<Done> ProcessedWeights::State::prepareUnembedding(const Task& task)
{
    const Eigen::Index V = config.dVocabOut;
    const FoldableNorm& norm = norms.lnFinal;
    b_U = readRow(*weights, TensorKind::b_U, 0, 0, V);
    if (!foldsBias(norm, applied()) && !applied().centerUnembed)
        return Done{};
    const auto blocks = static_cast<int>((V + processingBlockSize - 1) / processingBlockSize);
    Matrix<double> sums(blocks, config.dModel);
    const auto done = parallelFor(blocks, task, "blocks of W_U", [&](int block) -> Result<Done> {
        const Eigen::Index first = block * processingBlockSize;
        const Eigen::Index count = std::min(processingBlockSize, V - first);
        sums.row(block) = sumUnembedding(first, count).transpose();
        return Done{};
    });
    if (!done || !applied().centerUnembed)
        return done;
    // Folding is linear: the mean of the folded columns is the folded mean.
    ReadingMatrix mean{sums.colwise().sum().transpose() / static_cast<double>(V), RowVector<double>::Zero(1)};
    foldNorm(norm, applied(), mean);
    unembedMean = mean.W.transpose();
    b_U.array() -= b_U.mean();
    return Done{};
}

Result<std::shared_ptr<const ProcessedWeights>> process(std::shared_ptr<const ModelWeights> weights,
                                                        ProcessingPlan plan, const Task& task)
{
    auto state = std::make_shared<ProcessedWeights::State>();
    state->norms = readNorms(*weights);
    passOver(state->norms, plan.unfolded, *weights);
    state->config = processedConfig(weights->config(), plan.applied, state->norms);
    if (weights->form(TensorKind::W_U) != StoredForm{})
        state->config.tiedEmbeddings = false;
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
    if (const auto done = state->changeHeads(); !done)
        return done.error();
    return std::make_shared<const ProcessedWeights>(ProcessedWeights(std::move(state)));
}

} // namespace headwise
