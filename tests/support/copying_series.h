#pragma once

#include "core/series/series_record.h"

#include <string>
#include <vector>

namespace headwise::test {

/// The checkpoints step1 and step2 of a series, each with scores/copying: 0.25 of every head, then 0.5.
inline std::vector<SeriesEntry> copyingEntries(std::size_t layers, std::size_t heads)
{
    std::vector<SeriesEntry> entries;
    for (const int step : {1, 2}) {
        ResultArray scores;
        scores.path = "scores/copying";
        scores.title = "Copying";
        scores.shape = {layers, heads};
        scores.axes = {Axis::Layer, Axis::Head};
        scores.values = std::vector<float>(layers * heads, 0.25F * static_cast<float>(step));
        entries.push_back({.step = step,
                           .name = "step" + std::to_string(step),
                           .files = {},
                           .previous = {},
                           .problem = {},
                           .arrays = {scores}});
    }
    return entries;
}

} // namespace headwise::test
