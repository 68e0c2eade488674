#pragma once

#include "tests/support/journey.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QTableView>

#include <cmath>

// Reading tables and heatmaps as a user does.

namespace headwise::test {

/// Displayed numbers have three digits.
inline bool reads(double shown, double expected)
{
    const bool same = std::abs(shown - expected) <= 0.006 * std::abs(expected);
    if (!same)
        qWarning("the screen says %g, core %g", shown, expected);
    return same;
}

inline QString cell(const QAbstractItemView* table, int row, int column)
{
    return table->model()->index(row, column).data().toString();
}

inline double numberIn(const QAbstractItemView* table, int row, int column)
{
    return numberAfter(cell(table, row, column), {});
}

inline int columnOf(const QAbstractItemView* table, const QString& title)
{
    for (int column = 0; column < table->model()->columnCount(); ++column)
        if (table->model()->headerData(column, Qt::Horizontal).toString() == title)
            return column;
    return -1;
}

inline void clickRow(QTableView* table, int row)
{
    const QModelIndex index = table->model()->index(row, 0);
    table->scrollTo(index);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(index).center());
}

inline QPoint placeOf(const ui::HeatmapView* view, int row, int column)
{
    return view->cells().rect(row, column).center().toPoint();
}

} // namespace headwise::test
