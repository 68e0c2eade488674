#include "ui/pages/findings/findings_page.h"

#include "core/series/series_findings.h"
#include "ui/base/icons.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/array_part.h"
#include "ui/document/training_series.h"
#include "ui/pages/findings/finding_row.h"
#include "ui/pages/findings/finding_runs.h"
#include "ui/pages/findings/finding_words.h"
#include "ui/pages/parts/fill_button.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHideEvent>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace headwise::ui {

namespace {

constexpr int findingRowsShown = 16; // until all are asked for
constexpr int widestRow = 1100;      // px: a button stays near its sentence on the widest screen
constexpr QLatin1StringView listSeparator(", ");

/// Returns every token as shown; nothing without a tokenizer.
std::vector<std::string> tokensAsShown(const Tokenizer* tokenizer, int count)
{
    std::vector<std::string> shown;
    if (!tokenizer)
        return shown;
    shown.reserve(static_cast<std::size_t>(count));
    for (int id = 0; id < count; ++id)
        shown.push_back(tokenizer->shown(id));
    return shown;
}

/// Whether both are about the same heads by the same rule, whatever their numbers.
bool isSameStatement(const Finding& a, const Finding& b)
{
    return a.kind == b.kind && a.heads == b.heads;
}

void showLine(QLabel* label, const QString& words)
{
    label->setText(words);
    label->setVisible(!words.isEmpty());
}

} // namespace

FindingsPage::FindingsPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_heading(new QLabel(this))
    , m_checked(new QLabel(this))
    , m_underWay(new QLabel(this))
    , m_left(new QLabel(this))
    , m_compute(new QPushButton(icon("play"), tr("Compute"), this))
    , m_fill(new FillButton(this))
    , m_copy(new QPushButton(tr("Copy as Markdown"), this))
    , m_more(new QPushButton(this))
    , m_scroll(new QScrollArea(this))
    , m_list(new QVBoxLayout)
{
    m_later.setSingleShot(true);
    m_later.setInterval(0);
    createLayout();
    connectSignals();
    showWords();
}

void FindingsPage::createLayout()
{
    makeHeading(m_heading);
    for (QLabel* label : {m_checked, m_underWay, m_left})
        makeSecondary(label);
    for (QLabel* label : {m_heading, m_checked, m_underWay, m_left}) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(label != m_underWay);
    }
    for (QWidget* part : std::initializer_list<QWidget*>{m_left, m_compute})
        keepPlace(part);
    m_compute->setAccessibleName(tr("Compute the missing analyses"));
    m_copy->setToolTip(tr("Copies every sentence with its numbers"));
    auto* rows = new QWidget;
    m_list->setContentsMargins(0, 0, 0, 0);
    m_list->setSpacing(8);
    auto* content = new QVBoxLayout(rows);
    content->setContentsMargins(0, 0, 0, 0);
    content->setSpacing(8);
    content->addLayout(m_list);
    content->addWidget(m_more, 0, Qt::AlignLeft);
    content->addStretch();
    m_scroll->setWidget(rows);
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setFocusPolicy(Qt::NoFocus); // its rows have it
    auto* top = new QHBoxLayout;
    top->setSpacing(8);
    top->addWidget(m_heading, 1);
    top->addWidget(m_copy, 0, Qt::AlignTop);
    auto* bottom = new QHBoxLayout;
    bottom->setSpacing(8);
    bottom->addWidget(m_underWay,
                      1); // beside what is left, so that both cost the list one line; alone, each is wide
    bottom->addWidget(m_left, 1);
    bottom->addWidget(m_compute, 0, Qt::AlignTop);
    bottom->addWidget(m_fill, 0, Qt::AlignTop);
    auto* column = new QWidget(this);
    column->setMaximumWidth(widestRow);
    auto* page = new QHBoxLayout(this);
    page->setContentsMargins(12, 12, 12, 12);
    page->addWidget(column, 1000);
    page->addStretch(1); // what the column leaves
    auto* layout = new QVBoxLayout(column);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(top);
    layout->addWidget(m_checked);
    layout->addWidget(m_scroll, 1);
    layout->addLayout(bottom);
}

void FindingsPage::connectSignals()
{
    const OpenModel* model = workspace()->model();
    for (const auto signal :
         {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::embeddingChanged})
        connect(model, signal, this, [this] {
            forget();
            refresh();
        });
    connect(model, &OpenModel::resultsChanged, this, &FindingsPage::refresh);
    connect(TrainingSeries::of(workspace()), &TrainingSeries::changed, this, &FindingsPage::refresh);
    const auto later = [this] { m_later.start(); };
    connect(&m_later, &QTimer::timeout, this, &FindingsPage::followRuns);
    connect(workspace()->runs(), &Runs::waitingChanged, this, later);
    for (const Job* job : {workspace()->runs()->job(), workspace()->model()->tokenReader()->job()}) {
        connect(job, &Job::started, this, later);
        connect(job, &Job::finished, this, later);
    }
    connect(m_compute, &QPushButton::clicked, this, &FindingsPage::computeMissing);
    connect(m_copy, &QPushButton::clicked, this, &FindingsPage::copyAsMarkdown);
    connect(m_more, &QPushButton::clicked, this, [this] {
        m_showsAll = true;
        showRows();
    });
    connect(m_scroll->verticalScrollBar(), &QScrollBar::rangeChanged, this, &FindingsPage::restoreScroll);
}

