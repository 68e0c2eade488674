#pragma once

#include "core/analysis/catalogue.h"

#include <functional>
#include <optional>

namespace headwise {

/// What takes part in a run of several analyses, one after another; each may be empty.
struct RunParts {
    /// What is known of an analysis already; it is not run then. Asked once of each, before the first runs.
    std::function<std::optional<ResultSet>(const Analysis&)> take;
    /// What an analysis found, before it is merged with the rest.
    std::function<void(const Analysis&, const ResultSet&)> computed;
    /// Everything found so far, given back as it was.
    std::function<void(ResultSet&)> merged;
};

/// `runAnalyses` that can be watched and taken up again: the same results in the same order, whichever were known.
/// Errors: those of runAnalyses.
Result<ResultSet> runAnalysesInParts(const Circuits& circuits, std::span<const Analysis* const> chosen,
                                     const AnalysisOptions& options, const RunParts& parts, const Task& task);

} // namespace headwise
