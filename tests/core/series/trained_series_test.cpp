#include "core/findings/findings.h"
#include "core/runs/plan.h"
#include "core/series/series_request.h"
#include "core/series/series_steps.h"
#include "tests/support/analysed.h"
#include "tests/support/program.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <set>

using namespace headwise;
using namespace headwise::test;

namespace {

const std::string inductionScore = "pattern_scores_induction";

std::filesystem::path trainedFolder()
{
    return testData("models/induction-series");
}

std::vector<SeriesChange> changesIn(const Series& series, std::string_view score)
{
    std::vector<SeriesChange> changes;
    std::ranges::copy_if(series.changes, std::back_inserter(changes),
                         [score](const SeriesChange& change) { return change.score == score; });
    return changes;
}

/// Score of a head at the checkpoint of a training step.
float scoreAtStep(const Series& series, std::string_view name, int step, HeadId head)
{
    const auto score = std::ranges::find(series.scores, name, &SeriesScore::name);
    const auto at = std::ranges::find(series.steps, step);
    if (score == series.scores.end() || at == series.steps.end())
        qFatal("there is no such score or step");
    const auto place =
        (at - series.steps.begin()) * series.nLayers * series.nHeads + head.layer * series.nHeads + head.head;
    return score->values[static_cast<std::size_t>(place)];
}

/// Heads that findings of one kind name at the checkpoint of a training step.
std::set<HeadId> headsFound(int step, std::string_view kind)
{
    const Circuits circuits = circuitsOf(trainedFolder() / ("step" + std::to_string(step) + ".safetensors"));
    const ResultSet results = analysed(circuits, {"previous_token", "pattern_scores"});
    const ModelCard card = modelCard(circuits.weights().original());
    const std::vector<std::string> tokens;
    std::set<HeadId> heads;
    for (const Finding& finding : findingsOf({card, results, tokens}).found)
        if (finding.kind == kind)
            heads.insert(finding.heads.begin(), finding.heads.end());
    return heads;
}

} // namespace

/// A real training (tests/support/train_demo_series.py) whose heads form an induction circuit between steps 179 and 215.
class TrainedSeriesTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        auto members = seriesMembers(trainedFolder());
        QVERIFY(isOk(members));
        SeriesRequest request = defaultSeriesRequest(std::move(members).value(), file());
        request.analyses = *parseAnalyses("previous_token,pattern_scores");
        const auto outcome = computeSeries(request, Task{});
        QVERIFY(isOk(outcome));
        m_series = outcome->series;
        QCOMPARE(m_series.steps.size(), std::size_t(40));
        QVERIFY(std::ranges::all_of(m_series.problems, &std::string::empty));
    }

    void inductionAppearsInOnePhaseChange()
    {
        for (const int head : {1, 2, 3}) {
            QVERIFY(scoreAtStep(m_series, inductionScore, 144, {1, head}) < 0.1F);
            QVERIFY(scoreAtStep(m_series, inductionScore, 179, {1, head}) < 0.2F);
            QVERIFY(scoreAtStep(m_series, inductionScore, 215, {1, head}) > 0.3F);
            QVERIFY(scoreAtStep(m_series, inductionScore, 700, {1, head}) > 0.45F);
        }
        for (const std::int32_t step : m_series.steps)
            for (const int head : {0, 1, 2, 3}) // the first layer has nothing to compose with
                QVERIFY(scoreAtStep(m_series, inductionScore, step, {0, head}) < 0.05F);
    }

    void changePointsLieInThePhaseChange()
    {
        const std::vector<SeriesChange> changes = changesIn(m_series, inductionScore);
        std::set<int> heads;
        for (const SeriesChange& change : changes) {
            QCOMPARE(change.head.layer, 1);
            heads.insert(change.head.head);
            if (change.head.head == 0) // the late one
                continue;
            QVERIFY(m_series.steps[static_cast<std::size_t>(change.before)] >= 179);
            QVERIFY(m_series.steps[static_cast<std::size_t>(change.after)] <= 215);
            QVERIFY2(change.evidence > 0.8, qPrintable(QString::number(change.evidence)));
        }
        QVERIFY((heads == std::set{0, 1, 2, 3}));
        const auto second = std::ranges::find(changes, HeadId{1, 1}, &SeriesChange::head);
        QVERIFY2(second->text.starts_with("between steps 197 and 215 L1H1 became an induction head ("),
                 second->text.c_str());
    }

    void previousTokenHeadsAreThereBefore()
    {
        const std::vector<SeriesChange> previous = changesIn(m_series, "previous_token"),
                                        induction = changesIn(m_series, inductionScore);
        QCOMPARE(previous.size(), std::size_t(2));
        QVERIFY2(previous[0].text.starts_with("between steps 144 and 162 L0H1 became a previous-token head"),
                 previous[0].text.c_str());
        QVERIFY2(previous[1].text.starts_with("between steps 162 and 179 L0H0 became a previous-token head"),
                 previous[1].text.c_str());
        for (const SeriesChange& later : induction)
            QVERIFY(previous[1].after <= later.before);
    }

    /// The rules of findings, which see one checkpoint alone, name the same heads at the same steps.
    void findingsOfEachStepSayTheSame()
    {
        using Heads = std::set<HeadId>;
        const char *previous = "previous_token", *induction = "induction_attention";
        QVERIFY(headsFound(144, previous).empty() && headsFound(144, induction).empty());
        QVERIFY((headsFound(162, previous) == Heads{{0, 1}}));
        QVERIFY((headsFound(179, previous) == Heads{{0, 0}, {0, 1}}));
        QVERIFY(headsFound(179, induction).empty());
        QVERIFY((headsFound(215, induction) == Heads{{1, 1}, {1, 2}, {1, 3}}));
        QVERIFY((headsFound(700, induction) == Heads{{1, 0}, {1, 1}, {1, 2}, {1, 3}}));
    }

    void aStepIsReadAsASession()
    {
        const auto steps = readSeriesSteps(file(), Task{});
        QVERIFY(isOk(steps));
        QCOMPARE(steps->size(), std::size_t(40));
        const SeriesStep& last = steps->back();
        QCOMPARE(last.step, 700);
        QCOMPARE(last.session.model.nHeads, 4);
        const ResultArray* scores = last.session.results.find("scores/pattern_scores_induction");
        QVERIFY(scores && (scores->shape == std::vector<std::size_t>{2, 4}));
        QCOMPARE(std::get<std::vector<float>>(scores->values)[5],
                 scoreAtStep(m_series, inductionScore, 700, {1, 1}));
    }

private:
    std::filesystem::path file() const { return m_temporary.filePath("trained.h5").toStdString(); }

    QTemporaryDir m_temporary;
    Series m_series;
};

HEADWISE_TEST(TrainedSeriesTest)
#include "trained_series_test.moc"
