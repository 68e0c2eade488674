#include "ui/widgets/table_copy.h"

#include "core/tokenizer/token_text.h"
#include "core/tokenizer/tokenizer.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/models/token_table_model.h"

#include <QClipboard>
#include <QCoreApplication>
#include <QFont>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QMenu>
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

/// Finds the cell in a table, or in a view that contains tables.
QModelIndex cellAt(QWidget* view, const QPoint& position)
{
    if (const auto* table = qobject_cast<QTableView*>(view))
        return table->indexAt(position);
    for (QWidget* part = view->childAt(position); part && part != view; part = part->parentWidget())
        if (const auto* table = qobject_cast<QTableView*>(part))
            return table->indexAt(table->viewport()->mapFrom(view, position));
    return {};
}

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

void addTokenCopies(QMenu* menu, QWidget* view, const QPoint& position, const Tokenizer* tokenizer)
{
    const QModelIndex cell = cellAt(view, position);
    const QVariant id = cell.data(TokenTableModel::IdRole);
    if (!cell.data(TokenTableModel::IsTokenRole).toBool() || !id.isValid())
        return;
    const auto add = [menu](const QString& words, const QString& copied) {
        menu->addAction(words, menu, [copied] { QGuiApplication::clipboard()->setText(copied); });
    };
    const QByteArray bytes =
        tokenizer ? QByteArray::fromStdString(tokenizer->bytes(id.toInt())) : QByteArray();
    const bool isText = !bytes.isEmpty() && bytes.isValidUtf8();
    add(QCoreApplication::translate("Tables", "Copy token"),
        isText ? QString::fromUtf8(bytes) : cell.data().toString());
    add(QCoreApplication::translate("Tables", "Copy token #%1").arg(id.toInt()), text(shownId(id.toInt())));
    menu->addSeparator();
}

} // namespace headwise::ui
