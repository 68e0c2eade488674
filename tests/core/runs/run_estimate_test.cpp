#include "core/base/machine_rates.h"
#include "core/base/memory.h"
#include "core/runs/plan.h"
#include "core/runs/queue.h"
#include "tests/support/address_space_limit.h"
#include "tests/support/analysed.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <mutex>

using namespace headwise;
using namespace headwise::test;
using namespace std::chrono_literals;

namespace {

ModelConfig gpt2Small()
{
    ModelConfig config;
    config.nLayers = config.nHeads = config.nKvHeads = 12;
    config.dModel = 768;
    config.dHead = 64;
    config.dMlp = 3072;
    config.nCtx = 1024;
    config.dVocab = config.dVocabOut = 50257;
    return config;
}

std::vector<const Analysis*> everything()
{
    std::vector<const Analysis*> all;
    for (const Analysis& analysis : catalogue())
        all.push_back(&analysis);
    return all;
}

bool contains(const std::string& text, std::string_view part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

class RunEstimateTest : public QObject {
    Q_OBJECT

private slots:
    void isTheSumOfWhatWillRun()
    {
        const ModelConfig config = gpt2Small();
        const AnalysisOptions options;
        const std::array chosen{findAnalysis("copying"), findAnalysis("composition"),
                                findAnalysis("attention"), findAnalysis("rotary")}; // no prompt, no rotary
        const RunEstimate estimate = estimateRun(chosen, config, options);
        const AnalysisCost copying = chosen[0]->cost(config, options);
        const AnalysisCost composition = chosen[1]->cost(config, options);
        QCOMPARE(estimate.flops, copying.flops + composition.flops);
        QCOMPARE(estimate.bytes, std::max(copying.bytes, composition.bytes));
        QCOMPARE(estimate.longest, chosen[1]);
        QCOMPARE(estimate.work, copying.work() + composition.work());
        QVERIFY(estimate.work != estimate.flops); // they do not run equally fast
        QCOMPARE(estimate.longestWork, composition.work());
        QVERIFY(!estimateRun(std::span(chosen).subspan(2), config, options).longest);
    }

    // A model may leave an analysis with nothing to do, composition with one layer for example.
    void everyCostIsANumber_data()
    {
        QTest::addColumn<int>("layers");
        QTest::addColumn<int>("heads");
        QTest::newRow("one layer, one head") << 1 << 1;
        QTest::newRow("one layer") << 1 << 12;
        QTest::newRow("GPT-2 small") << 12 << 12;
    }
    void everyCostIsANumber()
    {
        QFETCH(const int, layers);
        QFETCH(const int, heads);
        ModelConfig config = gpt2Small();
        config.nLayers = layers;
        config.nHeads = config.nKvHeads = heads;
        for (const Precision precision : {Precision::F32, Precision::F64}) {
            AnalysisOptions options;
            options.precision = precision;
            for (const Analysis* analysis : everything()) {
                if (!whyLeftOut(*analysis, config, options).empty())
                    continue;
                const AnalysisCost cost = analysis->cost(config, options);
                QVERIFY2(std::isfinite(cost.flops) && std::isfinite(cost.bytes) && std::isfinite(cost.work()),
                         analysis->id.data());
                QVERIFY2(cost.flops >= 0 && cost.bytes >= 0 && cost.work() >= 0, analysis->id.data());
            }
        }
    }

    void everythingOnGpt2SmallIsSaidToTakeLongBecauseOfTheTables()
    {
        AnalysisOptions options;
        const RunEstimate all = estimateRun(everything(), gpt2Small(), options);
        QCOMPARE(all.longest->id, std::string_view("tables"));
        QCOMPARE(all.largest->id, std::string_view("tables"));
        const std::string notice = longRunNotice(all, 2);
        QVERIFY2(contains(notice, " on 2 cores, ") && contains(notice, "tables"), notice.c_str());
        QVERIFY(contains(longRunNotice(all, 1), "on one core"));
        options.heads = {{0, 0}};
        QVERIFY(estimateRun(everything(), gpt2Small(), options).flops < all.flops / 5);
    }

    void aMinuteIsTheLeastThatIsAnnounced()
    {
        RunEstimate estimate;
        estimate.longest = findAnalysis("copying");
        const double second = analysisRate(); // work of a core
        estimate.work = estimate.longestWork = 59 * second;
        QVERIFY(longRunNotice(estimate, 1).empty());
        estimate.work = estimate.longestWork = 61 * second;
        QVERIFY(contains(longRunNotice(estimate, 1), "roughly a minute on one core"));
        QVERIFY(longRunNotice(estimate, 2).empty());
        estimate.work = estimate.longestWork = 5 * 3600 * second;
        QVERIFY(contains(longRunNotice(estimate, 2), "2.5 hours on 2 cores, 100 % of it copying"));
        estimate.work = estimate.longestWork = 30.0 * 86400 * second;
        QVERIFY(contains(longRunNotice(estimate, 1), "30 days"));
    }

    /// Ten ids and values of 6 lists of both circuits, and the moments of their lines, for 144 heads: 3.7 GB in the end,
    /// and 1 more while the second grows.
    void tablesOfAllHeadsNeedGigabytes()
    {
        const RunEstimate all = estimateRun(everything(), gpt2Small(), {});
        QVERIFY(all.bytes > 3.5e9 && all.bytes < 5e9);
        QVERIFY(whyTooLarge(all, 8e9).empty());
        const std::string refusal = whyTooLarge(all, 2e9);
        QVERIFY2(contains(refusal, "tables needs about 4.8 GB of memory on this model, but only 2 GB is free")
                     && contains(refusal, "--heads"),
                 refusal.c_str());
    }

    /// Measured 57 and 58 s of one core with 5 s of opening and token side: the vocabulary is read again for every head,
    /// which takes longer than multiplying it with ten directions.
    void readingTheVocabularyForEveryHeadIsCounted()
    {
        for (const char* id : {"singular_tokens", "degeneracy"}) {
            const double seconds = findAnalysis(id)->cost(gpt2Small(), {}).flops / 3.5e10; // of that core
            QVERIFY2(seconds > 25 && seconds < 110, id);
        }
    }

    void whatNoMachineHoldsIsRefusedBeforeItStarts()
    {
        ToyOptions toy;
        toy.dVocab = 100000;
        const Circuits circuits = toyCircuits(toy);
        AnalysisOptions options;
        options.tableSize = 100000;
        const std::array chosen{findAnalysis("tables")};
        const auto isRefused = [&] {
            return failsWith(runAnalyses(circuits, chosen, options, Task{}), ErrorCode::OutOfMemory,
                             "tables needs about");
        };
        QVERIFY(!availableMemory() || isRefused());
        const AddressSpaceLimit limit(64 << 20); // with one, every system says what is free
        QVERIFY(isRefused());
    }

    /// The limit of the address space counts, and the list of a token is never longer than the vocabulary.
    void aLimitOfTheProcessIsSeen()
    {
        const auto free = availableMemory();
        QVERIFY(free || !std::filesystem::exists("/proc/meminfo"));
        QVERIFY(!free || (*free > 1e6 && *free < 1e15));
        {
            const AddressSpaceLimit limit(64 << 20);
            const auto limited = availableMemory();
            QVERIFY(limited && *limited <= 65 << 20);
        }
        AnalysisOptions options;
        options.tableSize = 1000000;
        const ModelConfig config = toyCircuits({}).config();
        QVERIFY(findAnalysis("tables")->cost(config, options).bytes < 1e6);
    }

    /// A run too large for all heads is suggested for some; the message applies to the window and the command line.
    void allHeadsCanBeTooMany()
    {
        const ModelConfig config = gpt2Small();
        const ModelConfig small = toyCircuits({}).config();
        AnalysisOptions options;
        for (const char* id : {"largest_entries", "skip_trigrams"}) {
            const Analysis& analysis = *findAnalysis(id);
            options.inputs.token.reset();
            QVERIFY(QByteArray::fromStdString(analysis.whyNot(config, options))
                        .contains("(Heads in the window, --heads on the command line)"));
            options.inputs.token = 5; // as in the window, where one is always selected
            QVERIFY2(takesNamedHeadsAlone(analysis, config, options)
                         && takesNamedHeads(analysis, config, options),
                     id);
            QVERIFY2(!takesNamedHeadsAlone(analysis, small, options)
                         && takesNamedHeads(analysis, small, options),
                     id);
            options.heads = {{3, 1}};
            QCOMPARE(analysis.whyNot(config, options), std::string());
            options.heads.clear();
        }
        const Analysis& copying = *findAnalysis("copying");
        QVERIFY(!takesNamedHeadsAlone(copying, config, options) && takesNamedHeads(copying, config, options));
        QVERIFY(!takesNamedHeads(*findAnalysis("direct_path"), config, options));
    }

    void progressNamesTheAnalysisOfSeveral()
    {
        std::mutex mutex;
        std::vector<std::string> steps;
        Task task;
        task.onProgress = [&](int, int, std::string_view step) {
            const std::lock_guard lock(mutex);
            steps.emplace_back(step);
        };
        const Circuits circuits = toyCircuits({});
        const std::array chosen{findAnalysis("copying"), findAnalysis("composition")};
        QVERIFY(runAnalyses(circuits, chosen, {}, task));
        const auto has = [&](std::string_view part) {
            return std::count_if(steps.begin(), steps.end(), [&](const std::string& step) {
                return step.find(part) != std::string::npos;
            });
        };
        QVERIFY(has(" (copying, 1 of 2) · ") > 0 && has(" (composition, 2 of 2) · ") > 0);
        steps.clear();
        QVERIFY(runAnalyses(circuits, std::span(chosen).first(1), {}, task));
        QVERIFY(!steps.empty() && has(")") == 0);
    }

    /// The window, the command line and plan say the same.
    void everyEstimateFollowsTheMeasuredSpeed()
    {
        QVERIFY2(coreSgemmRate() > 1e8 && coreSgemmRate() < 1e13, std::to_string(coreSgemmRate()).c_str());
        QCOMPARE(coreSgemmRate(), coreSgemmRate());
        QVERIFY(analysisRate() < coreSgemmRate());
        QCOMPARE(analysisRate(4), 4 * analysisRate());
        QVERIFY(std::abs(estimatedSeconds(analysisRate(2), 2) - 1) < 1e-12);
    }

    void theTimeLeftFollowsWhatIsMeasured()
    {
        const RunMeter::Time start{};
        const double second = 1 / estimatedSeconds(1); // flops of a usual core
        RunMeter meter(1);
        QCOMPARE(meter.status(10 * second, 2).secondsLeft, 10.0); // nothing is measured yet
        meter.begin(10 * second, start);
        QCOMPARE(meter.status(30 * second, 1).secondsLeft, 40.0);
        meter.advance(0.5, start + 10s); // half as fast as a usual core
        const RunStatus half = meter.status(30 * second, 1);
        QCOMPARE(half.fraction, 0.125);
        QVERIFY(half.secondsLeft > 62 && half.secondsLeft < 70);
        meter.complete(start + 20s);
        QVERIFY(std::abs(meter.status(30 * second, 1).secondsLeft - 60) < 4);
        meter.reset();
        QCOMPARE(meter.status(10 * second, 1).secondsLeft, 10.0);
    }

    void progressNeverGoesBackWithinAnAnalysis()
    {
        const RunMeter::Time start{};
        RunMeter meter(1);
        meter.begin(100, start);
        meter.advance(0.6, start + 1s);
        meter.advance(0.1, start + 2s); // its second step
        QCOMPARE(meter.status(0, 0).fraction, 0.6);
        meter.complete(start + 3s);
        meter.advance(0.2, start + 4s); // nothing runs
        QCOMPARE(meter.status(0, 0).fraction, 1.0);
    }

    void statusIsSaidInAFewWords()
    {
        QCOMPARE(runStatusText({1, 2, 0.4299, 130}), std::string("42 % · 2 min left"));
        QCOMPARE(runStatusText({1, 2, 0, 0.2}), std::string("0 % · 1 s left"));
        QCOMPARE(runStatusText({2, 2, 0.9999, 3}), std::string("99 % · 3 s left"));
        QCOMPARE(runStatusText({2, 2, 1, 0}), std::string("100 %"));
        QCOMPARE(durationText(99.4), std::string("99 s"));
        QCOMPARE(durationText(3900), std::string("1 h 5 min"));
    }
};

HEADWISE_TEST(RunEstimateTest)
#include "run_estimate_test.moc"
