#pragma once

#include "core/circuits/singular_directions.h"
#include "core/circuits/token_table.h"

#include <vector>

namespace headwise {

/// Directions of one side of a circuit whose strongest tokens are requested.
struct NamedDirections {
    Matrix<double> directions; ///< [d, n], the listed ones first
    Eigen::Index listed = 0;   ///< Number of directions with their own ends; the others are only in spans.
    std::vector<std::vector<int>> spans; ///< Columns of `directions` that are only meaningful together.
    int length = 10;                     ///< Tokens per list. Default: 10.
    std::vector<bool> unused = {};       ///< true: an id without a token, left out; empty: none.
};

struct DirectionEnds {
    std::vector<TokenEnds> ends;                ///< [listed], of E u
    std::vector<std::vector<TokenEntry>> spans; ///< [spans], by ‖row‖₂ of E U_span, falling
};

/// Returns the `ends` of `directionScores` and of `spanLengths`.
/// Multiplies in float32, then again in double for every token that may rank first within float32 rounding.
/// Errors: Cancelled. Cost: 2 V d n flops in float32.
Result<DirectionEnds> directionEnds(const TokenSide& tokens, const DirectionSide& side, int layer,
                                    const NamedDirections& of, const Task& task);

/// Returns the `jointSign` of the scores with these ends.
double jointSign(const TokenEnds& ends);

} // namespace headwise
