#include "ui/base/job.h"

#include <QCoreApplication>

#include <algorithm>
#include <utility>

namespace headwise::ui {

Job::Job(QObject* parent)
    : QObject(parent)
{
}

Job::~Job()
{
    m_stop.request_stop();
    JobBoard::instance().remove(this, true);
}

void Job::cancel()
{
    if (!isRunning()) {
        ++m_turn; // an answer whose finished() is being handled
        return;
    }
    m_stop.request_stop();
    abandon();
    retire(true);
}

void Job::announce()
{
    JobBoard::instance().add(this);
}

void Job::retire(bool cancelled)
{
    const QPointer<Job> self(this);
    m_owesFinished = true;
    JobBoard::instance().remove(this, cancelled);
    if (self)
        sayFinished(); // unless a slot of the board has started new work, which emits it first
}

void Job::sayFinished()
{
    if (std::exchange(m_owesFinished, false))
        emit finished();
}

// Drops the old work: its promise has no listener any more, so nothing of it reaches us.
void Job::abandon()
{
    ++m_turn;
    m_watcher->disconnect(this);
    m_watcher->deleteLater();
    m_watcher = nullptr;
}

JobBoard& JobBoard::instance()
{
    static JobBoard board;
    return board;
}

void JobBoard::add(Job* job)
{
    m_running << job;
    m_clocks[job].start();
    emit started(job);
}

void JobBoard::remove(Job* job, bool cancelled)
{
    if (!m_running.removeOne(job))
        return;
    const qint64 elapsed = m_clocks.take(job).elapsed();
    emit ended(job, elapsed, cancelled);
}

bool waitForJobs(std::chrono::milliseconds patience)
{
    return detail::jobPool().waitForDone(static_cast<int>(patience.count()));
}

namespace detail {

QThreadPool& jobPool()
{
    // Leaked on purpose: a pool's destructor waits, and the window must not.
    static QThreadPool* const pool = [] {
        auto* created = new QThreadPool;
        created->setMaxThreadCount(std::max(8, 2 * QThread::idealThreadCount()));
        // Cancelled jobs must end before the static objects they may still read are destroyed.
        qAddPostRoutine([] { waitForJobs(std::chrono::seconds(2)); });
        return created;
    }();
    return *pool;
}

QString stepText(int done, int total, std::string_view step, std::chrono::milliseconds elapsed)
{
    const QString name = QString::fromUtf8(step.data(), static_cast<qsizetype>(step.size()));
    if (total <= 1)
        return name;
    const QString count = Job::tr("%1 of %2 %3").arg(done).arg(total).arg(name);
    if (elapsed < std::chrono::seconds(1) || done == 0)
        return count;
    const double perSecond = done / std::chrono::duration<double>(elapsed).count();
    return Job::tr("%1 · %2/s").arg(count, QString::number(perSecond, 'g', 2));
}

} // namespace detail

} // namespace headwise::ui
