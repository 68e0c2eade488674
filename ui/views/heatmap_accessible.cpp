#include "ui/views/heatmap_accessible.h"

#include "ui/text.h"
#include "ui/views/heatmap_view.h"

#include <QPointer>

#include <algorithm>
#include <limits>

namespace headwise::ui {

namespace {

constexpr qsizetype mostParts = 1024; // A reader stands on one cell and asks about a few around it.

int asCount(Eigen::Index count)
{
    return static_cast<int>(std::min<Eigen::Index>(count, std::numeric_limits<int>::max()));
}

/// A cell, or where one index is −1 the header of a row or column.
class HeatmapPart : public QAccessibleInterface, public QAccessibleTableCellInterface {
public:
    HeatmapPart(HeatmapView* view, int row, int column)
        : m_view(view)
        , m_row(row)
        , m_column(column)
    {
    }

    void* interface_cast(QAccessible::InterfaceType type) override
    {
        return type == QAccessible::TableCellInterface && isCell()
            ? static_cast<QAccessibleTableCellInterface*>(this)
            : nullptr;
    }
    bool isValid() const override
    {
        return m_view && m_row < m_view->rowCount() && m_column < m_view->columnCount();
    }
    QObject* object() const override { return nullptr; }
    QAccessibleInterface* childAt(int /*x*/, int /*y*/) const override { return nullptr; }
    QAccessibleInterface* parent() const override { return table(); }
    QAccessibleInterface* child(int /*index*/) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface* /*child*/) const override { return -1; }
    QAccessible::Role role() const override
    {
        return isCell()    ? QAccessible::Cell
            : m_column < 0 ? QAccessible::RowHeader
                           : QAccessible::ColumnHeader;
    }
    void setText(QAccessible::Text /*kind*/, const QString& /*text*/) override { }

    QString text(QAccessible::Text kind) const override
    {
        if (!isValid())
            return {};
        const QString row = m_row < 0 ? QString() : axisLabel(m_view->rowAxis(), m_row);
        const QString column = m_column < 0 ? QString() : axisLabel(m_view->columnAxis(), m_column);
        if (!isCell())
            return kind == QAccessible::Name ? row + column : QString();
        switch (kind) {
        case QAccessible::Name: return number(double{m_view->valueAt(m_row, m_column)});
        case QAccessible::Value: return exactNumber(m_view->valueAt(m_row, m_column));
        case QAccessible::Description: return HeatmapView::tr("row %1, column %2").arg(row, column);
        default: return {};
        }
    }

    QRect rect() const override
    {
        if (!isValid() || !isCell())
            return {};
        const QRect cell = m_view->cellRect(m_row, m_column).toAlignedRect();
        return {m_view->mapToGlobal(cell.topLeft()), cell.size()};
    }

    QAccessible::State state() const override
    {
        QAccessible::State state;
        state.invalid = !isValid();
        if (!isValid() || !isCell())
            return state;
        state.focusable = state.selectable = true;
        state.selected = isSelected();
        state.focused = isSelected() && m_view->hasFocus();
        state.offscreen = !QRectF(m_view->rect()).intersects(m_view->cellRect(m_row, m_column));
        return state;
    }

    bool isSelected() const override
    {
        return m_view && m_view->state().row == m_row && m_view->state().column == m_column;
    }
    QList<QAccessibleInterface*> columnHeaderCells() const override { return header(-1, m_column); }
    QList<QAccessibleInterface*> rowHeaderCells() const override { return header(m_row, -1); }
    int columnIndex() const override { return m_column; }
    int rowIndex() const override { return m_row; }
    int columnExtent() const override { return 1; }
    int rowExtent() const override { return 1; }
    QAccessibleInterface* table() const override { return QAccessible::queryAccessibleInterface(m_view); }

private:
    bool isCell() const { return m_row >= 0 && m_column >= 0; }

    QList<QAccessibleInterface*> header(int row, int column) const
    {
        const auto* owner = static_cast<HeatmapAccessible*>(table());
        QAccessibleInterface* found = owner ? owner->part(row, column) : nullptr;
        return found ? QList{found} : QList<QAccessibleInterface*>();
    }

