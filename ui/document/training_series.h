#pragma once

#include "core/series/series_file.h"
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

/// A series as it comes from its file. Controls in its words are made visible.
struct OpenedSeries {
    Series series;
    std::filesystem::path file;
    FileStamp stamp;                            ///< State of the file before it was read.
    std::vector<std::filesystem::path> members; ///< [S] where each checkpoint was found; empty: nowhere.

    bool hasHeadsOf(const ModelCard& card) const; ///< True if the model has as many layers and heads.
};

/// Returns a score of every head at one step, as an analysis would have it.
ResultArray scoreAt(const Series& series, const SeriesScore& score, int step);

/// Looks for the checkpoints in the folder of the file and in the folders beside it.
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
    static bool isOpenIn(const Workspace& workspace);

    bool isOpen() const { return m_opened != nullptr; }
    const Series& series() const { return m_opened->series; } ///< Only while one is open.
    const std::filesystem::path& file() const { return m_opened->file; }
    /// Returns the checkpoint of a step; empty if it was not found.
    std::filesystem::path member(int step) const;
    int step() const { return m_step; } ///< Index into Series::steps.
    void setStep(int step);             ///< Ignored outside the series.
    std::shared_ptr<const OpenedSeries> opened() const { return m_opened; }

    // For the opener.

    void setOpened(
        std::shared_ptr<const OpenedSeries> opened); ///< Its current step is the last that could be read.
    /// Returns the session that stands in for a model while no checkpoint is open: heads and no weights.
    static OpenedSession standIn(const OpenedSeries& opened);

signals:
    void changed(); ///< Another series, or none.
    void stepChanged();

private:
    friend TrainingSeries* partOf<TrainingSeries>(Workspace* workspace);
    explicit TrainingSeries(Workspace* workspace);
    void showScores(); ///< Gives the stand-in the scores of the current step as its results.

    Workspace* m_workspace;
    std::shared_ptr<const OpenedSeries> m_opened;
    int m_step = 0;
};

} // namespace headwise::ui
