#include "ui/pages/parts/complete_button.h"

#include <utility>

namespace headwise::ui {

CompleteButton::CompleteButton(const Workspace* workspace, std::vector<ConfigField> needed, QWidget* parent)
    : QPushButton(tr("Complete config…"), parent)
    , m_workspace(workspace)
    , m_needed(std::move(needed))
{
    setToolTip(tr("Asks for the values that no file of this model states"));
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged})
        connect(workspace->model(), signal, this, &CompleteButton::updateState);
    connect(this, &QPushButton::clicked, workspace->opener(), &Opener::completeConfig);
    updateState();
}

void CompleteButton::updateState()
{
    const auto weights = m_workspace->model()->weights();
    setVisible(weights && !whyUnknown(weights->config(), m_needed).empty());
}

} // namespace headwise::ui
