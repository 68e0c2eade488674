#include "ui/pages/findings/finding_row.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/pages/findings/finding_words.h"
#include "ui/widgets/subject.h"

#include <QAbstractButton>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>
#include <QWhatsThis>

#include <algorithm>

namespace headwise::ui {

namespace {

/// Whether the statement is a candidate from the weights that running the model can confirm.
bool isCandidate(const FindingRule* rule)
{
    return rule && std::ranges::find(rule->analyses, std::string_view("induction")) != rule->analyses.end();
}

} // namespace

FindingRow::FindingRow(QWidget* parent)
    : QFrame(parent)
    , m_sentence(new QLabel(this))
    , m_evidence(new QLabel(this))
    , m_show(new QPushButton(tr("Show"), this))
    , m_verify(new QPushButton(tr("Verify on random tokens"), this))
    , m_rule(new QToolButton(this))
{
    setProperty("card", true);
    setFocusPolicy(Qt::StrongFocus);
    for (QLabel* label : {m_sentence, m_evidence}) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
    }
    makeSecondary(m_evidence);
    m_show->setToolTip(tr("Selects the head and opens the picture that shows it"));
    m_verify->setToolTip(
        tr("Runs the model on repeated random tokens and compares its attention with the weights"));
    m_rule->setText(QStringLiteral("?"));
    layOut();
    createActions();
    connect(m_show, &QPushButton::clicked, this, &FindingRow::opened);
    connect(m_verify, &QPushButton::clicked, this, &FindingRow::verifyRequested);
    connect(m_rule, &QToolButton::clicked, this, &FindingRow::showRule);
}

void FindingRow::layOut()
{
    auto* words = new QVBoxLayout;
    words->setSpacing(4);
    words->addWidget(m_sentence);
    words->addWidget(m_evidence);
    words->addWidget(m_verify, 0, Qt::AlignLeft);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 8, 12, 8);
    row->setSpacing(8);
    row->addLayout(words, 1);
    row->addWidget(m_show, 0, Qt::AlignTop);
    row->addWidget(m_rule, 0, Qt::AlignTop);
}

void FindingRow::createActions()
{
    setSubjects(this, [this](const QPoint&) { return subject(); });
    auto* show = new QAction(tr("Show"), this);
    connect(show, &QAction::triggered, this, &FindingRow::opened);
    auto* copy = new QAction(tr("Copy"), this);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(copy, &QAction::triggered, this,
            [this] { QApplication::clipboard()->setText(text(m_finding.text)); });
    addAction(show);
    addAction(copy);
}

Subject FindingRow::subject() const
{
    Subject subject;
    subject.heads = QList<HeadId>(m_finding.heads.begin(), m_finding.heads.end());
    if (subject.heads.size() == 2 && subject.heads[1].layer < subject.heads[0].layer)
        subject.heads.swapItemsAt(0, 1); // The rules name the reader first.
    return subject;
}

void FindingRow::setFinding(const Finding& finding, bool canVerify)
{
    m_finding = finding;
    const FindingRule* rule = ruleOf(finding);
    const QString sentence = text(finding.text), evidence = evidenceText(finding);
    m_sentence->setText(sentence);
    m_evidence->setText(evidence);
    m_evidence->setVisible(!evidence.isEmpty());
    m_verify->setVisible(canVerify && isCandidate(rule));
    m_rule->setVisible(rule != nullptr);
    m_rule->setToolTip(rule ? text(rule->rule) : QString());
    setAccessibleName(sentence);
    setAccessibleDescription(evidence);
    m_show->setAccessibleName(tr("Show: %1").arg(sentence));
    m_verify->setAccessibleName(tr("Verify on random tokens: %1").arg(sentence));
    m_rule->setAccessibleName(rule ? tr("Rule: %1").arg(text(rule->title)) : tr("Rule"));
}

void FindingRow::showRule()
{
    const FindingRule* rule = ruleOf(m_finding);
    if (!rule)
        return;
    const QString null = tr(
        "The null is the mean for random weights of the same shape; z counts standard deviations above it.");
    QWhatsThis::showText(
        m_rule->mapToGlobal(QPoint(0, m_rule->height())),
        QStringLiteral("<p><b>%1</b></p><p>%2</p><p>%3</p>")
            .arg(text(rule->title).toHtmlEscaped(), text(rule->rule).toHtmlEscaped(), null.toHtmlEscaped()),
        m_rule);
}

void FindingRow::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (auto* button = qobject_cast<QAbstractButton*>(focusWidget()); button && button->hasFocus())
            button->click(); // Outside a dialog a button leaves Enter to its parent.
        else
            emit opened();
        return;
    case Qt::Key_Up:
    case Qt::Key_Down:
        if (event->modifiers() == Qt::NoModifier || event->modifiers() == Qt::KeypadModifier) {
            emit stepped(event->key() == Qt::Key_Up ? -1 : 1);
            return;
        }
        break;
    default: break;
    }
    QFrame::keyPressEvent(event);
}

void FindingRow::enterEvent(QEnterEvent* event)
{
    QFrame::enterEvent(event);
    emit hovered(true);
}

void FindingRow::leaveEvent(QEvent* event)
{
    QFrame::leaveEvent(event);
    emit hovered(false);
}

void FindingRow::mouseDoubleClickEvent(QMouseEvent* /*event*/)
{
    emit opened();
}

} // namespace headwise::ui
