#include "ui/widgets/table_figure.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export_title.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/cell_heat.h"
#include "ui/widgets/number_columns.h"
#include "ui/widgets/table_copy.h"
#include "ui/widgets/token_delegate.h"
#include "ui/widgets/wrapped_header.h"

#include <QApplication>
#include <QFontMetricsF>
#include <QHeaderView>
#include <QPainter>
#include <QSortFilterProxyModel>

#include <algorithm>
#include <vector>

namespace headwise::ui {

TableFigure::TableFigure(QWidget* parent)
    : QTableView(parent)
    , m_sorted(new QSortFilterProxyModel(this))
    , m_header(new WrappedHeader(this))
{
    setHorizontalHeader(m_header);
    setModel(m_sorted);
    setTabKeyNavigation(false); // Tab goes on to the next part of the page
    setItemDelegate(new TokenDelegate(this));
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    setShowGrid(false);
    setAlternatingRowColors(true);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(24);
    m_header->setHighlightSections(false);
    m_header->setSortIndicatorClearable(true);
    const auto count = [this] { ++m_revision; };
    connect(m_sorted, &QAbstractItemModel::modelReset, this, count);
    connect(m_sorted, &QAbstractItemModel::layoutChanged, this, count);
    connect(m_sorted, &QAbstractItemModel::dataChanged, this, count);
    connect(m_sorted, &QAbstractItemModel::rowsInserted, this, count);
    connect(m_sorted, &QAbstractItemModel::rowsRemoved, this, count);
    connect(m_sorted, &QAbstractItemModel::columnsInserted, this, count);
    connect(m_sorted, &QAbstractItemModel::columnsRemoved, this, count);
    connect(this, &QAbstractItemView::clicked, this,
            [this](const QModelIndex& index) { emit rowChosen(sourceRow(index)); });
    connect(this, &QAbstractItemView::activated, this,
            [this](const QModelIndex& index) { emit rowChosen(sourceRow(index)); });
}

void TableFigure::setSource(QAbstractItemModel* model, int sortRole)
{
    m_sortRole = sortRole;
    m_sorted->setSortRole(sortRole);
    m_sorted->setSourceModel(model);
    copyRowsByKey(this, sortRole);
    setSortingEnabled(true);
    sortByColumn(-1, Qt::AscendingOrder); // as they come, until a column is clicked
}

int TableFigure::sourceRow(const QModelIndex& index) const
{
    return m_sorted->mapToSource(index).row();
}

int TableFigure::dataRowCount() const
{
    return m_sorted->rowCount();
}

QStringList TableFigure::dataRow(int row) const
{
    QStringList cells;
    for (int column = 0; column < m_sorted->columnCount(); ++column)
        cells << (row < 0 ? m_sorted->headerData(column, Qt::Horizontal).toString()
                          : takenCell(m_sorted->index(row, column), m_sortRole));
    return cells;
}

void TableFigure::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    for (int row = -1; row < dataRowCount(); ++row)
        writeRow(dataRow(row));
}

namespace {

constexpr int tableFigureMeasuredRows = 200; // Enough to know how wide a column is.
constexpr double tableFigureBetween = 8;     // points, from one column to the next
constexpr double narrowest = 18;             // points of a column that can be read

/// A sorted table as it stands on paper.
struct PaperTable {
    const QAbstractItemModel& model;
    QFont text, bold, tokens;
    std::vector<double> widths = {}; // of the columns that find room
    std::vector<double> tails = {};  // of all columns: from the decimal points of their numbers on

    QFont fontAt(const QModelIndex& index) const
    {
        return index.data(Qt::FontRole).value<QFont>() == tokenFont() ? tokens : text;
    }

    void measure(double room, QPaintDevice* device)
    {
        for (int column = 0; column < model.columnCount(); ++column) {
            double words = QFontMetricsF(bold, device)
                               .horizontalAdvance(model.headerData(column, Qt::Horizontal).toString());
            double integers = 0, tail = 0;
            for (int row = 0; row < std::min(tableFigureMeasuredRows, model.rowCount()); ++row) {
                const QModelIndex index = model.index(row, column);
                const QFontMetricsF ruler(fontAt(index), device);
                const QString shown = index.data().toString();
                const qsizetype point = isNumberCell(index) ? decimalPoint(shown) : shown.size();
                integers = std::max(integers, ruler.horizontalAdvance(shown.first(point)));
                tail = std::max(tail, ruler.horizontalAdvance(shown.sliced(point)));
            }
            words = std::max(words, integers + tail);
            widths.push_back(std::max(words, narrowest) + tableFigureBetween);
            tails.push_back(tail);
        }
        fit(room);
    }

