#pragma once

#include "core/series/series_steps.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// The source of a figure's panels: a session, or the checkpoints of a series. It keeps references to them.
class FigureSessions {
public:
    explicit FigureSessions(const Session& session);
    /// \param steps of a series, at least one, the last one with the arrays of stepCurves()
    explicit FigureSessions(std::span<const SeriesStep> steps);

    bool isSeries() const { return m_isSeries; }
    const Session& last() const { return *m_steps.back().session; }
    /// A session and its place in the training.
    struct Step {
        const Session* session = nullptr;
        std::optional<std::int32_t> step; ///< None: it is of no series, or the view shows all steps.
    };
    /// Returns what a view is drawn from. \param step as FigurePanel::step
    /// Errors: InvalidArgument for a step of a session, of a view of all steps, or that the series does not have.
    Result<Step> at(int step, std::string_view view) const;

private:
    std::vector<Step> m_steps; ///< By rising step.
    bool m_isSeries;
};

} // namespace headwise
