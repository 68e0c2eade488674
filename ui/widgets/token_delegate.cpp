#include "ui/widgets/token_delegate.h"

#include "ui/base/theme.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/cell_heat.h"
#include "ui/widgets/number_columns.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QPainter>

namespace headwise::ui {

namespace {
// px, left and right of plain text; equal to the style sheet's, which decides sizes
constexpr int cellPadding = 8;
constexpr int padding = 6; // px, left and right of the text in its chip
constexpr int inset = 2;   // px, from the cell to the chip

void paintBar(QPainter* painter, const QStyleOptionViewItem& option, const QPointF& ends)
{
    constexpr double thickness = 3; // px
    const QRectF room = QRectF(option.rect).adjusted(padding, 0, -inset, -inset);
    const QRectF bar(room.left() + ends.x() * room.width(), room.bottom() - thickness,
                     std::max(1.0, (ends.y() - ends.x()) * room.width()), thickness);
    const ThemeColors& colors = themeColors(option.palette);
    painter->fillRect(bar, option.state.testFlag(QStyle::State_Selected) ? colors.onAccent : colors.accent);
}
} // namespace

TokenDelegate::TokenDelegate(QAbstractItemView* view)
    : QStyledItemDelegate(view)
    , m_columns(new NumberColumns(view))
{
}

int TokenDelegate::tokenWidth(int characters)
{
    QFont font = tokenFont();
    font.setBold(true); // as the source token is
    return QFontMetrics(font).horizontalAdvance(QString(characters, u'0')) + 2 * (padding + inset);
}

int TokenDelegate::roomBehind(const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const QFontMetrics metrics(option.font);
    const QString tail = option.text.sliced(decimalPoint(option.text));
    return std::max(0, m_columns->roomAfterPoint(index.column(), metrics) - metrics.horizontalAdvance(tail));
}

void TokenDelegate::paintText(QPainter* painter, const QStyleOptionViewItem& option,
                              const QModelIndex& index) const
{
    QStyleOptionViewItem cell = option;
    initStyleOption(&cell, index);
    const QFontMetrics metrics(cell.font);
    const auto more = QStyleOptionViewItem::HasDecoration | QStyleOptionViewItem::HasCheckIndicator;
    if ((cell.features & more) || cell.rect.height() >= 2 * metrics.height())
        return QStyledItemDelegate::paint(painter, option, index);
    const QString shown = cell.text;
    const bool asNumber = isNumberCell(index);
    const int wanted = asNumber ? roomBehind(cell, index) : 0;
    cell.text.clear();
    const QStyle* style = cell.widget ? cell.widget->style() : QApplication::style();
    style->drawControl(QStyle::CE_ItemViewItem, &cell, painter, cell.widget);

    constexpr int leastPadding = 3; // close to the edges rather than cut off
    const int advance = metrics.horizontalAdvance(shown);
    const int padded = std::clamp((cell.rect.width() - advance) / 2, leastPadding, cellPadding);
    const QRect room = cell.rect.adjusted(padded, 0, -padded, 0);
    const int left = std::max(0, room.width() - advance); // off centre rather than cut off
    const QString fitting =
        advance <= room.width() ? shown : metrics.elidedText(shown, Qt::ElideRight, room.width());
    const bool selected = cell.state.testFlag(QStyle::State_Selected);
    const auto group = cell.state.testFlag(QStyle::State_Active) ? QPalette::Active : QPalette::Inactive;
    const Qt::Alignment across =
        asNumber ? Qt::AlignRight : QStyle::visualAlignment(cell.direction, cell.displayAlignment);
    painter->save();
    painter->setFont(cell.font);
    painter->setPen(cell.palette.color(group, selected ? QPalette::HighlightedText : QPalette::Text));
    painter->drawText(room.adjusted(0, 0, -std::min(wanted, left), 0),
                      static_cast<int>((across & Qt::AlignHorizontal_Mask) | Qt::AlignVCenter), fitting);
    painter->restore();
}

void TokenDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const
{
    if (!index.data(TokenTableModel::IsTokenRole).toBool()) {
        paintText(painter, option, index);
        if (const QVariant ends = index.data(TokenTableModel::BarRole); ends.isValid())
            paintBar(painter, option, ends.toPointF());
        return;
    }
    QStyleOptionViewItem empty = option;
    initStyleOption(&empty, index);
    const QString shown = empty.text;
    empty.text.clear();
    const QStyle* style = option.widget ? option.widget->style() : QApplication::style();
    style->drawControl(QStyle::CE_ItemViewItem, &empty, painter, option.widget);

    const ThemeColors& colors = themeColors(option.palette);
    QFont font = empty.font;
    font.setBold(index.data(TokenTableModel::IsSourceRole).toBool());
    const QFontMetrics metrics(font);
    const int room = option.rect.width() - 2 * (padding + inset);
    const QString fitting = metrics.elidedText(shown, Qt::ElideRight, room);
    QRect chip = option.rect.adjusted(inset, inset, -inset, -inset);
    chip.setWidth(std::min(chip.width(), metrics.horizontalAdvance(fitting) + 2 * padding));

    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const bool isSpecial = index.data(TokenTableModel::IsSpecialRole).toBool();
    QColor soft = colors.accent;
    soft.setAlphaF(0.12F);
    const QVariant heat = index.data(TokenTableModel::HeatRole);
    if (heat.isValid())
        soft = heatColor(heat.toDouble(), colors);
    const bool isMuted = index.data(TokenTableModel::IsMutedRole).toBool();
    painter->setBrush((isSpecial && !heat.isValid()) || isMuted ? Qt::NoBrush : QBrush(soft));
    painter->setPen(isSpecial ? QPen(colors.muted) : QPen(Qt::NoPen));
    painter->drawRoundedRect(QRectF(chip).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    const bool selected = option.state.testFlag(QStyle::State_Selected);
    painter->setPen(selected && !heat.isValid() ? colors.onAccent : isMuted ? colors.muted : colors.text);
    painter->setFont(font);
    painter->drawText(chip.adjusted(padding, 0, -padding, 0), Qt::AlignLeft | Qt::AlignVCenter, fitting);
    painter->restore();
}

void TokenDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const
{
    QStyledItemDelegate::initStyleOption(option, index);
    const QVariant heat = index.data(TokenTableModel::HeatRole);
    const ThemeColors& colors = themeColors(option->palette);
    if (heat.isValid() && !index.data(TokenTableModel::IsTokenRole).toBool())
        option->backgroundBrush = heatColor(heat.toDouble(), colors);
    if (index.data(TokenTableModel::IsMutedRole).toBool())
        option->palette.setColor(QPalette::Text, colors.muted);
}

QSize TokenDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    QSize size = QStyledItemDelegate::sizeHint(option, index);
    if (index.data(TokenTableModel::IsTokenRole).toBool())
        size.rwidth() += 2 * (padding + inset);
    else {
        QStyleOptionViewItem cell = option;
        initStyleOption(&cell, index);
        if (!cell.text.contains(QChar::LineSeparator) && !cell.text.contains(u'\n'))
            size.setWidth(std::max(size.width(),
                                   QFontMetrics(cell.font).horizontalAdvance(cell.text) + 2 * cellPadding));
        if (isNumberCell(index))
            size.rwidth() += roomBehind(cell, index);
    }
    size.setHeight(std::max(size.height(), QFontMetrics(tokenFont()).height() + 2 * inset + 2));
    return size;
}

} // namespace headwise::ui
