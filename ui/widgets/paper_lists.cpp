#include "ui/widgets/paper_lists.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export_title.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/cell_heat.h"
#include "ui/widgets/number_columns.h"
#include "ui/widgets/table_figure.h"

#include <QAbstractItemModel>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <utility>
#include <vector>

namespace headwise::ui {

namespace {

constexpr int wantedListEntries = 5; // of each list; more only fill the last line
constexpr int mostListTitleLines = 4;
constexpr int leastListRows = 3;

/// A table of lists and its type.
struct ListTable {
    const QAbstractItemModel& model;
    const ListTitles& titles;
    QFont words, tokens;
    QFontMetricsF ruler, tokenRuler;
    int measured; ///< Rows that tell how wide a column is.

    ListTable(const QAbstractItemModel& rows, const ListTitles& above, const FigureStyle& style,
              const QPainter& painter, double height)
        : model(rows)
        , titles(above)
        , words(figureFont(style))
        , tokens(figureTokenFont(style))
        , ruler(words, painter.device())
        , tokenRuler(tokens, painter.device())
        , measured(std::min(model.rowCount(), static_cast<int>(height / step())))
    {
    }

    int lists() const { return static_cast<int>(titles.entries.size()); }
    int numbers() const { return titles.hasValues ? 2 : 1; } ///< Columns of an entry.
    int entries() const { return (model.columnCount() - 1 - titles.facts) / (numbers() * lists()); }
    int column(int list, int entry) const { return 1 + titles.facts + numbers() * (lists() * entry + list); }
    double step() const { return 1.2 * std::max(ruler.height(), tokenRuler.height()); }
    double gap() const { return tokenRuler.horizontalAdvance(u' '); }
    QString textAt(int row, int column) const { return model.index(row, column).data().toString(); }
    bool isToken(int row, int column) const
    {
        return column == 0 || model.index(row, column).data(TokenTableModel::IsTokenRole).toBool();
    }

    /// Returns the width of the widest cell of a name or a fact.
    double widest(int column) const
    {
        double width = 0;
        for (int row = 0; row < measured; ++row)
            width = std::max(
                width, (isToken(row, column) ? tokenRuler : ruler).horizontalAdvance(textAt(row, column)));
        return width;
    }

    double widestEntry(int list) const
    {
        double width = 0;
        for (int row = 0; row < measured; ++row)
            for (int entry = 0; entry < std::min(2 * wantedListEntries, entries()); ++entry) {
                const int at = column(list, entry);
                const double value =
                    titles.hasValues ? gap() + ruler.horizontalAdvance(textAt(row, at + 1)) + 1 : 0;
                width = std::max(width, tokenRuler.horizontalAdvance(textAt(row, at)) + value);
            }
        return width;
    }
};

/// Returns the width of the longest word.
double longestWord(const QString& words, const QFontMetricsF& ruler)
{
    double width = 0;
    for (const QString& word : words.split(u' '))
        width = std::max(width, ruler.horizontalAdvance(word) + 1);
    return width;
}

/// The columns of some of a table's lists, side by side, and where they stand on paper.
struct ListColumns {
    int first, count;         ///< Lists.
    std::vector<double> left; ///< Edge of the name, of the facts and of the lists, then the end of the page.
    std::vector<QStringList> top; ///< Words over each.
    int onLine = 1;               ///< Entries of a list side by side.
    int lines = 1;                ///< Number in a row.
    int entries = 1;              ///< Shown of each list.
    double entryWidth = 0;        ///< With the gap behind it.
    bool isWhole = true;          ///< Every entry has room.

