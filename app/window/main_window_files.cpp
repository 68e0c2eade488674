#include "app/demo.h"
#include "app/window/main_window.h"
#include "core/base/log.h"
#include "core/session/session_file.h"
#include "ui/base/text.h"
#include "ui/document/compared_model.h"
#include "ui/document/relation_store.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/pages/model/config_dialog.h"
#include "ui/pages/model/start_page.h"

#include <QCloseEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>

#include <spdlog/logger.h>

// Opening, saving and closing, and what is asked before something is lost.

namespace headwise::app {

using namespace headwise::ui;

void MainWindow::openPath(const QString& path)
{
    whenNotesAreSafe([this, path] {
        const std::filesystem::path file(QFileInfo(path).absoluteFilePath().toStdString());
        m_pathToOpen = file;
        if (isSessionFile(file))
            m_workspace->opener()->openSession(file);
        else
            m_workspace->opener()->openModel({file, {}, {}});
    });
}

void MainWindow::openDemo()
{
    openPath(demoModelFolder());
}

void MainWindow::chooseFolder()
{
    if (const QString folder = askForFolder(tr("Open a model folder")); !folder.isEmpty())
        openPath(folder);
}

QString MainWindow::askForFolder(const QString& title)
{
    const QString folder = QFileDialog::getExistingDirectory(this, title, m_settings.lastFolder);
    if (!folder.isEmpty())
        keepFolderOf(folder);
    return folder;
}

QString MainWindow::askForModelFile(const QString& title)
{
    const QString file = QFileDialog::getOpenFileName(
        this, title, m_settings.lastFolder,
        tr("Models (*.safetensors *.gguf *.bin *.pt *.pth *.npz);;All files (*)"));
    if (!file.isEmpty())
        keepFolderOf(file);
    return file;
}

bool MainWindow::canCompare()
{
    if (!m_workspace->model()->hasModel())
        showMessage(tr("Open the older model first; a session alone has no weights to compare."));
    return m_workspace->model()->hasModel();
}

void MainWindow::chooseComparison()
{
    if (!canCompare())
        return;
    if (const QString folder = askForFolder(tr("Choose the newer model's folder")); !folder.isEmpty())
        compareWith(folder);
}

void MainWindow::chooseComparisonFile()
{
    if (!canCompare())
        return;
    if (const QString file = askForModelFile(tr("Choose the newer model's file")); !file.isEmpty())
        compareWith(file);
}

void MainWindow::compareWith(const QString& path)
{
    showPage(QStringLiteral("models"));
    ComparedModel::of(m_workspace)->compare({path.toStdString(), std::nullopt, {}});
}

void MainWindow::chooseFile()
{
    const QString file = QFileDialog::getOpenFileName(
        this, tr("Open a model file or session"), m_settings.lastFolder,
        tr("Models and sessions (*.safetensors *.gguf *.bin *.pt *.pth *.npz *.h5);;Sessions (*.h5);;All files (*)"));
    if (file.isEmpty())
        return;
    keepFolderOf(file);
    openPath(file);
}

void MainWindow::saveTo(const QString& file)
{
    m_workspace->session()->save(std::filesystem::path(file.toStdString()), viewState());
}

void MainWindow::save()
{
    if (m_workspace->session()->path().empty())
        return saveAs();
    saveTo(text(m_workspace->session()->path().string()));
}

void MainWindow::saveAs()
{
    const QString name = text(m_workspace->model()->card().name) + QStringLiteral(".h5");
    QString file = QFileDialog::getSaveFileName(this, tr("Save session"), m_settings.lastFolder + u'/' + name,
                                                tr("Headwise sessions (*.h5)"));
    if (file.isEmpty()) {
        m_afterSave = {};
        return;
    }
    if (QFileInfo(file).suffix().isEmpty())
        file += QStringLiteral(".h5");
    keepFolderOf(file);
    saveTo(file);
}

void MainWindow::askAboutConflict(const QString& file)
{
    auto* box = new QMessageBox(
        QMessageBox::Question, tr("Not saved"),
        tr("%1 was changed since it was opened here; nothing was saved. Merge notes keeps both sides, Overwrite only this one.")
            .arg(file),
        QMessageBox::Cancel, this);
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
            m_afterSave = {};
    });
    box->open();
}

void MainWindow::closeModel()
{
    whenNotesAreSafe([this] { m_workspace->opener()->close(); });
}

