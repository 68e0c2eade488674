#include "core/runs/estimate.h"
#include "core/runs/plan.h"
#include "core/runs/shard.h"
#include "tests/support/analysed.h"
#include "tests/support/every_input.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace headwise;
using namespace headwise::test;

namespace {

std::vector<const Analysis*> allAnalyses()
{
    return *parseAnalyses("all");
}

} // namespace

/// The division of one run among several processes.
class RunShardTest : public QObject {
    Q_OBJECT

private slots:
    void aShardIsOneOfSeveral()
    {
        QCOMPARE(*parseShard("1/1"), (Shard{1, 1}));
        QCOMPARE(*parseShard("2/8"), (Shard{2, 8}));
        QCOMPARE(shardName({2, 8}), std::string("2/8"));
        for (const char* wrong : {"", "2", "/", "0/8", "9/8", "-1/8", "2/", "/8", "2/8/1", "2 /8", "a/b",
                                  "1/0", "1/10001", "1/99999999999"})
            QVERIFY2(failsWith(parseShard(wrong), ErrorCode::InvalidArgument, "1 ≤ i ≤ n"), wrong);
        QVERIFY(failsWith(parseShard("9/8"), ErrorCode::InvalidArgument, "'9/8'"));
    }

    void eachHeadIsInOneShardAndEachLayerInMost()
    {
        AnalysisOptions options;
        for (const std::vector<HeadId>& named :
             {std::vector<HeadId>{}, std::vector<HeadId>{{1, 2}, {0, 0}, {0, 1}, {1, 1}}}) {
            options.heads = named;
            const std::size_t count = named.empty() ? 6 : named.size();
            std::set<HeadId> all;
            std::size_t sum = 0;
            for (int i = 1; i <= 4; ++i) {
                const auto heads = headsOfShard({i, 4}, m_config, options);
                all.insert(heads.begin(), heads.end());
                sum += heads.size();
                QVERIFY(heads.size() == count / 4 || heads.size() == count / 4 + 1);
            }
            QCOMPARE(all.size(), count);
            QCOMPARE(sum, count);
        }
        options.heads.clear();
        QCOMPARE(headsOfShard({1, 3}, m_config, options), (std::vector<HeadId>{{0, 0}, {1, 0}}));
        QVERIFY(headsOfShard({7, 7}, m_config, options).empty());
    }

    void headsThatShareKeysStayTogether()
    {
        ModelConfig config = m_config;
        config.nLayers = 16;
        config.nHeads = 8;
        config.nKvHeads = 2; // 32 groups of four
        const auto groupOf = [](HeadId head) { return std::pair(head.layer, head.head / 4); };
        std::set<HeadId> all;
        std::set<std::pair<int, int>> groups;
        for (int i = 1; i <= 4; ++i) {
            std::set<std::pair<int, int>> own;
            for (const HeadId head : headsOfShard({i, 4}, config, {})) {
                all.insert(head);
                own.insert(groupOf(head));
            }
            QCOMPARE(own.size(), std::size_t{8});
            groups.insert(own.begin(), own.end());
        }
        QCOMPARE(all.size(), std::size_t{128});
        QCOMPARE(groups.size(), std::size_t{32});                      // each in one shard
        QCOMPARE(headsOfShard({1, 5}, config, {})[1], (HeadId{0, 5})); // 32 are too few for five
        AnalysisOptions named;
        named.heads = {{0, 0}, {0, 1}, {0, 4}};
        QCOMPARE(headsOfShard({2, 2}, config, named), (std::vector<HeadId>{{0, 1}}));
    }

    void eachAnalysisThatIsNotSplitIsInOneShard()
    {
        const AnalysisOptions options = everyInput(m_config, {{0, 0}, {1, 1}});
        std::map<const Analysis*, int> shards;
        for (int i = 1; i <= 8; ++i) {
            const auto own = analysesOfShard({i, 8}, allAnalyses(), m_config, options);
            QVERIFY(std::is_sorted(own.begin(), own.end()));
            for (const Analysis* analysis : own)
                ++shards[analysis];
        }
        for (const Analysis* analysis : allAnalyses()) {
            const bool runs = whyLeftOut(*analysis, m_config, options).empty();
            const int expected = !runs ? 8 : analysis->isSplit ? 6 : 1; // six heads, so six shards have one
            QVERIFY2(shards[analysis] == expected, analysis->id.data());
        }
    }

    void theLongestGoesToAShardOfItsOwn()
    {
        const AnalysisOptions options = everyInput(m_config, {{0, 0}, {1, 1}});
        std::vector<const Analysis*> whole;
        for (const Analysis* analysis : allAnalyses())
            if (!analysis->isSplit && whyLeftOut(*analysis, m_config, options).empty())
                whole.push_back(analysis);
        const auto work = [&](const Analysis* analysis) {
            return runCost(*analysis, m_config, options).work();
        };
        double longest = 0, sum = 0, most = 0;
        for (const Analysis* analysis : whole) {
            longest = std::max(longest, work(analysis));
            sum += work(analysis);
        }
        for (int i = 1; i <= 3; ++i) {
            double load = 0;
            for (const Analysis* analysis : analysesOfShard({i, 3}, whole, m_config, options))
                load += work(analysis);
            most = std::max(most, load);
        }
        QVERIFY(most <= sum / 3 + longest);
        QVERIFY(most < sum);
    }

    void aShardCostsItsPart()
    {
        AnalysisOptions options;
        const Analysis& spectra = *findAnalysis("spectra");
        const double whole = runCost(spectra, m_config, options).flops;
        options.share = headsOfShard({1, 3}, m_config, options);
        QVERIFY(std::abs(runCost(spectra, m_config, options).flops - whole / 3) < 1e-6 * whole);
        const Analysis& norms = *findAnalysis("norms");
        QCOMPARE(runCost(norms, m_config, options).flops, norms.cost(m_config, {}).flops);
    }

    void theDigestFollowsAnalysesAndOptions()
    {
        AnalysisOptions options;
        const std::string digest = runDigest(allAnalyses(), options);
        QCOMPARE(digest.size(), std::size_t{16});
        options.share = std::vector<HeadId>{{0, 0}};
        QCOMPARE(runDigest(allAnalyses(), options), digest); // of the whole run
        options.tableSize = 3;
        QVERIFY(runDigest(allAnalyses(), options) != digest);
        QVERIFY(runDigest(*parseAnalyses("copying"), {}) != digest);
    }

private:
    ModelConfig m_config = toyCircuits({}).config();
};

HEADWISE_TEST(RunShardTest)
#include "run_shard_test.moc"