    ListColumns(const ListTable& table, std::pair<int, int> lists, double room, const QPaintDevice* device)
        : first(lists.first)
        , count(lists.second)
    {
        const double gap = 2 * table.gap();
        std::vector<QString> words{table.titles.rows};
        for (int fact = 1; fact <= table.titles.facts; ++fact)
            words.push_back(table.model.headerData(fact, Qt::Horizontal).toString());
        double x = 0;
        for (std::size_t i = 0; i < words.size(); ++i) {
            left.push_back(x);
            double width = std::max(table.widest(static_cast<int>(i)), longestWord(words[i], table.ruler));
            while (wrappedLines(words[i], table.words, width + 1, device).size() > mostListTitleLines)
                width *= 1.1;
            x += width + gap;
        }
        double widest = 0;
        for (int list = first; list < first + count; ++list)
            widest = std::max(widest, table.widestEntry(list));
        const double share = (room - x) / count;
        for (int list = 0; list <= count; ++list)
            left.push_back(x + list * share);
        onLine = std::clamp(static_cast<int>(share / (widest + gap)), 1, table.entries());
        entryWidth = share / onLine;
        isWhole = widest + gap <= entryWidth;
        lines = (std::min(wantedListEntries, table.entries()) + onLine - 1) / onLine;
        entries = std::min(table.entries(), lines * onLine);
        for (int list = first; list < first + count; ++list) {
            const QString& name = table.titles.entries[list];
            words.push_back(
                entries == table.entries()
                    ? name
                    : TableFigure::tr("%1 (%2 of %3)").arg(name).arg(entries).arg(table.entries()));
        }
        for (std::size_t i = 0; i < words.size(); ++i)
            top.push_back(wrappedLines(words[i], table.words, left[i + 1] - left[i] - gap + 1, device));
    }

    int topLines() const
    {
        qsizetype most = 0;
        for (const QStringList& words : top)
            most = std::max(most, words.size());
        return static_cast<int>(most);
    }
    double rowHeight(double step) const { return (lines > 1 ? lines + 0.3 : 1) * step; }
};

/// Chooses the lists that stand side by side: all of them, or each below the one before.
std::vector<ListColumns> listBlocks(const ListTable& table, double room, const QPaintDevice* device)
{
    std::vector<ListColumns> blocks{ListColumns(table, {0, table.lists()}, room, device)};
    if (blocks.front().isWhole || table.lists() == 1)
        return blocks;
    blocks.clear();
    for (int list = 0; list < table.lists(); ++list)
        blocks.emplace_back(table, std::pair(list, 1), room, device);
    return blocks;
}

/// One block on its way down the page.
struct ListBlock {
    QPainter& painter;
    const ListTable& table;
    const ListColumns& columns;
    QRectF area;

    void write(const QFont& font, const QColor& color, const QRectF& cell, const QString& text,
               Qt::Alignment side = Qt::AlignLeft) const
    {
        painter.setFont(font);
        painter.setPen(color);
        painter.drawText(
            cell, static_cast<int>(side | Qt::AlignVCenter),
            QFontMetricsF(font, painter.device()).elidedText(text, Qt::ElideRight, cell.width() + 0.5));
    }

    /// Returns the place of a name, fact or list on a line, without the gap behind it.
    QRectF cell(std::size_t column, double y) const
    {
        const double gap = 2 * table.gap();
        return {area.left() + columns.left[column], y, columns.left[column + 1] - columns.left[column] - gap,
                table.step()};
    }

    void paintTop() const
    {
        for (std::size_t i = 0; i < columns.top.size(); ++i)
            for (qsizetype line = 0; line < columns.top[i].size(); ++line) {
                const bool isNumber = i > 0 && static_cast<int>(i) <= table.titles.facts
                    && isNumberCell(table.model.index(0, static_cast<int>(i)));
                write(table.words, lightColors().muted,
                      cell(i, area.top() + static_cast<double>(line) * table.step()), columns.top[i][line],
                      isNumber ? Qt::AlignRight : Qt::AlignLeft);
            }
    }

    void paintEntry(const QRectF& place, int row, int column) const
    {
        QRectF cell = place;
        if (table.titles.hasValues) {
            const QModelIndex number = table.model.index(row, column + 1);
            const QString value = number.data().toString();
            const double width = table.ruler.horizontalAdvance(value) + 1;
            if (const QVariant heat = number.data(TokenTableModel::HeatRole); heat.isValid())
                painter.fillRect(cell.adjusted(cell.width() - width - 2, 1, 2, -1),
                                 heatColor(heat.toDouble(), lightColors()));
            write(table.words, lightColors().text, cell, value, Qt::AlignRight);
            cell.setRight(cell.right() - width);
        }
        const bool isMuted = table.model.index(row, column).data(TokenTableModel::IsMutedRole).toBool();
        write(table.tokens, isMuted ? lightColors().muted : lightColors().text, cell,
              table.textAt(row, column));
    }