    /// How far a number ends from the right end of its column of that width, for the decimal points to stand in a line.
    double roomBehind(const QString& shown, int column, double width, const QFontMetricsF& ruler) const
    {
        const double own = ruler.horizontalAdvance(shown.sliced(decimalPoint(shown)));
        return std::clamp(tails[static_cast<std::size_t>(column)] - own, 0.0,
                          std::max(0.0, width - ruler.horizontalAdvance(shown)));
    }

    /// Behind the numbers of a row, as the window shows them.
    void paintHeat(QPainter& painter, int row, double top, double height) const
    {
        double x = 0;
        for (int column = 0; column < static_cast<int>(widths.size()); ++column) {
            const double width = widths[static_cast<std::size_t>(column)];
            const QVariant heat = model.index(row, column).data(TokenTableModel::HeatRole);
            if (heat.isValid())
                painter.fillRect(QRectF(x - 1, top, width - tableFigureBetween + 2, height),
                                 heatColor(heat.toDouble(), lightColors()));
            x += width;
        }
    }

    /// Wide columns give way first; where even narrow ones find no room, the last are left out.
    void fit(double room)
    {
        while (!widths.empty()
               && static_cast<double>(widths.size()) * (narrowest + tableFigureBetween) > room)
            widths.pop_back();
        double fair = room;
        const auto total = [this, &fair] {
            double sum = 0;
            for (const double width : widths)
                sum += std::min(width, fair);
            return sum;
        };
        while (total() > room && fair > narrowest + tableFigureBetween)
            fair = std::max(narrowest + tableFigureBetween, 0.95 * fair);
        for (double& width : widths)
            width = std::min(width, fair);
        if (const double left = room - total(); left > 0 && !widths.empty())
            for (double& width : widths)
                width += std::min(left / static_cast<double>(widths.size()), 2 * tableFigureBetween);
    }
};

} // namespace

void TableFigure::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    if (m_lists)
        return paintLists(painter, size, style);
    PaperTable table{*m_sorted, figureFont(style), figureFont(style), figureTokenFont(style)};
    table.bold.setWeight(QFont::DemiBold);
    table.measure(size.width(), painter.device());
    const QFontMetricsF metrics(table.text, painter.device());
    const double line = 1.35 * metrics.height();
    double y = paintFigureTitle(painter, *this, size.width(), style) + metrics.ascent();
    const int columns = static_cast<int>(table.widths.size());
    const auto paintRow = [&](int row) { // −1: the titles
        double x = 0;
        for (int column = 0; column < columns; ++column) {
            const QModelIndex index = m_sorted->index(std::max(row, 0), column);
            const double width = table.widths[static_cast<std::size_t>(column)];
            const QFont font = row < 0 ? table.bold : table.fontAt(index);
            const QString words =
                row < 0 ? m_sorted->headerData(column, Qt::Horizontal).toString() : index.data().toString();
            const QFontMetricsF ruler(font, painter.device());
            const QString shown = ruler.elidedText(words, Qt::ElideRight, width - tableFigureBetween + 0.5);
            double left = 0;
            if (isNumberCell(index))
                left = width - tableFigureBetween - ruler.horizontalAdvance(shown)
                    - (row < 0 ? 0 : table.roomBehind(shown, column, width - tableFigureBetween, ruler));
            painter.setFont(font);
            const bool isMuted = index.data(TokenTableModel::IsMutedRole).toBool();
            painter.setPen(isMuted ? lightColors().muted : lightColors().text);
            painter.drawText(QPointF(x + left, y), shown);
            x += width;
        }
    };
    painter.setPen(lightColors().text);
    if (style.axes) {
        paintRow(-1);
        painter.setPen(QPen(lightColors().border, 0.5 * style.lineWidth));
        const double rule = y + metrics.descent() + 1;
        painter.drawLine(QPointF(0, rule), QPointF(size.width(), rule));
        y += line;
    }
    const int rows = m_sorted->rowCount();
    for (int row = 0; row < rows; ++row, y += line) {
        const bool isLast = y + line > size.height() && row + 1 < rows;
        painter.setPen(isLast ? lightColors().muted : lightColors().text);
        if (isLast) {
            painter.setFont(table.text);
            return painter.drawText(QPointF(0, y),
                                    tr("… %1 of %2 rows").arg(ui::count(row), ui::count(rows)));
        }
        table.paintHeat(painter, row, y - metrics.ascent(), metrics.height());
        paintRow(row);
    }
}

} // namespace headwise::ui
