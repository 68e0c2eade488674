#pragma once

#include "core/analysis/catalogue.h"
#include "core/circuits/singular_directions.h"

#include <cstddef>
#include <vector>

namespace headwise {

inline constexpr int listedNullDirections = 32;

/// The list of tokens that a direction which means nothing has.
struct RandomList {
    std::vector<double> means; ///< [rank], mean over 32 random unit directions of their largest token scores
    double deviation = 0;      ///< of the score of one token
};

/// Whose random lists: the tokens of one side as a layer has them.
struct RandomListSide {
    const DirectionSide& side;
    int layer = 0;
    const Matrix<double>* map = nullptr; ///< [d, d], by which directions go to the tokens; null: as they are.
};

/// \param length of the list
/// Errors: Cancelled. Cost: 64 V d flops.
Result<RandomList> randomList(const AnalysisContext& context, const RandomListSide& of, std::size_t length,
                              const Task& task);
/// Of the later layers' E where layer 0 has another.
Result<RandomList> randomList(const AnalysisContext& context, const DirectionSide& side, std::size_t length,
                              const Task& task);

} // namespace headwise
