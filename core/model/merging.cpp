#include "core/base/parallel.h"
#include "core/model/processing_state.h"
#include "core/model/skipless.h"

#include <Eigen/LU>

namespace headwise {

namespace {

/// The two of Q, K and V that stay, in this order.
std::array<MergedMatrix, 2> remaining(MergePair pair, const ModelConfig& config)
{
    const MergedMatrix q = mergedMatrix(MergePair::QP, config), k = mergedMatrix(MergePair::KP, config),
                       v = mergedMatrix(MergePair::VP, config);
    if (pair == MergePair::QP)
        return {k, v};
    return {q, pair == MergePair::KP ? v : k};
}

std::string pairText(MergePair pair, const ModelConfig& config)
{
    return std::string(mergedMatrix(pair, config).letter) + " and P";
}

} // namespace

ReadingMatrix ProcessedWeights::State::basisChange(int layer) const
{
    const ModelConfig& c = weights->config();
    const MergedMatrix matrix = mergedMatrix(merging->pair, c);
    ReadingMatrix change{sideBySide(*weights, matrix.weight, layer, matrix.heads),
                         RowVector<double>::Zero(c.dModel)};
    const bool isMoved = matrix.bias == TensorKind::b_V && applied().foldValueBiases;
    for (int head = 0; head < matrix.heads && !isMoved; ++head)
        change.b.segment(static_cast<Eigen::Index>(head) * c.dHead, c.dHead) =
            readRow(*weights, matrix.bias, layer, head, c.dHead);
    return change;
}

HeadWeights<double> ProcessedWeights::State::mergedHead(HeadId id) const
{
    const int kv = id.head / (config.nHeads / config.nKvHeads);
    const Merging::Layer& layer = merging->layers[static_cast<std::size_t>(id.layer)];
    const auto place = [&](TensorKind kind) -> ReadingMatrix {
        const auto stay = remaining(merging->pair, config);
        const int index = kind == TensorKind::W_Q ? id.head : kv;
        if (kind == stay[0].weight)
            return layer.first[static_cast<std::size_t>(index)];
        if (kind == stay[1].weight)
            return layer.second[static_cast<std::size_t>(index)];
        return {Matrix<double>::Identity(config.dModel, config.dModel)
                    .middleCols(static_cast<Eigen::Index>(index) * config.dHead, config.dHead),
                RowVector<double>::Zero(config.dHead)};
    };
    ReadingMatrix q = place(TensorKind::W_Q), k = place(TensorKind::W_K), v = place(TensorKind::W_V);
    return {std::move(q.W),
            std::move(k.W),
            std::move(v.W),
            std::move(q.b),
            std::move(k.b),
            std::move(v.b),
            mergedOutput(id),
            {},
            {}};
}

Matrix<double> ProcessedWeights::State::mergedOutput(HeadId id) const
{
    const Eigen::Index width = config.attentionWidth();
    if (!merging->keepsP)
        return Matrix<double>::Identity(width, width)
            .middleRows(static_cast<Eigen::Index>(id.head) * config.dHead, config.dHead);
    const Matrix<double> P = weights->read<double>(TensorKind::W_O, id.layer, id.head);
    if (id.layer + 1 == config.nLayers)
        return P;
    return P * basisChange(id.layer + 1).W;
}

RowVector<double> ProcessedWeights::State::mergedAttentionBias(int layer) const
{
    if (!merging->keepsP)
        return RowVector<double>::Zero(config.attentionWidth());
    const RowVector<double>& bias = b_O[static_cast<std::size_t>(layer)];
    if (layer + 1 == config.nLayers)
        return bias;
    const ReadingMatrix change = basisChange(layer + 1);
    return bias * change.W + change.b;
}

void ProcessedWeights::State::mergeInput(int layer, ReadingMatrix& reading) const
{
    if (!merging)
        return;
    if (merging->keepsP) {
        const ReadingMatrix change = basisChange(layer);
        reading.W = Eigen::PartialPivLU<Matrix<double>>(change.W).solve(reading.W).eval();
        reading.b -= change.b * reading.W;
        return;
    }
    Matrix<double> P(config.attentionWidth(), config.dModel);
    for (int head = 0; head < config.nHeads; ++head)
        P.middleRows(static_cast<Eigen::Index>(head) * config.dHead, config.dHead) =
            weights->read<double>(TensorKind::W_O, layer, head);
    reading.b += b_O[static_cast<std::size_t>(layer)] * reading.W;
    reading.W = (P * reading.W).eval();
}

void ProcessedWeights::State::mergeOutput(int layer, ReadingMatrix& writing) const
{
    if (!merging || layer + 1 == config.nLayers)
        return;
    const ReadingMatrix change = basisChange(layer + 1);
    writing.W = (writing.W * change.W).eval();
    writing.b = (writing.b * change.W).eval();
    if (!merging->keepsP) // else the attention's bias beside it has taken t in
        writing.b += change.b;
}

bool losesOneMatrix(const ModelConfig& config)
{
    return (config.parallelBlocks || config.attentionOnly)
        && !(config.positionsInQueriesAndKeys && config.nLayers > 1);
}

namespace {

/// Why neither the pair nor its first matrix can be merged; "" if one of them can.
std::string obstacleOf(const ProcessedWeights& weights, const Merge& merge, bool keepsP)
{
    if (!merge.possible || !(merge.equivalent || keepsP))
        return merge.obstacle;
    if (weights.plan().applied.refactorAttention)
        return "its attention was refactored, which leaves the heads' matrices without full rank";
    return "";
}

/// \param keepsP whether the pair's first matrix alone is asked about
Result<std::string> mergingWhyNot(const ProcessedWeights& weights, MergePair pair, bool keepsP,
                                  const Task& task)
{
    const ModelConfig& config = weights.config();
    if (!config.skipless)
        return std::string("This model has skip connections")
            + (config.norm == NormKind::None ? "" : " and normalisation")
            + ", so no pair of its matrices can be merged; ask for its counterpart without them (--skipless).";
    const auto merge = mergeOf(weights.original(), pair, task);
    if (!merge)
        return merge.error();
    const std::string obstacle = obstacleOf(weights, *merge, keepsP);
    if (obstacle.empty())
        return obstacle;
    return (keepsP ? std::string(mergedMatrix(pair, config).letter) : pairText(pair, config))
        + " of this model cannot be merged: " + obstacle + ".";
}

} // namespace

Result<std::string> whyNotMerge(const ProcessedWeights& weights, MergePair pair, const Task& task)
{
    return mergingWhyNot(weights, pair, false, task);
}

Result<ProcessedWeights> mergePair(const ProcessedWeights& skipless, MergePair pair, const Task& task)
{
    const Task quiet{task.stop, {}, task.threads};
    const bool keepsP = losesOneMatrix(skipless.config());
    const auto reason = mergingWhyNot(skipless, pair, keepsP, quiet);
    if (!reason)
        return reason.error();
    if (!reason->empty())
        return Error{ErrorCode::InvalidArgument, *reason};
    auto state = std::make_shared<ProcessedWeights::State>(*skipless.m_state);
    auto merging = std::make_shared<Merging>();
    merging->pair = pair;
    merging->keepsP = keepsP;
    merging->layers.resize(static_cast<std::size_t>(state->config.nLayers));
    state->merging = merging;
    merging->entry = state->basisChange(0);
    const auto stay = remaining(pair, state->config);
    const ModelWeights& weights = skipless.original();
    const auto done = parallelFor(state->config.nLayers, task, "layers", [&](int layer) -> Result<Done> {
        const ReadingMatrix change = state->basisChange(layer);
        const Eigen::PartialPivLU<Matrix<double>> lu(change.W);
        const auto solved = [&](const MergedMatrix& matrix, std::vector<ReadingMatrix>& out) {
            const bool isMoved = matrix.bias == TensorKind::b_V && skipless.plan().applied.foldValueBiases;
            for (int head = 0; head < matrix.heads; ++head) {
                ReadingMatrix old = readReading(weights, matrix.weight, matrix.bias, layer, head);
                if (isMoved)
                    old.b.setZero();
                ReadingMatrix& now = out.emplace_back(ReadingMatrix{lu.solve(old.W), {}});
                now.b = old.b - change.b * now.W;
                if (!now.W.allFinite())
                    return false;
            }
            return true;
        };
        Merging::Layer& place = merging->layers[static_cast<std::size_t>(layer)];
        if (!solved(stay[0], place.first) || !solved(stay[1], place.second))
            return Error{ErrorCode::InvalidArgument,
                         pairText(pair, state->config) + " of this model cannot be merged: "
                             + std::string(mergedMatrix(pair, state->config).letter) + " of layer "
                             + std::to_string(layer) + " has no inverse."};
        return Done{};
    });
    if (!done)
        return done.error();
    if (!keepsP)
        state->config.merged = pair;
    state->config.tiedEmbeddings = false;
    return ProcessedWeights(std::move(state));
}

} // namespace headwise
