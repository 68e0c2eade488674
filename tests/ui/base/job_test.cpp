#include "ui/base/job.h"

#include "tests/support/program.h"

#include <QSignalSpy>
#include <QTest>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

using namespace headwise;
using headwise::ui::Job;
using headwise::ui::waitForJobs;

namespace {

// Work that runs until it is cancelled, and reports that through `stopped`.
auto untilCancelled(std::shared_ptr<std::atomic<bool>> stopped)
{
    return [stopped](const Task& task) -> Result<int> {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait(lock, task.stop, [] { return false; });
        *stopped = true;
        return headwise::stopped();
    };
}

auto answerOf(int number)
{
    return [number](const Task&) -> Result<int> { return number; };
}

auto keep(QStringList& heard)
{
    return [&heard](const Result<int>& result) { heard << QString::number(*result); };
}

void hear(Job& job, QStringList& heard)
{
    QObject::connect(&job, &Job::started, &job, [&heard] { heard << QStringLiteral("started"); });
    QObject::connect(&job, &Job::finished, &job, [&heard] { heard << QStringLiteral("finished"); });
}

} // namespace

class JobTest : public QObject {
    Q_OBJECT

private slots:
    void deliversTheAnswerOnTheCallingThread()
    {
        Job job;
        int answer = 0;
        QThread* thread = nullptr;
        job.start(
            QStringLiteral("add"), [](const Task&) -> Result<int> { return 2 + 2; },
            [&](const Result<int>& result) {
                answer = *result;
                thread = QThread::currentThread();
            });
        QVERIFY(job.isRunning());
        QTRY_COMPARE(answer, 4);
        QCOMPARE(thread, QThread::currentThread());
        QVERIFY(!job.isRunning());
    }

    void deliversErrors()
    {
        Job job;
        Error error;
        job.start(
            QStringLiteral("fail"),
            [](const Task&) -> Result<int> {
                return Error{ErrorCode::NotFound, "No head 99."};
            },
            [&](const Result<int>& result) { error = result.error(); });
        QTRY_VERIFY(error == (Error{ErrorCode::NotFound, "No head 99."}));
    }

    void turnsAnExceptionIntoAnError()
    {
        Job job;
        ErrorCode code = ErrorCode::Io;
        job.start(
            QStringLiteral("throw"), [](const Task&) -> Result<int> { throw std::bad_alloc(); },
            [&](const Result<int>& result) { code = result.error().code; });
        QTRY_COMPARE(code, ErrorCode::OutOfMemory);
    }

    void startingAgainSupersedes()
    {
        Job job;
        QSignalSpy finished(&job, &Job::finished);
        const auto firstStopped = std::make_shared<std::atomic<bool>>(false);
        QList<int> answers;
        job.start(QStringLiteral("first"), untilCancelled(firstStopped),
                  [&](const Result<int>&) { answers << 1; });
        job.start(
            QStringLiteral("second"), [](const Task&) -> Result<int> { return 2; },
            [&](const Result<int>& result) { answers << *result; });
        QTRY_VERIFY(*firstStopped);
        QTRY_COMPARE(answers, QList<int>{2});
        QVERIFY(waitForJobs(std::chrono::seconds(5)));
        QCoreApplication::processEvents(); // A stale answer would be in the queue by now.
        QCOMPARE(answers, QList<int>{2});
        QCOMPARE(finished.count(), 2);
    }

    void cancelStopsTheWorkAndDropsTheAnswer()
    {
        Job job;
        QSignalSpy finished(&job, &Job::finished);
        const auto stopped = std::make_shared<std::atomic<bool>>(false);
        bool answered = false;
        job.start(QStringLiteral("long"), untilCancelled(stopped),
                  [&](const Result<int>&) { answered = true; });
        job.cancel();
        QCOMPARE(finished.count(), 1);
        QTRY_VERIFY(*stopped);
        QVERIFY(waitForJobs(std::chrono::seconds(5)));
        QCoreApplication::processEvents(); // A stale answer would be in the queue by now.
        QVERIFY(!answered);
    }

    void destroyingTheJobStopsTheWork()
    {
        const auto stopped = std::make_shared<std::atomic<bool>>(false);
        bool answered = false;
        {
            Job job;
            job.start(QStringLiteral("long"), untilCancelled(stopped),
                      [&](const Result<int>&) { answered = true; });
        }
        QTRY_VERIFY(*stopped);
        QVERIFY(waitForJobs(std::chrono::seconds(5)));
        QCoreApplication::processEvents(); // A stale answer would be in the queue by now.
        QVERIFY(!answered);
    }

    void reportsProgressInOrder()
    {
        Job job;
        QSignalSpy progressed(&job, &Job::progressed);
        bool answered = false;
        job.start(
            QStringLiteral("steps"),
            [](const Task& task) -> Result<Done> {
                for (int i = 1; i <= 4; ++i) {
                    task.report(i, 4, "heads");
                    QThread::msleep(60); // No fact to wait for: QFuture drops reports closer than 40 ms.
                }
                return Done{};
            },
            [&](const Result<Done>&) { answered = true; });
        QTRY_VERIFY(answered);
        QList<int> values;
        for (const QList<QVariant>& arguments : progressed)
            values << arguments[0].toInt();
        QVERIFY(std::is_sorted(values.begin(), values.end()));
        QCOMPARE(values.last(), 1000);
        QCOMPARE(progressed.last()[1].toString(), QStringLiteral("4 of 4 heads"));
    }

    void passesTheNumberOfThreadsAndTheTitleOn()
    {
        Job job;
        job.setThreads(3);
        int threads = 0;
        job.start(
            QStringLiteral("count"), [](const Task& task) -> Result<int> { return task.threads; },
            [&](const Result<int>& result) { threads = *result; });
        QCOMPARE(job.title(), QStringLiteral("count"));
        QTRY_COMPARE(threads, 3);
    }

