#include "ui/pages/session/jobs_page.h"

#include "ui/base/icons.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/widgets/job_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QScrollArea>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

namespace headwise::ui {

namespace {

constexpr std::chrono::milliseconds shortest{200}; // shorter jobs would only flicker
constexpr int endedLimit = 50;

} // namespace

JobsPage::JobsPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_rest(new QLabel(tr("Nothing is being computed."), this))
    , m_total(new QLabel(this))
    , m_running(new QVBoxLayout)
    , m_waiting(new QVBoxLayout)
    , m_ended(new QListWidget(this))
{
    makeSecondary(m_rest);
    m_total->setObjectName(QStringLiteral("total"));
    m_total->setAccessibleName(tr("Progress of the analyses"));
    m_total->setContentsMargins(8, 0, 8, 0);
    m_total->hide();
    m_ended->setAccessibleName(tr("Finished jobs"));
    m_ended->setToolTip(tr("Finished jobs, newest first"));
    auto* now = new QWidget(this);
    auto* list = new QVBoxLayout(now);
    list->setContentsMargins(12, 8, 12, 8);
    list->addWidget(m_rest);
    list->addWidget(m_total);
    list->addLayout(m_running);
    list->addLayout(m_waiting);
    list->addStretch();
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(now);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(8, 0, 8, 8);
    layout->setSpacing(8);
    // Halves, whatever their widest words: a list that is cut off says nothing.
    for (QWidget* half : std::initializer_list<QWidget*>{scroll, m_ended}) {
        half->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Expanding);
        layout->addWidget(half, 1);
    }

    const JobBoard& board = JobBoard::instance();
    connect(&board, &JobBoard::started, this, [this](Job* job) {
        QTimer::singleShot(shortest, this, [this, job] {
            if (JobBoard::instance().running().contains(job))
                showJob(job);
        });
    });
    connect(&board, &JobBoard::ended, this, &JobsPage::noteEnd);
    // Jobs of other pages may end after the workspace, while the window is destroyed.
    connect(workspace, &QObject::destroyed, this, [this, &board] { board.disconnect(this); });
    connect(workspace->runs(), &Runs::waitingChanged, this, &JobsPage::showWaiting);
    connect(workspace->runs(), &Runs::progressed, this, &JobsPage::showTotal);
}

void JobsPage::showJob(Job* job)
{
    if (m_bars.contains(job))
        return;
    auto* bar = new JobBar(job, this);
    m_bars[job] = bar;
    m_running->addWidget(bar);
    showRest();
}

void JobsPage::noteEnd(Job* job, qint64 milliseconds, bool cancelled)
{
    if (JobBar* bar = m_bars.take(job))
        bar->deleteLater();
    showRest();
    if (milliseconds < shortest.count())
        return;
    const QString took = duration(std::chrono::milliseconds(milliseconds));
    m_ended->insertItem(0,
                        cancelled ? tr("%1: stopped after %2").arg(job->title(), took)
                                  : tr("%1: %2").arg(job->title(), took));
    while (m_ended->count() > endedLimit)
        delete m_ended->takeItem(m_ended->count() - 1);
}

void JobsPage::showWaiting()
{
    while (QLayoutItem* item = m_waiting->takeAt(0)) {
        item->widget()->deleteLater();
        delete item;
    }
    for (const Analysis* analysis : workspace()->runs()->waiting()) {
        auto* row = new QWidget(this);
        auto* words = new QLabel(tr("waiting: %1").arg(text(analysis->title)), row);
        auto* remove = new QToolButton(row);
        remove->setIcon(icon("cancel"));
        remove->setAutoRaise(true);
        remove->setToolTip(tr("Cancel this job"));
        remove->setAccessibleName(tr("Cancel %1").arg(text(analysis->title)));
        connect(remove, &QToolButton::clicked, this,
                [this, analysis] { this->workspace()->runs()->removeWaiting(*analysis); });
        auto* layout = new QHBoxLayout(row);
        layout->setContentsMargins(8, 0, 8, 0);
        layout->addWidget(words);
        layout->addWidget(remove);
        layout->addStretch();
        m_waiting->addWidget(row);
    }
    showTotal();
    showRest();
}

void JobsPage::showTotal()
{
    const RunStatus status = workspace()->runs()->status();
    m_total->setVisible(status.index > 0);
    m_total->setText(
        tr("Analysis %1 of %2 · %3").arg(status.index).arg(status.count).arg(text(runStatusText(status))));
}

void JobsPage::showRest()
{
    m_rest->setVisible(m_bars.isEmpty() && workspace()->runs()->waiting().empty());
}

} // namespace headwise::ui
