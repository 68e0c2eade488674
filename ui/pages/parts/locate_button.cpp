#include "ui/pages/parts/locate_button.h"

#include "ui/base/icons.h"
#include "ui/document/workspace.h"

namespace headwise::ui {

LocateButton::LocateButton(const Workspace* workspace, WhyNot whyNot, QWidget* parent)
    : QPushButton(ui::icon("link"), tr("Locate model…"), parent)
    , m_workspace(workspace)
    , m_whyNot(whyNot)
{
    setToolTip(tr("Finds the model's files that this session was made from"));
    for (const auto signal :
         {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::resultsChanged})
        connect(workspace->model(), signal, this, &LocateButton::updateState);
    updateState();
}

void LocateButton::updateState()
{
    const OpenModel& model = *m_workspace->model();
    setVisible(model.isOpen() && !model.hasModel() && !m_whyNot(*m_workspace).isEmpty());
}

} // namespace headwise::ui