ViewFields FindingsPage::viewFields()
{
    return ViewFields()
        .add(
            "scroll",
            [this] { return m_wantedScroll >= 0 ? m_wantedScroll : m_scroll->verticalScrollBar()->value(); },
            [this](const QJsonValue& scroll) {
                m_wantedScroll = scroll.toInt();
                restoreScroll();
            })
        .add("preselect", nullptr,
             [this](const QJsonValue& preselect) { m_preselects = preselect.toBool(); });
}

void FindingsPage::restoreScroll()
{
    QScrollBar* bar = m_scroll->verticalScrollBar();
    if (m_wantedScroll >= 0 && m_wantedScroll <= bar->maximum())
        bar->setValue(std::exchange(m_wantedScroll, -1));
}

void FindingsPage::showEvent(QShowEvent* event)
{
    Page::showEvent(event);
    m_later.start(); // Runs may have changed meanwhile.
}

void FindingsPage::hideEvent(QHideEvent* event)
{
    if (!event->spontaneous()) // not a minimized window
        m_preselects = false;
    Page::hideEvent(event);
}

void FindingsPage::forget()
{
    m_job.cancel();
    m_findings = {};
    m_planned.clear();
    m_hasAnswer = m_isPlanned = m_showsAll = m_isOutdated = false;
    showRows();
    showWords();
}

void FindingsPage::recompute()
{
    if (!workspace()->model()->isOpen())
        return;
    m_isOutdated = m_job.isRunning();
    if (m_isOutdated)
        return; // once it has answered
    const TrainingSeries* training = TrainingSeries::of(workspace());
    if (workspace()->model()->isSeries())
        return take(training->isOpen() ? findingsOf(training->series()) : Findings());
    m_job.start(
        tr("Findings"),
        [card = workspace()->model()->card(), results = workspace()->model()->results(),
         tokenizer = workspace()->model()->tokenizer()](const Task&) -> Result<Findings> {
            const std::vector<std::string> tokens = tokensAsShown(tokenizer.get(), card.dVocab);
            return findingsOf({card, *results, tokens});
        },
        [this](Result<Findings> result) {
            if (result)
                take(std::move(result).value());
            if (std::exchange(m_isOutdated, false))
                refresh();
        });
}

void FindingsPage::take(Findings findings)
{
    m_findings = std::move(findings);
    m_hasAnswer = true;
    if (!std::exchange(m_isPlanned, true))
        m_planned = cheapAnalyses(*workspace());
    showRows();
    showWords();
    preselect();
    m_later.start();
}

FindingRow* FindingsPage::createRow()
{
    auto* row = new FindingRow(this);
    const std::ptrdiff_t index = std::ssize(m_rows);
    connect(row, &FindingRow::opened, this, [this, row] { open(Finding(row->finding())); });
    connect(row, &FindingRow::verifyRequested, this, [this, row] { verify(Finding(row->finding())); });
    connect(row, &FindingRow::hovered, this, [this, row](bool isOver) {
        const std::vector<HeadId>& heads = row->finding().heads;
        workspace()->selection()->setHovered(isOver && !heads.empty() ? std::optional(heads.front())
                                                                      : std::nullopt);
    });
    connect(row, &FindingRow::stepped, this, [this, index](int rows) {
        const std::ptrdiff_t next = index + rows;
        if (next < 0 || next >= std::ssize(m_rows) || m_rows[static_cast<std::size_t>(next)]->isHidden())
            return;
        FindingRow* target = m_rows[static_cast<std::size_t>(next)];
        target->setFocus();
        m_scroll->ensureWidgetVisible(target);
    });
    m_list->addWidget(row);
    m_rows.push_back(row);
    emit viewMade(row);
    return row;
}

void FindingsPage::showRows()
{
    const std::vector<Finding>& found = m_findings.found;
    const std::size_t count =
        m_showsAll ? found.size() : std::min<std::size_t>(found.size(), findingRowsShown);
    const QWidget* focus = QApplication::focusWidget();
    const auto focused = std::ranges::find_if(
        m_rows, [focus](const FindingRow* row) { return row == focus || row->isAncestorOf(focus); });
    const FindingRow* before = focused == m_rows.end() ? nullptr : *focused;
    const Finding kept = before ? before->finding() : Finding();
    const bool canVerify = workspace()->model()->hasModel();
    for (std::size_t i = 0; i < count; ++i) {
        FindingRow* row = i < m_rows.size() ? m_rows[i] : createRow();
        row->setFinding(found[i], canVerify);
        row->show();
        if (before && row != before && isSameStatement(found[i], kept))
            row->setFocus(); // The focus follows its statement.
    }
    for (std::size_t i = count; i < m_rows.size(); ++i)
        m_rows[i]->hide(); // One may have its menu open.
    m_more->setText(tr("Show all %1 findings").arg(found.size()));
    m_more->setVisible(count < found.size());
    m_copy->setVisible(!found.empty());
}

