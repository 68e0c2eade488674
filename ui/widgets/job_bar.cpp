#include "ui/widgets/job_bar.h"

#include "ui/base/icons.h"
#include "ui/base/job.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QToolButton>

#include <algorithm>

namespace headwise::ui {

JobBar::JobBar(Job* job, QWidget* parent)
    : QWidget(parent)
    , m_title(new QLabel(this))
    , m_progress(new QProgressBar(this))
    , m_step(new QLabel(this))
    , m_cancel(new QToolButton(this))
{
    m_progress->setRange(0, 1000);
    m_progress->setTextVisible(false);
    m_progress->setFixedSize(120, 4);
    makeSecondary(m_step);
    for (QLabel* label : {m_title, m_step})
        label->setMinimumWidth(1); // Cut off rather than widening the window.
    m_cancel->setIcon(icon("cancel"));
    m_cancel->setAutoRaise(true);
    m_cancel->setToolTip(tr("Cancel"));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(8, 0, 8, 0);
    layout->setSpacing(8);
    layout->addWidget(m_title);
    layout->addWidget(m_progress);
    layout->addWidget(m_step);
    layout->addWidget(m_cancel);
    keepPlace(this);
    setShown(false);
    connect(job, &Job::started, this, &JobBar::begin);
    connect(job, &Job::progressed, this, &JobBar::show);
    connect(job, &Job::finished, this, [this] { setShown(false); });
    connect(m_cancel, &QToolButton::clicked, job, &Job::cancel);
    m_cancel->setAccessibleName(tr("Cancel"));
    if (job->isRunning())
        begin(job->title());
}

void JobBar::begin(const QString& title)
{
    m_title->setText(title);
    m_cancel->setAccessibleName(tr("Cancel %1").arg(title));
    m_step->clear();
    m_progress->setValue(0);
    m_clock.start();
    setShown(true);
}

QSize JobBar::inLine(const QSize& shown) const
{
    const int height = std::max(m_title->sizeHint().height(), m_cancel->sizeHint().height());
    return {isHidden() ? 0 : shown.width(), std::max(shown.height(), height)};
}

void JobBar::setShown(bool shown)
{
    setVisible(shown);
    updateGeometry();
}

void JobBar::show(int permille, const QString& step)
{
    // By itself setValue() paints at once, and with the bar everything in the window that waits to be painted.
    m_progress->setUpdatesEnabled(false);
    m_progress->setValue(permille);
    m_progress->setUpdatesEnabled(true);
    QString words = step;
    // In the first second an estimate of the rest is unreliable.
    if (permille > 20 && permille < 1000 && m_clock.elapsed() > 1000) {
        const qint64 left = m_clock.elapsed() * (1000 - permille) / permille;
        words += tr(" · %1 left").arg(duration(std::chrono::milliseconds(left)));
    }
    m_step->setText(words);
}

QHBoxLayout* textAndJob(QLabel* words, Job* job)
{
    auto* row = new QHBoxLayout;
    row->addWidget(words, 1);
    row->addWidget(new JobBar(job, words->parentWidget()));
    row->addStrut(2 * words->fontMetrics().lineSpacing());
    QObject::connect(job, &Job::started, words, &QWidget::hide);
    QObject::connect(job, &Job::finished, words, &QWidget::show);
    return row;
}

} // namespace headwise::ui
