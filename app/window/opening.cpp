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
#include "ui/pages/model/config_dialog.h"
#include "ui/pages/model/model_place.h"
#include "ui/pages/model/names_dialog.h"
#include "ui/pages/model/tensors_page.h"
#include "ui/pages/training/series_dialog.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QPushButton>
#include <QVBoxLayout>

#include <utility>

namespace headwise::app {

using namespace headwise::ui;

bool isSameFile(const std::filesystem::path& a, const std::filesystem::path& b)
{
    std::error_code code;
    return !a.empty() && !b.empty() && (a == b || std::filesystem::equivalent(a, b, code));
}

Opening::Opening(QMainWindow* window, Workspace* workspace, WindowSettings* settings, Saving* saving)
    : WindowPart(window, workspace)
    , m_settings(settings)
    , m_saving(saving)
{
    connect(m_workspace->opener(), &Opener::openFailed, this, &Opening::showFailure);
    connect(m_workspace->opener(), &Opener::openFailed, this, &Opening::takeViewState);
    connect(m_workspace->opener(), &Opener::configMissing, this, &Opening::askForConfig);
    connect(m_workspace->opener(), &Opener::locatedConfigMissing, this, &Opening::askForLocatedConfig);
    connect(m_workspace->opener(), &Opener::configIncomplete, this, &Opening::askToComplete);
    connect(m_workspace->opener(), &Opener::baseMissing, this, &Opening::askForBase);
    connect(m_workspace->opener(), &Opener::tensorsUnknown, this, &Opening::askToLeaveOut);
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
    m_saving->whenNotesAreSafe([this, path, begun] {
        begin();
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

void Opening::begin()
{
    m_viewToRestore.clear(); // of a reload that never ended
    emit begins();
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
    if (const QString folder = askForFolder(tr("Open a model folder")); !folder.isEmpty())
        openPath(folder);
}

void Opening::chooseFile()
{
    openChosen(
        tr("Open a model file or session"),
        tr("Models and sessions (*.safetensors *.gguf *.bin *.pt *.pth *.npz *.h5);;Sessions (*.h5);;All files (*)"));
}

void Opening::chooseSeries()
{
    openChosen(tr("Open a series of checkpoints"), tr("Series (*.h5);;All files (*)"));
}

void Opening::chooseSeriesFolder()
{
    if (const QString folder = askForFolder(tr("Open a folder of checkpoints")); !folder.isEmpty())
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

void Opening::openChosen(const QString& title, const QString& kinds)
{
    const QString file = QFileDialog::getOpenFileName(m_window, title, m_settings->now().lastFolder, kinds);
    if (file.isEmpty())
        return;
    m_settings->keepFolderOf(file);
    openPath(file);
}

void Opening::chooseAdapter()
{
    const QString folder = askForFolder(tr("Open an adapter's folder"));
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
    m_saving->whenNotesAreSafe([this, name] {
        begin();
        openStackOf(m_workspace->model()->files().source, name);
    });
}

void Opening::reload()
{
    if (!m_workspace->model()->isOpen())
        return;
    m_saving->whenNotesAreSafe([this] {
        begin();
        m_viewToRestore = m_saving->viewState();
        m_workspace->opener()->reload();
    });
}

void Opening::closeModel()
{
    m_saving->whenNotesAreSafe([this] { m_workspace->opener()->close(); });
}

QString Opening::askForFolder(const QString& title)
{
    const QString folder = QFileDialog::getExistingDirectory(m_window, title, m_settings->now().lastFolder);
    if (!folder.isEmpty())
        m_settings->keepFolderOf(folder);
    return folder;
}

QString Opening::askForModelFile(const QString& title)
{
    const QString file = QFileDialog::getOpenFileName(
        m_window, title, m_settings->now().lastFolder,
        tr("Models (*.safetensors *.gguf *.bin *.pt *.pth *.npz);;All files (*)"));
    if (!file.isEmpty())
        m_settings->keepFolderOf(file);
    return file;
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
    if (const QString folder = askForFolder(tr("Choose the newer model's folder")); !folder.isEmpty())
        compareWith(folder);
}

void Opening::chooseComparisonFile()
{
    if (!canCompare())
        return;
    if (const QString file = askForModelFile(tr("Choose the newer model's file")); !file.isEmpty())
        compareWith(file);
}

void Opening::compareWith(const QString& path)
{
    emit comparisonChosen();
    ComparedModel::of(m_workspace)->compare({path.toStdString(), std::nullopt, {}});
}

void Opening::locateModel()
{
    if (const QString folder = askForFolder(tr("Where is this session's model?")); !folder.isEmpty())
        m_workspace->opener()->locateModel({folder.toStdString(), std::nullopt, {}});
}

void Opening::locateModelFile()
{
    if (const QString file = askForModelFile(tr("Where is this session's model?")); !file.isEmpty())
        m_workspace->opener()->locateModel({file.toStdString(), std::nullopt, {}});
}

void Opening::addTokenizer()
{
    const QString file = QFileDialog::getOpenFileName(
        m_window, tr("Add a tokenizer"), m_settings->now().lastFolder,
        tr("Tokenizers (*.json *.model *.txt *.gguf *.bin *.tiktoken);;All files (*)"));
    if (!file.isEmpty())
        m_workspace->opener()->addTokenizer(std::filesystem::path(file.toStdString()));
}

void Opening::askForConfig(const ModelSource& source, const QStringList& keys, const QString& message)
{
    auto* dialog = new ConfigDialog(source, keys, m_workspace->opener()->optionalKeys(), message, m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &ConfigDialog::tensorsWanted, this,
            [this, dialog] { showTensors(dialog->source().path, dialog); });
    connect(dialog, &ConfigDialog::describeWanted, this, [this, dialog] { describe(dialog); });
    connect(dialog, &QDialog::accepted, this,
            [this, dialog] { m_workspace->opener()->openModel(dialog->source()); });
    connect(dialog, &QDialog::rejected, this, [this, message] { showFailure(message); });
    dialog->open();
}

void Opening::askForLocatedConfig(const ModelSource& source, const QStringList& keys, const QString& message)
{
    auto* dialog = new ConfigDialog(source, keys, m_workspace->opener()->optionalKeys(), message, m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &ConfigDialog::tensorsWanted, this,
            [this, dialog] { showTensors(dialog->source().path, dialog); });
    connect(dialog, &ConfigDialog::describeWanted, this, [this, dialog] { describe(dialog); });
    connect(dialog, &QDialog::accepted, this,
            [this, dialog] { m_workspace->opener()->locateModel(dialog->source()); });
    dialog->open();
}

void Opening::askToComplete(const ModelSource& source, const QStringList& keys)
{
    auto* dialog = new ConfigDialog(
        source, {}, keys,
        tr("These values of the model are unknown. Results that depend on them are left out. An empty field stays unknown."),
        m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &ConfigDialog::tensorsWanted, this,
            [this, dialog] { showTensors(dialog->source().path, dialog); });
    connect(dialog, &QDialog::accepted, this, [this, dialog] {
        const ModelSource complete = dialog->source();
        if (!m_workspace->session()->path().empty())
            return m_workspace->opener()->reopen(complete);
        m_saving->whenNotesAreSafe([this, complete] {
            m_viewToRestore = m_saving->viewState();
            m_workspace->opener()->reopen(complete);
        });
    });
    dialog->open();
}

void Opening::completeConfig()
{
    m_workspace->opener()->completeConfig();
}

void Opening::askForBase(const ModelSource& source, const QString& message)
{
    auto* box =
        new QMessageBox(QMessageBox::NoIcon, tr("Base model"), message, QMessageBox::Cancel, m_window);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setTextFormat(Qt::PlainText);
    const QPushButton* choose = box->addButton(tr("Open base…"), QMessageBox::AcceptRole);
    connect(box, &QMessageBox::buttonClicked, this, [=, this](const QAbstractButton* pressed) {
        const QString folder =
            pressed == choose ? askForFolder(tr("Where is the adapter's base?")) : QString();
        if (folder.isEmpty())
            return showFailure(message);
        ModelSource complete = source;
        complete.base = folder.toStdString();
        m_workspace->opener()->openModel(complete);
    });
    box->open();
}

void Opening::askToLeaveOut(const ModelSource& source, const QStringList& tensors, const QString& message)
{
    constexpr int shown = 6;
    QString names = tensors.mid(0, shown).join(QStringLiteral(", "));
    if (tensors.size() > shown)
        names = tr("%1 and %2 more").arg(names).arg(tensors.size() - shown);
    auto* box = new QMessageBox(
        QMessageBox::NoIcon, tr("Unknown tensors"),
        tr("%1 holds tensors that are not part of the model: %2. Leave them out if the model works without them.")
            .arg(text(source.path.filename().string()), names),
        QMessageBox::Cancel, m_window);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setTextFormat(Qt::PlainText);
    const QPushButton* leave = box->addButton(tr("Leave out"), QMessageBox::AcceptRole);
    QPushButton* look = box->addButton(tr("Show tensors…"), QMessageBox::ActionRole);
    QObject::disconnect(look, nullptr, box, nullptr); // looking answers nothing
    connect(look, &QAbstractButton::clicked, this,
            [this, box, path = source.path] { showTensors(path, box); });
    connect(box, &QMessageBox::buttonClicked, this, [=, this](const QAbstractButton* pressed) {
        if (pressed != leave)
            return showFailure(message);
        ModelSource without = source;
        for (const QString& name : tensors)
            without.ignored.push_back(name.toStdString());
        m_workspace->opener()->openModel(without);
    });
    box->open();
}

void Opening::describe(ConfigDialog* question)
{
    Result<WeightMap> file = WeightMap::open(question->source().path);
    if (!file)
        return showError(tr("Cannot open"), text(file.error()));
    auto* dialog =
        new NamesDialog(question->source(), std::make_shared<const WeightMap>(*std::move(file)), question);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, question,
            &QDialog::accept); // its answer opens the model, by the new map
    dialog->open();
}

void Opening::showTensors(const std::filesystem::path& path, QWidget* over)
{
    auto* dialog = new QDialog(over); // A window of the question's own is not blocked by it.
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Tensors of %1").arg(text(path.filename().string())));
    dialog->setWindowModality(Qt::NonModal);
    dialog->resize(960, 720);
    auto* layout = new QVBoxLayout(dialog);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* page = new TensorsPage(m_workspace, dialog);
    layout->addWidget(page);
    page->showLoneFile(path);
    dialog->show();
}

void Opening::showFailure(const QString& message)
{
    logWarning(message.toStdString());
    if (m_workspace->model()->isOpen())
        showError(tr("Cannot open"), message);
    else
        emit failed(message);
}

bool Opening::shows(const std::filesystem::path& path) const
{
    if (const ModelSource* coming = m_workspace->opener()->coming())
        return isSameFile(path, coming->path);
    return m_workspace->model()->isOpen()
        && (isSameFile(path, m_workspace->model()->files().source.path) || isOpenFile(path));
}

bool Opening::isOpenFile(const std::filesystem::path& path) const
{
    return isSameFile(path, m_workspace->session()->path())
        || (TrainingSeries::isOpenIn(*m_workspace)
            && isSameFile(path, TrainingSeries::of(m_workspace)->file()));
}

bool Opening::showsPlace(const std::filesystem::path& path, const QString& stack) const
{
    if (!shows(path))
        return false;
    if (const ModelSource* coming = m_workspace->opener()->coming())
        return stack == stackOf(*coming);
    return isOpenFile(path) || stack == stackOf(m_workspace->model()->files().source)
        || stack == ui::openStack(*m_workspace);
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
