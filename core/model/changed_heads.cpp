#include "core/base/decompositions.h"
#include "core/model/processing_state.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace headwise {

namespace {

/// W_O (1 − v_k v_kᵀ), v_k the k-th right singular vector of W_V W_O.
Result<Matrix<double>> withoutComponent(const HeadWeights<double>& head, int component)
{
    const auto R = triangularFactor(head.W_V); // W_V = Q R
    if (!R)
        return R.error();
    const auto svd = thinSvd(*R * head.W_O); // the singular values and right vectors of W_V W_O
    if (!svd)
        return svd.error();
    if (component >= svd->V.cols())
        return head.W_O;
    const Eigen::VectorXd v = svd->V.col(component);
    return Matrix<double>(head.W_O - head.W_O * v * v.transpose());
}

bool hasHead(const ModelConfig& config, HeadId head)
{
    return head.layer >= 0 && head.layer < config.nLayers && head.head >= 0 && head.head < config.nHeads;
}

/// Returns why a change cannot be made; empty if it can.
std::string changedHeadsWhyNot(const ModelConfig& config, const HeadChange& change)
{
    if (!hasHead(config, change.head) || (change.earlier && !hasHead(config, *change.earlier)))
        return fmt::format("the model has {} layer{} of {} heads, counted from 0", config.nLayers,
                           config.nLayers == 1 ? "" : "s", config.nHeads);
    if (change.earlier && change.earlier->layer >= change.head.layer)
        return "the first head must be in an earlier layer than the second";
    if (change.withoutComponent
        && (*change.withoutComponent < 0
            || *change.withoutComponent >= std::min(config.dHead, config.dModel)))
        return fmt::format("W_OV has {} components, counted from 0", std::min(config.dHead, config.dModel));
    if (config.merged)
        return "a pair of its attention matrices is merged into their neighbours";
    if (config.latentAttention)
        return "its values come from a latent that all heads share";
    if (config.attentionSinks && config.attentionBiases.value_or(true))
        return "its sink takes a part of the attention, so the output of its value bias cannot move to b_O";
    if (change.earlier && config.qkvLimit > 0)
        return fmt::format("its values are clipped at ±{}", config.qkvLimit);
    return {};
}

} // namespace

Result<Done> checkHeadChanges(const ModelConfig& config, const std::vector<HeadChange>& changes)
{
    for (auto change = changes.begin(); change != changes.end(); ++change) {
        std::string reason = changedHeadsWhyNot(config, *change);
        const auto sameHead = [&](const HeadChange& other) { return other.head == change->head; };
        if (std::any_of(changes.begin(), change, sameHead))
            reason = headLabel(change->head) + " is changed twice";
        if (!reason.empty())
            return Error{ErrorCode::InvalidArgument,
                         fmt::format("The change '{}' cannot be made: {}.", headChangeName(*change), reason)};
    }
    return Done{};
}

Result<Done> changeHeads(ProcessingState& state)
{
    std::map<HeadId, HeadWeights<double>> made; // from the heads as they were, whatever the order
    for (const HeadChange& change : state.applied().headChanges) {
        HeadWeights<double> head = state.processedHead(change.head);
        // The change is of W_V W_O alone, so the output of b_V stays: it moves to b_O, as folding b_V does. With qkvLimit
        // the bias is clipped together with the values and cannot move.
        if (head.b_V.size() > 0 && state.config.qkvLimit == 0) {
            state.b_O[static_cast<std::size_t>(change.head.layer)] += head.b_V * head.W_O;
            head.b_V.setZero();
        }
        if (change.withoutComponent) {
            auto W_O = withoutComponent(head, *change.withoutComponent);
            if (!W_O)
                return Error{W_O.error().code,
                             fmt::format("The change '{}' cannot be made: {}", headChangeName(change),
                                         W_O.error().message)};
            head.W_O = *std::move(W_O);
        }
        if (change.earlier) {
            const HeadWeights<double> earlier = state.processedHead(*change.earlier);
            head.W_O = (earlier.W_O * head.W_V * head.W_O).eval();
            head.W_V = earlier.W_V;
        }
        made.insert_or_assign(change.head, std::move(head));
    }
    state.changed = std::move(made);
    return Done{};
}

} // namespace headwise