    QPointer<HeatmapView> m_view;
    int m_row;
    int m_column;
};

} // namespace

HeatmapAccessible::HeatmapAccessible(HeatmapView* view)
    : QAccessibleWidget(view, QAccessible::Table)
{
}

HeatmapAccessible::~HeatmapAccessible()
{
    for (const QAccessible::Id id : std::as_const(m_parts))
        QAccessible::deleteAccessibleInterface(id);
}

HeatmapView* HeatmapAccessible::view() const
{
    return qobject_cast<HeatmapView*>(object());
}

void* HeatmapAccessible::interface_cast(QAccessible::InterfaceType type)
{
    return type == QAccessible::TableInterface ? static_cast<QAccessibleTableInterface*>(this)
                                               : QAccessibleWidget::interface_cast(type);
}

int HeatmapAccessible::rowCount() const
{
    return view() ? asCount(view()->rowCount()) : 0;
}

int HeatmapAccessible::columnCount() const
{
    return view() ? asCount(view()->columnCount()) : 0;
}

int HeatmapAccessible::childCount() const
{
    return view() ? asCount(view()->rowCount() * view()->columnCount()) : 0;
}

QAccessibleInterface* HeatmapAccessible::child(int index) const
{
    const int columns = columnCount();
    return index < 0 || columns == 0 ? nullptr : cellAt(index / columns, index % columns);
}

int HeatmapAccessible::indexOfChild(const QAccessibleInterface* child) const
{
    const auto* cell = dynamic_cast<const HeatmapPart*>(child);
    if (!cell || cell->rowIndex() < 0 || cell->columnIndex() < 0)
        return -1;
    const qint64 index = qint64{cell->rowIndex()} * columnCount() + cell->columnIndex();
    return index <= std::numeric_limits<int>::max() ? static_cast<int>(index) : -1;
}

QAccessibleInterface* HeatmapAccessible::focusChild() const
{
    return view() && view()->state().row >= 0 ? cellAt(view()->state().row, view()->state().column) : nullptr;
}

QAccessible::State HeatmapAccessible::state() const
{
    QAccessible::State state = QAccessibleWidget::state();
    state.readOnly = true;
    return state;
}

QAccessibleInterface* HeatmapAccessible::cellAt(int row, int column) const
{
    return row >= 0 && column >= 0 ? part(row, column) : nullptr;
}

QAccessibleInterface* HeatmapAccessible::part(int row, int column) const
{
    if (!view() || row >= rowCount() || column >= columnCount() || (row < 0 && column < 0))
        return nullptr;
    const qint64 key = (qint64{row} + 1) << 32 | (qint64{column} + 1);
    if (const auto found = m_parts.constFind(key); found != m_parts.cend())
        return QAccessible::accessibleInterface(*found);
    if (m_order.size() >= mostParts)
        QAccessible::deleteAccessibleInterface(m_parts.take(m_order.takeFirst()));
    auto* made = new HeatmapPart(view(), row, column);
    m_parts.insert(key, QAccessible::registerAccessibleInterface(made));
    m_order << key;
    return made;
}

int HeatmapAccessible::selectedCellCount() const
{
    return focusChild() ? 1 : 0;
}

QList<QAccessibleInterface*> HeatmapAccessible::selectedCells() const
{
    QAccessibleInterface* current = focusChild();
    return current ? QList{current} : QList<QAccessibleInterface*>();
}

QString HeatmapAccessible::columnDescription(int column) const
{
    return column >= 0 && column < columnCount() ? axisLabel(view()->columnAxis(), column) : QString();
}

QString HeatmapAccessible::rowDescription(int row) const
{
    return row >= 0 && row < rowCount() ? axisLabel(view()->rowAxis(), row) : QString();
}

void installHeatmapAccessibility()
{
    static const bool isInstalled = [] {
        QAccessible::installFactory([](const QString&, QObject* object) -> QAccessibleInterface* {
            auto* view = qobject_cast<HeatmapView*>(object);
            return view ? new HeatmapAccessible(view) : nullptr;
        });
        return true;
    }();
    Q_UNUSED(isInstalled)
}

} // namespace headwise::ui
