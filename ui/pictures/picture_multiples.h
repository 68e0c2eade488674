#pragma once

#include "ui/base/text.h"
#include "ui/charts/small_multiples.h"
#include "ui/pictures/picture_body.h"

#include <QComboBox>

#include <functional>

namespace headwise::ui {

/// Connects the small multiples of a picture, and the choice between them and one head, to its body. Both are hidden at first.
/// \param showAgain  draws the picture again with the present choice
inline void introduceMultiples(PictureBody* body, QComboBox* choice, SmallMultiples* multiples,
                               const std::function<void()>& showAgain)
{
    choice->setAccessibleName(PictureBody::tr("How heads are drawn"));
    choice->hide();
    multiples->hide();
    QObject::connect(choice, &QComboBox::currentIndexChanged, body, [body, showAgain] {
        showAgain();
        emit body->captionChanged();
    });
    QObject::connect(multiples, &SmallMultiples::headChosen, body, &PictureBody::headChosen);
    QObject::connect(multiples, &SmallMultiples::headHovered, body, [body](HeadId head) {
        emit body->headHovered(head);
        emit body->readOutChanged(text(head));
    });
    QObject::connect(multiples, &SmallMultiples::hoverLeft, body, [body] {
        emit body->headHovered({});
        emit body->readOutChanged({});
    });
}

} // namespace headwise::ui
