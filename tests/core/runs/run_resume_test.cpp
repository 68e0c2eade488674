#include "core/runs/queue.h"

#include "tests/support/analysed.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTest>

#include <string>
#include <vector>

using namespace headwise;
using namespace headwise::test;

namespace {

/// A store that outlives its runs in memory.
class MemoryStore : public RunStore {
public:
    std::optional<Kept> read(const Task&) override { return kept; }
    Result<Done> write(ResultSet& results, const std::string& record, const Task&) override
    {
        kept = Kept{results, record};
        return Done{};
    }

    std::optional<Kept> kept;
};

using Names = std::vector<std::string>;

/// Everything as one text, so that NaN is equal to NaN.
std::string printed(const ResultSet& results)
{
    std::string text;
    for (const ResultArray& array : results.arrays) {
        text += array.path + '\n' + array.definition + '\n';
        for (const double number : numbers(results, array.path))
            text += std::to_string(number) + ' ';
    }
    for (const std::string& warning : results.warnings)
        text += warning + '\n';
    return text;
}

} // namespace

class RunResumeTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        const auto whole = runAnalyses(m_circuits, m_chosen, {}, Task{});
        QVERIFY(isOk(whole));
        m_whole = printed(*whole);
    }

    void aRunThatWasStoppedContinuesWhereItStopped()
    {
        MemoryStore store;
        stopAtTheSecond(store);
        QVERIFY(store.kept);

        Resume resume(store, "question", {});
        QCOMPARE(resume.takeUp(Task{}), (Names{"copying"}));
        Names ran;
        Task task;
        task.threads = 1;
        task.onProgress = [&](int, int, std::string_view step) { ran.emplace_back(step); };
        const auto results = runAnalyses(m_circuits, m_chosen, {}, task, {&resume});
        QVERIFY(isOk(results));
        QCOMPARE(printed(*results), m_whole);
        for (const std::string& step : ran)
            QVERIFY2(step.find("(copying") == std::string::npos, step.c_str());
        QVERIFY(ran.back().find("(composition, 3 of 3) · 100 %") != std::string::npos);
    }

    void theNumbersComeFromTheStore()
    {
        MemoryStore store;
        stopAtTheSecond(store);
        std::get<std::vector<float>>(store.kept->results.arrays.front().values).front() = 77;
        const std::string path = store.kept->results.arrays.front().path;
        Resume resume(store, "question", {});
        QCOMPARE(resume.takeUp(Task{}).size(), std::size_t{1});
        const auto results = runAnalyses(m_circuits, m_chosen, {}, Task{}, {&resume});
        QVERIFY(isOk(results));
        QCOMPARE(numbers(*results, path).front(), 77.0);
    }

    void anotherQuestionAndABrokenRecordAreNotTakenUp()
    {
        MemoryStore store;
        QVERIFY(Resume(store, "question", {}).takeUp(Task{}).empty()); // nothing is there
        stopAtTheSecond(store);
        QVERIFY(Resume(store, "another", {}).takeUp(Task{}).empty());
        store.kept->record = "{\"question\": \"question\"";
        QVERIFY(Resume(store, "question", {}).takeUp(Task{}).empty());
    }

    void aQuickRunWritesNothing()
    {
        MemoryStore store;
        Resume resume(store, "question", std::chrono::hours(1));
        QVERIFY(isOk(runAnalyses(m_circuits, m_chosen, {}, Task{}, {&resume})));
        QVERIFY(!store.kept);
    }

private:
    void stopAtTheSecond(MemoryStore& store)
    {
        std::stop_source stop;
        Task task{stop.get_token(), {}, 1};
        task.onProgress = [&](int, int, std::string_view step) {
            if (step.find("2 of 3") != std::string::npos)
                stop.request_stop();
        };
        Resume resume(store, "question", {});
        QVERIFY(failsWith(runAnalyses(m_circuits, m_chosen, {}, task, {&resume}), ErrorCode::Cancelled, ""));
    }

    Circuits m_circuits = toyCircuits({});
    std::vector<const Analysis*> m_chosen{findAnalysis("copying"), findAnalysis("matching"),
                                          findAnalysis("composition")};
    std::string m_whole;
};

HEADWISE_TEST(RunResumeTest)
#include "run_resume_test.moc"
