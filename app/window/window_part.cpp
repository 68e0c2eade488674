#include "app/window/window_part.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QMessageBox>
#include <QPushButton>
#include <QStatusBar>

namespace headwise::app {

void WindowPart::showMessage(const QString& message) const
{
    m_window->statusBar()->showMessage(message, 6000);
}

void WindowPart::showError(const QString& title, const QString& message) const
{
    auto* box = new QMessageBox(QMessageBox::NoIcon, title, message, QMessageBox::Close, m_window);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    QPushButton* copy = box->addButton(tr("Copy"), QMessageBox::ActionRole);
    QObject::disconnect(copy, nullptr, box, nullptr); // copying does not close it
    connect(copy, &QAbstractButton::clicked, box,
            [message] { QGuiApplication::clipboard()->setText(message); });
    box->open();
}

} // namespace headwise::app
