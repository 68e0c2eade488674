#include "ui/widgets/notice_bar.h"

#include "ui/base/icons.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

#include <algorithm>

namespace headwise::ui {

NoticeBar::NoticeBar(QWidget* parent)
    : QFrame(parent)
    , m_text(new QLabel(this))
    , m_buttons(new QHBoxLayout)
{
    setProperty("notice", true);
    setAccessibleName(tr("Notice"));
    m_text->setWordWrap(true);
    m_text->setTextFormat(Qt::PlainText);
    auto* dismiss = new QToolButton(this);
    dismiss->setIcon(icon("cancel"));
    dismiss->setAutoRaise(true);
    dismiss->setToolTip(tr("Not now (Esc)"));
    dismiss->setAccessibleName(tr("Not now"));
    connect(dismiss, &QToolButton::clicked, this, [this] { end(m_notices.front().dismissed); });
    m_buttons->setSpacing(8);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(12, 6, 8, 6);
    layout->setSpacing(12);
    layout->addWidget(m_text, 1);
    layout->addLayout(m_buttons);
    layout->addWidget(dismiss);
    hide();
}

void NoticeBar::post(Notice notice)
{
    std::erase_if(m_notices, [&](const Notice& one) { return one.isPassing && one.id != notice.id; });
    const auto same = std::find_if(m_notices.begin(), m_notices.end(),
                                   [&](const Notice& one) { return one.id == notice.id; });
    if (same != m_notices.end())
        *same = std::move(notice);
    else
        m_notices.push_back(std::move(notice));
    showFirst();
}

void NoticeBar::withdraw(const QString& id)
{
    std::erase_if(m_notices, [&](const Notice& one) { return one.id == id; });
    showFirst();
}

void NoticeBar::showFirst()
{
    while (QLayoutItem* item = m_buttons->takeAt(0)) {
        item->widget()->hide();
        item->widget()->deleteLater(); // It may be the button that is being pressed.
        delete item;
    }
    setVisible(!m_notices.empty());
    if (m_notices.empty())
        return;
    const Notice& notice = m_notices.front();
    m_text->setText(notice.text);
    setAccessibleDescription(notice.text);
    for (const Choice& choice : notice.choices) {
        auto* button = new QPushButton(choice.text, this);
        button->setMinimumWidth(button->sizeHint().width() + 16);
        connect(button, &QPushButton::clicked, this, [this, chosen = choice.chosen] { end(chosen); });
        m_buttons->addWidget(button);
    }
}

void NoticeBar::end(const std::function<void()>& then)
{
    const std::function<void()> next = then; // of the notice that is ending
    m_notices.erase(m_notices.begin());
    showFirst();
    if (next)
        next();
}

void NoticeBar::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape && !m_notices.empty())
        return end(m_notices.front().dismissed);
    QFrame::keyPressEvent(event);
}

} // namespace headwise::ui
