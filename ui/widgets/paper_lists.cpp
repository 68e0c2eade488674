#include "ui/widgets/paper_lists.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/math_text.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/cell_heat.h"
#include "ui/widgets/list_blocks.h"
#include "ui/widgets/number_columns.h"
#include "ui/widgets/table_figure.h"

#include <QAbstractItemModel>
#include <QPainter>

#include <algorithm>
#include <utility>
#include <vector>

namespace headwise::ui {

namespace {

constexpr int wantedListEntries = 5; // of each list where not all rows have room with every entry
constexpr int leastListRows = 3;

int fewEntries(const ListTable& table)
{
    return std::min(wantedListEntries, table.entries());
}

/// One block on its way down the page.
struct BlockPainter {
    QPainter& painter;
    const ListBlock& block;
    QRectF area;

    const ListTable& table() const { return block.table; }

    void write(const QFont& font, const QRectF& cell, const QString& text,
               Qt::Alignment side = Qt::AlignLeft) const
    {
        painter.setFont(font);
        painter.drawText(cell, static_cast<int>(side | Qt::AlignVCenter), text);
    }

    /// Returns the place of a name, fact or list on a line.
    QRectF cell(std::size_t column, double y) const
    {
        return {area.left() + block.left[column], y, block.widths[column], table().step()};
    }

    bool isNumber(int row, std::size_t column) const
    {
        return column > 0 && column < block.names()
            && isNumberCell(table().model.index(row, static_cast<int>(column)));
    }

    /// Paints the words over the columns; their last lines stand side by side.
    void paintTop() const
    {
        const auto [named, listed] = block.topLines();
        const bool isBelow = block.place == ListBlock::Place::Below;
        const double last = std::max(named, listed);
        painter.setFont(table().words);
        painter.setPen(lightColors().muted);
        for (std::size_t i = 0; i < block.top.size(); ++i) {
            const QStringList& words = block.top[i];
            const double end = !isBelow ? last : i < block.names() ? named : named + listed;
            for (qsizetype line = 0; line < words.size(); ++line) {
                const QRectF place =
                    cell(i, area.top() + (end - static_cast<double>(words.size() - line)) * table().step());
                const double left = isNumber(0, i)
                    ? place.right() - mathWidth(words[line], table().words, painter.device())
                    : place.left();
                const double baseline =
                    place.center().y() + (table().ruler.ascent() - table().ruler.descent()) / 2;
                drawMath(painter, QPointF(left, baseline), words[line]);
            }
        }
    }

    void paintEntry(const ListLines::Spot& spot, int row, int list, double y) const
    {
        const int column = table().column(list, spot.entry);
        const double stop = block.lines.stopWidth(table());
        const std::size_t place = block.names() + static_cast<std::size_t>(list - block.first);
        QRectF cell(area.left() + block.left[place] + spot.stop * stop, y + spot.line * table().step(),
                    spot.span * stop - table().gap(), table().step());
        const double value = table().valueWidth(row, column);
        if (table().titles.hasValues) {
            QRectF number = cell.translated(0, (spot.lines - 1) * table().step());
            number.setLeft(number.right() - value + table().gap() / 2);
            const QModelIndex index = table().model.index(row, column + 1);
            if (const QVariant heat = index.data(TokenTableModel::HeatRole); heat.isValid())
                painter.fillRect(number.adjusted(-heatReach, 1, heatReach, -1),
                                 heatColor(heat.toDouble(), lightColors()));
            painter.setPen(lightColors().text);
            write(table().words, number, index.data().toString(), Qt::AlignRight);
        }
        const bool isMuted = table().model.index(row, column).data(TokenTableModel::IsMutedRole).toBool();
        painter.setPen(isMuted ? lightColors().muted : lightColors().text);
        const QStringList lines = spot.lines > 1 ? table().linesOf(row, column, cell.width() - value)
                                                 : QStringList{table().textAt(row, column)};
        for (const QString& line : lines) {
            write(table().tokens, cell, line);
            cell.translate(0, table().step());
        }
    }

