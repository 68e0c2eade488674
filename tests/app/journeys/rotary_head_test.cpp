#include "core/analysis/catalogue.h"
#include "core/analysis/position/position_terms.h"
#include "core/analysis/position/rotary_kernel.h"
#include "core/analysis/position/rotary_tables.h"
#include "core/circuits/position_scores.h"
#include "core/runs/queue.h"
#include "tests/bench/make_gpt2_small.h"
#include "tests/support/journey_steps.h"
#include "tests/support/program.h"
#include "ui/charts/spectrum_chart.h"

#include <QSlider>

#include <algorithm>
#include <array>

using namespace headwise;
using namespace headwise::test;
using ui::LineChart;

namespace {

/// A trained model of 5 × 8 heads, or a random one of GPT-2 small's sizes, without learned positions or a tokenizer.
std::filesystem::path rotaryModel(bool isLarge)
{
    if (!isLarge)
        return HEADWISE_TEST_DATA "/models/stories260k";
    static const bench::Gpt2Small made(bench::Layout::Llama);
    if (!made.isThere())
        qFatal("a rotary model of GPT-2 small's sizes could not be written into the temporary folder");
    return made.folder();
}

} // namespace

class RotaryHeadTest : public QObject {
    Q_OBJECT

private slots:
    void aRotaryHeadIsReadAtEveryOffset_data()
    {
        QTest::addColumn<bool>("isLarge");
        QTest::newRow("stories260k") << false;
        QTest::newRow("GPT-2 small, rotary") << true;
    }
    void aRotaryHeadIsReadAtEveryOffset()
    {
        QFETCH(bool, isLarge);
        const std::filesystem::path folder = rotaryModel(isLarge);
        Journey journey(QStringLiteral("j10-") + QLatin1String(QTest::currentDataTag()));
        openModel(journey, folder);
        journey.begin();
        journey.openTab(QStringLiteral("Position")); // J10: one click
        auto* energies = journey.named<LineChart>(QStringLiteral("Energy by frequency"));
        journey.waitFor([&] { return !energies->series().empty(); }, QStringLiteral("the energies"));
        QVERIFY(journey.tookGestures(1, 200ms));
        auto* slider = journey.named<QSlider>(QStringLiteral("Offset of the key"));
        auto* keys = journey.named<QTableView>(QStringLiteral("Keys at the offset"));
        for (int i = 0; i < 3; ++i)
            QTest::keyClick(slider, Qt::Key_Right);
        const QString heading = QStringLiteral("the offset Δ = 3");
        journey.waitFor([&] { return journey.shows(heading) && keys->model()->rowCount() > 0; }, heading);
        const QString query = journey.labelWith(heading)
                                  .section(QStringLiteral("query "), 1)
                                  .section(QStringLiteral(" →"), 0, 0);
        const int token = query.mid(1).toInt(); // "#17": the model has no tokenizer
        const Circuits circuits = circuitsIn(folder);
        const auto matrices = tokensOf(circuits);
        const auto line = rotaryTokenLine(circuits, *matrices, {0, 0}, token, 3);
        QVERIFY(isOk(line));
        QVERIFY(reads(numberIn(keys, 0, 2), line->maxCoeff()));
        QVERIFY(reads(numberIn(keys, 0, 4), line->minCoeff()));
        // The energy of each frequency under the mouse, and the kernel here and on the overview.
        const auto point = [&](LineChart* chart, std::size_t series, int index) {
            return readOutAt(journey, chart,
                             chart->positionOf(chart->series()[series].points[index]).toPoint());
        };
        const RotaryEnergies found = rotaryEnergies(circuits.weights(), {0, 0});
        for (const int m : {0, 2}) {
            // The baseline of unaligned columns may lie on the point; then it is what is read.
            const QString words = point(energies, 0, m);
            const bool isBaseline = words.contains(QStringLiteral("unaligned columns"));
            const double expected = isBaseline ? found.unaligned(m) : found.energy(m);
            QVERIFY2(reads(numberAfter(words, QStringLiteral(")")), expected), qPrintable(words));
        }
        const RowVector<double> mean = matrices->embeddingOf(0).whole<double>()->colwise().mean();
        const RowVector<double> kernel = offsetScores(circuits.weights(), {0, 0}, mean, 64);
        auto* here = journey.named<LineChart>(QStringLiteral("Mean score by offset"));
        QVERIFY(reads(numberAfter(point(here, 0, 40), QStringLiteral("Δ = 40")), kernel(40)));
        journey.openTab(QStringLiteral("Overview"));
        auto* small = journey.named<LineChart>(QStringLiteral("Mean score by offset"));
        journey.waitFor([&] { return !small->series().empty(); }, QStringLiteral("the kernel"));
        QVERIFY(reads(numberAfter(point(small, 0, 40), QStringLiteral("Δ = 40")), kernel(40)));
        // The heads by their previous-token score, once every score is listed.
        journey.waitForRest();
        journey.keys(QStringLiteral("Ctrl+M"));
        journey.type(QStringLiteral("previous"));
        journey.keys(QStringLiteral("Return"));
        const std::array<const Analysis*, 1> chosen{findAnalysis("previous_token")};
        const auto results = runAnalyses(circuits, chosen, {}, Task{});
        QVERIFY(isOk(results));
        const auto& scores = std::get<std::vector<float>>(results->find("scores/previous_token")->values);
        const auto* heads = journey.named<QTableView>(QStringLiteral("Heads by their score"));
        QVERIFY(reads(numberIn(heads, 0, 1), *std::max_element(scores.begin(), scores.end())));
        journey.waitForRest();
    }
};

HEADWISE_TEST_MAIN(RotaryHeadTest, runJourneys<RotaryHeadTest>)
#include "rotary_head_test.moc"
