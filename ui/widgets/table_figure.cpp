#include "ui/widgets/table_figure.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export_title.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/paper_table.h"
#include "ui/widgets/table_copy.h"
#include "ui/widgets/token_delegate.h"
#include "ui/widgets/wrapped_header.h"

#include <QApplication>
#include <QFontMetricsF>
#include <QHeaderView>
#include <QMouseEvent>
#include <QPainter>
#include <QSortFilterProxyModel>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise::ui {

TableFigure::TableFigure(QWidget* parent)
    : QTableView(parent)
    , m_sorted(new QSortFilterProxyModel(this))
    , m_header(new WrappedHeader(this))
{
    setHorizontalHeader(m_header);
    setModel(m_sorted);
    viewport()->setMouseTracking(true);
    setTabKeyNavigation(false); // Tab moves on to the next part of the page
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
    sortByColumn(-1, Qt::AscendingOrder); // unsorted until a column is clicked
}

int TableFigure::sourceRow(const QModelIndex& index) const
{
    return m_sorted->mapToSource(index).row();
}

void TableFigure::setLit(std::optional<HeadId> head)
{
    if (std::exchange(m_lit, head) != head)
        viewport()->update();
}

QList<HeadId> TableFigure::headsOf(int row) const
{
    for (int column = 0; column < m_sorted->columnCount(); ++column)
        if (const auto heads =
                m_sorted->index(row, column).data(TokenTableModel::HeadsRole).value<QList<HeadId>>();
            !heads.isEmpty())
            return heads;
    return {};
}

void TableFigure::hover(const QModelIndex& cell)
{
    const QList<HeadId> heads = cell.isValid() ? headsOf(cell.row()) : QList<HeadId>();
    const auto head = heads.size() == 1 || heads.size() == 2 ? std::optional(heads.last()) : std::nullopt;
    if (std::exchange(m_hovered, head) != head)
        emit headHovered(head);
}

bool TableFigure::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::MouseMove)
        hover(indexAt(static_cast<QMouseEvent*>(event)->position().toPoint()));
    else if (event->type() == QEvent::Leave)
        hover({});
    return QTableView::viewportEvent(event);
}

void TableFigure::paintEvent(QPaintEvent* event)
{
    QTableView::paintEvent(event);
    if (!m_lit)
        return;
    QPainter painter(viewport());
    painter.setPen(themeColors(palette()).accent);
    for (int row = std::max(0, rowAt(0)); row < m_sorted->rowCount(); ++row) {
        const QRect place(0, rowViewportPosition(row), viewport()->width(), rowHeight(row));
        if (place.top() > viewport()->height())
            break;
        if (headsOf(row).contains(*m_lit))
            painter.drawRect(place.adjusted(0, 0, -1, -1));
    }
}

int TableFigure::dataRowCount() const
{
    return m_sorted->rowCount();
}

QStringList TableFigure::dataRow(int row) const
{
    QStringList cells;
    for (int column = 0; column < m_sorted->columnCount(); ++column)
        cells << (row < 0 ? columnTitle(*m_sorted, column)
                          : takenCell(m_sorted->index(row, column), m_sortRole));
    return cells;
}

void TableFigure::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    for (int row = -1; row < dataRowCount(); ++row)
        writeRow(dataRow(row));
}

/// The height in which a block can be read: its titles, three rows, and the note on those that follow.
double TableFigure::leastBlock(const PaperTable& table, const QPaintDevice* device,
                               const FigureStyle& style) const
{
    constexpr int leastRows = 3;
    const QFontMetricsF metrics(table.text, device);
    const int rows = m_sorted->rowCount();
    int lines = (style.axes ? table.titleLines : 0) + (rows > leastRows ? 1 : 0);
    for (int row = 0; row < std::min(rows, leastRows); ++row)
        lines += table.rowLines(row, device);
    return (lines - 1) * paperTableLine * metrics.height() + metrics.height();
}

std::pair<std::size_t, double> TableFigure::blocksIn(double room, const PaperTable& table,
                                                     QPaintDevice* device, const FigureStyle& style) const
{
    const QFontMetricsF metrics(table.text, device);
    const double line = paperTableLine * metrics.height();
    const auto all = static_cast<double>(table.blocks.size());
    const double least = leastBlock(table, device, style), gap = line - metrics.height();
    const double shown = std::clamp(std::floor((room + gap) / (least + gap)), 1.0, std::max(1.0, all));
    // The blocks share the page, but none gets more than it needs.
    double needed = (1 + table.titleLines) * line;
    for (int row = 0; row < m_sorted->rowCount() && needed < room / shown; ++row)
        needed += table.rowLines(row, device) * line;
    return {static_cast<std::size_t>(shown), std::min(room / shown, needed)};
}

