#pragma once

// Private to core/series.

#include "core/series/series_record.h"

#include <span>
#include <string>
#include <vector>

namespace headwise {

/// The step at which one head's score rose for good.
struct Rise {
    int before = 0, after = 0; ///< Indices into the values: neighbours among those that are not NaN.
    double evidence = 0; ///< Share of the values' variance that their split at this place explains, 0 to 1.
};

/// Levels of a score that a rise passes.
struct RiseLevels {
    double clear = 0; ///< At least this: clearly above its null.
    double kept = 0;  ///< Never below this afterwards: halfway between the null and `clear`.
};

/// Returns the first value that is clear and after which no value falls below the kept level. None if there is no such value, or no
/// value before it: the score was high from the beginning.
std::optional<Rise> riseOf(std::span<const float> values, const RiseLevels& levels);

/// Finds the rises of all heads in every score that has a null, by step and then by head.
///
/// A score is clear if it lies 0.3 above its null and, where the spread of random heads is known, as many deviations as chance
/// exceeds in one series of a hundred (thresholdZ over heads and steps, at least 5). A previous-token head needs 0.4 in all, as in
/// core/findings. Scores without bounds, such as norms, are not judged.
std::vector<SeriesChange> changesOf(const SeriesRecord& record);

} // namespace headwise
