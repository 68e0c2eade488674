#include "ui/widgets/table_copy.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"

#include <QClipboard>
#include <QFont>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QStringList>
#include <QTableView>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

class RowCopier : public QObject {
public:
    RowCopier(QTableView* table, int numberRole)
        : QObject(table)
        , m_table(table)
        , m_numberRole(numberRole)
    {
        table->installEventFilter(this);
    }

    bool eventFilter(QObject* /*watched*/, QEvent* event) override
    {
        if (event->type() != QEvent::KeyPress || !static_cast<QKeyEvent*>(event)->matches(QKeySequence::Copy))
            return false;
        QModelIndexList rows = m_table->selectionModel()->selectedRows();
        std::sort(rows.begin(), rows.end());
        QString copied;
        for (const QModelIndex& row : std::as_const(rows)) {
            QStringList cells;
            for (int column = 0; column < m_table->model()->columnCount(); ++column)
                if (!m_table->isColumnHidden(column))
                    cells << takenCell(row.siblingAtColumn(column), m_numberRole);
            copied += cells.join(u'\t') + u'\n';
        }
        QGuiApplication::clipboard()->setText(copied);
        return true;
    }

private:
    QTableView* m_table;
    int m_numberRole;
};

} // namespace

QString takenCell(const QModelIndex& index, int numberRole)
{
    const QVariant number = index.data(numberRole);
    const QString shown = index.data().toString();
    if (number.typeId() != QMetaType::Double || index.data(Qt::FontRole).value<QFont>() == tokenFont())
        return shown;
    return std::isfinite(number.toDouble()) ? exactNumber(number.toDouble()) : QStringLiteral("nan");
}

void copyRowsByKey(QTableView* table, int numberRole)
{
    new RowCopier(table, numberRole);
}

} // namespace headwise::ui
