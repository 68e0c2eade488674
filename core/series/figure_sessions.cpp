#include "core/series/figure_sessions.h"

#include "core/series/step_curves.h"
#include "core/session/figure_description.h"

#include <algorithm>

namespace headwise {

FigureSessions::FigureSessions(const Session& session)
    : m_steps{{&session, std::nullopt}}
    , m_isSeries(false)
{
}

FigureSessions::FigureSessions(std::span<const SeriesStep> steps)
    : m_isSeries(true)
{
    for (const SeriesStep& step : steps)
        m_steps.push_back({&step.session, step.step});
}

Result<FigureSessions::Step> FigureSessions::at(int step, std::string_view view) const
{
    const auto invalid = [](const std::string& sentence) {
        return Error{ErrorCode::InvalidArgument, sentence};
    };
    const bool isOfAll = showsAllSteps(view);
    if (step == FigurePanel::lastStep)
        return Step{m_steps.back().session, isOfAll ? std::nullopt : m_steps.back().step};
    if (!m_isSeries)
        return invalid("step needs a series of checkpoints, but the figure is drawn from a session.");
    if (isOfAll)
        return invalid("step is given, but '" + std::string(view) + "' shows all steps.");
    const auto found = std::ranges::find(m_steps, step, &Step::step);
    if (found == m_steps.end())
        return invalid("the series has no checkpoint of step " + std::to_string(step) + "; its steps are "
                       + std::to_string(*m_steps.front().step) + " to " + std::to_string(*m_steps.back().step)
                       + ".");
    return *found;
}

} // namespace headwise
