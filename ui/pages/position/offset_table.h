#pragma once

#include "ui/pages/parts/page.h"

#include <QTimer>

class QLabel;
class QStandardItemModel;

namespace headwise::ui {

class TableFigure;

/// The keys that the selected token attends to at the selected offset Δ, with rotary positions; a slider and a box set Δ.
class OffsetTable : public Page {
    Q_OBJECT

public:
    explicit OffsetTable(Workspace* workspace, QWidget* parent = nullptr);

    QList<FigureSource*> figures() override;

private:
    void recompute() override;
    void clear(const QString& message);
    QString heading() const;

    QLabel* m_heading;
    QStandardItemModel* m_model;
    TableFigure* m_table;
    QTimer m_pause;
    Job m_job;
};

} // namespace headwise::ui
