#pragma once

#include <QAccessibleWidget>
#include <QHash>
#include <QList>
#include <QRectF>

#include <optional>
#include <utility>

namespace headwise::ui {

/// A picture for assistive technology: a table of text with a header for each column and row.
class PictureAccessible : public QAccessibleWidget, public QAccessibleTableInterface {
public:
    explicit PictureAccessible(QWidget* view);
    ~PictureAccessible() override;

    struct Place {
        int row = -1;
        int column = -1;
    };
    virtual QString cellText(Place place) const = 0; ///< The text of the picture's read-out.
    virtual QString exactText(Place place) const { return cellText(place); }
    virtual QString rowTitle(int row) const = 0;
    virtual QString columnTitle(int column) const = 0;
    /// Position of a cell, from its titles.
    virtual QString whereText(const QString& row, const QString& column) const;
    virtual QRectF cellArea(Place place) const = 0;                       ///< In the view's coordinates.
    virtual std::optional<Place> current() const { return std::nullopt; } ///< Position of the keyboard focus.

    void* interface_cast(QAccessible::InterfaceType type) override;
    int childCount() const override; ///< Cells row by row.
    QAccessibleInterface* child(int index) const override;
    int indexOfChild(const QAccessibleInterface* child) const override;
    QAccessibleInterface* focusChild() const override;
    QAccessible::State state() const override;

    QAccessibleInterface* caption() const override { return nullptr; }
    QAccessibleInterface* summary() const override { return nullptr; }
    QAccessibleInterface* cellAt(int row, int column) const override; ///< Null outside.
    int selectedCellCount() const override;
    QList<QAccessibleInterface*> selectedCells() const override;
    QString columnDescription(int column) const override;
    QString rowDescription(int row) const override;
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

    /// Returns the header of a row (column −1) or of a column (row −1), or a cell; null outside.
    QAccessibleInterface* part(Place place) const;

private:
    mutable QHash<qint64, QAccessible::Id> m_parts; // Made on request; Qt owns them by their id.
    mutable QList<qint64> m_order;                  // Keys of m_parts, the oldest first, to be removed first.
};

/// Property of a chart: series and index of the point that is read out, a QPoint; −1 if none is.
inline constexpr const char* currentPointProperty = "currentPoint";

void installPictureAccessibility(); ///< For charts, grids of patterns and diagrams; further calls do nothing.
/// Tells assistive technology that the keyboard focus moved to another cell of `view`.
void announceCurrentCell(QWidget* view);

} // namespace headwise::ui
