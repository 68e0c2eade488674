#include "ui/pages/parts/direction_lists.h"

#include "core/analysis/spectra/direction_ends.h"

#include <algorithm>
#include <utility>

namespace headwise::ui {

namespace {

/// The directions of a range, followed by the rest of their degenerate blocks.
struct Columns {
    std::vector<int> directions;
    std::vector<std::vector<int>> spans; // indices into `directions`
    std::vector<int> spanOf;             // [range.count]; −1: in no block
};

Columns columnsOf(const CircuitDirections& circuit, DirectionRange range)
{
    Columns found{{}, {}, std::vector<int>(static_cast<std::size_t>(range.count), -1)};
    for (int i = 0; i < range.count; ++i)
        found.directions.push_back(range.first + i);
    for (int index = range.first; index < range.first + range.count;) {
        const CircuitDirections::Block block = circuit.blockOf(index);
        index = block.last + 1;
        if (block.isAlone())
            continue;
        std::vector<int> span;
        for (int member = block.first; member <= block.last; ++member) {
            const bool isListed = member >= range.first && member < range.first + range.count;
            span.push_back(isListed ? member - range.first : static_cast<int>(found.directions.size()));
            if (isListed)
                found.spanOf[static_cast<std::size_t>(span.back())] = static_cast<int>(found.spans.size());
            else
                found.directions.push_back(member);
        }
        found.spans.push_back(std::move(span));
    }
    return found;
}

/// Returns the ends for the reversed direction.
TokenEnds turned(TokenEnds ends)
{
    std::swap(ends.top, ends.bottom);
    for (auto* list : {&ends.top, &ends.bottom})
        for (TokenEntry& entry : *list)
            entry.value = -entry.value;
    return ends;
}

} // namespace

bool CircuitDirections::areTogether(int index, int other) const
{
    const auto isThere = [this](int at) { return at >= 0 && at < std::ssize(blocks); };
    return isThere(index) && isThere(other)
        && blocks[static_cast<std::size_t>(index)] == blocks[static_cast<std::size_t>(other)];
}

CircuitDirections::Block CircuitDirections::blockOf(int index) const
{
    Block block{index, index};
    while (areTogether(index, block.first - 1))
        --block.first;
    while (areTogether(index, block.last + 1))
        ++block.last;
    return block;
}

const DirectionSide& directionSideOf(CircuitKind kind, std::size_t side)
{
    return directionSides[(kind == CircuitKind::Ov ? 0U : 2U) + side];
}

Result<std::shared_ptr<const CircuitDirections>> circuitDirections(const Circuits& circuits, CircuitKind kind,
                                                                   HeadId head)
{
    auto svd = singularDirections(circuits, kind, head);
    if (!svd)
        return svd.error();
    auto made = std::make_shared<CircuitDirections>();
    made->head = head;
    made->kind = kind;
    made->svd = std::move(svd).value();
    made->stability = directionStability(circuits, kind, head, made->svd);
    const Eigen::VectorXd& S = made->svd.S;
    made->blocks = degenerateBlocks({S.data(), static_cast<std::size_t>(S.size())}, made->svd.rank);
    return std::shared_ptr<const CircuitDirections>(std::move(made));
}

Result<std::shared_ptr<const DirectionLists>> directionLists(const CircuitDirections& directions,
                                                             const TokenSide& tokens, DirectionRange range,
                                                             const std::vector<bool>& unused,
                                                             const Task& task)
{
    using Made = std::shared_ptr<const DirectionLists>;
    auto lists = std::make_shared<DirectionLists>();
    lists->first = range.first;
    range.count = std::min(range.count, static_cast<int>(directions.svd.rank) - range.first);
    if (range.count <= 0)
        return Made(std::move(lists));
    const Columns columns = columnsOf(directions, range);
    for (std::size_t at = 0; at < 2; ++at) {
        const DirectionSide& side = directionSideOf(directions.kind, at);
        const auto found = directionEnds(tokens, side, directions.head.layer,
                                         {directions.svd.vectors(side.side)(Eigen::all, columns.directions),
                                          range.count, columns.spans, range.listLength, unused},
                                         task);
        if (!found)
            return found.error();
        for (const TokenEnds& ends : found->ends) {
            if (at == 0)
                lists->signs.push_back(jointSign(ends));
            const double sign = lists->signs[lists->sides[at].size()];
            lists->sides[at].push_back(sign < 0 ? turned(ends) : ends);
        }
        for (const int span : columns.spanOf)
            lists->spans[at].push_back(span < 0 ? std::vector<TokenEntry>()
                                                : found->spans[static_cast<std::size_t>(span)]);
    }
    return Made(std::move(lists));
}

} // namespace headwise::ui
