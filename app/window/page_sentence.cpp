#include "app/window/page_sentence.h"

#include "ui/base/theme.h"
#include "ui/document/whats_this.h"

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QLabel>
#include <QPainter>
#include <QStyle>
#include <QToolButton>
#include <QToolTip>
#include <QWhatsThis>

namespace headwise::app {

namespace {

/// A line of text that ends in an ellipsis where it has no room; its tooltip then shows it whole.
class ElidedLabel : public QLabel {
public:
    using QLabel::QLabel;

    QSize minimumSizeHint() const override { return {1, QLabel::minimumSizeHint().height()}; }

protected:
    bool event(QEvent* event) override
    {
        if (event->type() != QEvent::ToolTip || fitting() == text())
            return QLabel::event(event);
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), text(), this);
        return true;
    }

    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        style()->drawItemText(&painter, contentsRect(), Qt::AlignLeft | Qt::AlignVCenter, palette(),
                              isEnabled(), fitting(), foregroundRole());
    }

private:
    QString fitting() const
    {
        return fontMetrics().elidedText(text(), Qt::ElideRight, contentsRect().width());
    }
};

} // namespace

PageSentence::PageSentence(QWidget* parent)
    : QWidget(parent)
    , m_sentence(new ElidedLabel(this))
{
    m_sentence->setObjectName(QStringLiteral("pageSentence"));
    m_sentence->setTextFormat(Qt::PlainText);
    ui::makeSecondary(m_sentence);
    auto* explain = new QToolButton(this);
    explain->setText(QStringLiteral("?"));
    explain->setAutoRaise(true);
    explain->setObjectName(QStringLiteral("explainPage"));
    explain->setToolTip(tr("Explain this page: formulas, sources and nulls"));
    explain->setAccessibleName(tr("Explain this page"));
    connect(explain, &QToolButton::clicked, this, [this, explain] {
        QWhatsThis::showText(explain->mapToGlobal(explain->rect().bottomLeft()),
                             ui::explanationOfPage(m_page), explain);
    });
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(12, 0, 12, 0); // in line with the pages
    layout->setSpacing(8);
    layout->addWidget(m_sentence, 1);
    layout->addWidget(explain);
}

void PageSentence::showPage(const QString& name)
{
    m_page = name;
    m_sentence->setText(ui::sentenceOfPage(name));
    setVisible(!m_sentence->text().isEmpty());
}

} // namespace headwise::app
