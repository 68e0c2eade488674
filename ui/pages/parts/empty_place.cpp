#include "ui/pages/parts/empty_place.h"

#include "ui/base/plain_text.h"
#include "ui/base/theme.h"

#include <QLabel>
#include <QVBoxLayout>

namespace headwise::ui {

EmptyPlace::EmptyPlace(QWidget* parent)
    : QWidget(parent)
    , m_reason(new QLabel(this))
    , m_buttons(new QHBoxLayout)
{
    m_reason->setAlignment(Qt::AlignCenter);
    m_reason->setWordWrap(true);
    makeSecondary(m_reason);
    m_buttons->setSpacing(8);
    m_buttons->addStretch();
    for (int i = 0; i < 2; ++i) // before it is shown, so that the window finds them
        m_buttons->addWidget(new FillButton(this));
    m_buttons->addStretch();
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(8);
    column->addStretch();
    column->addWidget(m_reason);
    column->addLayout(m_buttons);
    column->addStretch();
}

void EmptyPlace::explain(const QString& reason, std::initializer_list<FillButton::Lack> lacks)
{
    setPlain(m_reason, reason);
    auto next = lacks.begin();
    for (auto* button : findChildren<FillButton*>())
        button->offer(next == lacks.end() ? FillButton::Lack::Nothing : *next++);
}

} // namespace headwise::ui