void MainWindow::addTokenizer()
{
    const QString file = QFileDialog::getOpenFileName(
        this, tr("Add a tokenizer"), m_settings.lastFolder,
        tr("Tokenizers (*.json *.model *.txt *.gguf *.bin *.tiktoken);;All files (*)"));
    if (!file.isEmpty())
        m_workspace->opener()->addTokenizer(std::filesystem::path(file.toStdString()));
}

void MainWindow::askForConfig(const ModelSource& source, const QStringList& keys, const QString& message)
{
    auto* dialog = new ConfigDialog(source, keys, message, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this,
            [this, dialog] { m_workspace->opener()->openModel(dialog->source()); });
    connect(dialog, &QDialog::rejected, this, [this, message] { showOpenError(message); });
    dialog->open();
}

void MainWindow::askForLocatedConfig(const ModelSource& source, const QStringList& keys,
                                     const QString& message)
{
    auto* dialog = new ConfigDialog(source, keys, message, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this,
            [this, dialog] { m_workspace->opener()->locateModel(dialog->source()); });
    dialog->open();
}

void MainWindow::showOpenError(const QString& message)
{
    logger().warn("{}", message.toStdString());
    if (m_workspace->model()->isOpen())
        showError(tr("Cannot open"), message);
    else
        m_start->setError(message);
}

void MainWindow::locateModel()
{
    if (const QString folder = askForFolder(tr("Where is this session's model?")); !folder.isEmpty())
        m_workspace->opener()->locateModel({folder.toStdString(), std::nullopt, {}});
}

void MainWindow::locateModelFile()
{
    if (const QString file = askForModelFile(tr("Where is this session's model?")); !file.isEmpty())
        m_workspace->opener()->locateModel({file.toStdString(), std::nullopt, {}});
}

void MainWindow::whenNotesAreSafe(const std::function<void()>& next)
{
    if (!m_workspace->model()->isOpen() || !m_workspace->session()->isModified()
        || m_workspace->session()->isReadOnly())
        return next();
    const QString name = text(m_workspace->model()->card().name);
    const bool notes = m_workspace->notebook()->isUnsaved(),
               results = m_workspace->model()->hasUnsavedResults();
    askToSave(notes && results ? tr("The notes on %1 and the results you asked for are not saved.").arg(name)
                  : results    ? tr("The results you asked for of %1 are not saved.").arg(name)
                               : tr("The notes on %1 are not saved.").arg(name),
              next);
}

void MainWindow::whenResultsAreSafe(const std::function<void()>& next)
{
    if (!m_workspace->model()->hasUnsavedResults() || m_workspace->session()->isReadOnly())
        return next();
    const auto answer = askToSave(
        tr("The results you asked for of %1 are not saved. Other weights or another embedding make them void.")
            .arg(text(m_workspace->model()->card().name)),
        next);
    if (answer != QMessageBox::Discard)
        updateState();
}

QMessageBox::StandardButton MainWindow::askToSave(const QString& question, const std::function<void()>& next)
{
    QMessageBox box(QMessageBox::Question, tr("Not saved"), question,
                    QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
    const auto answer = static_cast<QMessageBox::StandardButton>(box.exec());
    if (answer == QMessageBox::Discard)
        next();
    if (answer == QMessageBox::Save) {
        m_afterSave = next; // Saving is a job; it goes on from there, or stays here if it fails.
        save();
    }
    return answer;
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    event->ignore();
    const auto asking = std::make_shared<bool>(true);
    whenNotesAreSafe([this, event, asking] {
        if (!*asking) { // The notes were saved first; `event` is long gone.
            close();
            return;
        }
        keep([](Settings&) {});         // where everything stands
        m_workspace->opener()->close(); // asks the jobs to stop; nothing waits for them
        event->accept();
    });
    *asking = false;
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (event->mimeData()->hasUrls() && event->mimeData()->urls().first().isLocalFile())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event)
{
    const QString file = event->mimeData()->urls().first().toLocalFile();
    event->acceptProposedAction();
    if (m_workspace->model()->hasModel() && isRelationFile(file))
        return m_heads->askRelations(file);
    if (m_workspace->model()->hasModel() && event->modifiers().testFlag(Qt::AltModifier))
        return compareWith(file);
    openPath(file);
}

} // namespace headwise::app
