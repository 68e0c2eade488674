#pragma once

#include <QDateTime>
#include <QFileSystemWatcher>
#include <QHash>
#include <QObject>
#include <QTimer>

#include <filesystem>

namespace headwise::app {

/// Says when a file that is open, or one of an open folder, is changed by somebody else.
class FileWatch : public QObject {
    Q_OBJECT

public:
    explicit FileWatch(QObject* parent = nullptr);

    /// Watches these and no others, as they are now; folders with the files right in them.
    void watch(const std::vector<std::filesystem::path>& paths);

signals:
    void changed(const QStringList& files); ///< Once the files have been left alone for a second.
    void unchanged();                       ///< Something else in a folder changed, none of these files.

private:
    struct Stamp {
        qint64 size = -1; ///< -1: not there
        QDateTime time;

        bool operator==(const Stamp&) const = default;
    };
    static Stamp stampOf(const QString& file);
    void check();

    QFileSystemWatcher m_watcher;
    QHash<QString, Stamp> m_stamps;
    QTimer m_pause;
};

} // namespace headwise::app