void FindingsPage::showWords()
{
    const bool isOpen = workspace()->model()->isOpen();
    const MissingFindings lacking =
        isOpen && m_hasAnswer ? missingFindings(*workspace(), m_findings, m_planned) : MissingFindings();
    const auto count = m_findings.found.size();
    const bool hasNone = isOpen && m_hasAnswer && count == 0;
    const QStringList checked = hasNone
        ? checkedKinds(workspace()->model()->card(), *workspace()->model()->results())
        : QStringList();
    QString heading = !isOpen ? tr("Nothing is open.") : tr("No findings yet");
    if (count > 0)
        heading = count == 1                   ? tr("1 finding")
            : workspace()->model()->isSeries() ? tr("%1 findings, in the order of steps").arg(count)
                                               : tr("%1 findings, the strongest first").arg(count);
    else if (hasNone && workspace()->model()->isSeries())
        heading = tr("No head rose clearly above its null or fell back between these steps.");
    else if (hasNone && lacking.underWay.isEmpty() && !checked.isEmpty())
        heading = lacking.left.isEmpty() ? tr("Nothing here stands out from random weights.")
                                         : tr("Nothing computed so far stands out from random weights.");
    m_heading->setText(heading);
    showLine(m_checked, checked.isEmpty() ? QString() : tr("Checked: %1").arg(checked.join(listSeparator)));
    const auto underWay = lacking.underWay.size(); // A number takes one line, whatever is computed.
    showLine(m_underWay,
             underWay == 0       ? QString()
                 : underWay == 1 ? tr("Still computing 1 kind of finding")
                                 : tr("Still computing %1 kinds of findings").arg(underWay));
    m_underWay->setToolTip(lacking.underWay.join(listSeparator));
    showLine(m_left,
             lacking.left.isEmpty() ? QString()
                                    : tr("Not computed: %1").arg(lacking.left.join(listSeparator)));
    m_fill->offer(lacking.left.isEmpty() ? FillButton::Lack::Nothing : FillButton::lackOf(*workspace()));
    m_compute->setVisible(!lacking.analyses.empty() && workspace()->model()->hasModel());
}

void FindingsPage::preselect()
{
    m_preselects = m_preselects && isVisible();
    const auto first =
        std::ranges::find_if(m_findings.found, [](const Finding& finding) { return !finding.heads.empty(); });
    if (m_preselects && first != m_findings.found.end())
        workspace()->selection()->preselectHead(first->heads.front());
}

void FindingsPage::followRuns()
{
    if (!isVisible())
        return;
    Runs* runs = workspace()->runs();
    const bool isAtRest = runs->waiting().empty() && !runs->job()->isRunning()
        && !workspace()->model()->tokenReader()->job()->isRunning();
    if (isAtRest && m_hasAnswer) {
        if (m_planned.empty() && !m_job.isRunning())
            m_preselects = false; // All answers are there.
        const std::vector<const Analysis*> planned = std::exchange(m_planned, {});
        for (const Analysis* analysis : planned)
            if (!isComputed(*analysis, *workspace()->model()->results()))
                runs->runAnalysis(analysis->id, Runs::Asker::Page);
    }
    showWords();
}

void FindingsPage::computeMissing()
{
    const MissingFindings lacking = missingFindings(*workspace(), m_findings, m_planned);
    for (const Analysis* analysis : lacking.analyses)
        workspace()->runs()->runAnalysis(analysis->id, Runs::Asker::Page);
}

void FindingsPage::selectHeadOf(const Finding& finding)
{
    if (!finding.heads.empty())
        workspace()->selection()->setHead(finding.heads.front());
}

void FindingsPage::open(const Finding& finding)
{
    const FindingPlace place = placeOf(finding);
    selectHeadOf(finding);
    if (TrainingSeries* training = TrainingSeries::of(workspace());
        training->isOpen() && finding.kind == trainingFinding)
        for (const SeriesChange& change : training->series().changes)
            if (finding.heads.front() == change.head && finding.view == "scores/" + change.score
                && finding.value == change.valueAfter)
                training->setStep(change.after);
    if (place.analysis.isEmpty())
        emit pageRequested(place.page);
    else
        emit analysisRequested(place.analysis);
}

void FindingsPage::verify(const Finding& finding)
{
    selectHeadOf(finding);
    emit analysisRequested(QStringLiteral("induction"));
    // Its page sets the attention on random tokens beside the weights.
    if (!isComputed(*findAnalysis("pattern_scores"), *workspace()->model()->results()))
        workspace()->runs()->runAnalysis("pattern_scores");
}

void FindingsPage::copyAsMarkdown()
{
    QStringList lines{tr("## Findings: %1").arg(markdownEscaped(text(workspace()->model()->card().name))),
                      QString()};
    for (const Finding& finding : m_findings.found)
        lines << markdownText(finding);
    QApplication::clipboard()->setText(lines.join(u'\n') + u'\n');
}

} // namespace headwise::ui
