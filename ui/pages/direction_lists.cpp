#include "ui/pages/direction_lists.h"

#include <algorithm>

namespace headwise::ui {

namespace {

/// Those of `range` that stand in blocks, and the rest of their blocks.
struct Blocks {
    DirectionBlocks all;
    std::vector<int> numberOf; // [range.count] in `all`; −1 alone
};

Blocks blocksOf(const CircuitDirections& directions, VectorSide side, DirectionRange range)
{
    Blocks found{{}, std::vector<int>(static_cast<std::size_t>(range.count), -1)};
    std::vector<int> columns;
    int next = 0;
    for (int index = range.first; index < range.first + range.count;) {
        const CircuitDirections::Block block = directions.blockOf(index);
        if (!block.isAlone()) {
            for (int member = block.first; member <= block.last; ++member) {
                columns.push_back(member);
                found.all.blocks.push_back(next);
                if (member >= range.first && member < range.first + range.count)
                    found.numberOf[static_cast<std::size_t>(member - range.first)] = next;
            }
            ++next;
        }
        index = block.last + 1;
    }
    found.all.directions = directions.svd.vectors(side)(Eigen::all, columns);
    return found;
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
    std::vector<double> signs;
    for (std::size_t at = 0; at < 2; ++at) {
        const DirectionSide& side = directionSideOf(directions.kind, at);
        const auto scores =
            directionScores(tokens, side, directions.head.layer,
                            directions.svd.vectors(side.side).middleCols(range.first, range.count), task);
        if (!scores)
            return scores.error();
        for (Eigen::Index k = 0; k < range.count; ++k) {
            if (at == 0)
                signs.push_back(jointSign(scores->col(k), unused));
            const RowVector<double> line = scores->col(k).transpose() * signs[static_cast<std::size_t>(k)];
            lists->sides[at].push_back(ends(line, range.listLength, unused));
        }
        const Blocks blocks = blocksOf(directions, side.side, range);
        lists->spans[at].resize(static_cast<std::size_t>(range.count));
        if (blocks.all.blocks.empty())
            continue;
        const auto lengths = spanLengths(tokens, side, directions.head.layer, blocks.all, task);
        if (!lengths)
            return lengths.error();
        for (std::size_t k = 0; k < blocks.numberOf.size(); ++k)
            if (blocks.numberOf[k] >= 0)
                lists->spans[at][k] =
                    ends(lengths->col(blocks.numberOf[k]).transpose(), range.listLength, unused).top;
    }
    lists->signs = std::move(signs);
    return Made(std::move(lists));
}

} // namespace headwise::ui
