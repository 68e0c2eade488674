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
#include <utility>

namespace headwise::ui {

/// A background computation: started on the GUI thread, run on a pool thread, answered on the GUI thread.
///
/// Starting a job that is still running supersedes it: the old work is asked to stop and its answer is dropped, so a view
/// never shows the answer to an earlier question. Cancelling or destroying the job does the same. A slot of any signal
/// below may start, cancel or destroy the job. Every signal and callback arrives on the thread in which the Job lives.
///
/// `work` runs on another thread and must own everything it uses: capture by value, shared_ptr to const data, no `this`,
/// no QObject. It is a core call, nothing more.
class Job : public QObject {
    Q_OBJECT

public:
    explicit Job(QObject* parent = nullptr);
    ~Job() override;

    /// \param work Result<T>(const Task&), runs on the pool.
    /// \param done void(Result<T>), runs here, unless superseded, cancelled or destroyed before, also by a slot of finished().
    template <typename Work, typename DoneFn>
    void start(const QString& title, Work work, DoneFn done);

    /// In a slot of finished(), it also cancels the answer that is about to arrive, or the work about to start.
    void cancel();
    bool isRunning() const { return m_watcher != nullptr; }
    const QString& title() const { return m_title; } ///< Title of the latest start; empty before the first.

    /// Limits the threads inside work started from now on; 0 means one per core.
    void setThreads(int threads) { m_threads = threads; }

signals:
    void started(const QString& title);
    void progressed(int permille,
                    const QString& step); ///< "37 of 144 heads"; at most 25 times a second (QFuture).
    void finished();                      ///< Exactly once per started(), before `done`.

private:
    void abandon();
    void announce();             ///< Marks the job as running.
    void retire(bool cancelled); ///< Marks the job as ended and emits finished().
    void sayFinished();          ///< Emits finished() unless that has happened.

    std::stop_source m_stop;
    QFutureWatcherBase* m_watcher = nullptr;
    quint64 m_turn = 0;          // grows with every start, cancel and answer
    bool m_owesFinished = false; // for the work that has just ended
    QString m_title;
    int m_threads = 0;
};

/// All jobs of the program that are running, for the job list.
class JobBoard : public QObject {
    Q_OBJECT

public:
    static JobBoard& instance(); ///< GUI thread only.

    const QList<Job*>& running() const { return m_running; } ///< In the order in which they started.

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

/// How long work waits that nobody asked for, so that what the user did ask for has the cores first.
inline constexpr std::chrono::milliseconds pauseBeforeExtras{250};

/// Waits until no job is running, after the window has closed. Returns false if one still is.
bool waitForJobs(std::chrono::milliseconds patience);

namespace detail {

/// The thread pool of all jobs. It has more threads than cores and is never waited for at exit, so work that cannot be
/// interrupted (one large LAPACK call) delays neither its successor nor the closing of the window.
QThreadPool& jobPool();

/// Formats "37 of 144 heads · 12/s"; the rate appears after a second, if it is informative.
QString stepText(int done, int total, std::string_view step, std::chrono::milliseconds elapsed);

/// Returns a task that reports its progress to `promise`, in thousandths.
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

/// Runs the work. Core does not throw, but an exception must not vanish with the thread.
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

/// Frees memory on another thread. With hundreds of megabytes the system takes a while.
template <typename Owned>
void freeLater(std::shared_ptr<Owned>& owned)
{
    detail::jobPool().start([last = std::exchange(owned, nullptr)]() mutable { last.reset(); });
}

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
        auto callback = std::move(done); // The callback may destroy `watcher` and this lambda.
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
