#include "app/window/recovery.h"

#include "core/base/log.h"
#include "core/session/session_file.h"
#include "ui/base/text.h"
#include "ui/document/workspace.h"

#include <QDir>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLockFile>
#include <QSaveFile>
#include <QUuid>

#include <filesystem>
#include <system_error>

namespace headwise::app {
namespace {

using ui::text;

std::shared_ptr<QLockFile> lockOf(const std::filesystem::path& file)
{
    auto lock = std::make_shared<QLockFile>(text(file.string()));
    lock->setStaleLockTime(0); // stale when its process is gone, however old it is
    return lock;
}

void writeDescription(const QString& file, const ui::Workspace& workspace)
{
    QSaveFile description(file);
    if (!description.open(QIODevice::WriteOnly))
        return; // the copy itself says what is wrong
    description.write(QJsonDocument({{QStringLiteral("model"), text(workspace.model()->card().name)},
                                     {QStringLiteral("session"), text(workspace.session()->path().string())},
                                     {QStringLiteral("stamp"), text(workspace.session()->stamp())}})
                          .toJson());
    description.commit();
}

} // namespace

Recovery::Recovery(std::filesystem::path folder, ui::Workspace* workspace, std::function<QString()> viewState,
                   QObject* parent)
    : QObject(parent)
    , m_folder(std::move(folder))
    , m_workspace(workspace)
    , m_viewState(std::move(viewState))
    , m_id(QUuid::createUuid().toString(QUuid::WithoutBraces))
{
    connect(&m_timer, &QTimer::timeout, this, &Recovery::saveNow);
    m_typing.setSingleShot(true);
    m_typing.setInterval(typingPause);
    connect(&m_typing, &QTimer::timeout, this, [this] {
        saveNow();
        if (m_isChanged) // while a copy is being written
            m_typing.start();
    });
    connect(workspace->model(), &ui::OpenModel::opened, this, [this] {
        m_isChanged = m_workspace->session()->isModified();
        m_savedView.clear();
        if (!m_isChanged) // a recovered session is the copy
            remove();
    });
    connect(workspace->model(), &ui::OpenModel::resultsChanged, this, [this] { m_isChanged = true; });
    connect(workspace->notebook(), &ui::Notebook::notesChanged, this, [this] {
        m_isChanged = true;
        if (m_timer.isActive() && !m_typing.isActive())
            m_typing.start();
    });
    connect(workspace->session(), &ui::SessionFile::saved, this, [this] {
        if (!m_workspace->session()->isModified())
            return remove();
        m_isChanged = true; // while it was being saved; the copy is of another file by now
    });
    connect(workspace->model(), &ui::OpenModel::closed, this, &Recovery::remove);
}

Recovery::~Recovery() = default;

void Recovery::setInterval(std::chrono::milliseconds interval)
{
    m_timer.stop();
    if (interval.count() > 0)
        m_timer.start(interval);
}

void Recovery::saveForEnd()
{
    if (!m_workspace->session()->isModified())
        return remove();
    m_isEnding = true;
    saveNow();
}

bool Recovery::isAtRest() const
{
    return !m_job.isRunning();
}

std::filesystem::path Recovery::file(const char* suffix) const
{
    return m_folder / (m_id.toStdString() + suffix);
}

bool Recovery::takeLock()
{
    if (!m_lock)
        m_lock = lockOf(file(".lock"));
    return m_lock->isLocked() || m_lock->tryLock(0);
}

void Recovery::saveNow()
{
    if (m_job.isRunning())
        return;
    if (!m_workspace->model()->isOpen() || m_workspace->session()->isReadOnly())
        return emit nothingToSave();
    const QString view = m_viewState();
    if (m_savedView.isEmpty() && !m_isChanged)
        m_savedView = view; // as it was opened
    if (!m_isChanged && view == m_savedView)
        return emit nothingToSave();
    if (!QDir().mkpath(text(m_folder.string())) || !takeLock())
        return emit failed(tr("Headwise cannot write a recovery copy to %1.").arg(text(m_folder.string())));
    m_isChanged = false;
    m_typing.stop();
    m_savedView = view;
    writeDescription(text(file(".json").string()), *m_workspace);
    m_job.start(
        tr("Writing the recovery copy"),
        [target = file(".h5"), session = m_workspace->session()->snapshot(view)](const Task& task) {
            auto written = writeSession(target, session(), task);
            std::error_code code;
            if (task.cancelled()) // by remove(), when this was about to be renamed into place
                std::filesystem::remove(target, code);
            return written;
        },
        [this](const Result<Done>& result) {
            if (result) {
                emit saved();
                if (m_isEnding && m_isChanged) // after this copy was begun
                    saveNow();
                return;
            }
            m_isChanged = true;
            logWarning("recovery copy: " + result.error().message);
            emit failed(text(result.error()));
        });
}

void Recovery::remove()
{
    m_job.cancel();
    m_isChanged = false;
    m_savedView.clear();
    if (!m_lock)
        return;
    for (const char* suffix : {".h5", ".json"})
        QFile::remove(text(file(suffix).string()));
    m_lock.reset();
    // A running job may still write a copy under the old id, which no window owns any more.
    m_id = QUuid::createUuid().toString(QUuid::WithoutBraces);
}

std::vector<LostSession> Recovery::lostSessions(const std::filesystem::path& folder)
{
    std::vector<LostSession> found;
    const QDir directory(text(folder.string()));
    for (const QFileInfo& copy : directory.entryInfoList({QStringLiteral("*.h5")}, QDir::Files, QDir::Time)) {
        LostSession lost;
        lost.id = copy.completeBaseName();
        lost.file = copy.absoluteFilePath().toStdString();
        lost.lock = lockOf(folder / (lost.id.toStdString() + ".lock"));
        if (!lost.lock->tryLock(0))
            continue; // its window is alive
        QFile file(directory.filePath(lost.id + QStringLiteral(".json")));
        if (!file.open(QIODevice::ReadOnly)) { // given up while the copy was being written
            discard(lost);
            continue;
        }
        const QJsonObject description = QJsonDocument::fromJson(file.read(64LL * 1024)).object();
        lost.model = description[QStringLiteral("model")].toString();
        lost.original = description[QStringLiteral("session")].toString().toStdString();
        lost.stamp = ui::parseFileStamp(description[QStringLiteral("stamp")].toString());
        lost.time = copy.lastModified();
        found.push_back(std::move(lost));
    }
    return found;
}

void Recovery::discard(const LostSession& lost)
{
    for (const char* suffix : {".h5", ".json"})
        QFile::remove(text((lost.file.parent_path() / (lost.id.toStdString() + suffix)).string()));
}

void Recovery::recover(const LostSession& lost)
{
    remove();
    m_id = lost.id;
    m_lock = lost.lock;
    m_workspace->opener()->recoverSession(lost.file, lost.original, lost.stamp);
}

std::filesystem::path Recovery::defaultFolder()
{
    return stateFolder() / "recovery";
}

} // namespace headwise::app
