#pragma once

#include "core/results/result_set.h"

#include <QWidget>

class QStandardItemModel;

namespace headwise::ui {

class TableFigure;
class Workspace;

/// Arrays by name, shape, value at the selected head, null, unit and formula: those that no picture shows.
class NumbersTable : public QWidget {
    Q_OBJECT

public:
    explicit NumbersTable(QWidget* parent = nullptr);

    void show(const std::vector<const ResultArray*>& arrays,
              const Workspace& workspace); ///< Hides itself if none.
    TableFigure* table() const { return m_table; }
    bool isEmpty() const;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void fitColumns(); ///< As wide as their contents, the definitions as wide as there is room.

    TableFigure* m_table;
    QStandardItemModel* m_model;
};

} // namespace headwise::ui
