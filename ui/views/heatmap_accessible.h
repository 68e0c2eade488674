#pragma once

#include <QAccessibleWidget>
#include <QHash>
#include <QList>

namespace headwise::ui {

class HeatmapView;

/// A heatmap as assistive technology reads it: a table whose cells have a value, a row header and a column header.
class HeatmapAccessible : public QAccessibleWidget, public QAccessibleTableInterface {
public:
    explicit HeatmapAccessible(HeatmapView* view);
    ~HeatmapAccessible() override;

    void* interface_cast(QAccessible::InterfaceType type) override;
    int childCount() const override; ///< Cells row by row; at most as many as an int counts.
    QAccessibleInterface* child(int index) const override;
    int indexOfChild(const QAccessibleInterface* child) const override;
    QAccessibleInterface* focusChild() const override; ///< The current cell.
    QAccessible::State state() const override;

    QAccessibleInterface* caption() const override { return nullptr; }
    QAccessibleInterface* summary() const override { return nullptr; }
    QAccessibleInterface* cellAt(int row, int column) const override; ///< Null outside.
    int selectedCellCount() const override;
    QList<QAccessibleInterface*> selectedCells() const override;
    QString columnDescription(int column) const override;
    QString rowDescription(int row) const override;
    int columnCount() const override;
    int rowCount() const override;
    int selectedColumnCount() const override { return 0; }
    int selectedRowCount() const override { return 0; }
    QList<int> selectedColumns() const override { return {}; }
    QList<int> selectedRows() const override { return {}; }
    bool isColumnSelected(int /*column*/) const override { return false; }
    bool isRowSelected(int /*row*/) const override { return false; }
    bool selectRow(int /*row*/) override { return false; }
    bool selectColumn(int /*column*/) override { return false; }
    bool unselectRow(int /*row*/) override { return false; }
    bool unselectColumn(int /*column*/) override { return false; }
    void modelChange(QAccessibleTableModelChangeEvent* /*event*/) override { }

    /// The header of a row (column −1) or of a column (row −1), or a cell; null outside.
    QAccessibleInterface* part(int row, int column) const;

private:
    HeatmapView* view() const;

    mutable QHash<qint64, QAccessible::Id> m_parts; // Made when asked for; Qt owns them by their id.
    mutable QList<qint64> m_order;                  // The oldest first, to let go of.
};

void installHeatmapAccessibility(); ///< Once for the program; further calls do nothing.

} // namespace headwise::ui
