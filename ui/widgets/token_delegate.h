#pragma once

#include <QStyledItemDelegate>

class QAbstractItemView;

namespace headwise::ui {

class NumberColumns;

/// Draws tokens as chips: soft background, special tokens outlined, the source token bold; numbers with their decimal points
/// below one another, a bar under those that have one, and a colour behind those that have one.
class TokenDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    explicit TokenDelegate(QAbstractItemView* view);

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;

private:
    /// A number with its point under those above; else a line of text.
    void paintText(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const;
    /// px right of a number that the column's longest fraction has in place of its own.
    int roomBehind(const QStyleOptionViewItem& option, const QModelIndex& index) const;

    NumberColumns* m_columns;
};

} // namespace headwise::ui
