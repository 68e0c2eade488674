#pragma once

#include "ui/pages/model/names_question.h"

#include <QAbstractButton>

namespace headwise::ui {

struct ThemeColors;

/// Draws the diagram of an answer into `area`, in the theme's colours.
void paintAnswer(QPainter& painter, const QRectF& area, const AnswerPicture& picture,
                 const ThemeColors& colors);

/// A choice that shows its meaning as a diagram above its words.
class AnswerButton : public QAbstractButton {
    Q_OBJECT

public:
    AnswerButton(const NamesAnswer& answer, QWidget* parent);

    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    AnswerPicture m_picture;
};

} // namespace headwise::ui
