#include "ui/plain_text.h"

#include <QApplication>
#include <QEvent>
#include <QLabel>

namespace headwise::ui {

namespace {

/// Sees every label, those of tooltips and message boxes too, before it is laid out for the first time.
class PlainLabels : public QObject {
public:
    using QObject::QObject;

    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::Polish)
            if (auto* label = qobject_cast<QLabel*>(watched); label && label->textFormat() == Qt::AutoText)
                label->setTextFormat(Qt::PlainText);
        return false;
    }
};

} // namespace

void showTextAsItIs(QApplication& application)
{
    static const QString name = QStringLiteral("plain labels");
    if (application.findChild<QObject*>(name, Qt::FindDirectChildrenOnly))
        return;
    auto* labels = new PlainLabels(&application);
    labels->setObjectName(name);
    application.installEventFilter(labels);
}

void setMarkup(QLabel* label, const QString& html)
{
    label->setTextFormat(Qt::RichText);
    label->setText(html);
}

void setPlain(QLabel* label, const QString& words)
{
    label->setTextFormat(Qt::PlainText);
    label->setText(words);
}

} // namespace headwise::ui