    void workThatCannotStopDoesNotDelayTheNextQuestion()
    {
        Job job;
        const auto release = std::make_shared<std::atomic<bool>>(false);
        const auto deaf = [release](const Task&) -> Result<int> {
            release->wait(false);
            return 1;
        };
        for (int i = 0; i < 4; ++i)
            job.start(QStringLiteral("deaf"), deaf, [](const Result<int>&) {});
        int answer = 0;
        job.start(
            QStringLiteral("quick"), [](const Task&) -> Result<int> { return 7; },
            [&](const Result<int>& result) { answer = *result; });
        QTRY_COMPARE(answer, 7);
        QVERIFY(!waitForJobs(std::chrono::milliseconds(1)));
        *release = true;
        release->notify_all();
        QVERIFY(waitForJobs(std::chrono::seconds(5)));
    }

    void doneMayStartTheNextQuestion()
    {
        Job job;
        int answer = 0;
        job.start(
            QStringLiteral("first"), [](const Task&) -> Result<int> { return 20; },
            [&](const Result<int>& first) {
                job.start(
                    QStringLiteral("second"), [n = *first](const Task&) -> Result<int> { return n + 1; },
                    [&](const Result<int>& second) { answer = *second; });
            });
        QTRY_COMPARE(answer, 21);
    }

    void aSlotMayStartTheJobThatWasSuperseded()
    {
        Job job;
        QStringList heard;
        hear(job, heard);
        const auto stopped = std::make_shared<std::atomic<bool>>(false);
        bool again = true;
        connect(&job, &Job::finished, &job, [&] {
            if (std::exchange(again, false))
                job.start(QStringLiteral("third"), answerOf(3), keep(heard));
        });
        job.start(QStringLiteral("first"), untilCancelled(stopped), keep(heard));
        job.start(QStringLiteral("second"), answerOf(2), keep(heard)); // superseded before it began
        QTRY_VERIFY(!job.isRunning());
        QVERIFY(waitForJobs(std::chrono::seconds(5)));
        QCoreApplication::processEvents(); // A stale answer would be in the queue by now.
        QCOMPARE(heard.join(u' '), QStringLiteral("started finished started finished 3"));
        QVERIFY(*stopped);
        QVERIFY(!ui::JobBoard::instance().running().contains(&job));
    }

    void aSlotOfTheEndMayAskAgain()
    {
        Job job;
        QStringList heard;
        hear(job, heard);
        bool again = true;
        connect(&job, &Job::finished, &job, [&] {
            if (std::exchange(again, false))
                job.start(QStringLiteral("second"), answerOf(2), keep(heard));
        });
        job.start(QStringLiteral("first"), answerOf(1), keep(heard));
        QTRY_COMPARE(heard.join(u' '), QStringLiteral("started finished started finished 2"));
        QVERIFY(!job.isRunning());
    }

    void aSlotOfTheEndMayDropTheAnswer()
    {
        Job job;
        QStringList heard;
        hear(job, heard);
        connect(&job, &Job::finished, &job, &Job::cancel);
        job.start(QStringLiteral("first"), answerOf(1), keep(heard));
        QTRY_COMPARE(heard.join(u' '), QStringLiteral("started finished"));
        QVERIFY(waitForJobs(std::chrono::seconds(5)));
        QCoreApplication::processEvents();
        QCOMPARE(heard.join(u' '), QStringLiteral("started finished"));
    }

    void aSlotOfTheBeginningMayAskSomethingElse()
    {
        Job job;
        QStringList heard;
        hear(job, heard);
        const auto stopped = std::make_shared<std::atomic<bool>>(false);
        bool again = true;
        connect(&job, &Job::started, &job, [&] {
            if (std::exchange(again, false))
                job.start(QStringLiteral("second"), answerOf(2), keep(heard));
        });
        job.start(QStringLiteral("first"), untilCancelled(stopped), keep(heard));
        QTRY_COMPARE(heard.join(u' '), QStringLiteral("started finished started finished 2"));
        QVERIFY2(waitForJobs(std::chrono::seconds(5)), "the first work runs without anybody to stop it");
    }

    void aSlotOfTheBoardMayAskAgain()
    {
        Job job;
        QStringList heard;
        hear(job, heard);
        QObject listener;
        bool again = true;
        connect(&ui::JobBoard::instance(), &ui::JobBoard::ended, &listener, [&](Job* ended) {
            if (ended == &job && std::exchange(again, false))
                job.start(QStringLiteral("second"), answerOf(2), keep(heard));
        });
        job.start(QStringLiteral("first"), answerOf(1), keep(heard));
        QTRY_COMPARE(heard.join(u' '), QStringLiteral("started finished started finished 2"));
        QVERIFY(!ui::JobBoard::instance().running().contains(&job));
    }

    void aSlotMayDestroyTheJob()
    {
        for (const bool atItsBeginning : {false, true}) {
            auto* job = new Job;
            const QPointer<Job> alive(job);
            bool answered = false;
            if (atItsBeginning)
                connect(job, &Job::started, job, [job] { delete job; });
            connect(job, &Job::finished, job, [job] { delete job; });
            job->start(QStringLiteral("last"), answerOf(1), [&](const Result<int>&) { answered = true; });
            QTRY_VERIFY(!alive);
            QVERIFY(waitForJobs(std::chrono::seconds(5)));
            QCoreApplication::processEvents();
            QVERIFY(!answered);
        }
    }
};

HEADWISE_TEST(JobTest)
#include "job_test.moc"
