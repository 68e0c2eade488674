#include "core/series/series_steps.h"

#include "core/series/series_record.h"

#include <utility>

namespace headwise {

Result<std::vector<SeriesStep>> readSeriesSteps(const std::filesystem::path& path, const Task& task)
{
    Result<SeriesRecord> read = readSeriesRecord(path, task);
    if (!read)
        return read.error();
    if (const auto good = checkAnyGood(*read); !good)
        return good.error();
    SeriesRecord record = std::move(read).value();
    std::vector<SeriesStep> steps;
    for (SeriesEntry& entry : record.entries) {
        if (!entry.problem.empty())
            continue;
        SeriesStep step{entry.step, record.frame};
        step.session.model.source = std::move(entry.path);
        step.session.model.sha256.clear();
        step.session.results.arrays = std::move(entry.arrays);
        steps.push_back(std::move(step));
    }
    steps.back().session.model.sha256 = record.frame.model.sha256;
    return steps;
}

} // namespace headwise
