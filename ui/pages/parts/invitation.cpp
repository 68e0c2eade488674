#include "ui/pages/parts/invitation.h"

#include <QBoxLayout>
#include <QLabel>

namespace headwise::ui {

void arrangeInvitation(QBoxLayout* row, QLabel* sentence, bool isAlone)
{
    row->setDirection(isAlone ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    bool hasMore = false;
    for (int i = 0; i < row->count(); ++i) {
        QWidget* part = row->itemAt(i)->widget();
        if (!part || part == sentence)
            continue;
        hasMore = hasMore || !part->isHidden();
        row->setAlignment(part, isAlone ? Qt::AlignHCenter | Qt::AlignTop : Qt::Alignment());
        row->setStretchFactor(part, isAlone ? 1 : 0);
    }
    sentence->setAlignment(!isAlone      ? Qt::AlignLeft | Qt::AlignVCenter
                               : hasMore ? Qt::AlignHCenter | Qt::AlignBottom
                                         : Qt::AlignCenter);
}

} // namespace headwise::ui
