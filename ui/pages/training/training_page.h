#pragma once

#include "core/series/series_file.h"
#include "ui/pages/parts/page.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;
class QSlider;
class QStandardItemModel;

namespace headwise::ui {

class EmptyPlace;
class HeadGrid;
class HeadTimeline;
class SmallMultiples;
class TableFigure;
class TrainingFrames;
class TrainingSeries;
struct CurveChoice;

/// The timeline of the open series: one score or the leading singular values of every head over the steps of training, the grid of heads at the current
/// step, the selected head alone, and the steps at which heads changed.
class TrainingPage : public Page {
    Q_OBJECT

public:
    explicit TrainingPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show; empty if a series is open.
    static QString whyNot(const Workspace& workspace);

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

signals:
    void stepWanted(const QString& path);   ///< The user wants to open this checkpoint as the model…
    void stepCompared(const QString& path); ///< …or to compare the model with it.

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
    void chooseChange(int row);
    CurveChoice choice() const;
    bool hasHead() const;             ///< The series has the selected head.
    const SeriesScore* score() const; ///< Null: the series has none.
    QString readOut(HeadId head) const;

    TrainingSeries* m_series; // owned by the workspace
    EmptyPlace* m_empty;
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
    HeadTimeline* m_head;
    TrainingFrames* m_export;
    QString m_wanted; // the score that the user chose, even if another series lacks it
};

} // namespace headwise::ui
