#pragma once

#include "core/circuits/circuits.h"
#include "ui/pages/page.h"
#include "ui/views/spectrum_chart.h"

class QLabel;

namespace headwise::ui {

/// The eigenvalues of one circuit of the selected head in the complex plane, with the score they add up to.
class EigenvaluePanel : public Page {
    Q_OBJECT

public:
    explicit EigenvaluePanel(Workspace* workspace, QWidget* parent = nullptr);

    void setKind(CircuitKind kind);

    QList<FigureSource*> figures() override;

private:
    void recompute() override;

    CircuitKind m_kind = CircuitKind::FullOv;
    LineChart* m_chart;
    QLabel* m_score;
};

} // namespace headwise::ui
