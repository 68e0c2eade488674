#include "ui/pages/parts/compute_button.h"

#include "core/runs/plan.h"
#include "ui/base/icons.h"
#include "ui/base/text.h"
#include "ui/document/array_part.h"
#include "ui/document/estimate.h"
#include "ui/document/workspace.h"

namespace headwise::ui {

ComputeButton::ComputeButton(Workspace* workspace, std::string_view id, QWidget* parent)
    : FillButton(parent)
    , m_workspace(workspace)
    , m_analysis(findAnalysis(id))
{
    connect(this, &QPushButton::clicked, this, [this] {
        if (m_workspace->model()->circuits())
            m_workspace->runs()->runAnalysis(m_analysis->id);
    });
    for (const auto signal :
         {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::resultsChanged})
        connect(workspace->model(), signal, this, &ComputeButton::updateState);
    connect(workspace->runs(), &Runs::waitingChanged, this, &ComputeButton::updateState);
    for (const Job* job : {workspace->runs()->job(), workspace->model()->tokenReader()->job()}) {
        connect(job, &Job::started, this, &ComputeButton::updateState);
        connect(job, &Job::finished, this, &ComputeButton::updateState);
    }
    updateState();
}

void ComputeButton::updateState()
{
    const auto circuits = m_workspace->model()->circuits();
    const bool isMissing =
        m_workspace->model()->isOpen() && !isComputed(*m_analysis, *m_workspace->model()->results());
    setAccessibleName(circuits ? tr("Compute: %1").arg(ui::text(m_analysis->title)) : QString());
    if (!circuits)
        return offer(isMissing ? lackOf(*m_workspace) : Lack::Nothing);
    offerOther();
    const bool isWanted = isMissing && !m_workspace->runs()->isUnderWay(m_analysis->id)
        && whyLeftOut(*m_analysis, circuits->config(), m_workspace->runs()->analysisOptions(*m_analysis))
               .empty();
    setVisible(isWanted);
    setIcon(ui::icon("play"));
    setText(tr("Compute"));
    if (isWanted)
        setToolTip(withEstimate(
            ui::text(m_analysis->title),
            m_analysis->cost(circuits->config(), m_workspace->runs()->analysisOptions(*m_analysis))));
}

} // namespace headwise::ui
