#pragma once

#include "core/results/result_set.h"

#include <QWidget>

class QStandardItemModel;

namespace headwise::ui {

class TableFigure;
class Workspace;

/// Arrays that no picture shows, by name, shape, value at the selected head, null, unit and formula.
class NumbersTable : public QWidget {
    Q_OBJECT

public:
    explicit NumbersTable(QWidget* parent = nullptr);

    void show(const std::vector<const ResultArray*>& arrays,
              const Workspace& workspace); ///< Hides the table if there are none.
    TableFigure* table() const { return m_table; }
    bool isEmpty() const;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void fitColumns(); ///< Fits the columns to their contents; the definitions take the remaining width.

    TableFigure* m_table;
    QStandardItemModel* m_model;
};

} // namespace headwise::ui