    void paintRow(int row, double y) const
    {
        qsizetype named = 1;
        painter.setPen(lightColors().text);
        for (std::size_t i = 0; i < block.names(); ++i) {
            const QStringList lines = table().linesOf(row, static_cast<int>(i), block.widths[i]);
            named = std::max(named, lines.size());
            for (qsizetype line = 0; line < lines.size(); ++line)
                write(table().isToken(row, static_cast<int>(i)) ? table().tokens : table().words,
                      cell(i, y + static_cast<double>(line) * table().step()), lines[line],
                      isNumber(row, i) ? Qt::AlignRight : Qt::AlignLeft);
        }
        if (block.place == ListBlock::Place::Below)
            y += static_cast<double>(named) * table().step();
        for (int list = block.first; list < block.first + block.count; ++list)
            for (const ListLines::Spot& spot : block.lines.spots(table(), row, list, block.entries))
                paintEntry(spot, row, list, y);
    }

    /// \returns the number of rows that had room
    int paint(const FigureStyle& style) const
    {
        double y = area.top() + block.topHeight(style);
        if (style.axes)
            paintTop();
        const int rows = table().model.rowCount();
        for (int row = 0; row < rows; ++row) {
            const double needed = row + 1 < rows ? block.rowHeight(row) + table().step() // with the note
                                                 : block.rowLines(row) * table().step();
            if (row > 0 && y + needed > area.bottom()) {
                painter.setPen(lightColors().muted);
                write(table().words, {area.left(), y, area.width(), table().step()},
                      TableFigure::tr("… %1 of %2 rows").arg(ui::count(row), ui::count(rows)));
                return row;
            }
            paintRow(row, y);
            y += block.rowHeight(row);
        }
        return rows;
    }
};

/// Tells whether all rows have room, with the entries of the blocks.
bool isAllShown(const std::vector<ListBlock>& blocks, double height, const FigureStyle& style)
{
    return std::ranges::all_of(blocks, [&](const ListBlock& block) {
        return block.table.measured == block.table.model.rowCount()
            && block.topHeight(style) + block.rowsHeight(block.table.measured) <= height;
    });
}

/// Returns the height of each of the blocks that share a page, without the gap below.
double blockHeight(const std::vector<ListBlock>& blocks, double page)
{
    return page / static_cast<double>(blocks.size())
        - (blocks.size() > 1 ? blocks.front().table.step() / 2 : 0);
}

} // namespace

QStringList paintLists(QPainter& painter, const QAbstractItemModel& model, const ListTitles& titles,
                       const QRectF& area, const FigureStyle& style)
{
    const ListTable table(model, titles, style, painter.device(), area.height());
    std::vector<ListBlock> blocks = listBlocks(table, area.width(), table.entries());
    if (!isAllShown(blocks, blockHeight(blocks, area.height()), style))
        blocks = listBlocks(table, area.width(), fewEntries(table));
    QStringList omitted;
    const double least = blocks.front().topHeight(style)
        + (table.measured > 0 ? blocks.front().rowHeight(0) : 0) + 1.5 * table.step();
    const auto fitting = static_cast<std::size_t>(std::max(1.0, area.height() / least));
    if (blocks.size() > fitting) {
        omitted << TableFigure::tr("the first %1 of %2 lists").arg(fitting).arg(blocks.size());
        while (blocks.size() > fitting)
            blocks.pop_back();
    }
    const auto few = std::ranges::min_element(blocks, {}, &ListBlock::entries);
    if (few->entries < table.entries())
        omitted << TableFigure::tr("%1 of %2 entries a row").arg(few->entries).arg(table.entries());
    const double height = blockHeight(blocks, area.height());
    int shown = model.rowCount();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const double y =
            area.top() + static_cast<double>(i) * area.height() / static_cast<double>(blocks.size());
        const QRectF place(area.left(), y, area.width(), height);
        shown = std::min(shown, BlockPainter{painter, blocks[i], place}.paint(style));
    }
    if (shown < model.rowCount())
        omitted
            << TableFigure::tr("the first %1 of %2 rows").arg(ui::count(shown), ui::count(model.rowCount()));
    return omitted;
}

double leastListHeight(const QAbstractItemModel& model, const ListTitles& titles, double width,
                       const FigureStyle& style, const QPaintDevice* device)
{
    constexpr double page = 700; // points
    const ListTable table(model, titles, style, device, page);
    double height = 0;
    for (const ListBlock& block : listBlocks(table, width, fewEntries(table)))
        height += block.topHeight(style) + block.rowsHeight(std::min(leastListRows, table.measured))
            + 1.5 * table.step();
    return height;
}

} // namespace headwise::ui
