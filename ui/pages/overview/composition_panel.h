#pragma once

#include "ui/pages/parts/page.h"

class QLabel;
class QStandardItemModel;

namespace headwise::ui {

class TableFigure;

/// The heads that the selected head reads from and that read from it, those furthest above the baseline first.
class CompositionPanel : public Page {
    Q_OBJECT

public:
    explicit CompositionPanel(Workspace* workspace, QWidget* parent = nullptr);

    QList<FigureSource*> figures() override;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void fitColumns(); ///< Without the score where there is no room for all.
    void recompute() override;

    QLabel* m_message;
    QStandardItemModel* m_model;
    TableFigure* m_table;
    std::vector<HeadId> m_heads; // the rows
};

} // namespace headwise::ui
