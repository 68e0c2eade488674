#include "core/runs/queue.h"

#include "tests/support/analysed.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTest>

#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

using namespace headwise;
using namespace headwise::test;
using namespace std::chrono_literals;

namespace {

const RunQueue::Time start{};

const Analysis& rowNamed(const char* id)
{
    return *findAnalysis(id);
}

std::vector<std::string> waitingIn(const RunQueue& queue)
{
    std::vector<std::string> ids;
    for (const Analysis* analysis : queue.waiting())
        ids.emplace_back(analysis->id);
    return ids;
}

using Ids = std::vector<std::string>;

} // namespace

class RunQueueTest : public QObject {
    Q_OBJECT

private slots:
    void requestedAnalysesGoBeforeTheDefaultOnesInTheirOrder()
    {
        RunQueue queue(1);
        const std::vector defaults{findAnalysis("spectra"), findAnalysis("copying")};
        for (const Analysis* analysis : defaults)
            queue.append(*analysis, 1);
        queue.request(rowNamed("ranks"), 1, defaults);
        queue.request(rowNamed("symmetry"), 1, defaults);
        QCOMPARE(waitingIn(queue), (Ids{"ranks", "symmetry", "spectra", "copying"}));
        queue.request(rowNamed("ranks"), 1, defaults); // asked once more: last of the requested ones
        QCOMPARE(waitingIn(queue), (Ids{"symmetry", "ranks", "spectra", "copying"}));
        queue.append(rowNamed("symmetry"), 1); // waits already
        QCOMPARE(queue.waiting().size(), std::size_t{4});
        queue.remove(rowNamed("ranks"));
        QVERIFY(!queue.isWaiting(rowNamed("ranks")) && queue.isWaiting(rowNamed("symmetry")));
        QCOMPARE(queue.begin(start), findAnalysis("symmetry"));
        QCOMPARE(queue.running(), findAnalysis("symmetry"));
        queue.putBack(rowNamed("matching"), 1);
        QCOMPARE(waitingIn(queue), (Ids{"matching", "spectra", "copying"}));
        queue.clear();
        queue.complete(start + 1s);
        QVERIFY(!queue.begin(start) && !queue.running());
    }

    void progressIsOfAllThatWaitRunAndEnded()
    {
        RunQueue queue(1);
        queue.append(rowNamed("spectra"), 100);
        queue.append(rowNamed("copying"), 200);
        queue.append(rowNamed("composition"), 100);
        QCOMPARE(queue.status().index, 0);
        QCOMPARE(queue.status().count, 3);
        queue.begin(start);
        queue.advance(0.5, start + 1s);
        QCOMPARE(queue.status().fraction, 0.125);
        QCOMPARE(queue.status().index, 1);
        queue.complete(start + 2s);
        queue.begin(start + 2s);
        QCOMPARE(queue.status().fraction, 0.25);
        QCOMPARE(queue.status().index, 2);
        queue.remove(rowNamed("composition")); // less to do: more of it is done
        QCOMPARE(queue.status().fraction, 100.0 / 300);
        QCOMPARE(queue.status().count, 2);
        queue.interrupt();
        QCOMPARE(queue.status().fraction, 1.0); // nothing is left of this run
        queue.append(rowNamed("copying"), 200); // another run
        QCOMPARE(queue.status().fraction, 0.0);
        QCOMPARE(queue.status().count, 1);
    }

    void anAnalysisThatIsPutBackIsNotDone()
    {
        RunQueue queue(1);
        queue.append(rowNamed("spectra"), 100);
        queue.append(rowNamed("copying"), 300);
        queue.begin(start);
        queue.advance(0.9, start + 1s);
        queue.interrupt();
        queue.putBack(rowNamed("spectra"), 100);
        QCOMPARE(queue.status().fraction, 0.0);
        QCOMPARE(queue.status().count, 2);
        QCOMPARE(queue.begin(start), findAnalysis("spectra"));
        queue.fail();
        QCOMPARE(queue.begin(start), findAnalysis("copying"));
        QCOMPARE(queue.status().index, 2);
        QCOMPARE(queue.status().count, 2);
        QCOMPARE(queue.status().fraction, 0.0);
    }

