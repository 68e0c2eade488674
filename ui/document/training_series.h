#pragma once

#include "core/series/series_file.h"
#include "core/series/series_members.h"
#include "ui/base/job.h"
#include "ui/document/opened_session.h"

#include <QObject>

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace headwise {
struct ModelCard;
}

namespace headwise::ui {

class Workspace;
template <typename Part>
Part* partOf(Workspace* workspace);

/// A series as it comes from its file. Control characters in its text are made visible.
struct OpenedSeries {
    Series series;
    std::filesystem::path file;
    FileStamp stamp;                            ///< State of the file before it was read.
    std::vector<std::filesystem::path> members; ///< [S] where each checkpoint was found; empty: nowhere.

    bool hasHeadsOf(const ModelCard& card) const; ///< True if the model has as many layers and heads.
};

/// Returns a score of every head at one step, as an analysis would have it.
ResultArray scoreAt(const Series& series, const SeriesScore& score, int step);

/// Looks for the checkpoints where they were computed from, then in the folder of the file and in the folders beside it.
/// Errors: those of readSeries().
Result<std::shared_ptr<const OpenedSeries>> openSeriesFile(const std::filesystem::path& file,
                                                           const Task& task);

/// The open series of checkpoints and its current step. It belongs to the workspace and is found through it.
///
/// It stays open while its checkpoints are opened as models, and closes with a model of other heads.
class TrainingSeries : public QObject {
    Q_OBJECT

public:
    static TrainingSeries* of(Workspace* workspace); ///< Made when first asked for.
    static bool isOpenIn(const Workspace& workspace) { return openIn(workspace) != nullptr; }
    /// Returns the series that is open; null: none.
    static const TrainingSeries* openIn(const Workspace& workspace);

    bool isOpen() const { return m_opened != nullptr; }
    const Series& series() const { return m_opened->series; } ///< Only while one is open.
    const std::filesystem::path& file() const { return m_opened->file; }
    /// Returns the checkpoint of a step; empty if it was not found.
    std::filesystem::path member(int step) const;
    int step() const { return m_step; } ///< Index into Series::steps.
    void setStep(int step);             ///< Ignored outside the series.
    std::shared_ptr<const OpenedSeries> opened() const { return m_opened; }

    /// Computes a series in the background, as `headwise series` does, and writes it to `file`. If it is stopped, its results so far
    /// stay beside the file, and the same call resumes it.
    void make(const SeriesMembers& members, const std::filesystem::path& file);
    Job* job() { return &m_job; } ///< The computation that make() started.

    // For the opener.

    void setOpened(
        std::shared_ptr<const OpenedSeries> opened); ///< Its current step is the last that could be read.
    /// Returns the session that stands in for a model while no checkpoint is open: heads and no weights.
    static OpenedSession standIn(const OpenedSeries& opened);

signals:
    void changed(); ///< Another series, or none.
    void stepChanged();
    void made(const QString& file); ///< A series was computed; it is not open yet.
    void makingFailed(const QString& message);
    void makingStopped(const QString& partialFile); ///< The user cancelled it.

private:
    friend TrainingSeries* partOf<TrainingSeries>(Workspace* workspace);
    explicit TrainingSeries(Workspace* workspace);
    void sayIfStopped(); ///< Tells a cancelled computation from one that ended.
    void showScores();   ///< Gives the stand-in the scores of the current step as its results.

    Workspace* m_workspace;
    std::shared_ptr<const OpenedSeries> m_opened;
    int m_step = 0;
    std::filesystem::path m_making; // the file that is being computed; empty: none
    Job m_job;
};

} // namespace headwise::ui
