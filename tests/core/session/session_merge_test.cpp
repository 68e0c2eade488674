#include "core/session/session_merge.h"

#include "core/runs/queue.h"
#include "core/session/partial_run.h"
#include "core/session/session_file.h"
#include "tests/support/every_input.h"
#include "tests/support/program.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace headwise;
using namespace headwise::test;

namespace {

using Chosen = std::vector<const Analysis*>;

Session wholeSession(const Circuits& circuits, const Chosen& chosen, const AnalysisOptions& options)
{
    Session session = makeSession(circuits.weights(), embeddingName(options.embedding), nullptr, {});
    session.created = "2026-01-01T00:00:00Z";
    auto results = runAnalyses(circuits, chosen, options, Task{});
    if (!isOk(results))
        qFatal("the analyses did not run");
    addResults(session, std::move(results).value());
    return session;
}

/// Returns one part as `analyze --shard` computes it.
Session partOf(const Circuits& circuits, const Chosen& chosen, AnalysisOptions options, const Shard& shard)
{
    const ModelConfig& config = circuits.config();
    const Chosen own = analysesOfShard(shard, chosen, config, options);
    SessionPart mark{shard, runDigest(chosen, options), {}};
    const std::vector<HeadId> heads = headsOfShard(shard, config, options);
    for (const HeadId head : heads)
        mark.heads.push_back(dottedHead(head));
    options.share = heads;
    Session session = wholeSession(circuits, own, options);
    session.part = std::move(mark);
    return session;
}

Result<Session> mergedOf(std::vector<Session> parts)
{
    SessionMerge merge;
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (const auto added = merge.add(std::move(parts[i]), "part" + std::to_string(i + 1)); !added)
            return added.error();
    return merge.finish();
}

std::vector<Session> partsOf(const Circuits& circuits, const Chosen& chosen, const AnalysisOptions& options,
                             int count)
{
    std::vector<Session> parts;
    for (int i = 1; i <= count; ++i)
        parts.push_back(partOf(circuits, chosen, options, {i, count}));
    return parts;
}

bool haveSameBits(const ResultArray::Values& a, const ResultArray::Values& b)
{
    return a.index() == b.index()
        && std::visit(
               [&](const auto& mine) {
                   const auto& other = std::get<std::decay_t<decltype(mine)>>(b);
                   return mine.size() == other.size()
                       && (mine.empty()
                           || std::memcmp(mine.data(), other.data(), mine.size() * sizeof mine.front()) == 0);
               },
               a);
}

/// Whether two arrays differ by no more than 1e-6 of each number. Some of OpenBLAS' kernels, those for AVX-512 among them, add up the last
/// columns of a product in another order than the others, and a shard multiplies fewer heads at once.
bool areNear(const ResultArray::Values& a, const ResultArray::Values& b)
{
    const auto* mine = std::get_if<std::vector<float>>(&a);
    const auto* other = std::get_if<std::vector<float>>(&b);
    return mine && other && std::ranges::equal(*mine, *other, [](float x, float y) {
               return (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= 1e-6F * std::abs(y);
           });
}

/// Returns the first difference of two sessions' results; empty without one.
std::string differenceOf(const ResultSet& merged, const ResultSet& single)
{
    if (merged.arrays.size() != single.arrays.size())
        return std::to_string(merged.arrays.size()) + " arrays, expected "
            + std::to_string(single.arrays.size());
    for (const ResultArray& expected : single.arrays) {
        const ResultArray* array = merged.find(expected.path);
        if (!array)
            return expected.path + " is missing";
        if (array->shape != expected.shape)
            return "the shape of " + expected.path;
        const bool isOfManyHeadsAtOnce = expected.path.starts_with("composition/");
        if (!haveSameBits(array->values, expected.values)
            && !(isOfManyHeadsAtOnce && areNear(array->values, expected.values)))
            return "the numbers of " + expected.path;
        ResultArray frame = *array, expectedFrame = expected;
        frame.values = expectedFrame.values = std::vector<float>();
        if (frame != expectedFrame)
            return "the attributes of " + expected.path;
    }
    return merged.groupAttributes == single.groupAttributes ? "" : "the attributes of groups";
}

Chosen fitting(const Circuits& circuits, const AnalysisOptions& options)
{
    Chosen chosen;
    for (const Analysis& analysis : catalogue())
        if (whyLeftOut(analysis, circuits.config(), options).empty())
            chosen.push_back(&analysis);
    return chosen;
}

} // namespace

/// Parts of a sharded run become what one process computes.
class SessionMergeTest : public QObject {
    Q_OBJECT

private slots:
    void everyAnalysisIsTheSameInThreeShards_data()
    {
        QTest::addColumn<int>("model");
        QTest::newRow("learned positions") << 0;
        QTest::newRow("rotary, grouped heads") << 1;
        QTest::newRow("unprocessed, after the first MLP") << 2;
    }
    void everyAnalysisIsTheSameInThreeShards()
    {
        QFETCH(int, model);
        const Circuits circuits = model == 1 ? toyCircuits(llamaOptions())
            : model == 2                     ? toyCircuits({}, noProcessing())
                                             : toyCircuits({});
        AnalysisOptions options = everyInput(circuits.config(), {{0, 0}, {1, 1}});
        if (model == 2)
            options.embedding = Embedding::Mlp0;
        const Chosen chosen = fitting(circuits, options);
        QVERIFY(chosen.size() > 20);
        const Session single = wholeSession(circuits, chosen, options);
        auto parts = partsOf(circuits, chosen, options, 3);
        std::swap(parts[0], parts[2]); // any order
        const auto merged = mergedOf(std::move(parts));
        QVERIFY(isOk(merged));
        QCOMPARE(QString::fromStdString(differenceOf(merged->results, single.results)), QString());
        QVERIFY(!merged->part);
        QCOMPARE(merged->processing, single.processing);
    }

