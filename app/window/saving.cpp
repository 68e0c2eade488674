#include "app/window/saving.h"

#include "app/window/window_settings.h"
#include "core/base/log.h"
#include "ui/base/text.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QPushButton>

#include <utility>

namespace headwise::app {

using namespace headwise::ui;

Saving::Saving(QMainWindow* window, Workspace* workspace, WindowSettings* settings,
               std::function<QString()> viewState)
    : WindowPart(window, workspace)
    , m_settings(settings)
    , m_viewState(std::move(viewState))
{
    connect(m_workspace->session(), &SessionFile::saved, this, &Saving::continueAfter);
    connect(m_workspace->session(), &SessionFile::conflict, this, &Saving::askAboutConflict);
    connect(m_workspace->session(), &SessionFile::merged, this, &Saving::save);
    connect(m_workspace, &Workspace::failed, this, [this](const QString& message) {
        m_next = {};
        logWarning(message.toStdString());
        showError(tr("Headwise"), message);
    });
}

void Saving::saveTo(const QString& file)
{
    m_workspace->session()->save(std::filesystem::path(file.toStdString()), viewState());
}

void Saving::save()
{
    if (m_workspace->session()->path().empty())
        return saveAs();
    saveTo(text(m_workspace->session()->path().string()));
}

void Saving::saveAs()
{
    const QString name = text(m_workspace->model()->card().name) + QStringLiteral(".h5");
    QString file =
        QFileDialog::getSaveFileName(m_window, tr("Save session"), m_settings->now().lastFolder + u'/' + name,
                                     tr("Headwise sessions (*.h5)"));
    if (file.isEmpty()) {
        m_next = {};
        return;
    }
    if (QFileInfo(file).suffix().isEmpty())
        file += QStringLiteral(".h5");
    m_settings->keepFolderOf(file);
    saveTo(file);
}

void Saving::continueAfter(const QString& savedFile)
{
    m_settings->rememberRecent(savedFile);
    logInfo("saved " + savedFile.toStdString());
    showMessage(tr("Saved %1").arg(savedFile));
    if (const auto next = std::exchange(m_next, {}))
        whenNotesAreSafe(next); // asks again about what changed while this was being saved
}

void Saving::askAboutConflict(const QString& file)
{
    auto* box = new QMessageBox(
        QMessageBox::NoIcon, tr("Not saved"),
        tr("%1 has changed since you opened it, so nothing was saved. “Merge notes” keeps both versions. “Overwrite” keeps only yours.")
            .arg(file),
        QMessageBox::Cancel, m_window);
    box->setAttribute(Qt::WA_DeleteOnClose);
    const QPushButton* merge = box->addButton(tr("Merge notes"), QMessageBox::AcceptRole);
    const QPushButton* elsewhere = box->addButton(tr("Save as…"), QMessageBox::AcceptRole);
    const QPushButton* overwrite = box->addButton(tr("Overwrite"), QMessageBox::DestructiveRole);
    connect(box, &QMessageBox::buttonClicked, this, [=, this](const QAbstractButton* pressed) {
        if (pressed == merge)
            m_workspace->session()->merge();
        else if (pressed == elsewhere)
            saveAs();
        else if (pressed == overwrite)
            m_workspace->session()->save(std::filesystem::path(file.toStdString()), viewState(),
                                         SessionFile::IfChanged::Overwrite);
        else
            m_next = {};
    });
    box->open();
}

bool Saving::asksFirst() const
{
    return m_workspace->model()->isOpen() && m_workspace->session()->isModified()
        && !m_workspace->session()->isReadOnly();
}

void Saving::whenNotesAreSafe(const std::function<void()>& next)
{
    if (!asksFirst())
        return next();
    const QString name = text(m_workspace->model()->card().name);
    const bool notes = m_workspace->notebook()->isUnsaved(),
               results = m_workspace->model()->revision().isUnsaved();
    askToSave(notes && results ? tr("Your notes and results for %1 are not saved.").arg(name)
                  : results    ? tr("Your results for %1 are not saved.").arg(name)
                               : tr("Your notes on %1 are not saved.").arg(name),
              next);
}

void Saving::whenResultsAreSafe(const std::function<void()>& next)
{
    if (!m_workspace->model()->revision().isUnsaved() || m_workspace->session()->isReadOnly())
        return next();
    const auto answer = askToSave(
        tr("Your results for %1 are not saved. Changing the weights or the embedding discards them.")
            .arg(text(m_workspace->model()->card().name)),
        next);
    if (answer != QMessageBox::Discard)
        emit declined();
}

QMessageBox::StandardButton Saving::askToSave(const QString& question, const std::function<void()>& next)
{
    QMessageBox box(QMessageBox::NoIcon, tr("Not saved"), question,
                    QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, m_window);
    const auto answer = static_cast<QMessageBox::StandardButton>(box.exec());
    if (answer == QMessageBox::Discard)
        next();
    if (answer == QMessageBox::Save) {
        m_next = next; // Saving is a job; it goes on from there, or stays here if it fails.
        save();
    }
    return answer;
}

} // namespace headwise::app
