#pragma once

#include "core/analysis/catalogue.h"
#include "core/model/processing.h"
#include "core/runs/shard.h"
#include "core/series/series_file.h"
#include "core/series/series_members.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// A member, ready for its analyses.
struct SeriesModel {
    std::shared_ptr<const ProcessedWeights> weights;
    AnalysisOptions options;
};

/// A run over the members of a series.
struct SeriesRequest {
    SeriesMembers series;
    std::filesystem::path output;
    std::optional<std::vector<const Analysis*>> analyses; ///< None: defaultSeriesAnalyses.
    std::string
        options; ///< Everything else the numbers depend on, as text; numbers of other options are not taken up.
    std::optional<Shard> shard; ///< Every n-th member; none: all.
    /// The shard is that of a process whose part joinSeries() joins: the part stays in the side file of rankSession(), and `output` is
    /// the whole series.
    bool isJoined = false;
    bool replace = false; ///< Start the file over.
    /// Opens a member; reads headers only.
    std::function<Result<std::shared_ptr<const ModelWeights>>(const SeriesMember&, const Task&)> open;
    std::function<Result<SeriesModel>(const SeriesMember&, std::shared_ptr<const ModelWeights>, const Task&)>
        prepare;
    /// Takes the sentences of a run as they come: members that are skipped, analyses left out, a long run.
    std::function<void(const std::string& sentence)> say;
};

/// Answer of a run.
struct SeriesOutcome {
    Series series;
    int computed = 0, kept = 0; ///< Members.
};

/// The default analyses that give numbers per head, and pattern_scores (induction) up to 2e12 operations.
std::vector<const Analysis*> defaultSeriesAnalyses(const ModelConfig& config, const AnalysisOptions& options);

/// Computes the analyses of every member, one model at a time, and writes the file. Most members have the shape that counts; others,
/// and damaged ones, are skipped with a sentence and NaN.
///
/// Numbers in an existing file of the same question are kept, those of new members and of changed files computed. The numbers so far
/// are in OUTPUT.partial while the run lasts, so that the same request goes on after a kill.
/// Errors: Corrupt if no member can be read; InvalidArgument if the file is another series, or no analysis gives numbers per head;
/// Io, Cancelled.
Result<SeriesOutcome> computeSeries(const SeriesRequest& request, const Task& task);

/// Finds everything that computeSeries() would refuse before it computes, without a sentence.
/// Errors: those of computeSeries(). Cost: the headers of all members, one model, and the file so far.
Result<Done> checkSeries(const SeriesRequest& request, const Task& task);

/// Joins the parts that the processes of a run left, each with `isJoined`, says what the parts of the others lack, and writes the
/// whole series.
/// Errors: those of mergeSeries().
Result<Series> joinSeries(const SeriesRequest& request, const Task& task);

/// Joins the parts of a sharded run, in any order, and writes the whole series.
/// Errors: InvalidArgument naming a part that is missing, doubled or of another run; those of readSeries; Io.
Result<Series> mergeSeries(std::span<const std::string> parts, const std::filesystem::path& output,
                           const Task& task);

} // namespace headwise
