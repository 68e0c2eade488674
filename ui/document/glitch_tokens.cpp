#include "ui/document/glitch_tokens.h"

#include "core/analysis/inputs/token_filter.h"
#include "ui/document/about_model.h"
#include "ui/document/workspace_part.h"

#include <utility>

namespace headwise::ui {

GlitchTokens* GlitchTokens::of(Workspace* workspace)
{
    return partOf<GlitchTokens>(workspace);
}

GlitchTokens::GlitchTokens(Workspace* workspace)
    : QObject(workspace)
    , m_workspace(workspace)
{
    for (const auto signal : {&OpenModel::circuitsChanged, &OpenModel::tokensChanged, &OpenModel::closed})
        connect(workspace->model(), signal, this, &GlitchTokens::look);
    look();
}

bool GlitchTokens::contains(int token) const
{
    const auto place = static_cast<std::size_t>(token);
    return m_marks && token >= 0 && place < m_marks->size() && (*m_marks)[place];
}

void GlitchTokens::look()
{
    using Marks = std::shared_ptr<const std::vector<bool>>;
    m_marks.reset();
    const auto circuits = m_workspace->model()->circuits();
    if (!circuits || !m_workspace->model()->tokens()) // what is on screen first comes first
        return m_job.cancel();
    m_job.start(tr("Looking for untrained tokens"),
                aboutModel(circuits,
                           [circuits, unused = m_workspace->filteredTokens()->unused()](
                               const Task& task) -> Result<Marks> {
                               auto marks = hardlyTrained(circuits->weights(), unused, task);
                               if (!marks)
                                   return marks.error();
                               return std::make_shared<const std::vector<bool>>(std::move(marks).value());
                           }),
                [this](const Result<Marks>& marks) {
                    if (!marks)
                        return; // nothing is flagged
                    m_marks = *marks;
                    emit changed();
                });
}

} // namespace headwise::ui
