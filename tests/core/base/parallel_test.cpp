#include "core/base/parallel.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <atomic>
#include <numeric>
#include <thread>

using namespace headwise;

class ParallelTest : public QObject {
    Q_OBJECT

private slots:
    void runsEveryIndexOnce()
    {
        for (const int threads : {0, 1, 3}) {
            Task task;
            task.threads = threads;
            std::vector<std::atomic<int>> runs(100);
            QVERIFY(test::isOk(parallelFor(100, task, "items", [&](int i) -> Result<Done> {
                ++runs[i];
                return Done{};
            })));
            for (const auto& count : runs)
                QCOMPARE(count.load(), 1);
        }
    }

    void reportsEachStepAndEndsAtTheTotal()
    {
        std::vector<int> reported;
        Task task;
        task.onProgress = [&](int done, int total, std::string_view step) {
            QCOMPARE(total, 20);
            QCOMPARE(step, std::string_view("heads"));
            reported.push_back(done);
        };
        QVERIFY(test::isOk(parallelFor(20, task, "heads", [](int) -> Result<Done> { return Done{}; })));
        std::vector<int> expected(20);
        std::iota(expected.begin(), expected.end(), 1);
        QCOMPARE(reported, expected);
    }

    void returnsTheErrorOfABody()
    {
        const auto result = parallelFor(50, Task{}, "items", [](int i) -> Result<Done> {
            if (i == 17)
                return Error{ErrorCode::Corrupt, "Item 17 is bad."};
            return Done{};
        });
        QVERIFY(test::failsWith(result, ErrorCode::Corrupt, "17"));
    }

    void aFullMemoryIsAnErrorAndNotACrash()
    {
        const auto result =
            parallelFor(2, Task{}, "items", [](int) -> Result<Done> { throw std::bad_alloc(); });
        QVERIFY(test::failsWith(result, ErrorCode::OutOfMemory, "memory"));
    }

    void stopsWhenAsked()
    {
        std::stop_source stop;
        Task task;
        task.stop = stop.get_token();
        std::atomic<int> runs = 0;
        const auto result = parallelFor(10000, task, "items", [&](int) -> Result<Done> {
            if (++runs == 5)
                stop.request_stop();
            return Done{};
        });
        QVERIFY(test::failsWith(result, ErrorCode::Cancelled, "cancelled"));
        QVERIFY(runs < 10000);
    }

    /// Two bodies that each ask for two threads would otherwise take four.
    void aLimitHoldsForLoopsInLoops()
    {
        const ThreadLimit limit(1);
        std::atomic<int> running = 0, most = 0;
        Task task;
        task.threads = 2;
        const auto inner = [&](int) -> Result<Done> {
            const int now = ++running;
            for (int known = most; now > known && !most.compare_exchange_weak(known, now);) { }
            std::this_thread::yield();
            --running;
            return Done{};
        };
        QVERIFY(test::isOk(
            parallelFor(8, task, "outer", [&](int) { return parallelFor(50, task, "inner", inner); })));
        QCOMPARE(most.load(), 1);
    }

    void nothingToDoIsGood() { QVERIFY(test::isOk(parallelFor(0, Task{}, "items", nullptr))); }
};

HEADWISE_TEST(ParallelTest)
#include "parallel_test.moc"
