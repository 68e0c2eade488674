#pragma once

// Private to core/series.

#include "core/series/series_record.h"

#include <span>
#include <string>
#include <vector>

namespace headwise {

/// A step at which one head's score rose or fell.
struct ScoreTurn {
    int before = 0, after = 0; ///< Indices into the values: neighbours among those that are not NaN.
    bool isLoss = false;       ///< It fell.
    double evidence =
        0; ///< Share of the variance that the split explains, 0 to 1, between the turns before and after this one.
};

/// Levels of a score between which a head gains or loses its role.
struct TurnLevels {
    double clear = 0; ///< A head has the role from this on: clearly above its null.
    double kept = 0;  ///< It loses the role below this: halfway between the null and `clear`.
};

/// Returns the turns of a score, by step. A head that has the role at one step only, and loses it at once, turns nowhere. One that
/// has it from the beginning can only lose it.
std::vector<ScoreTurn> turnsOf(std::span<const float> values, const TurnLevels& levels);

/// Finds the turns of all heads in every score that has a null, by step and then by head.
///
/// A score is clear if it lies 0.3 above its null and, where the spread of random heads is known, as many deviations as chance
/// exceeds in one series of a hundred (thresholdZ over heads and steps, at least 5). A previous-token head needs 0.4 in all, as in
/// core/findings. Scores without bounds, such as norms, are not judged.
std::vector<SeriesChange> changesOf(const SeriesRecord& record);

} // namespace headwise
