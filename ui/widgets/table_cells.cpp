#include "ui/widgets/table_cells.h"

#include "core/tokenizer/token_text.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/workspace.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/number_columns.h"
#include "ui/widgets/table_figure.h"
#include "ui/widgets/wrapped_header.h"

#include <QStandardItemModel>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

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

QStandardItem* percentCell(double fraction)
{
    return figures(std::isnan(fraction) ? number(fraction) : percent(fraction), fraction);
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
    const QString shown = workspace.model()->tokenText(token);
    QStandardItem* made = cell(shown, shown);
    made->setFont(tokenFont());
    made->setToolTip(QStringLiteral("%1  #%2  %3").arg(shown).arg(token).arg(quotedToken(workspace, token)));
    made->setData(token, TokenTableModel::IdRole);
    const auto tokenizer = workspace.model()->tokenizer();
    made->setData(tokenizer && tokenizer->isSpecial(token), TokenTableModel::IsSpecialRole);
    made->setData(isSource, TokenTableModel::IsSourceRole);
    made->setData(true, TokenTableModel::IsTokenRole);
    return made;
}

QString quotedToken(const Workspace& workspace, int token)
{
    const auto tokenizer = workspace.model()->tokenizer();
    if (!tokenizer || !tokenizer->hasToken(token))
        return {};
    const QByteArray bytes = QByteArray::fromStdString(tokenizer->bytes(token));
    QString quoted;
    if (bytes.isValidUtf8())
        quoted = text(bytes.toStdString());
    else
        for (const char byte : bytes)
            quoted += QStringLiteral("\\x")
                + QString::number(static_cast<uchar>(byte), 16).toUpper().rightJustified(2, u'0');
    for (const auto& [raw, written] : {std::pair(u'\n', "\\n"), {u'\r', "\\r"}, {u'\t', "\\t"}})
        quoted.replace(raw, QLatin1StringView(written));
    return u'"' + text(shownSpecialToken(quoted.toStdString()))
        + u'"'; // control characters would reorder the number beside it
}

int tokenOf(const QStandardItemModel& model, int row, int column)
{
    const QStandardItem* item = model.item(row, column);
    const QVariant id = item ? item->data(TokenTableModel::IdRole) : QVariant();
    return id.isValid() ? id.toInt() : -1;
}

void fitColumns(TableFigure* table)
{
    WrappedHeader* header = table->header();
    // Measured once: a header that resizes to its contents measures all of them for every new row.
    header->setSectionResizeMode(QHeaderView::Interactive);
    header->setMinimumSectionSize(40);
    header->setResizeContentsPrecision(50);
    const QAbstractItemView* cells = table; // sizeHint is public in the base class
    std::vector<int> columns;
    std::vector<int> contents;
    for (int column = 0; column < header->count(); ++column) {
        if (header->isSectionHidden(column))
            continue;
        columns.push_back(column);
        contents.push_back(cells->sizeHintForColumn(column));
    }
    std::vector<int> widths(columns.size());
    for (int lines = 1; lines <= WrappedHeader::mostLines; ++lines) {
        for (std::size_t i = 0; i < columns.size(); ++i)
            widths[i] = std::max(contents[i], header->widthOnLines(columns[i], lines));
        if (std::accumulate(widths.begin(), widths.end(), 0) <= table->viewport()->width())
            break;
    }
    for (std::size_t i = 0; i < columns.size(); ++i)
        header->resizeSection(columns[i], widths[i]);
    // A number far from its neighbours would be read with the wrong row.
    header->setStretchLastSection(columns.empty() || !isNumberCell(table->model()->index(0, columns.back())));
}

} // namespace headwise::ui
