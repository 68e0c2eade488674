#include "ui/widgets/picture_accessible.h"

#include <QWidget>

#include <algorithm>
#include <limits>

namespace headwise::ui {

namespace {

using PictureAccessiblePlace = PictureAccessible::Place;

constexpr qsizetype mostParts = 1024; // A screen reader visits one cell and asks about a few around it.

qint64 keyOf(PictureAccessiblePlace place)
{
    return (qint64{place.row} + 1) << 32 | (qint64{place.column} + 1);
}

/// A cell, or, if one index is −1, the header of a row or column. Its table outlives it.
class PicturePart : public QAccessibleInterface, public QAccessibleTableCellInterface {
public:
    PicturePart(const PictureAccessible* table, PictureAccessiblePlace place)
        : m_table(table)
        , m_place(place)
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
        return m_table->isValid() && m_place.row < m_table->rowCount()
            && m_place.column < m_table->columnCount();
    }
    QObject* object() const override { return nullptr; }
    QAccessibleInterface* childAt(int /*x*/, int /*y*/) const override { return nullptr; }
    QAccessibleInterface* parent() const override { return table(); }
    QAccessibleInterface* child(int /*index*/) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface* /*child*/) const override { return -1; }
    QAccessible::Role role() const override
    {
        return isCell()          ? QAccessible::Cell
            : m_place.column < 0 ? QAccessible::RowHeader
                                 : QAccessible::ColumnHeader;
    }
    void setText(QAccessible::Text /*kind*/, const QString& /*text*/) override { }

    QString text(QAccessible::Text kind) const override
    {
        if (!isValid())
            return {};
        const QString row = m_place.row < 0 ? QString() : m_table->rowTitle(m_place.row);
        const QString column = m_place.column < 0 ? QString() : m_table->columnTitle(m_place.column);
        if (!isCell())
            return kind == QAccessible::Name ? row + column : QString();
        switch (kind) {
        case QAccessible::Name: return m_table->cellText(m_place);
        case QAccessible::Value: return m_table->exactText(m_place);
        case QAccessible::Description: return m_table->whereText(row, column);
        default: return {};
        }
    }

    QRect rect() const override
    {
        const auto* view = qobject_cast<QWidget*>(m_table->object());
        if (!view || !isValid() || !isCell())
            return {};
        const QRect area = m_table->cellArea(m_place).toAlignedRect();
        return {view->mapToGlobal(area.topLeft()), area.size()};
    }

    QAccessible::State state() const override
    {
        QAccessible::State state;
        state.invalid = !isValid();
        const auto* view = qobject_cast<QWidget*>(m_table->object());
        if (!view || !isValid() || !isCell())
            return state;
        state.focusable = state.selectable = true;
        state.selected = isSelected();
        state.focused = isSelected() && view->hasFocus();
        state.offscreen = !QRectF(view->rect()).intersects(m_table->cellArea(m_place));
        return state;
    }

    bool isSelected() const override
    {
        const auto current = m_table->object() ? m_table->current() : std::nullopt;
        return current && current->row == m_place.row && current->column == m_place.column;
    }
    QList<QAccessibleInterface*> columnHeaderCells() const override { return header({-1, m_place.column}); }
    QList<QAccessibleInterface*> rowHeaderCells() const override { return header({m_place.row, -1}); }
    int columnIndex() const override { return m_place.column; }
    int rowIndex() const override { return m_place.row; }
    int columnExtent() const override { return 1; }
    int rowExtent() const override { return 1; }
    QAccessibleInterface* table() const override
    {
        return QAccessible::queryAccessibleInterface(m_table->object());
    }

private:
    bool isCell() const { return m_place.row >= 0 && m_place.column >= 0; }

    QList<QAccessibleInterface*> header(PictureAccessiblePlace place) const
    {
        QAccessibleInterface* found = m_table->part(place);
        return found ? QList{found} : QList<QAccessibleInterface*>();
    }

    const PictureAccessible* m_table;
    PictureAccessiblePlace m_place;
};

} // namespace

QString PictureAccessible::whereText(const QString& row, const QString& column) const
{
    return QStringLiteral("%1, %2").arg(row, column);
}

PictureAccessible::PictureAccessible(QWidget* view)
    : QAccessibleWidget(view, QAccessible::Table)
{
}

PictureAccessible::~PictureAccessible()
{
    for (const QAccessible::Id id : std::as_const(m_parts))
        QAccessible::deleteAccessibleInterface(id);
}

void* PictureAccessible::interface_cast(QAccessible::InterfaceType type)
{
    return type == QAccessible::TableInterface ? static_cast<QAccessibleTableInterface*>(this)
                                               : QAccessibleWidget::interface_cast(type);
}

int PictureAccessible::childCount() const
{
    const qint64 cells = object() ? qint64{rowCount()} * columnCount() : 0;
    return static_cast<int>(std::min<qint64>(cells, std::numeric_limits<int>::max()));
}

QAccessibleInterface* PictureAccessible::child(int index) const
{
    return index < 0 || index >= childCount() ? nullptr
                                              : cellAt(index / columnCount(), index % columnCount());
}

int PictureAccessible::indexOfChild(const QAccessibleInterface* child) const
{
    const auto* cell = dynamic_cast<const PicturePart*>(child);
    if (!cell || cell->rowIndex() < 0 || cell->columnIndex() < 0)
        return -1;
    const qint64 index = qint64{cell->rowIndex()} * columnCount() + cell->columnIndex();
    return index < childCount() ? static_cast<int>(index) : -1;
}

QAccessibleInterface* PictureAccessible::focusChild() const
{
    const auto place = object() ? current() : std::nullopt;
    return place ? cellAt(place->row, place->column) : nullptr;
}

QAccessible::State PictureAccessible::state() const
{
    QAccessible::State state = QAccessibleWidget::state();
    state.readOnly = true;
    return state;
}

QAccessibleInterface* PictureAccessible::cellAt(int row, int column) const
{
    return row >= 0 && column >= 0 ? part({row, column}) : nullptr;
}

QAccessibleInterface* PictureAccessible::part(PictureAccessiblePlace place) const
{
    const bool isNowhere = place.row < 0 && place.column < 0;
    if (!object() || isNowhere || place.row >= rowCount() || place.column >= columnCount())
        return nullptr;
    const qint64 key = keyOf(place);
    if (const auto found = m_parts.constFind(key); found != m_parts.cend())
        return QAccessible::accessibleInterface(*found);
    if (m_order.size() >= mostParts)
        QAccessible::deleteAccessibleInterface(m_parts.take(m_order.takeFirst()));
    m_parts.insert(key, QAccessible::registerAccessibleInterface(new PicturePart(this, place)));
    m_order << key;
    return QAccessible::accessibleInterface(m_parts.value(key));
}

int PictureAccessible::selectedCellCount() const
{
    return focusChild() ? 1 : 0;
}

QList<QAccessibleInterface*> PictureAccessible::selectedCells() const
{
    QAccessibleInterface* cell = focusChild();
    return cell ? QList{cell} : QList<QAccessibleInterface*>();
}

QString PictureAccessible::columnDescription(int column) const
{
    return object() && column >= 0 && column < columnCount() ? columnTitle(column) : QString();
}

QString PictureAccessible::rowDescription(int row) const
{
    return object() && row >= 0 && row < rowCount() ? rowTitle(row) : QString();
}

} // namespace headwise::ui
