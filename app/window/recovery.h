#pragma once

#include "ui/base/job.h"
#include "ui/document/file_stamp.h"

#include <QDateTime>
#include <QObject>
#include <QString>
#include <QTimer>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

class QLockFile;

namespace headwise::ui {
class Workspace;
}

namespace headwise::app {

/// Recovery files of a crashed window.
struct LostSession {
    QString id;
    QString model;                   ///< Its name.
    std::filesystem::path file;      ///< The recovery copy.
    std::filesystem::path original;  ///< The session it was saved as; empty: never.
    ui::FileStamp stamp;             ///< State of the original when it was opened.
    QDateTime time;                  ///< Time of the copy.
    std::shared_ptr<QLockFile> lock; ///< Held by the window that offers it, so that no other does.
};

/// Keeps a copy of what one window shows, so that a crash loses at most the last minutes of it.
///
/// In the folder: ID.h5, a session; ID.json, what it is a copy of; ID.lock, held by the window that writes it. The copy is
/// written as sessions are, beside and renamed, and only when something changed. It goes when the work is saved or given up.
class Recovery : public QObject {
    Q_OBJECT

public:
    /// \param viewState  as a session keeps it; asked on the GUI thread
    Recovery(std::filesystem::path folder, ui::Workspace* workspace, std::function<QString()> viewState,
             QObject* parent = nullptr);
    ~Recovery() override;

    /// Longest time between typing and its copy, whatever the interval.
    static constexpr std::chrono::seconds typingPause{20};

    void setInterval(std::chrono::milliseconds interval); ///< Zero: no copies but those asked for.
    void setTypingPause(std::chrono::milliseconds pause) { m_typing.setInterval(pause); }
    void saveNow(); ///< If something changed since the last copy.
    /// Writes a copy of unsaved work before the program is ended from outside. Saved work gets none.
    void saveForEnd();
    bool
    isAtRest() const; ///< No copy is being written, and the last one has everything or cannot be written.
    void remove();    ///< The work is safe, or given up.

    /// Returns the recovery files left by crashed windows, newest first.
    static std::vector<LostSession> lostSessions(const std::filesystem::path& folder);
    static void discard(const LostSession& lost);
    /// Opens it in this window, which owns it from now on.
    void recover(const LostSession& lost);

    static std::filesystem::path defaultFolder(); ///< $XDG_STATE_HOME/headwise/recovery

signals:
    void saved();
    void nothingToSave(); ///< saveNow() looked and found no change.
    void failed(const QString& message);

private:
    std::filesystem::path file(const char* suffix) const;
    bool takeLock();

    std::filesystem::path m_folder;
    ui::Workspace* m_workspace;
    std::function<QString()> m_viewState;
    QString m_id;
    std::shared_ptr<QLockFile> m_lock;
    QTimer m_timer;
    QTimer m_typing; // from the first key after a copy
    bool m_isEnding = false;
    QString m_savedView;      // of the last copy, or of the moment of opening
    bool m_isChanged = false; // results, notes or bookmarks
    ui::Job m_job;
};

} // namespace headwise::app
