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

/// Returns [r, …] in the place of the head's P.
Matrix<double> mergedOutput(const ProcessingState& state, HeadId id)
{
    const Eigen::Index width = state.config.attentionWidth();
    if (!state.merging->keepsP)
        return Matrix<double>::Identity(width, width)
            .middleRows(static_cast<Eigen::Index>(id.head) * state.config.dHead, state.config.dHead);
    const Matrix<double> P = state.weights->read<double>(TensorKind::W_O, id.layer, id.head);
    if (id.layer + 1 == state.config.nLayers)
        return P;
    return P * basisChange(state, id.layer + 1).W;
}

} // namespace

ReadingMatrix basisChange(const ProcessingState& state, int layer)
{
    const ModelConfig& c = state.weights->config();
    const MergedMatrix matrix = mergedMatrix(state.merging->pair, c);
    ReadingMatrix change{sideBySide(*state.weights, matrix.weight, layer, matrix.heads),
                         RowVector<double>::Zero(c.dModel)};
    const bool isMoved = matrix.bias == TensorKind::b_V && state.applied().foldValueBiases;
    for (int head = 0; head < matrix.heads && !isMoved; ++head)
        change.b.segment(static_cast<Eigen::Index>(head) * c.dHead, c.dHead) =
            readRow(*state.weights, matrix.bias, layer, head, c.dHead);
    return change;
}

HeadWeights<double> mergedHead(const ProcessingState& state, HeadId id)
{
    const int kv = id.head / (state.config.nHeads / state.config.nKvHeads);
    const Merging::Layer& layer = state.merging->layers[static_cast<std::size_t>(id.layer)];
    const auto place = [&](TensorKind kind) -> ReadingMatrix {
        const auto stay = remaining(state.merging->pair, state.config);
        const int index = kind == TensorKind::W_Q ? id.head : kv;
        if (kind == stay[0].weight)
            return layer.first[static_cast<std::size_t>(index)];
        if (kind == stay[1].weight)
            return layer.second[static_cast<std::size_t>(index)];
        return {Matrix<double>::Identity(state.config.dModel, state.config.dModel)
                    .middleCols(static_cast<Eigen::Index>(index) * state.config.dHead, state.config.dHead),
                RowVector<double>::Zero(state.config.dHead)};
    };
    ReadingMatrix q = place(TensorKind::W_Q), k = place(TensorKind::W_K), v = place(TensorKind::W_V);
    return {std::move(q.W),
            std::move(k.W),
            std::move(v.W),
            std::move(q.b),
            std::move(k.b),
            std::move(v.b),
            mergedOutput(state, id),
            {},
            {}};
}

RowVector<double> mergedAttentionBias(const ProcessingState& state, int layer)
{
    if (!state.merging->keepsP)
        return RowVector<double>::Zero(state.config.attentionWidth());
    const RowVector<double>& bias = state.b_O[static_cast<std::size_t>(layer)];
    if (layer + 1 == state.config.nLayers)
        return bias;
    const ReadingMatrix change = basisChange(state, layer + 1);
    return bias * change.W + change.b;
}

void mergeInput(const ProcessingState& state, int layer, ReadingMatrix& reading)
{
    if (!state.merging)
        return;
    if (state.merging->keepsP) {
        const ReadingMatrix change = basisChange(state, layer);
        reading.W = Eigen::PartialPivLU<Matrix<double>>(change.W).solve(reading.W).eval();
        reading.b -= change.b * reading.W;
        return;
    }
    Matrix<double> P(state.config.attentionWidth(), state.config.dModel);
    for (int head = 0; head < state.config.nHeads; ++head)
        P.middleRows(static_cast<Eigen::Index>(head) * state.config.dHead, state.config.dHead) =
            state.weights->read<double>(TensorKind::W_O, layer, head);
    reading.b += state.b_O[static_cast<std::size_t>(layer)] * reading.W;
    reading.W = (P * reading.W).eval();
}

void mergeOutput(const ProcessingState& state, int layer, ReadingMatrix& writing)
{
    if (!state.merging || layer + 1 == state.config.nLayers)
        return;
    const ReadingMatrix change = basisChange(state, layer + 1);
    writing.W = (writing.W * change.W).eval();
    writing.b = (writing.b * change.W).eval();
    if (!state.merging->keepsP) // else the attention's bias beside it has taken t in
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
    auto state = std::make_shared<ProcessingState>(*skipless.m_state);
    auto merging = std::make_shared<Merging>();
    merging->pair = pair;
    merging->keepsP = keepsP;
    merging->layers.resize(static_cast<std::size_t>(state->config.nLayers));
    state->merging = merging;
    merging->entry = basisChange(*state, 0);
    const auto stay = remaining(pair, state->config);
    const ModelWeights& weights = skipless.original();
    const auto done = parallelFor(state->config.nLayers, task, "layers", [&](int layer) -> Result<Done> {
        const ReadingMatrix change = basisChange(*state, layer);
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
