#include "ui/pages/model/names_choice.h"

#include "ui/base/theme.h"
#include "ui/pages/model/answer_button.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QStyle>

namespace headwise::ui {

NamesChoice::NamesChoice(QWidget* parent)
    : QWidget(parent)
    , m_words(new QLabel(this))
    , m_answers(new QWidget(this))
{
    m_words->setTextFormat(Qt::PlainText);
    m_line = new QHBoxLayout(m_answers);
    m_line->setContentsMargins(0, 0, 0, 0);
    m_line->setSpacing(8);
    auto* area = new QScrollArea(this);
    area->setWidget(m_answers);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setFocusPolicy(Qt::NoFocus);
    const AnswerButton usual({}, m_answers); // for its height
    area->setFixedHeight(usual.sizeHint().height() + area->style()->pixelMetric(QStyle::PM_ScrollBarExtent));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_words);
    layout->addWidget(area);
    ask({}, {}, -1);
}

void NamesChoice::ask(const QString& tensors, const NamesQuestion& question, int current)
{
    while (QLayoutItem* item = m_line->takeAt(0)) {
        if (QWidget* button = item->widget()) {
            button->hide();
            button->deleteLater(); // it may be the one that has just been clicked
        }
        delete item;
    }
    m_words->setText(question.answers.isEmpty()
                         ? tr("Select a fused tensor, a square matrix or a norm to choose by a picture.")
                         : tr("%1: %2").arg(tensors, question.words));
    for (int at = 0; at < question.answers.size(); ++at) {
        auto* button = new AnswerButton(question.answers[at], m_answers);
        button->setChecked(at == current);
        connect(button, &QAbstractButton::clicked, this,
                [this, answer = question.answers[at]] { emit answered(answer); });
        m_line->addWidget(button);
        button->show(); // now, not in a later turn
    }
    m_line->addStretch();
}

} // namespace headwise::ui
