#include "ui/pages/table_cells.h"

#include "ui/models/token_table_model.h"
#include "ui/text.h"
#include "ui/theme.h"
#include "ui/views/table_figure.h"
#include "ui/workspace.h"

#include <QHeaderView>
#include <QStandardItemModel>

#include <algorithm>

namespace headwise::ui {

namespace {

QStandardItem* cell(const QString& words, const QVariant& sortKey)
{
    auto* made = new QStandardItem(words);
    made->setEditable(false);
    made->setData(sortKey, TokenTableModel::SortRole);
    return made;
}

QStandardItem* figures(const QString& words, double value)
{
    QStandardItem* made = cell(words, value);
    made->setFont(numberFont());
    made->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    made->setToolTip(exactNumber(value));
    return made;
}

/// The least width of `words` on two lines.
int widthOnTwoLines(const QString& words, const QFontMetrics& metrics)
{
    int width = metrics.horizontalAdvance(words);
    for (qsizetype at = words.indexOf(u' '); at >= 0; at = words.indexOf(u' ', at + 1))
        width = std::min(width,
                         std::max(metrics.horizontalAdvance(words.left(at)),
                                  metrics.horizontalAdvance(words.mid(at + 1))));
    return width;
}

/// Titles on two lines, columns as wide as what is under them.
void wrapTitles(TableFigure* table)
{
    constexpr int aroundTitle = 20; // px
    QHeaderView* header = table->horizontalHeader();
    const QFontMetrics metrics(header->font());
    header->setTextElideMode(Qt::ElideNone);
    header->setDefaultAlignment(Qt::AlignCenter | static_cast<Qt::Alignment>(Qt::TextWordWrap));
    header->setMinimumHeight(2 * metrics.lineSpacing() + 12);
    const QAbstractItemView* cells = table; // where the hint is public
    for (int column = 0; column < table->model()->columnCount(); ++column) {
        const QString title = table->model()->headerData(column, Qt::Horizontal).toString();
        header->resizeSection(
            column,
            std::max(cells->sizeHintForColumn(column), widthOnTwoLines(title, metrics) + aroundTitle));
    }
}

} // namespace

QStandardItem* wordCell(const QString& words)
{
    QStandardItem* made = cell(words, words);
    made->setToolTip(words);
    return made;
}

QStandardItem* numberCell(double value)
{
    return figures(number(value), value);
}

QStandardItem* signedNumberCell(double value)
{
    return figures(signedNumber(value), value);
}

QStandardItem* countCell(int value)
{
    QStandardItem* made = cell(count(value), value);
    made->setFont(numberFont());
    made->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    return made;
}

QStandardItem* tokenCell(const Workspace& workspace, int token, bool isSource)
{
    const QString shown = workspace.tokenText(token);
    QStandardItem* made = cell(shown, shown);
    made->setFont(tokenFont());
    made->setToolTip(QStringLiteral("%1  #%2").arg(shown).arg(token));
    made->setData(token, TokenTableModel::IdRole);
    const auto tokenizer = workspace.tokenizer();
    made->setData(tokenizer && tokenizer->isSpecial(token), TokenTableModel::IsSpecialRole);
    made->setData(isSource, TokenTableModel::IsSourceRole);
    made->setData(true, TokenTableModel::IsTokenRole);
    return made;
}

int tokenOf(const QStandardItemModel& model, int row, int column)
{
    const QStandardItem* item = model.item(row, column);
    const QVariant id = item ? item->data(TokenTableModel::IdRole) : QVariant();
    return id.isValid() ? id.toInt() : -1;
}

void fitColumns(TableFigure* table)
{
    QHeaderView* header = table->horizontalHeader();
    // Once: a header that keeps to its contents measures them anew at every row that comes.
    header->setSectionResizeMode(QHeaderView::Interactive);
    header->setMinimumSectionSize(40);
    header->setResizeContentsPrecision(50);
    header->setStretchLastSection(true);
    header->setMinimumHeight(0);
    header->setTextElideMode(Qt::ElideMiddle);
    table->resizeColumnsToContents();
    if (header->length() > table->viewport()->width())
        wrapTitles(table);
}

} // namespace headwise::ui