    void someHeadsInAnotherMetric()
    {
        AnalysisOptions options = inDouble();
        options.inputs.metric = ResidualMetric::Embedding;
        options.heads = {{0, 0}, {0, 2}, {1, 0}, {1, 1}};
        const Chosen chosen = *parseAnalyses("spectra,ranks,composition,tables");
        const Session single = wholeSession(m_circuits, chosen, options);
        const auto merged = mergedOf(partsOf(m_circuits, chosen, options, 3));
        QVERIFY(isOk(merged));
        QCOMPARE(QString::fromStdString(differenceOf(merged->results, single.results)), QString());
    }

    void thereMayBeMoreShardsThanHeads()
    {
        const Chosen chosen = *parseAnalyses("spectra,tables,previous_token,norms");
        const Session single = wholeSession(m_circuits, chosen, {});
        const auto merged = mergedOf(partsOf(m_circuits, chosen, {}, 8));
        QVERIFY(isOk(merged));
        QCOMPARE(QString::fromStdString(differenceOf(merged->results, single.results)), QString());
    }

    void aPartIsASessionWithNaNElsewhere()
    {
        const QTemporaryDir folder;
        const auto file = folder.filePath("part.h5").toStdString();
        const Session part = partOf(m_circuits, *parseAnalyses("copying"), {}, {2, 3});
        QVERIFY(isOk(writeSession(file, part, Task{})));
        const auto read = readSession(file, Task{});
        QVERIFY(isOk(read));
        QVERIFY(read->part == part.part);
        QCOMPARE(read->part->shard, (Shard{2, 3}));
        QCOMPARE(read->part->heads, (std::vector<std::string>{"0.1", "1.1"}));
        const std::vector<double> scores = numbers(read->results, "scores/copying"); // three heads a layer
        for (std::size_t i = 0; i < scores.size(); ++i)
            QCOMPARE(std::isnan(scores[i]), i % 3 != 1);
    }

    void aKilledShardIsTakenUpByTheSameShardAlone()
    {
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("part.h5").toStdString();
        const Session second = partOf(m_circuits, *parseAnalyses("copying"), {}, {2, 3});
        Session third = second;
        third.part->shard.index = 3;
        ResultSet results = second.results;
        QVERIFY(isOk(PartialRun(file, second).write(results, "record", Task{})));
        QVERIFY(!PartialRun(file, third).read(Task{}));
        third.part.reset();
        QVERIFY(!PartialRun(file, third).read(Task{}));
        const auto kept = PartialRun(file, second).read(Task{});
        QVERIFY(kept && kept->record == "record" && kept->results.find("scores/copying"));
    }

    void aDamagedMarkIsRefused()
    {
        const QTemporaryDir folder;
        const auto file = folder.filePath("part.h5").toStdString();
        const Session part = partOf(m_circuits, *parseAnalyses("copying"), {}, {2, 3});
        Session damaged = part;
        damaged.part->shard = {5, 3};
        QVERIFY(isOk(writeSession(file, damaged, Task{})));
        QVERIFY(failsWith(readSession(file, Task{}), ErrorCode::Corrupt, "'shard'"));
        damaged = part;
        damaged.part->heads.emplace_back("9.9");
        QVERIFY(isOk(writeSession(file, damaged, Task{})));
        QVERIFY(failsWith(readSession(file, Task{}), ErrorCode::Corrupt, "9.9"));
    }

