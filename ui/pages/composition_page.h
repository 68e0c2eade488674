#pragma once

#include "ui/pages/page.h"

class QCheckBox;
class QComboBox;
class QLabel;

namespace headwise::ui {

class HeatmapPanel;

/// How much each head reads what an earlier head wrote, through its queries, keys or values.
class CompositionPage : public Page {
    Q_OBJECT

public:
    explicit CompositionPage(Workspace* workspace, QWidget* parent = nullptr);

    QJsonObject viewState() const override;
    void setViewState(const QJsonObject& state) override;
    QList<FigureSource*> figures() override;

private:
    void refresh();
    void markHead();
    HeadId writer(int row) const;    ///< The head of a row.
    HeadId reader(int column) const; ///< The head of a column: the rows' heads, a layer later.

    QComboBox* m_kind;
    QCheckBox* m_subtract;
    QLabel* m_explanation;
    HeatmapPanel* m_panel;
};

} // namespace headwise::ui
