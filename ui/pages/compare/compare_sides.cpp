#include "ui/pages/compare/compare_sides.h"

#include "core/circuits/block.h"
#include "ui/base/text.h"

#include <utility>

namespace headwise::ui {

namespace {

QString countsOf(const ModelConfig& config)
{
    return (config.nLayers == 1 ? tr("%1 layer of %2 heads") : tr("%1 layers of %2 heads"))
        .arg(config.nLayers)
        .arg(config.nHeads);
}

} // namespace

CircuitKind residualOf(CircuitKind kind)
{
    return kind == CircuitKind::Qk || kind == CircuitKind::FullQk ? CircuitKind::Qk : CircuitKind::Ov;
}

CircuitKind fullOf(CircuitKind kind)
{
    return residualOf(kind) == CircuitKind::Qk ? CircuitKind::FullQk : CircuitKind::FullOv;
}

bool CompareSides::isOneSpace() const
{
    return first.circuits->config().dModel == second.circuits->config().dModel;
}

QString CompareSides::whyNot(CircuitKind kind) const
{
    for (const CompareSide* side : {&first, &second})
        if (!side->circuits->contains(side->head))
            return tr("%1 has no head %2, only %3; choose a head that both models have.")
                .arg(side->model, text(side->head), countsOf(side->circuits->config()));
    if (isFull(kind) && !hasSameVocabulary)
        return tr("%1 and %2 have different tokens, so the entries of their full circuits do not correspond; choose OV or QK.")
            .arg(first.model, second.model);
    if (!isFull(kind) && !isOneSpace())
        return tr("d_model is %1 in %2 and %3 in %4, so the entries of their circuits do not correspond; choose full OV or full QK.")
            .arg(first.circuits->config().dModel)
            .arg(first.model)
            .arg(second.circuits->config().dModel)
            .arg(second.model);
    return {};
}

Result<CompareAnswer> compared(const CompareSides& sides, CircuitKind kind, const std::vector<int>& ids,
                               const Task& task)
{
    CompareAnswer answer;
    for (const auto& [side, matrix] :
         {std::pair(&sides.first, &answer.first), std::pair(&sides.second, &answer.second)}) {
        const CircuitOfHead of{kind, side->head};
        const auto block = isFull(kind) ? circuitBlock(*side->circuits, side->tokens.get(), of, ids, ids)
                                        : wholeCircuit(*side->circuits, of);
        if (!block)
            return block.error();
        *matrix = std::make_shared<const Eigen::MatrixXf>(*block);
        if (task.cancelled())
            return stopped();
    }
    if (!sides.isOneSpace())
        return answer;
    auto pair = compareHeads({*sides.first.circuits, sides.first.head},
                             {*sides.second.circuits, sides.second.head}, residualOf(kind), task);
    if (!pair)
        return pair.error();
    answer.pair = std::move(pair).value();
    return answer;
}

Result<TableDifference> tablesCompared(const CompareSides& sides, CircuitKind kind, int token, int k,
                                       const std::vector<bool>& unused)
{
    const auto lineOf = [&](const CompareSide& side) {
        return tokenLine(*side.circuits, *side.tokens, {kind, side.head}, TableSide::Row, token);
    };
    const auto first = lineOf(sides.first);
    if (!first)
        return first.error();
    const auto second = lineOf(sides.second);
    if (!second)
        return second.error();
    return tableDifference(*first, *second, k, unused);
}

} // namespace headwise::ui
