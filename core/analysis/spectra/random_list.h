#pragma once

#include "core/analysis/catalogue.h"
#include "core/circuits/singular_directions.h"

#include <cstddef>
#include <vector>

namespace headwise {

inline constexpr int listedNullDirections = 32;

/// Expected token scores of a random direction: the baseline of a token list.
struct RandomList {
    std::vector<double> means; ///< [rank], mean over 32 random unit directions of their largest token scores
    double deviation = 0;      ///< Deviation of the score of one token.
};

/// The side of a circuit whose tokens, as a layer has them, the random directions are multiplied with.
struct RandomListSide {
    const DirectionSide& side;
    int layer = 0;
    const Matrix<double>* map = nullptr; ///< [d, d], applied to directions before the tokens; null: identity.
};

/// Computes the random list. \param length of the list
/// Errors: Cancelled. Cost: 64 V d flops.
Result<RandomList> randomList(const AnalysisContext& context, const RandomListSide& of, std::size_t length,
                              const Task& task);
/// Computes the random list for a side. Uses the later layers' E if layer 0 has a different one.
Result<RandomList> randomList(const AnalysisContext& context, const DirectionSide& side, std::size_t length,
                              const Task& task);

} // namespace headwise