double TableFigure::leastHeight(double width, const FigureStyle& style) const
{
    PaintRecording page({width, 1}, std::nullopt);
    QPainter painter(&page);
    if (m_lists)
        return paintFigureTitle(painter, *this, width, style)
            + leastListHeight(*m_sorted, *m_lists, width, style, &page);
    const PaperTable table = paperTable(width, style, &page);
    const double gap = (paperTableLine - 1) * QFontMetricsF(table.text, &page).height();
    return paintFigureTitle(painter, *this, width, style)
        + static_cast<double>(table.blocks.size()) * (leastBlock(table, &page, style) + gap) - gap;
}

PaperTable TableFigure::paperTable(double width, const FigureStyle& style, QPaintDevice* device) const
{
    PaperTable table{*m_sorted, figureFont(style), figureFont(style), figureTokenFont(style)};
    table.bold.setWeight(QFont::DemiBold);
    table.measure(width, device);
    return table;
}

QStringList TableFigure::paintTitledLists(QPainter& painter, const QSizeF& size,
                                          const FigureStyle& style) const
{
    const double top = paintFigureTitle(painter, *this, size.width(), style);
    return paintLists(painter, *m_sorted, *m_lists, {0, top, size.width(), size.height() - top}, style);
}

void TableFigure::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    if (m_lists)
        paintTitledLists(painter, size, style);
    else
        paintTable(painter, size, style);
}

QStringList TableFigure::paintTable(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    const PaperTable table = paperTable(size.width(), style, painter.device());
    const double top = paintFigureTitle(painter, *this, size.width(), style);
    const auto [shown, height] = blocksIn(size.height() - top, table, painter.device(), style);
    const int all = m_sorted->rowCount();
    double y = top;
    int rows = all;
    for (std::size_t i = 0; i < std::min(shown, table.blocks.size()); ++i, y += height)
        rows = std::min(
            rows, paintBlock(painter, table, table.blocks[i], QRectF(0, y, size.width(), height), style));
    QStringList said;
    if (shown < table.blocks.size())
        said << tr("the first %1 of %2 columns")
                    .arg(table.blocks[shown - 1].back() + 1)
                    .arg(table.widths.size());
    if (shown > 1)
        said << tr("columns in %1 blocks").arg(shown);
    if (rows < all)
        said << tr("the first %1 of %2 rows").arg(ui::count(rows), ui::count(all));
    return said;
}

int TableFigure::paintBlock(QPainter& painter, const PaperTable& table, const std::vector<int>& columns,
                            const QRectF& area, const FigureStyle& style) const
{
    const QFontMetricsF metrics(table.text, painter.device());
    const double line = paperTableLine * metrics.height();
    double y = area.top() + metrics.ascent();
    painter.setPen(lightColors().text);
    if (style.axes) {
        table.paintTitles(painter, columns, y);
        y += (table.titleLines - 1) * line;
        painter.setPen(QPen(lightColors().border, 0.5 * style.lineWidth));
        const double rule = y + metrics.descent() + 1;
        painter.drawLine(QPointF(0, rule), QPointF(area.width(), rule));
        y += line;
    }
    const int rows = m_sorted->rowCount();
    for (int row = 0; row < rows; ++row) {
        const double height = table.rowLines(row, painter.device()) * line;
        if (y + height - (row + 1 < rows ? 0 : line) > area.bottom()) { // the note needs a line
            painter.setFont(table.text);
            painter.setPen(lightColors().muted);
            painter.drawText(QPointF(0, y), tr("… %1 of %2 rows").arg(ui::count(row), ui::count(rows)));
            return row;
        }
        table.paintHeat(painter, row, columns,
                        QRectF(0, y - metrics.ascent(), area.width(), metrics.height()));
        table.paintRow(painter, row, columns, y);
        y += height;
    }
    return rows;
}

QStringList TableFigure::omissions(const QSizeF& size, const FigureStyle& style) const
{
    PaintRecording page(size, std::nullopt);
    QPainter painter(&page);
    return m_lists ? paintTitledLists(painter, size, style) : paintTable(painter, size, style);
}

} // namespace headwise::ui
