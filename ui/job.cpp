#include "ui/job.h"

#include <algorithm>

namespace headwise::ui {

Job::Job(QObject* parent)
    : QObject(parent)
{
}

Job::~Job()
{
    m_stop.request_stop();
}

void Job::cancel()
{
    if (!isRunning())
        return;
    m_stop.request_stop();
    abandon();
    emit finished();
}

// From here on nothing the old work does reaches us: its promise has no listener any more.
void Job::abandon()
{
    m_watcher->disconnect(this);
    m_watcher->deleteLater();
    m_watcher = nullptr;
}

bool waitForJobs(std::chrono::milliseconds patience)
{
    return detail::jobPool().waitForDone(static_cast<int>(patience.count()));
}

namespace detail {

QThreadPool& jobPool()
{
    // Leaked on purpose: the destructor of a pool waits, and the window must not.
    static QThreadPool* const pool = [] {
        auto* created = new QThreadPool;
        created->setMaxThreadCount(std::max(8, 2 * QThread::idealThreadCount()));
        return created;
    }();
    return *pool;
}

QString stepText(int done, int total, std::string_view step)
{
    const QString name = QString::fromUtf8(step.data(), static_cast<qsizetype>(step.size()));
    return total > 1 ? Job::tr("%1 of %2 %3").arg(done).arg(total).arg(name) : name;
}

} // namespace detail

} // namespace headwise::ui