    void paintRow(int row, double y) const
    {
        for (int column = 0; column <= table.titles.facts; ++column) {
            const bool isNumber = column > 0 && isNumberCell(table.model.index(row, column));
            write(table.isToken(row, column) ? table.tokens : table.words, lightColors().text,
                  cell(static_cast<std::size_t>(column), y), table.textAt(row, column),
                  isNumber ? Qt::AlignRight : Qt::AlignLeft);
        }
        const double gap = 2 * table.gap();
        for (int list = 0; list < columns.count; ++list)
            for (int entry = 0; entry < columns.entries; ++entry) {
                const int column = 1 + table.titles.facts + list;
                const int line = entry / columns.onLine, along = entry % columns.onLine;
                const QRectF place(area.left() + columns.left[static_cast<std::size_t>(column)]
                                       + along * columns.entryWidth,
                                   y + line * table.step(), columns.entryWidth - gap, table.step());
                paintEntry(place, row, table.column(columns.first + list, entry));
            }
    }

    /// \returns the number of rows that had room
    int paint(bool hasTop) const
    {
        const double height = columns.rowHeight(table.step());
        double y = area.top();
        if (hasTop) {
            paintTop();
            y += columns.topLines() * table.step();
        }
        const int rows = table.model.rowCount();
        for (int row = 0; row < rows; ++row, y += height) {
            const double needed = columns.lines * table.step() + (row + 1 < rows ? table.step() : 0);
            if (row > 0 && y + needed > area.bottom()) {
                write(table.words, lightColors().muted, {area.left(), y, area.width(), table.step()},
                      TableFigure::tr("… %1 of %2 rows").arg(ui::count(row), ui::count(rows)));
                return row;
            }
            paintRow(row, y);
        }
        return rows;
    }
};

} // namespace

QStringList paintLists(QPainter& painter, const QAbstractItemModel& model, const ListTitles& titles,
                       const QRectF& area, const FigureStyle& style)
{
    const ListTable table(model, titles, style, painter, area.height());
    std::vector<ListColumns> blocks = listBlocks(table, area.width(), painter.device());
    QStringList omitted;
    const double least = (blocks.front().topLines() + blocks.front().lines + 1.5) * table.step();
    const auto fitting = static_cast<std::size_t>(std::max(1.0, area.height() / least));
    if (blocks.size() > fitting) {
        omitted << TableFigure::tr("the first %1 of %2 lists").arg(fitting).arg(blocks.size());
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(fitting), blocks.end());
    }
    const double height = area.height() / static_cast<double>(blocks.size());
    if (blocks.front().entries < table.entries())
        omitted << TableFigure::tr("%1 of %2 entries a row").arg(blocks.front().entries).arg(table.entries());
    if (!std::ranges::all_of(blocks, &ListColumns::isWhole))
        omitted << TableFigure::tr("the ends of some tokens");
    int shown = model.rowCount();
    double y = area.top();
    for (const ListColumns& columns : blocks) {
        const QRectF place(area.left(), y, area.width(), height - (blocks.size() > 1 ? table.step() / 2 : 0));
        shown = std::min(shown, ListBlock{painter, table, columns, place}.paint(style.axes));
        y += height;
    }
    if (shown < model.rowCount())
        omitted
            << TableFigure::tr("the first %1 of %2 rows").arg(ui::count(shown), ui::count(model.rowCount()));
    return omitted;
}

double leastListHeight(const QAbstractItemModel& model, const ListTitles& titles, double width,
                       const FigureStyle& style, const QPainter& painter)
{
    constexpr double page = 700; // points
    const ListTable table(model, titles, style, painter, page);
    double height = 0;
    for (const ListColumns& columns : listBlocks(table, width, painter.device()))
        height += (style.axes ? columns.topLines() * table.step() : 0)
            + std::min(leastListRows, model.rowCount()) * columns.rowHeight(table.step())
            + 1.5 * table.step();
    return height;
}

} // namespace headwise::ui
