#include "ui/pages/export/panels_menu.h"

#include "core/tokenizer/token_text.h"
#include "ui/base/text.h"
#include "ui/document/workspace.h"
#include "ui/pages/export/described_export.h"
#include "ui/pages/export/export_dialog.h"

#include <QFileDialog>

#include <utility>

namespace headwise::ui {

PanelsMenu::PanelsMenu(Workspace* workspace, std::function<QString()> folder, QWidget* window)
    : QMenu(tr("Kept panels"), window)
    , m_workspace(workspace)
    , m_folder(std::move(folder))
{
    menuAction()->setObjectName(QStringLiteral("kept-panels"));
    connect(workspace->session(), &SessionFile::figuresChanged, this, &PanelsMenu::fill);
    connect(workspace->model(), &OpenModel::opened, this, &PanelsMenu::fill);
    connect(workspace->model(), &OpenModel::closed, this, &PanelsMenu::fill);
    fill();
}

void PanelsMenu::chooseDescription()
{
    const QString file =
        QFileDialog::getOpenFileName(parentWidget(), tr("Description of the panels"), m_folder(),
                                     tr("Figure descriptions (*.json);;All files (*)"));
    if (!file.isEmpty())
        open(describedExport(file, *m_workspace, parentWidget()));
}

void PanelsMenu::fill()
{
    clear();
    for (const auto& [name, figure] : m_workspace->session()->figures().composed) {
        QString shown = text(shownSpecialToken(name));
        addAction(shown.replace(u'&', QStringLiteral("&&")), this, [this, kept = text(name)] {
            open(keptExport(kept, m_folder(), *m_workspace, parentWidget()));
        });
    }
    setEnabled(!isEmpty());
    menuAction()->setEnabled(!isEmpty());
}

void PanelsMenu::open(Result<std::unique_ptr<ExportDialog>> made)
{
    if (!made)
        return emit failed(text(made.error().message));
    ExportDialog* dialog = std::move(made).value().release();
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &ExportDialog::exported, this, &PanelsMenu::exported);
    dialog->open();
}

} // namespace headwise::ui
