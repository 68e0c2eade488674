#pragma once

#include "core/base/task.h"

#include <QElapsedTimer>
#include <QFutureWatcher>
#include <QHash>
#include <QList>
#include <QObject>
#include <QPointer>
#include <QString>
#include <QThreadPool>
#include <QtConcurrentRun>

#include <chrono>
#include <exception>
#include <memory>
#include <new>

namespace headwise::ui {

/// One question whose answer takes a while, asked from the GUI thread, answered on a pool thread.
///
/// Starting a job that is still running supersedes it: the old work is asked to stop and its answer
/// is dropped, so a view never shows the answer to an earlier question. Cancelling and destroying
/// the job do the same. A slot of any of the signals below may start, cancel or destroy the job it hears of: what it
/// asks is the newest question. Every signal and callback arrives on the thread the Job lives in.
///
/// `work` runs on another thread. It must own everything it uses: capture by value, shared_ptr to
/// const data, no `this`, no QObject. It is a core call, nothing more.
class Job : public QObject {
    Q_OBJECT

public:
    explicit Job(QObject* parent = nullptr);
    ~Job() override;

    /// \param work Result<T>(const Task&), runs on the pool.
    /// \param done void(Result<T>), runs here, unless superseded, cancelled or destroyed before, also by a slot of finished().
    template <typename Work, typename DoneFn>
    void start(const QString& title, Work work, DoneFn done);

    /// In a slot of finished(): also the answer that is about to come, or the work about to start.
    void cancel();
    bool isRunning() const { return m_watcher != nullptr; }
    const QString& title() const { return m_title; } ///< Title of the newest start; empty before the first.

    /// At most this many threads inside the work started from now on; 0 means one per core.
    void setThreads(int threads) { m_threads = threads; }

signals:
    void started(const QString& title);
    void progressed(int permille,
                    const QString& step); ///< "37 of 144 heads"; at most 25 times a second (QFuture).
    void finished();                      ///< Exactly once per started(), before `done`.

private:
    void abandon();
    void announce();             ///< Running, from here on.
    void retire(bool cancelled); ///< Not running any more; says finished().
    void sayFinished();          ///< If it is still to be said.

    std::stop_source m_stop;
    QFutureWatcherBase* m_watcher = nullptr;
    quint64 m_turn = 0;          // grows with every start, cancel and answer
    bool m_owesFinished = false; // of the work that has just ended
    QString m_title;
    int m_threads = 0;
};

/// Every job of the program that runs now, for the one list of them.
class JobBoard : public QObject {
    Q_OBJECT

public:
    static JobBoard& instance(); ///< GUI thread only.

    const QList<Job*>& running() const { return m_running; } ///< In the order they were started.

signals:
    void started(headwise::ui::Job* job);
    void ended(headwise::ui::Job* job, qint64 milliseconds,
               bool cancelled); ///< `job` may be in its destructor.

private:
    friend class Job;
    void add(Job* job);
    void remove(Job* job, bool cancelled);

    QList<Job*> m_running;
    QHash<Job*, QElapsedTimer> m_clocks;
};

/// Waits until no work of any job runs, for the moment after the window has closed. False if some still does.
bool waitForJobs(std::chrono::milliseconds patience);

namespace detail {

/// Roomier than the cores and never waited for at exit: work that cannot be interrupted (one large LAPACK call)
/// neither delays the question that superseded it nor the closing of the window.
QThreadPool& jobPool();

/// "37 of 144 heads · 12/s"; the rate after a second, when it says something.
QString stepText(int done, int total, std::string_view step, std::chrono::milliseconds elapsed);

/// A task whose progress goes to `promise`, in thousandths.
template <typename Answer>
Task taskFor(QPromise<Answer>& promise, const std::stop_token& stop, int threads)
{
    promise.setProgressRange(0, 1000);
    const auto report = [&promise, begin = std::chrono::steady_clock::now()](int done, int total,
                                                                             std::string_view step) {
        const int permille = total > 0 ? static_cast<int>(1000LL * done / total) : 0;
        const auto elapsed =
            std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
        promise.setProgressValueAndText(permille, stepText(done, total, step, elapsed));
    };
    return {.stop = stop, .onProgress = report, .threads = threads};
}

/// Core does not throw; whatever arrives here all the same must not vanish with the thread.
template <typename Work>
auto runGuarded(Work& work, const Task& task) -> std::invoke_result_t<Work&, const Task&>
{
    try {
        return work(task);
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::OutOfMemory, "There is not enough memory for this operation."};
    } catch (const std::exception& e) {
        return Error{ErrorCode::Internal, e.what()};
    }
}

} // namespace detail

template <typename Work, typename DoneFn>
void Job::start(const QString& title, Work work, DoneFn done)
{
    using Answer = std::invoke_result_t<Work&, const Task&>;

    const QPointer<Job> self(this);
    quint64 turn = ++m_turn;
    sayFinished();
    if (self && turn == m_turn && isRunning()) {
        turn += 1; // by cancelling
        cancel();
    }
    if (!self || turn != m_turn)
        return;
    m_stop = std::stop_source();
    m_title = title;

    auto* watcher = new QFutureWatcher<Answer>(this);
    m_watcher = watcher;
    connect(watcher, &QFutureWatcherBase::progressValueChanged, this,
            [this, watcher](int value) { emit progressed(value, watcher->progressText()); });
    connect(watcher, &QFutureWatcherBase::finished, this, [this, watcher, done = std::move(done)]() mutable {
        Answer answer = watcher->future().takeResult();
        auto callback = std::move(done); // `watcher` and this lambda may go away below.
        abandon();
        const QPointer<Job> alive(this);
        const quint64 ended = m_turn;
        retire(false);
        if (alive && ended == m_turn)
            callback(std::move(answer));
    });
    announce();
    if (self && turn == m_turn)
        emit started(title);
    if (!self || turn != m_turn)
        return;
    watcher->setFuture(QtConcurrent::run(&detail::jobPool(),
                                         [work = std::move(work), stop = m_stop.get_token(),
                                          threads = m_threads](QPromise<Answer>& promise) mutable {
                                             promise.addResult(detail::runGuarded(
                                                 work, detail::taskFor(promise, stop, threads)));
                                         }));
}

} // namespace headwise::ui
