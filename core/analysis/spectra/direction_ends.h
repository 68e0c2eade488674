#pragma once

#include "core/circuits/singular_directions.h"
#include "core/circuits/token_table.h"

#include <vector>

namespace headwise {

/// Directions of one side of a circuit whose strongest tokens are asked for.
struct NamedDirections {
    Matrix<double> directions;           ///< [d, n], the listed ones first
    Eigen::Index listed = 0;             ///< How many have ends of their own; the rest stand in spans alone.
    std::vector<std::vector<int>> spans; ///< Columns of `directions` that mean something only together.
    int length = 10;                     ///< Tokens of each list.
    std::vector<bool> unused = {};       ///< true: an id without a token, left out; empty: none.
};

struct DirectionEnds {
    std::vector<TokenEnds> ends;                ///< [listed], of E u
    std::vector<std::vector<TokenEntry>> spans; ///< [spans], by ‖row‖₂ of E U_span, falling
};

/// What `ends` finds in `directionScores` and in `spanLengths`. Multiplies in float32 and again in double where, within float32's
/// rounding, a token may be among the first.
/// Errors: Cancelled. Cost: 2 V d n flops in float32.
Result<DirectionEnds> directionEnds(const TokenSide& tokens, const DirectionSide& side, int layer,
                                    const NamedDirections& of, const Task& task);

/// `jointSign` of the scores that these are the ends of.
double jointSign(const TokenEnds& ends);

} // namespace headwise
