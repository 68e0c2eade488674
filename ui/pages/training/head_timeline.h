#pragma once

#include "ui/base/job.h"
#include "ui/pages/training/series_pictures.h"

#include <QWidget>

#include <memory>
#include <string>
#include <vector>

class QLabel;

namespace headwise::ui {

class LineChart;
class Workspace;
struct OpenedSeries;

/// The selected head over the steps of a series: its score, its singular values, or its singular vectors followed by overlap.
class HeadTimeline : public QWidget {
    Q_OBJECT

public:
    explicit HeadTimeline(Workspace* workspace, QWidget* parent = nullptr);

    void draw(const SeriesScore& score, const CurveChoice& choice, bool hasLogSteps);
    void stop();      ///< Drops what is being read.
    void lightStep(); ///< Marks the current step.
    LineChart* chart() const { return m_chart; }
    /// Leading singular values of every head of the open series; empty until they have been read.
    std::vector<HeadSpectra> leading(const std::string& circuit) const;

signals:
    void leadingRead();
    void readOutChanged(const QString& text);

private:
    struct Numbers;
    static Result<Numbers> read(const OpenedSeries& opened, const CurveChoice& choice, HeadId head,
                                bool isLeadingKnown, const Task& task);
    void showScore(const SeriesScore& score, bool hasLogSteps);
    void showSpectra(const CurveChoice& choice, bool hasLogSteps); ///< Reads them first.
    void showNumbers(const Numbers& numbers, const CurveChoice& choice, bool hasLogSteps);
    void chooseStep(const QString& curve, int index); ///< Goes to the step of a point of the chart.
    void readOut(const QPointF& point);
    bool isLeadingKnown(const std::string& circuit) const;

    Workspace* m_workspace;
    TrainingSeries* m_series; // owned by the workspace
    LineChart* m_chart;
    QLabel* m_reading; // how to read the chart
    Job m_job;
    std::vector<VectorTrack> m_tracks;  // that are drawn
    std::vector<HeadSpectra> m_leading; // of every head of m_leadingSeries, for m_leadingCircuit
    std::shared_ptr<const OpenedSeries> m_leadingSeries;
    std::string m_leadingCircuit;
};

} // namespace headwise::ui
