#include "ui/views/table_figure.h"

#include "ui/text.h"
#include "ui/theme.h"
#include "ui/views/token_delegate.h"

#include <QApplication>
#include <QClipboard>
#include <QFontMetricsF>
#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>
#include <QSortFilterProxyModel>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

TableFigure::TableFigure(QWidget* parent)
    : QTableView(parent)
    , m_sorted(new QSortFilterProxyModel(this))
{
    setModel(m_sorted);
    setItemDelegate(new TokenDelegate(this));
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    setShowGrid(false);
    setAlternatingRowColors(true);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(24);
    horizontalHeader()->setHighlightSections(false);
    horizontalHeader()->setTextElideMode(Qt::ElideMiddle); // The tool tip has the whole.
    horizontalHeader()->setSortIndicatorClearable(true);
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
    setSortingEnabled(true);
    sortByColumn(-1, Qt::AscendingOrder); // as they come, until a column is clicked
}

int TableFigure::sourceRow(const QModelIndex& index) const
{
    return m_sorted->mapToSource(index).row();
}

QString TableFigure::exported(int row, int column) const
{
    const QModelIndex index = m_sorted->index(row, column);
    const QVariant number = index.data(m_sortRole);
    const QString shown = index.data().toString();
    if (number.typeId() != QMetaType::Double || index.data(Qt::FontRole).value<QFont>() == tokenFont())
        return shown;
    return std::isfinite(number.toDouble()) ? exactNumber(number.toDouble()) : QStringLiteral("nan");
}

void TableFigure::keyPressEvent(QKeyEvent* event)
{
    if (!event->matches(QKeySequence::Copy))
        return QTableView::keyPressEvent(event);
    QModelIndexList rows = selectionModel()->selectedRows();
    std::sort(rows.begin(), rows.end());
    QString copied;
    for (const QModelIndex& row : std::as_const(rows)) {
        QStringList cells;
        for (int column = 0; column < m_sorted->columnCount(); ++column)
            cells << exported(row.row(), column);
        copied += cells.join(u'\t') + u'\n';
    }
    QApplication::clipboard()->setText(copied);
}

void TableFigure::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    QStringList cells;
    const int columns = m_sorted->columnCount();
    for (int column = 0; column < columns; ++column)
        cells << m_sorted->headerData(column, Qt::Horizontal).toString();
    writeRow(cells);
    for (int row = 0; row < m_sorted->rowCount(); ++row) {
        cells.clear();
        for (int column = 0; column < columns; ++column)
            cells << exported(row, column);
        writeRow(cells);
    }
}

void TableFigure::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    QFont font = QApplication::font();
    if (!style.fontFamily.isEmpty())
        font.setFamily(style.fontFamily);
    font.setPointSizeF(style.fontSize);
    QFont bold = font;
    bold.setWeight(QFont::DemiBold);
    QFont tokens = tokenFont();
    tokens.setPointSizeF(style.fontSize);
    const QFontMetricsF metrics(font, painter.device());
    const double line = 1.35 * metrics.height();
    const int columns = std::clamp(m_sorted->columnCount(), 1, 12);
    const double width = size.width() / columns;
    double y = metrics.ascent();
    const auto cell = [&](int column, const QString& words, const QFont& with, bool right) {
        painter.setFont(with);
        const QFontMetricsF ruler(with, painter.device());
        const QString shown = ruler.elidedText(words, Qt::ElideRight, width - 6);
        const double indent = right ? width - 6 - ruler.horizontalAdvance(shown) : 0;
        painter.drawText(QPointF(column * width + indent, y), shown);
    };
    painter.setPen(lightColors().text);
    if (style.title && !figureTitle().isEmpty()) {
        painter.setFont(bold);
        painter.drawText(QPointF(0, y), figureTitle());
        y += line;
    }
    for (int column = 0; column < columns; ++column)
        cell(column, m_sorted->headerData(column, Qt::Horizontal).toString(), bold, false);
    painter.setPen(QPen(lightColors().border, 0.5));
    painter.drawLine(QPointF(0, y + metrics.descent() + 1), QPointF(size.width(), y + metrics.descent() + 1));
    const int rows = m_sorted->rowCount();
    for (int row = 0; row < rows; ++row) {
        y += line;
        const bool isLast = y + line > size.height() && row + 1 < rows;
        painter.setPen(isLast ? lightColors().muted : lightColors().text);
        if (isLast) {
            painter.setFont(font);
            painter.drawText(QPointF(0, y), tr("… %1 of %2 rows").arg(ui::count(row), ui::count(rows)));
            return;
        }
        for (int column = 0; column < columns; ++column) {
            const QModelIndex index = m_sorted->index(row, column);
            const bool isToken = index.data(Qt::FontRole).value<QFont>() == tokenFont();
            cell(column, index.data().toString(), isToken ? tokens : font,
                 index.data(Qt::TextAlignmentRole).toInt() & Qt::AlignRight);
        }
    }
}

} // namespace headwise::ui
