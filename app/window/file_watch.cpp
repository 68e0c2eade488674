#include "app/window/file_watch.h"

#include "ui/base/text.h"

#include <QDir>
#include <QFileInfo>

#include <chrono>

namespace headwise::app {

namespace {
constexpr int mostFiles = 256;
} // namespace

FileWatch::FileWatch(QObject* parent)
    : QObject(parent)
{
    m_pause.setSingleShot(true);
    m_pause.setInterval(std::chrono::seconds(1));
    for (const auto signal : {&QFileSystemWatcher::fileChanged, &QFileSystemWatcher::directoryChanged})
        connect(&m_watcher, signal, &m_pause, qOverload<>(&QTimer::start));
    connect(&m_pause, &QTimer::timeout, this, &FileWatch::check);
}

FileWatch::Stamp FileWatch::stampOf(const QString& file)
{
    const QFileInfo info(file);
    return info.exists() ? Stamp{info.size(), info.lastModified()} : Stamp{};
}

void FileWatch::watch(const std::vector<std::filesystem::path>& paths)
{
    m_pause.stop();
    m_stamps.clear();
    const QStringList before = m_watcher.files() + m_watcher.directories();
    if (!before.isEmpty())
        m_watcher.removePaths(before);
    QStringList files, folders;
    for (const std::filesystem::path& path : paths) {
        const QFileInfo info(ui::text(path.string()));
        if (path.empty() || !info.exists())
            continue;
        // The folder tells when a file is replaced, which ends the watch of the file itself.
        folders << (info.isDir() ? info.absoluteFilePath() : info.absolutePath());
        if (!info.isDir())
            files << info.absoluteFilePath();
        else
            for (const QFileInfo& file : QDir(info.absoluteFilePath()).entryInfoList(QDir::Files))
                files << file.absoluteFilePath();
    }
    files = files.mid(0, mostFiles);
    for (const QString& file : files)
        m_stamps.insert(file, stampOf(file));
    if (!files.isEmpty())
        m_watcher.addPaths(files + folders);
}

void FileWatch::check()
{
    QStringList files;
    for (auto file = m_stamps.begin(); file != m_stamps.end(); ++file) {
        const Stamp now = stampOf(file.key());
        if (now.size >= 0 && !m_watcher.files().contains(file.key()))
            m_watcher.addPath(file.key()); // replaced by another of its name
        if (now != file.value())
            files << file.key();
        file.value() = now;
    }
    if (files.isEmpty())
        emit unchanged();
    else
        emit changed(files);
}

} // namespace headwise::app
