#include "ui/base/plain_text.h"

#include <QApplication>
#include <QEvent>
#include <QLabel>
#include <QRegularExpression>

namespace headwise::ui {

namespace {

/// Handles every label, in tooltips and message boxes too, before its first layout.
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

QString harmlessMarkup(const QString& html)
{
    static const QRegularExpression otherTag(QStringLiteral("<(?!/?(b|a|br|span)\\b)")),
        address(QStringLiteral("url\\s*\\("), QRegularExpression::CaseInsensitiveOption);
    QString harmless = html;
    return harmless.replace(otherTag, QStringLiteral("&lt;")).remove(address);
}

void setMarkup(QLabel* label, const QString& html)
{
    label->setTextFormat(Qt::RichText);
    label->setText(harmlessMarkup(html));
}

void setPlain(QLabel* label, const QString& words)
{
    label->setTextFormat(Qt::PlainText);
    label->setText(words);
}

} // namespace headwise::ui
