#pragma once

#include <QAbstractItemModel>
#include <QStringList>

namespace headwise::test {

/// Every row of a model as its display texts joined by '|': models are compared as text.
inline QStringList printed(const QAbstractItemModel& model)
{
    QStringList rows;
    for (int row = 0; row < model.rowCount(); ++row) {
        QStringList cells;
        for (int column = 0; column < model.columnCount(); ++column)
            cells << model.index(row, column).data().toString();
        rows << cells.join(u'|');
    }
    return rows;
}

} // namespace headwise::test
