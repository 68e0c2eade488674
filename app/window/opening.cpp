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

#include <utility>

namespace headwise::app {

using namespace headwise::ui;

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

ConfigDialog* Opening::ask(const ModelSource& source, const QStringList& keys, const QStringList& optional,
                           const QString& message)
{
    auto* dialog = new ConfigDialog(source, keys, optional, message, m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &ConfigDialog::tensorsWanted, this,
            [this, dialog] { TensorsPage::showFileOver(m_workspace, dialog->source().path, dialog); });
    connect(dialog, &ConfigDialog::describeWanted, this, [this, dialog] { describe(dialog); });
    dialog->open();
    return dialog;
}

void Opening::askForConfig(const ModelSource& source, const QStringList& keys, const QString& message)
{
    ConfigDialog* dialog = ask(source, keys, m_workspace->opener()->optionalKeys(), message);
    connect(dialog, &QDialog::accepted, this,
            [this, dialog] { m_workspace->opener()->openModel(dialog->source()); });
    connect(dialog, &QDialog::rejected, this, [this, message] { showFailure(message); });
}

void Opening::askForLocatedConfig(const ModelSource& source, const QStringList& keys, const QString& message)
{
    ConfigDialog* dialog = ask(source, keys, m_workspace->opener()->optionalKeys(), message);
    connect(dialog, &QDialog::accepted, this,
            [this, dialog] { m_workspace->opener()->locateModel(dialog->source()); });
}

void Opening::askToComplete(const ModelSource& source, const QStringList& keys)
{
    ConfigDialog* dialog = ask(
        source, {}, keys,
        tr("These values of the model are unknown. Results that depend on them are left out. An empty field stays unknown."));
    connect(dialog, &QDialog::accepted, this, [this, dialog] {
        const ModelSource complete = dialog->source();
        if (!m_workspace->session()->path().empty())
            return m_workspace->opener()->reopen(complete);
        m_saving->whenNotesAreSafe([this, complete] {
            m_viewToRestore = m_saving->viewState();
            m_workspace->opener()->reopen(complete);
        });
    });
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
            [this, box, path = source.path] { TensorsPage::showFileOver(m_workspace, path, box); });
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
