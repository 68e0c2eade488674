#pragma once

#include "core/series/series_file.h"
#include "ui/base/job.h"
#include "ui/pages/parts/page.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;
class QSlider;
class QStandardItemModel;

namespace headwise::ui {

class FigureWriter;
class HeadGrid;
class LineChart;
class SmallMultiples;
class TableFigure;
class TrainingSeries;
struct ChartLook;
struct OpenedSeries;

/// The timeline of the open series: one score or the leading singular values of every head over the steps of training, the grid of heads at the current
/// step, the selected head alone, and the steps at which heads changed.
class TrainingPage : public Page {
    Q_OBJECT

public:
    explicit TrainingPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show; empty if a series is open.
    static QString whyNot(const Workspace& workspace);

    QJsonObject viewState() const override;
    void setViewState(const QJsonObject& state) override;
    QList<FigureSource*> figures() override;

    /// Writes the grid of heads at every step: "grid.png" becomes "grid-step512.png", one file a step.
    void exportFrames(const QString& fileName);
    /// Writes the grid of heads at every step that could be read as one animated SVG.
    void exportAnimation(const QString& fileName);

signals:
    void stepWanted(const QString& path);        ///< The user wants to open this checkpoint as the model…
    void stepCompared(const QString& path);      ///< …or to compare the model with it.
    void framesExported(const QString& message); ///< Or why they were not.

private:
    void createControls();
    void createLayout();
    void connectSignals();
    void connectPictures();
    void recompute() override;
    void showProblems();
    void fillScores();
    void fillChanges();
    void showScore();
    void showStep();
    void showMultiples(); ///< The curves of all heads.
    void showHead();
    void showCurve(HeadId head);                      ///< The score of the selected head.
    void showSpectra(HeadId head);                    ///< Its singular values, which are read first.
    void lightStep();                                 ///< Marks the current step in the chart.
    void chooseStep(const QString& curve, int index); ///< Goes to the step of a point of the chart.
    void chooseChange(int row);
    void chooseFrames();
    /// Calls `write` with the grid of heads of each step, on one scale.
    void forEachFrame(const std::function<void(FigureSource& frame, int step)>& write) const;
    std::string shownCircuit() const; ///< "qk" or "ov", whose spectra are shown; empty: the score.
    ChartLook lookOfCurves() const;
    bool hasHead() const;             ///< The series has the selected head.
    const SeriesScore* score() const; ///< Null: the series has none.
    QString readOut(HeadId head) const;

    TrainingSeries* m_series; // owned by the workspace
    QLabel* m_message;
    QWidget* m_body;
    QComboBox* m_score;
    QCheckBox* m_log;
    QPushButton* m_frames;
    QLabel* m_problems;
    SmallMultiples* m_multiples;
    QStandardItemModel* m_changeModel;
    TableFigure* m_changes;
    HeadGrid* m_grid;
    QLabel* m_stepLabel;
    QSlider* m_step;
    QPushButton* m_open;
    QPushButton* m_compare;
    QComboBox* m_shown;
    LineChart* m_chart;
    Job m_reading;                      // of singular values
    std::vector<HeadSpectra> m_leading; // of every head of m_leadingSeries, for m_leadingCircuit
    std::shared_ptr<const OpenedSeries> m_leadingSeries;
    std::string m_leadingCircuit;
    FigureWriter* m_writer;
    QString m_wanted; // the score that the user chose, even if another series lacks it
};

} // namespace headwise::ui