    void theTokenSideIsComputedOnce()
    {
        std::mutex mutex;
        std::vector<std::string> steps;
        Task task;
        task.threads = 1;
        task.onProgress = [&](int, int, std::string_view step) {
            const std::lock_guard lock(mutex);
            steps.emplace_back(step);
        };
        const Circuits circuits = toyCircuits({});
        QVERIFY(isOk(tokenSide(circuits, Embedding::Raw, task, Precision::F32, TokenParts::GramsAlone)));
        const std::vector<std::string> once = std::exchange(steps, {});
        QVERIFY(!once.empty());
        const std::vector chosen{findAnalysis("copying"), findAnalysis("matching")};
        QVERIFY(isOk(runAnalyses(circuits, chosen, {}, task)));
        std::vector<std::string> before;
        for (const std::string& step : steps)
            if (step.find(" of 2) · ") == std::string::npos)
                before.push_back(step);
        QCOMPARE(before, once);
    }

    void eachAnalysisSaysItsShareOfTheWhole()
    {
        std::mutex mutex;
        std::vector<std::string> steps;
        Task task;
        task.onProgress = [&](int, int, std::string_view step) {
            const std::lock_guard lock(mutex);
            steps.emplace_back(step);
        };
        const Circuits circuits = toyCircuits({});
        const std::vector chosen{findAnalysis("copying"), findAnalysis("composition")};
        QVERIFY(isOk(runAnalyses(circuits, chosen, {}, task)));
        const double copying = runCost(*chosen[0], circuits.config(), {}).work();
        const double composition = runCost(*chosen[1], circuits.config(), {}).work();
        const int share = static_cast<int>(100 * copying / (copying + composition));
        const auto lastOf = [&](std::string_view id) {
            QString last;
            for (const std::string& step : steps)
                if (step.find(id) != std::string::npos)
                    last = QString::fromStdString(step);
            return last.section(QStringLiteral(" · "), 1, 1);
        };
        QCOMPARE(lastOf("(copying, 1 of 2)"), QStringLiteral("%1 %").arg(share));
        QCOMPARE(lastOf("(composition, 2 of 2)"), QStringLiteral("100 %"));
    }

    void aListenerHearsOfEachAnalysisInPlaceOfTheTask()
    {
        std::vector<std::string> steps, titles, found;
        std::size_t arrays = 0;
        double last = 0;
        Task task;
        task.threads = 1;
        task.onProgress = [&](int, int, std::string_view step) { steps.emplace_back(step); };
        RunListener listener;
        listener.onStatus = [&](const Analysis& analysis, const RunStatus& status) {
            if (titles.empty() || titles.back() != analysis.title)
                titles.emplace_back(analysis.title);
            QCOMPARE(status.count, 2);
            QVERIFY(status.fraction >= last && status.fraction <= 1);
            last = status.fraction;
        };
        listener.onFound = [&](const Analysis& analysis, const ResultSet& results, double seconds) {
            found.emplace_back(analysis.id);
            arrays += results.arrays.size();
            QVERIFY(seconds > 0);
        };
        const std::vector chosen{findAnalysis("copying"), findAnalysis("composition")};
        const auto results = runAnalyses(toyCircuits({}), chosen, {}, task, listener);
        QVERIFY(isOk(results));
        QCOMPARE(titles, (Ids{std::string(chosen[0]->title), std::string(chosen[1]->title)}));
        QCOMPARE(found, (Ids{"copying", "composition"}));
        QCOMPARE(arrays, results->arrays.size());
        for (const std::string& step : steps) // of the token side alone
            QVERIFY2(step.find(" %") == std::string::npos, step.c_str());
    }
};

HEADWISE_TEST(RunQueueTest)
#include "run_queue_test.moc"
