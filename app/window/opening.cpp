#include "app/window/opening.h"

#include "app/demo.h"
#include "app/window/saving.h"
#include "app/window/window_settings.h"
#include "core/base/log.h"
#include "core/series/series_file.h"
#include "core/session/session_file.h"
#include "ui/base/text.h"
#include "ui/document/compared_model.h"
#include "ui/document/training_series.h"
#include "ui/pages/model/cache_dialog.h"
#include "ui/pages/model/model_place.h"
#include "ui/pages/model/open_questions.h"
#include "ui/pages/training/series_dialog.h"

#include <QFileInfo>

#include <utility>

namespace headwise::app {

using namespace headwise::ui;

namespace {

/// Returns the kinds of files for a dialog that chooses a model.
QString modelFiles()
{
    return Opening::tr("Models (*.safetensors *.gguf *.bin *.pt *.pth *.npz);;All files (*)");
}

} // namespace

Opening::Opening(QMainWindow* window, Workspace* workspace, WindowSettings* settings, Saving* saving)
    : WindowPart(window, workspace)
    , m_settings(settings)
    , m_saving(saving)
{
    connect(m_workspace->opener(), &Opener::openFailed, this, &Opening::showFailure);
    connect(m_workspace->opener(), &Opener::openFailed, this, &Opening::takeViewState);
    const auto* questions = new OpenQuestions(
        window, workspace, [settings](const QString& title) { return settings->askForFolder(title); });
    connect(questions, &OpenQuestions::failed, this,
            [this](const QString& message) { showError(tr("Cannot open"), message); });
    connect(questions, &OpenQuestions::declined, this, &Opening::showFailure);
    connect(questions, &OpenQuestions::completed, this, &Opening::reopen);
    const TrainingSeries* series = TrainingSeries::of(m_workspace);
    connect(series, &TrainingSeries::made, this, &Opening::openPath);
    connect(series, &TrainingSeries::makingFailed, this, &Opening::showFailure);
    connect(series, &TrainingSeries::makingStopped, this, &Opening::sayHowToGoOn);
}

void Opening::openPath(const QString& path)
{
    openPathFor(path, [] {});
}

void Opening::openPathFor(const QString& path, const std::function<void()>& begun)
{
    begin([this, path, begun] {
        begun();
        const ModelPlace place = placeOf(path);
        const std::filesystem::path file = QFileInfo(place.path).absoluteFilePath().toStdString();
        if (isSessionFile(file))
            m_workspace->opener()->openSession(file);
        else if (isSeries(file))
            m_workspace->opener()->openSeries(file);
        else if (isFolderOfCheckpoints(file))
            makeSeries(file);
        else
            openStackOf({file, {}, {}}, place.stack);
    });
}

void Opening::begin(const std::function<void()>& open)
{
    m_saving->whenNotesAreSafe([this, open] {
        m_viewToRestore.clear(); // of a reload that never ended
        emit begins();
        open();
    });
}

void Opening::openStackOf(ModelSource source, const QString& stack)
{
    if (!stack.isEmpty())
        source.overrides["stack"] = stack.toStdString();
    m_workspace->opener()->openModel(source);
}

void Opening::openDemo()
{
    openPath(demoModelFolder());
}

void Opening::chooseFolder()
{
    if (const QString folder = m_settings->askForFolder(tr("Open a model folder")); !folder.isEmpty())
        openPath(folder);
}

void Opening::chooseFile()
{
    const QString file = m_settings->askForFile(
        tr("Open a model file or session"),
        tr("Models and sessions (*.safetensors *.gguf *.bin *.pt *.pth *.npz *.h5);;Sessions (*.h5);;All files (*)"));
    if (!file.isEmpty())
        openPath(file);
}

void Opening::chooseSeries()
{
    const QString file =
        m_settings->askForFile(tr("Open a series of checkpoints"), tr("Series (*.h5);;All files (*)"));
    if (!file.isEmpty())
        openPath(file);
}

void Opening::chooseSeriesFolder()
{
    if (const QString folder = m_settings->askForFolder(tr("Open a folder of checkpoints"));
        !folder.isEmpty())
        makeSeries(folder.toStdString());
}

void Opening::makeSeries(const std::filesystem::path& folder)
{
    const Result<SeriesMembers> members = seriesMembers(folder);
    if (!members)
        return showFailure(text(members.error()));
    askForSeriesFile(m_window, TrainingSeries::of(m_workspace), *members, folder);
}

void Opening::sayHowToGoOn(const QString& partialFile)
{
    const QString message =
        tr("The series was stopped. Its results so far are in %1. To resume, open the folder again and choose the same file.")
            .arg(partialFile);
    if (m_workspace->model()->isOpen())
        showMessage(message);
    else
        emit failed(message);
}

void Opening::chooseAdapter()
{
    const QString folder = m_settings->askForFolder(tr("Open an adapter's folder"));
    if (folder.isEmpty())
        return;
    if (m_workspace->model()->hasModel())
        compareWith(folder);
    else
        openPath(folder);
}

void Opening::chooseFromCache()
{
    auto* dialog = new CacheDialog(m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] {
        if (const QString folder = dialog->folder(); !folder.isEmpty())
            openPath(folder);
    });
    dialog->open();
}

