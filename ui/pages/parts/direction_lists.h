#pragma once

#include "core/circuits/direction_stability.h"
#include "core/circuits/singular_directions.h"
#include "core/circuits/token_table.h"

#include <array>
#include <memory>
#include <vector>

namespace headwise::ui {

/// The singular directions of one circuit of one head, and which of them mean something only together.
struct CircuitDirections {
    HeadId head;
    CircuitKind kind = CircuitKind::Ov;
    SingularDirections svd;
    DirectionStability stability;
    std::vector<int> blocks; // [k], as degenerateBlocks

    int count() const { return static_cast<int>(svd.S.size()); }
    bool areTogether(int index, int other) const; ///< In one block; false where either is not there.
    struct Block {
        int first = 0, last = 0; // directions
        bool isAlone() const { return first == last; }
    };
    Block blockOf(int index) const;
};

/// Errors: those of singularDirections.
Result<std::shared_ptr<const CircuitDirections>> circuitDirections(const Circuits& circuits, CircuitKind kind,
                                                                   HeadId head);

/// The side of a circuit, as directionSides has them. \param side 0 or 1
const DirectionSide& directionSideOf(CircuitKind kind, std::size_t side);

/// The tokens of neighbouring directions.
struct DirectionLists {
    int first = 0;             ///< direction
    std::vector<double> signs; ///< For each direction, the sign of the decomposition's pair.
    std::array<std::vector<TokenEnds>, 2> sides; ///< of each direction, signs as jointSign has them
    /// For each direction in a block, the tokens that reach furthest into the block's span, in falling order; else none.
    std::array<std::vector<std::vector<TokenEntry>>, 2> spans;

    bool hasSpan(std::size_t index) const { return index < spans[0].size() && !spans[0][index].empty(); }
};

/// Range of directions, and the length of each one's list.
struct DirectionRange {
    int first = 0, count = 0;
    int listLength = 0;
};

/// None for the null space.
/// \param unused true: an id without a token, left out; empty: none
/// Errors: Cancelled. Cost: that of directionEnds for both sides.
Result<std::shared_ptr<const DirectionLists>> directionLists(const CircuitDirections& directions,
                                                             const TokenSide& tokens, DirectionRange range,
                                                             const std::vector<bool>& unused,
                                                             const Task& task);

} // namespace headwise::ui
