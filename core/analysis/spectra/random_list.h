#pragma once

#include "core/analysis/catalogue.h"
#include "core/analysis/entry_lists.h"
#include "core/circuits/singular_directions.h"
#include "core/results/results.h"

#include <cstddef>
#include <optional>
#include <string>
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

/// Tokens of both ends of lines of scores.
struct EndLists {
    EntryLists top, bottom;

    /// \param shape of the arrays; the last axis is the rank
    explicit EndLists(const std::vector<std::size_t>& shape)
        : top(shape)
        , bottom(shape)
    {
    }
    /// \param list row-major index over all axes but the last
    void set(std::size_t list, const TokenEnds& ends)
    {
        top.set(list, ends.top);
        bottom.set(list, ends.bottom);
    }
};

/// Adds the specs of PATH_ids, PATH_values, PATH_lowest_ids and PATH_lowest_values.
/// \param line spec of one line of scores; its definition is the formula, "E u_k"
void addEndSpecs(std::vector<ArraySpec>& specs, const ArraySpec& line);
/// Puts the four arrays. \param deviation of a random direction's scores, the null of both values; none: no null
void putEnds(Results& results, const std::string& path, const EndLists& lists,
             std::optional<double> deviation = {});

} // namespace headwise
