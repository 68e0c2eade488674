#pragma once

#include <QStyledItemDelegate>

class QAbstractItemView;

namespace headwise::ui {

class NumberColumns;

/// Draws tokens as chips: soft background, special tokens outlined, the source token bold. Numbers have aligned decimal
/// points, and a bar below and a colour behind if the model provides them.
class TokenDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    explicit TokenDelegate(QAbstractItemView* view);

    /// Width in px of a cell that shows a token of so many characters whole.
    static int tokenWidth(int characters);

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;

private:
    /// Paints a number with its decimal point aligned, or a line of text.
    void paintText(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const;
    /// Space in px right of a number, so that its decimal point is aligned with the column's longest fraction.
    int roomBehind(const QStyleOptionViewItem& option, const QModelIndex& index) const;

    NumberColumns* m_columns;
};

} // namespace headwise::ui
