#include "core/series/series_file.h"
#include "core/series/series_steps.h"
#include "tests/fuzz/input_folder.h"

#include <cstdlib>

namespace {

bool isSentence(const headwise::Error& error)
{
    return !error.message.empty() && error.code != headwise::ErrorCode::Internal;
}

} // namespace

/// A series of checkpoints, through the process that reads it. One that opens has as many names and values as steps.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const headwise::fuzz::InputFolder folder;
    const auto path = folder.write("series.h5", data, size);
    const auto series = headwise::readSeries(path);
    if (!series) {
        if (!isSentence(series.error()))
            abort();
        return 0;
    }
    const std::size_t steps = series->steps.size();
    if (series->members.size() != steps || series->problems.size() != steps)
        abort();
    const std::size_t heads =
        static_cast<std::size_t>(series->nLayers) * static_cast<std::size_t>(series->nHeads);
    for (const headwise::SeriesScore& score : series->scores)
        if (score.values.size() != steps * heads)
            abort();
    for (const headwise::SeriesChange& change : series->changes)
        if (change.before < 0 || change.after < 0 || static_cast<std::size_t>(change.before) >= steps
            || static_cast<std::size_t>(change.after) >= steps)
            abort();
    const auto spectra = headwise::readHeadSpectra(path, "ov", {0, 0}, steps);
    if (!spectra && !isSentence(spectra.error()))
        abort();
    if (spectra && spectra->values.size() != steps * spectra->rank)
        abort();
    return 0;
}
