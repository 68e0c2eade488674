#include "ui/widgets/narrow_choice.h"

#include <QAbstractItemView>
#include <QHelpEvent>
#include <QScrollBar>
#include <QStylePainter>
#include <QToolTip>

namespace headwise::ui {

NarrowChoice::NarrowChoice(int characters, QWidget* parent)
    : QComboBox(parent)
{
    setSizeAdjustPolicy(AdjustToMinimumContentsLengthWithIcon);
    setMinimumContentsLength(characters);
}

void NarrowChoice::showPopup()
{
    view()->setMinimumWidth(view()->sizeHintForColumn(0) + view()->verticalScrollBar()->sizeHint().width());
    QComboBox::showPopup();
}

QString NarrowChoice::fitting() const
{
    QStyleOptionComboBox option;
    initStyleOption(&option);
    const int room =
        style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, this).width();
    return fontMetrics().elidedText(currentText(), Qt::ElideRight, room);
}

bool NarrowChoice::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip || fitting() == currentText())
        return QComboBox::event(event);
    QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), currentText(), this);
    return true;
}

void NarrowChoice::paintEvent(QPaintEvent*)
{
    QStylePainter painter(this);
    QStyleOptionComboBox option;
    initStyleOption(&option);
    painter.drawComplexControl(QStyle::CC_ComboBox, option);
    option.currentText = fitting();
    painter.drawControl(QStyle::CE_ComboBoxLabel, option);
}

} // namespace headwise::ui
