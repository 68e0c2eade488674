#pragma once

#include "core/session/kept_figures.h"
#include "core/session/session.h"
#include "ui/base/job.h"
#include "ui/document/file_stamp.h"
#include "ui/document/notebook.h"

#include <QObject>
#include <QString>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headwise::ui {

class Workspace;

/// The file of the open session: writing it, and merging what somebody else has written to it.
class SessionFile : public QObject {
    Q_OBJECT

public:
    explicit SessionFile(Workspace* workspace);

    const std::filesystem::path& path() const { return m_path; } ///< Empty for a model that was never saved.
    const FileStamp& stamp() const { return m_stamp; }           ///< As the file was read or saved.
    bool isReadOnly() const; ///< A session of a newer format, or a series.
    bool isModified() const; ///< Unsaved notes or bookmarks, or results that somebody asked for.
    QString view() const;    ///< The saved window state, empty if none.

    /// The figures that the session keeps, and those since. They are written with the next save and never ask for one.
    /// \returns none if the text in the session is damaged
    KeptFigures figures() const;
    void setFigures(KeptFigures figures);
    void keepFigure(const QString& name, FigureDescription figure);
    void keepSettings(const QString& title, const FigureSettings& settings); ///< How a view was exported.
    std::optional<FigureSettings> settingsOf(const QString& title) const; ///< None for a view never exported.

    /// Reads the pictures of the screen, on any thread.
    using Screen = std::function<std::vector<ScreenPicture>()>;
    /// \param screen  asked on the window's thread whenever the session is saved; its answer may be empty
    void setScreen(std::function<Screen()> screen) { m_screen = std::move(screen); }

    enum class IfChanged { Ask, Overwrite };
    /// Writes beside and renames; `view` is the window's state as one JSON string. If somebody else has written the open session
    /// meanwhile, it emits conflict() and leaves the file alone, unless it is to be overwritten.
    void save(const std::filesystem::path& file, const QString& view, IfChanged ifChanged = IfChanged::Ask);
    /// Takes in notes, bookmarks and results that the file of the open session has by now.
    void merge();
    /// Returns a function that puts together the session to be saved; it may be called on any thread.
    std::function<Session()> snapshot(const QString& view) const;

    Job* job() { return &m_job; } ///< Saves and merges.

    // For the opener.

    /// \param base  notes and bookmarks that the file is known to have
    void setOpened(const std::filesystem::path& path, const FileStamp& stamp, NotebookContents base);
    void forget();
    void copyFrom(const SessionFile& other) { m_path = other.m_path; }

signals:
    void saved(const QString& file);
    void conflict(const QString& file); ///< Not saved: somebody else has written it.
    void merged();
    void failed(const QString& message);
    void figuresChanged();

private:
    void take(const Session& other, const FileStamp& stamp);
    std::string figuresText() const;

    Workspace* m_workspace;
    std::filesystem::path m_path;
    FileStamp m_stamp;
    std::optional<KeptFigures> m_figures; // in place of those of the session, once there are others
    NotebookContents m_base;              // notes and bookmarks in the file when it had m_stamp
    quint64 m_opening = 0;                // grows with everything that is opened or closed
    std::function<Screen()> m_screen;
    Job m_job;
};

} // namespace headwise::ui
