#pragma once

#include "core/base/task.h"
#include "core/model/head_id.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// One number per head at every step of a series.
struct SeriesScore {
    std::string
        name; ///< Its dataset in /scores: "previous_token", "ov_effective_rank", "pattern_scores_induction".
    std::string title, unit, definition;
    std::optional<double> null; ///< Average of heads of random weights, where known.
    std::vector<float> values; ///< [S, L, H]; NaN where a member could not be read or the score not computed.

    bool operator==(const SeriesScore&) const = default;
};

/// One head that gained or lost a role between two steps: its score rose clearly above the null, or fell back.
struct SeriesChange {
    HeadId head;
    std::string score; ///< SeriesScore::name
    int before = 0,
        after = 0; ///< Indices into Series::steps: the last one without the change, the first one with it.
    double valueBefore = 0, valueAfter = 0; ///< Values at these two steps.
    double evidence = 0; ///< Share of the variance over the steps that the split explains, 0 to 1.
    std::string text;    ///< "between steps 512 and 1000 L4H6 became a previous-token head (0.0500 to 0.910)"

    bool operator==(const SeriesChange&) const = default;
};

/// A model's training: the scores of its heads at every checkpoint.
struct Series {
    std::vector<std::int32_t> steps;   // [S], rising
    std::vector<std::string> members;  // [S] names of the checkpoints: "step1000"
    std::vector<std::string> paths;    // [S] where each checkpoint was computed from; empty: unknown
    std::vector<std::string> problems; // [S] why a member is missing; empty: it is good
    int nLayers = 0, nHeads = 0;
    std::string modelName;
    std::vector<SeriesScore> scores;
    std::vector<SeriesChange> changes; // in order of `after`, then of heads

    bool operator==(const Series&) const = default;
};

/// Singular values of one head's circuit at every step.
struct HeadSpectra {
    std::size_t rank = 0;
    std::vector<float> values; ///< [S, rank], falling; NaN where a member could not be read.
};

/// Squared cosines between one head's leading singular vectors at each step and at the step before.
struct VectorOverlaps {
    std::size_t count = 0;
    std::vector<float> values; ///< [S, count before, count now]; NaN at the first step and past the rank.
};

/// Reads a file that `headwise series` wrote (core/session/FORMAT.md, Series), without its spectra.
/// Errors: NotFound, Io, Corrupt, Cancelled; Unsupported if it is another HDF5 file or of a later version.
Result<Series> readSeries(const std::filesystem::path& path, const Task& task = {});

/// Reads one head's part of /spectra.
/// \param circuit "qk" or "ov", as circuitName() \param steps how many the series has
/// Errors: NotFound if the series has no such spectra; Corrupt if their shape does not fit; those of readSeries.
Result<HeadSpectra> readHeadSpectra(const std::filesystem::path& path, std::string_view circuit, HeadId head,
                                    std::size_t steps, const Task& task = {});

/// Reads the leading `rank` singular values of all heads, layer by layer. \param rank at least 1, at most d_head
/// Errors: those of readHeadSpectra().
Result<std::vector<HeadSpectra>> readLeadingSpectra(const std::filesystem::path& path,
                                                    std::string_view circuit, std::size_t rank,
                                                    std::size_t steps, const Task& task = {});

/// Reads one head's part of /vector_overlaps. \param side as DirectionSide::name
/// Errors: NotFound if the series has none; those of readHeadSpectra().
Result<VectorOverlaps> readVectorOverlaps(const std::filesystem::path& path, std::string_view side,
                                          HeadId head, std::size_t steps, const Task& task = {});

/// Tells whether an HDF5 file says that it is a series; false if it cannot be read.
bool isSeries(const std::filesystem::path& path);

} // namespace headwise
