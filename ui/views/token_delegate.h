#pragma once

#include <QStyledItemDelegate>

namespace headwise::ui {

/// Draws tokens as chips: soft background, special tokens outlined, the source token bold; a bar under numbers that have one,
/// and a colour behind those that have one.
class TokenDelegate : public QStyledItemDelegate {
    Q_OBJECT

public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

} // namespace headwise::ui
