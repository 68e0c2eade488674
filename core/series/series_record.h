#pragma once

// Private to core/series: a series while it is computed, and its file.

#include "core/series/series_file.h"
#include "core/session/session.h"

#include <string>
#include <vector>

namespace headwise {

inline constexpr const char* seriesFormat = "headwise-series";

/// One member with its numbers.
struct SeriesEntry {
    std::int32_t step = 0;
    std::string name;
    std::string files; ///< Its files with sizes and times; numbers of changed files are computed again.
    std::string
        previous; ///< Name and files of the member before, with which its subspaces are compared; empty: none.
    std::string problem;             ///< Why it could not be read; empty: it is good.
    std::vector<ResultArray> arrays; ///< Under their names in the series' file, without the axis of steps.
    std::string path = {};           ///< Where it was, absolute; empty: unknown.

    bool operator==(const SeriesEntry&) const = default;
};

/// Everything in the file of a series.
struct SeriesRecord {
    Session frame;                    ///< Model, processing, warnings and part; without results.
    std::string question;             ///< Everything the numbers depend on besides the members.
    std::vector<SeriesEntry> entries; ///< By rising step.
    std::vector<SeriesChange> changes = {};
};

/// Returns the arrays of an analysis run that a series keeps, under their names in its file: numbers per head as
/// scores/NAME, and singular values.
std::vector<ResultArray> seriesArrays(const ResultSet& results);
/// Tells whether a series keeps the array that such a contract promises.
bool isKeptInSeries(const ArraySpec& spec);
/// Tells whether such a contract promises singular values, whose subspaces a series compares between members.
bool isSpectrum(const ArraySpec& spec);

/// Returns the arrays of all members with the axis of steps in front, NaN where a member has none. Their definition and null are
/// those of the last member that has the array.
ResultSet joinedArrays(const SeriesRecord& record);

/// Returns what the window reads of a record.
Series seriesOf(SeriesRecord record);

/// Says that a member is missing, and why.
std::string skippedSentence(const SeriesEntry& entry);
/// Errors: Corrupt if no member could be read.
Result<Done> checkAnyGood(const SeriesRecord& record);

/// Errors: Io, Cancelled, OutOfMemory; the old file is unchanged then.
Result<Done> writeSeriesRecord(const std::filesystem::path& path, const SeriesRecord& record,
                               const Task& task);
enum class SeriesParts { All, WithoutSpectra };
/// Errors: those of readSeries.
Result<SeriesRecord> readSeriesRecord(const std::filesystem::path& path, const Task& task,
                                      SeriesParts parts = SeriesParts::All);

} // namespace headwise
