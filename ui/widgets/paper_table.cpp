#include "ui/widgets/paper_table.h"

#include "ui/base/theme.h"
#include "ui/figures/figure_export_title.h"
#include "ui/figures/math_text.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/cell_heat.h"
#include "ui/widgets/number_columns.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QSet>

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
    if (all > room) {
        names = areRowsApart(1) || !areRowsApart(2) ? 1 : 2;
        narrow(contents, room);
        wrapTitles(contents, device);
    }
    fit(room);
}

/// Tells whether the texts of the first columns differ from row to row.
bool PaperTable::areRowsApart(int columns) const
{
    QSet<QString> seen;
    const int rows = std::min(paperTableMeasuredRows, model.rowCount());
    for (int row = 0; row < rows; ++row) {
        QStringList words;
        for (int column = 0; column < std::min(columns, model.columnCount()); ++column)
            words << model.index(row, column).data().toString();
        seen.insert(words.join(QChar::Null));
    }
    return seen.size() == rows;
}

/// Leaves every column room beside the first, which names the rows and has at most half of the page.
void PaperTable::narrow(std::vector<double>& contents, double room)
{
    for (std::size_t i = 0; i < contents.size(); ++i) {
        double most = room - paperTableBetween;
        if (contents.size() > 1)
            most -= i == 0 ? room / 2 : contents[0] + paperTableBetween;
        if (contents[i] <= std::max(most, narrowest))
            continue;
        contents[i] = std::max(most, narrowest);
        narrowed.push_back(static_cast<int>(i));
    }
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

QStringList PaperTable::linesOf(const QModelIndex& index, const QPaintDevice* device) const
{
    const QString shown = index.data().toString();
    const QFont font = fontAt(index);
    const double width = widths[static_cast<std::size_t>(index.column())] - paperTableBetween;
    const bool isBroken = std::ranges::find(narrowed, index.column()) != narrowed.end()
        && QFontMetricsF(font, device).horizontalAdvance(shown) > width + 0.5;
    return isBroken ? wrappedLines(shown, font, width, device) : QStringList{shown};
}

int PaperTable::rowLines(int row, const QPaintDevice* device) const
{
    qsizetype most = 1;
    for (const int column : narrowed)
        most = std::max(most, linesOf(model.index(row, column), device).size());
    return static_cast<int>(most);
}

void PaperTable::paintRow(QPainter& painter, int row, const std::vector<int>& columns, double y) const
{
    double x = 0;
    for (const int column : columns) {
        const QModelIndex index = model.index(row, column);
        const double width = widths[static_cast<std::size_t>(column)];
        const QFont font = fontAt(index);
        const QFontMetricsF ruler(font, painter.device());
        painter.setFont(font);
        const bool isMuted = index.data(TokenTableModel::IsMutedRole).toBool();
        painter.setPen(isMuted ? lightColors().muted : lightColors().text);
        const bool isToken = font == tokens;
        double baseline = y;
        for (const QString& shown : linesOf(index, painter.device())) {
            double left = 0;
            if (isNumberCell(index))
                left = width - paperTableBetween - ruler.horizontalAdvance(shown)
                    - roomBehind(shown, column, width - paperTableBetween, ruler);
            if (isToken)
                painter.drawText(QPointF(x + left, baseline), shown);
            else
                drawMath(painter, QPointF(x + left, baseline), shown);
            baseline += paperTableLine * QFontMetricsF(text, painter.device()).height();
        }
        x += width;
    }
}

void PaperTable::paintTitles(QPainter& painter, const std::vector<int>& columns, double y) const
{
    const double step = paperTableLine * QFontMetricsF(bold, painter.device()).height();
    painter.setFont(bold);
    painter.setPen(lightColors().text);
    double x = 0;
    for (const int column : columns) {
        const double width = widths[static_cast<std::size_t>(column)];
        const QStringList& lines = titles[static_cast<std::size_t>(column)];
        double baseline = y + (titleLines - static_cast<double>(lines.size())) * step;
        for (const QString& line : lines) {
            const double left = isNumberCell(model.index(0, column))
                ? width - paperTableBetween - mathWidth(line, bold, painter.device())
                : 0;
            drawMath(painter, QPointF(x + left, baseline), line);
            baseline += step;
        }
        x += width;
    }
}

/// Splits the columns into blocks below each other, so that none is cut or left out. Each begins with the columns that name
/// the rows. The blocks are about equally wide.
void PaperTable::fit(double room)
{
    constexpr double step = 0.95;
    page = room;
    for (double& width : widths)
        width = std::min(width, room);
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
            const double named = std::accumulate(widths.begin(), widths.begin() + names, 0.0);
            for (int name = 0; column >= names && named + width <= page && name < names; ++name) {
                parts.back().push_back(name);
                used += widths[static_cast<std::size_t>(name)];
            }
        }
        parts.back().push_back(column);
        used += width;
    }
    return parts;
}

} // namespace headwise::ui
