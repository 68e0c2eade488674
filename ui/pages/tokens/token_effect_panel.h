#pragma once

#include "ui/pages/parts/page.h"

class QLabel;

namespace headwise::ui {

class FillButton;
class HeadGrid;

/// All heads coloured by how much attending to the selected token changes their output logits. A click selects a head;
/// hovering reads out its strongest outputs.
class TokenEffectPanel : public Page {
    Q_OBJECT

public:
    explicit TokenEffectPanel(Workspace* workspace, QWidget* parent = nullptr);

    QList<FigureSource*> figures() override;

private:
    void connectSignals();
    void recompute() override;
    void clear(const QString& message);
    void readOut(HeadId head); ///< Shows its number at once, then its strongest outputs.
    QString numberOf(HeadId head) const;
    QString title() const;

    QLabel* m_title;
    QLabel* m_explanation;
    FillButton* m_fill;
    HeadGrid* m_panel;
    std::optional<HeadId> m_hovered;
    Job m_job, m_hoverJob;
};

} // namespace headwise::ui
