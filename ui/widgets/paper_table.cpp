#include "ui/widgets/paper_table.h"

#include "ui/base/theme.h"
#include "ui/figures/figure_export_title.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/cell_heat.h"
#include "ui/widgets/number_columns.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <numeric>

namespace headwise::ui {

namespace {

constexpr int paperTableMeasuredRows = 200; // Enough to tell how wide a column is.
constexpr double paperTableBetween = 8;     // points between columns
constexpr double narrowest = 18;            // points, for a readable column
constexpr int mostTitleLines = 3;

} // namespace

QString columnTitle(const QAbstractItemModel& model, int column)
{
    return model.headerData(column, Qt::Horizontal).toString().replace(QChar::Nbsp, u' ');
}

QFont PaperTable::fontAt(const QModelIndex& index) const
{
    return index.data(Qt::FontRole).value<QFont>() == tokenFont() ? tokens : text;
}

void PaperTable::measure(double room, QPaintDevice* device)
{
    const QFontMetricsF ruler(bold, device);
    std::vector<double> contents;
    double all = 0;
    for (int column = 0; column < model.columnCount(); ++column) {
        double integers = 0, tail = 0;
        for (int row = 0; row < std::min(paperTableMeasuredRows, model.rowCount()); ++row) {
            const QModelIndex index = model.index(row, column);
            const QFontMetricsF cells(fontAt(index), device);
            const QString shown = index.data().toString();
            const qsizetype point = isNumberCell(index) ? decimalPoint(shown) : shown.size();
            integers = std::max(integers, cells.horizontalAdvance(shown.first(point)));
            tail = std::max(tail, cells.horizontalAdvance(shown.sliced(point)));
        }
        tails.push_back(tail);
        contents.push_back(std::max(integers + tail, narrowest));
        titles.push_back({columnTitle(model, column)});
        widths.push_back(std::max(contents.back(), ruler.horizontalAdvance(titles.back().front()))
                         + paperTableBetween);
        all += widths.back();
    }
    if (all > room)
        wrapTitles(contents, device);
    fit(room);
}

void PaperTable::wrapTitles(const std::vector<double>& contents, QPaintDevice* device)
{
    constexpr double step = 1.1;
    const QFontMetricsF ruler(bold, device);
    for (std::size_t i = 0; i < widths.size(); ++i) {
        const QString title = titles[i].front();
        double width = contents[i];
        for (const QString& word : title.split(u' '))
            width = std::max(width, ruler.horizontalAdvance(word) + 1);
        while ((titles[i] = wrappedLines(title, bold, width, device)).size() > mostTitleLines)
            width *= step;
        widths[i] = width + paperTableBetween;
        titleLines = std::max(titleLines, static_cast<int>(titles[i].size()));
    }
}

/// Returns the space right of a number in a column of that width, so that the decimal points are aligned.
double PaperTable::roomBehind(const QString& shown, int column, double width,
                              const QFontMetricsF& ruler) const
{
    const double own = ruler.horizontalAdvance(shown.sliced(decimalPoint(shown)));
    return std::clamp(tails[static_cast<std::size_t>(column)] - own, 0.0,
                      std::max(0.0, width - ruler.horizontalAdvance(shown)));
}

void PaperTable::paintHeat(QPainter& painter, int row, const std::vector<int>& columns,
                           const QRectF& line) const
{
    double x = 0;
    for (const int column : columns) {
        const double width = widths[static_cast<std::size_t>(column)];
        const QVariant heat = model.index(row, column).data(TokenTableModel::HeatRole);
        if (heat.isValid())
            painter.fillRect(QRectF(x - 1, line.top(), width - paperTableBetween + 2, line.height()),
                             heatColor(heat.toDouble(), lightColors()));
        x += width;
    }
}

void PaperTable::paintRow(QPainter& painter, int row, const std::vector<int>& columns, double y) const
{
    double x = 0;
    for (const int column : columns) {
        const QModelIndex index = model.index(row, column);
        const double width = widths[static_cast<std::size_t>(column)];
        const QFont font = fontAt(index);
        const QFontMetricsF ruler(font, painter.device());
        const QString shown =
            ruler.elidedText(index.data().toString(), Qt::ElideRight, width - paperTableBetween + 0.5);
        double left = 0;
        if (isNumberCell(index))
            left = width - paperTableBetween - ruler.horizontalAdvance(shown)
                - roomBehind(shown, column, width - paperTableBetween, ruler);
        painter.setFont(font);
        const bool isMuted = index.data(TokenTableModel::IsMutedRole).toBool();
        painter.setPen(isMuted ? lightColors().muted : lightColors().text);
        painter.drawText(QPointF(x + left, y), shown);
        x += width;
    }
}

void PaperTable::paintTitles(QPainter& painter, const std::vector<int>& columns, double y) const
{
    const QFontMetricsF ruler(bold, painter.device());
    painter.setFont(bold);
    painter.setPen(lightColors().text);
    double x = 0;
    for (const int column : columns) {
        const double width = widths[static_cast<std::size_t>(column)];
        const QStringList& lines = titles[static_cast<std::size_t>(column)];
        double baseline =
            y + (titleLines - static_cast<double>(lines.size())) * paperTableLine * ruler.height();
        for (const QString& line : lines) {
            const QString shown = ruler.elidedText(line, Qt::ElideRight, width - paperTableBetween + 0.5);
            const double left = isNumberCell(model.index(0, column))
                ? width - paperTableBetween - ruler.horizontalAdvance(shown)
                : 0;
            painter.drawText(QPointF(x + left, baseline), shown);
            baseline += paperTableLine * ruler.height();
        }
        x += width;
    }
}

/// Splits the columns into blocks below each other, so that none is cut or left out. Each begins with the first
/// column, which names the rows. The blocks are about equally wide.
void PaperTable::fit(double room)
{
    constexpr double step = 0.95;
    page = room;
    for (double& width : widths) {
        cut += width > room ? 1 : 0;
        width = std::min(width, room);
    }
    blocks = split(room);
    const auto all = static_cast<double>(widths.size());
    if (blocks.size() == 1) { // The rest of the line is shared.
        const double used = std::accumulate(widths.begin(), widths.end(), 0.0);
        for (double& width : widths)
            width += std::min((room - used) / all, 2 * paperTableBetween);
        return;
    }
    const double widest = widths.empty() ? room : *std::ranges::max_element(widths);
    for (double limit = step * room; limit >= widest; limit *= step) {
        auto narrower = split(limit);
        if (narrower.size() > blocks.size())
            break;
        blocks = std::move(narrower);
    }
}

/// \param limit of a block's width; a single column may be as wide as the page
std::vector<std::vector<int>> PaperTable::split(double limit) const
{
    std::vector<std::vector<int>> parts;
    double used = limit + 1;
    for (int column = 0; column < static_cast<int>(widths.size()); ++column) {
        const double width = widths[static_cast<std::size_t>(column)];
        if (used + width > limit) {
            parts.emplace_back();
            used = 0;
            if (column > 0 && widths[0] + width <= page) {
                parts.back().push_back(0);
                used = widths[0];
            }
        }
        parts.back().push_back(column);
        used += width;
    }
    return parts;
}

} // namespace headwise::ui
