#pragma once

#include "core/circuits/direction_stability.h"
#include "core/circuits/singular_directions.h"
#include "core/circuits/token_table.h"

#include <array>
#include <memory>
#include <vector>

namespace headwise::ui {

/// The singular directions of one circuit of one head, with their degenerate blocks.
struct CircuitDirections {
    HeadId head;
    CircuitKind kind = CircuitKind::Ov;
    SingularDirections svd;
    DirectionStability stability;
    std::vector<int> blocks; // [k], as degenerateBlocks

    int count() const { return static_cast<int>(svd.S.size()); }
    /// True if both are in the same block; false if either does not exist.
    bool areTogether(int index, int other) const;
    struct Block {
        int first = 0, last = 0; // directions
        bool isAlone() const { return first == last; }
    };
    Block blockOf(int index) const;
};

/// Errors: those of singularDirections.
Result<std::shared_ptr<const CircuitDirections>> circuitDirections(const Circuits& circuits, CircuitKind kind,
                                                                   HeadId head);

/// Returns a side of a circuit, as directionSides has them. \param side 0 or 1
const DirectionSide& directionSideOf(CircuitKind kind, std::size_t side);

/// The tokens of consecutive directions.
struct DirectionLists {
    int first = 0;                               ///< direction
    std::vector<double> signs;                   ///< The sign of each direction's pair.
    std::array<std::vector<TokenEnds>, 2> sides; ///< per direction, with the signs of jointSign
    /// For each direction in a block, the tokens with the largest projection onto the block's span, falling; else none.
    std::array<std::vector<std::vector<TokenEntry>>, 2> spans;

    bool hasSpan(std::size_t index) const { return index < spans[0].size() && !spans[0][index].empty(); }
};

/// Range of directions, and the length of each one's list.
struct DirectionRange {
    int first = 0, count = 0;
    int listLength = 0;
};

/// Returns null for the null space.
/// \param unused true: an id without a token, left out; empty: none
/// Errors: Cancelled. Cost: that of directionEnds for both sides.
Result<std::shared_ptr<const DirectionLists>> directionLists(const CircuitDirections& directions,
                                                             const TokenSide& tokens, DirectionRange range,
                                                             const std::vector<bool>& unused,
                                                             const Task& task);

} // namespace headwise::ui