    void partsThatDoNotBelongTogetherAreRefused()
    {
        const Chosen chosen = *parseAnalyses("copying,norms");
        const std::vector<Session> parts = partsOf(m_circuits, chosen, {}, 3);
        const auto isRefused = [&](std::size_t at, auto&& change, std::string_view why) {
            std::vector<Session> changed = parts;
            change(changed[at]);
            const auto merged = mergedOf(std::move(changed));
            return failsWith(merged, ErrorCode::InvalidArgument, why)
                && failsWith(merged, ErrorCode::InvalidArgument, "'part" + std::to_string(at + 1) + "'");
        };
        QVERIFY(isRefused(
            1, [](Session& s) { s.part.reset(); }, "not part of a sharded run"));
        QVERIFY(isRefused(
            1, [](Session& s) { s.part->shard.index = 1; }, "and so is 'part1'"));
        QVERIFY(isRefused(
            1, [](Session& s) { s.part->shard.count = 4; }, "a different number of shards"));
        QVERIFY(isRefused(
            1, [](Session& s) { s.part->run = "0"; }, "other options"));
        QVERIFY(isRefused(
            2, [](Session& s) { s.model.sha256 = "0"; }, "another model"));
        QVERIFY(isRefused(
            2, [](Session& s) { s.processing.centerUnembed = false; }, "processing switches"));
        QVERIFY(isRefused(
            2, [](Session& s) { s.embedding = "effective"; }, "--embedding effective"));
        QVERIFY(isRefused(
            2, [](Session& s) { s.headwiseVersion = "9"; }, "another version"));
        QVERIFY(isRefused(
            2, [](Session& s) { s.part->heads.front() = "0.0"; }, "computed head 0.0"));
        QVERIFY(isOk(mergedOf(parts)));
    }

    void missingPartsAreNamed()
    {
        std::vector<Session> parts = partsOf(m_circuits, *parseAnalyses("copying"), {}, 4);
        parts.erase(parts.begin() + 2);
        parts.erase(parts.begin());
        QVERIFY(failsWith(mergedOf(std::move(parts)), ErrorCode::InvalidArgument,
                          "2 of the 4 parts are missing: 1/4, 3/4."));
        QVERIFY(failsWith(mergedOf({}), ErrorCode::InvalidArgument, "no parts"));
    }

    void anArrayOfTwoPartsIsRefused()
    {
        const Chosen chosen = *parseAnalyses("position_kernel");
        std::vector<Session> parts = partsOf(m_circuits, chosen, {}, 2);
        parts[1].results = parts[0].results;
        QVERIFY(failsWith(mergedOf(std::move(parts)), ErrorCode::InvalidArgument,
                          "of the part 'part2' is in another part too"));
    }

    void anArrayOfAnotherShapeIsRefused()
    {
        std::vector<Session> parts = partsOf(m_circuits, *parseAnalyses("copying,tables"), {}, 2);
        std::vector<Session> other = parts;
        ResultArray& scores =
            *std::ranges::find(other[1].results.arrays, "scores/copying", &ResultArray::path);
        scores.values = std::vector<double>(6, 0.0);
        QVERIFY(failsWith(mergedOf(std::move(other)), ErrorCode::Corrupt, "scores/copying"));
        other = parts;
        ResultArray& ids =
            *std::ranges::find(other[0].results.arrays, "tables/full_ov/ids", &ResultArray::path);
        ids.shape[0] -= 1;
        QVERIFY(failsWith(mergedOf(std::move(other)), ErrorCode::Corrupt, "a row for each head"));
    }

    /// One process leaves out an analysis that fails, too.
    void whatOnePartLeftOutIsNotInTheWhole()
    {
        std::vector<Session> parts = partsOf(m_circuits, *parseAnalyses("copying,tables"), {}, 2);
        std::erase_if(parts[1].results.arrays,
                      [](const ResultArray& array) { return array.path.starts_with("tables/full_ov/"); });
        parts[1].warnings.emplace_back("Tables were left out.");
        const auto merged = mergedOf(std::move(parts));
        QVERIFY(isOk(merged));
        QVERIFY(!merged->results.find("tables/full_ov/ids") && merged->results.find("tables/full_qk/ids"));
        QVERIFY(!merged->results.groupAttributes.contains("tables/full_ov"));
        QCOMPARE(std::ranges::count(merged->warnings, "Tables were left out."), 1);
    }

    void notesOfAllPartsAreKept()
    {
        std::vector<Session> parts = partsOf(m_circuits, *parseAnalyses("copying"), {}, 2);
        parts[0].notes = {{"0.1", "copies"}};
        parts[1].notes = {{"0.1", "names"}, {"1.0", "copies"}};
        parts[0].bookmarks = {"0.1"};
        parts[1].bookmarks = {"0.1", "1.0"};
        parts[1].created = "2025-01-01T00:00:00Z";
        const auto merged = mergedOf(std::move(parts));
        QVERIFY(isOk(merged));
        QCOMPARE(merged->notes,
                 (std::map<std::string, std::string>{{"0.1", "copies\nnames"}, {"1.0", "copies"}}));
        QCOMPARE(merged->bookmarks, (std::vector<std::string>{"0.1", "1.0"}));
        QCOMPARE(merged->created, std::string("2025-01-01T00:00:00Z"));
    }

private:
    Circuits m_circuits = toyCircuits({});
};

HEADWISE_TEST(SessionMergeTest)
#include "session_merge_test.moc"
