#pragma once

#include "core/base/task.h"
#include "core/session/session.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace headwise {

/// One checkpoint of a series as a session. Its arrays have their paths in the file of the series. The SHA-256 of the weights is
/// known of the last one alone.
struct SeriesStep {
    std::int32_t step = 0;
    Session session;
};

/// Keys of a figure of a series in its metadata: the name of the series' file, the checkpoint.
inline constexpr auto seriesKey = "series", stepKey = "step";

/// Reads the checkpoints of a series that could be computed, by rising step.
/// Errors: those of readSeries(); Corrupt if none could.
Result<std::vector<SeriesStep>> readSeriesSteps(const std::filesystem::path& path, const Task& task);

} // namespace headwise
