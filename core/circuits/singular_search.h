#pragma once

#include "core/circuits/singular_directions.h"

#include <vector>

namespace headwise {

struct DirectionSearch {
    int token = 0;
    int top = 20;                        ///< How many tokens at each end count.
    std::vector<HeadId> heads = {};      ///< Empty: all.
    std::vector<bool> unusedTokens = {}; ///< True: an id without a token, left out; empty: none.
};

/// One end of a singular direction that has the token among its strongest.
struct DirectionHit {
    HeadId head;
    CircuitKind circuit = CircuitKind::Ov; ///< Ov or Qk
    VectorSide side = VectorSide::First;
    int direction = 0; ///< k, from 0
    int rank = 0;      ///< Rank in the list of that end, from 0.
    int sign = 1; ///< +1: among the largest scores, −1: among the smallest; signs as `jointSign` fixes them.
    double score = 0; ///< Score of the token along the direction.
    double sigma = 0;
    int blockSize =
        1; ///< Number of directions in its block, `degenerateBlocks`; above 1 only their span is meaningful.

    bool operator==(const DirectionHit&) const = default;
};

/// Finds every singular direction of any head that has the token among its `top` strongest, at either end.
///
/// It searches all min(d, r) directions above the null space of W_V W_O and W_Q W_Kᵀ, both sides. A direction is dropped
/// as soon as `top` tokens at both ends are known to rank before this one. The strongest tokens are compared first, so
/// that few directions meet them all.
/// \returns by rank, then head, circuit, side and direction
/// Errors: InvalidArgument (no such token or head, an id without a token, top < 1); Cancelled.
/// Cost: an SVD per circuit and at most 8 V d r flops per head.
/// Source: Millidge & Black 2022, the query locator.
Result<std::vector<DirectionHit>> findInDirections(const Circuits& circuits, const TokenSide& tokens,
                                                   const DirectionSearch& search, const Task& task);

} // namespace headwise
