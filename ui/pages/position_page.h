#pragma once

#include "core/base/matrix.h"
#include "ui/pages/page.h"

class QLabel;

namespace headwise::ui {

class HeatmapPanel;
class LineChart;
class OffsetTable;

/// What the selected head attends to by position alone: the score for every offset, for learned positions the whole table
/// of query and key positions, for rotary ones the energy of every frequency and the keys at an offset.
class PositionPage : public Page {
    Q_OBJECT

public:
    explicit PositionPage(Workspace* workspace, QWidget* parent = nullptr);

    QJsonObject viewState() const override;
    void setViewState(const QJsonObject& state) override;
    QList<FigureSource*> figures() override;

private:
    struct Answer;
    void recompute() override;
    void show(const Answer& answer);
    void createEnergies();
    void showEnergies(const Answer& answer);
    void clear(const QString& message);

    QLabel* m_explanation;
    LineChart* m_chart;
    LineChart* m_energies; // of rotary frequencies
    HeatmapPanel* m_panel;
    OffsetTable* m_offsets;      // of rotary positions
    std::vector<double> m_turns; // places in which each frequency turns once
    Job m_job;
};

} // namespace headwise::ui
