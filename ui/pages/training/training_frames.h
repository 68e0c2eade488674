#pragma once

#include "core/series/series_file.h"

#include <QObject>

#include <functional>

class QWidget;

namespace headwise::ui {

class FigureSource;
class FigureWriter;
class HeatmapView;
class TrainingSeries;

/// Writes the grid of heads at every step of a series.
class TrainingFrames : public QObject {
    Q_OBJECT

public:
    /// \param grid whose colours and title the frames have \param shown returns the score of the grid; null: none
    TrainingFrames(TrainingSeries* series, const HeatmapView* grid, std::function<const SeriesScore*()> shown,
                   QWidget* page);

    void askForFile(); ///< Asks where to write them, and as what.
    /// Writes one file a step: "grid.png" becomes "grid-step512.png".
    void exportFrames(const QString& fileName);
    /// Writes the steps that could be read as one animated SVG.
    void exportAnimation(const QString& fileName);

signals:
    void exported(const QString& message); ///< Or why they were not.

private:
    /// Calls `write` with the grid of heads of each step, on one scale.
    void forEachFrame(const std::function<void(FigureSource& frame, int step)>& write) const;

    TrainingSeries* m_series; // owned by the workspace
    const HeatmapView* m_grid;
    std::function<const SeriesScore*()> m_shown;
    QWidget* m_page;
    FigureWriter* m_writer;
};

} // namespace headwise::ui