void Opening::openStack(const QString& name)
{
    begin([this, name] { openStackOf(m_workspace->model()->files().source, name); });
}

void Opening::reload()
{
    if (!m_workspace->model()->isOpen())
        return;
    begin([this] {
        m_viewToRestore = m_saving->viewState();
        m_workspace->opener()->reload();
    });
}

void Opening::reopen(const ModelSource& complete)
{
    if (!m_workspace->session()->path().empty())
        return m_workspace->opener()->reopen(complete);
    m_saving->whenNotesAreSafe([this, complete] {
        m_viewToRestore = m_saving->viewState();
        m_workspace->opener()->reopen(complete);
    });
}

void Opening::closeModel()
{
    m_saving->whenNotesAreSafe([this] { m_workspace->opener()->close(); });
}

bool Opening::canCompare()
{
    if (!m_workspace->model()->hasModel())
        showMessage(tr("Open the older model first; a session alone has no weights to compare."));
    return m_workspace->model()->hasModel();
}

void Opening::chooseComparison()
{
    if (!canCompare())
        return;
    if (const QString folder = m_settings->askForFolder(tr("Choose the newer model's folder"));
        !folder.isEmpty())
        compareWith(folder);
}

void Opening::chooseComparisonFile()
{
    if (!canCompare())
        return;
    const QString file = m_settings->askForFile(tr("Choose the newer model's file"), modelFiles());
    if (!file.isEmpty())
        compareWith(file);
}

void Opening::compareWith(const QString& path)
{
    emit comparisonChosen();
    ComparedModel::of(m_workspace)->compare({path.toStdString(), std::nullopt, {}});
}

void Opening::fill(FillButton::Lack lack)
{
    switch (lack) {
    case FillButton::Lack::Model: return locateModel();
    case FillButton::Lack::Tokenizer: return addTokenizer();
    case FillButton::Lack::Series: return chooseSeries();
    case FillButton::Lack::SeriesFolder: return chooseSeriesFolder();
    case FillButton::Lack::Reference: // FigureCommands finds a head.
    case FillButton::Lack::Nothing: return;
    }
}

void Opening::locateModel()
{
    if (const QString folder = m_settings->askForFolder(tr("Where is this session's model?"));
        !folder.isEmpty())
        m_workspace->opener()->locateModel({folder.toStdString(), std::nullopt, {}});
}

void Opening::locateModelFile()
{
    if (const QString file = m_settings->askForFile(tr("Where is this session's model?"), modelFiles());
        !file.isEmpty())
        m_workspace->opener()->locateModel({file.toStdString(), std::nullopt, {}});
}

void Opening::addTokenizer()
{
    const QString file = m_settings->askForFile(
        tr("Add a tokenizer"),
        tr("Tokenizers (*.json *.model *.txt *.gguf *.bin *.tiktoken);;All files (*)"));
    if (!file.isEmpty())
        m_workspace->opener()->addTokenizer(std::filesystem::path(file.toStdString()));
}

void Opening::showFailure(const QString& message)
{
    logWarning(message.toStdString());
    if (m_workspace->model()->isOpen())
        showError(tr("Cannot open"), message);
    else
        emit failed(message);
}

bool Opening::isEmpty() const
{
    return !m_workspace->model()->isOpen() && !m_workspace->opener()->coming();
}

QString Opening::takeViewState()
{
    return m_workspace->opener()->coming() ? QString() : std::exchange(m_viewToRestore, {});
}

} // namespace headwise::app
