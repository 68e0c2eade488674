#include "core/analysis/catalogue.h"
#include "core/analysis/position/position_terms.h"
#include "core/analysis/position/score_terms.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/circuits/position_scores.h"
#include "core/runs/queue.h"
#include "tests/support/journey_export.h"
#include "tests/support/journey_steps.h"
#include "tests/support/program.h"
#include "ui/charts/spectrum_chart.h"

#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSlider>
#include <QTimer>

using namespace headwise;
using namespace headwise::test;
using ui::HeatmapView;
using ui::LineChart;

namespace {

/// The prefixes that a token attends to, and a term over the user's own words, for L0H0 on the Scores page.
void readPrefixesAndWords(Journey& journey, const Circuits& circuits, const Tokenizer& tokenizer, int token)
{
    auto* prefixes = journey.named<QTableView>(QStringLiteral("Prefixes of the token"));
    QTRY_VERIFY(prefixes->model()->rowCount() > 0);
    AnalysisOptions options;
    options.heads = {{0, 0}};
    options.inputs.token = token;
    const std::array<const Analysis*, 1> chosen{findAnalysis("detokenization")};
    const auto results = runAnalyses(circuits, chosen, options, Task{});
    QVERIFY(isOk(results));
    const auto& values =
        std::get<std::vector<float>>(results->find("analyses/detokenization/prefix_values")->values);
    journey.waitFor([&] { return prefixes->model()->rowCount() > 0; }, QStringLiteral("the prefixes"));
    QVERIFY(reads(numberIn(prefixes, 0, 2), values.front()));
    auto* words = journey.named<QLineEdit>(QStringLiteral("Words of the map"));
    QTest::mouseClick(words, Qt::LeftButton);
    journey.type(QStringLiteral("the king of the sea"));
    journey.keys(QStringLiteral("Return"));
    const auto ids = tokenizer.encode("the king of the sea", Tokenizer::SpecialTokens::None);
    QVERIFY(isOk(ids));
    auto* map = journey.named<HeatmapView>(QStringLiteral("T^ee"));
    journey.waitFor([&] { return map->scene().rowCount() == std::ssize(*ids); }, QStringLiteral("the map"));
    const Matrix<double> ee =
        scoreTerms(circuits.weights(), {0, 0}, promptParts(circuits.weights(), *ids)).pairs[0];
    QVERIFY(reads(numberAfter(readOut(journey, map, 3, 1), QStringLiteral("   ")), ee(3, 1)));
}

} // namespace

class PositionQuestionsTest : public QObject {
    Q_OBJECT

private slots:
    void theScoresOfALayer0HeadAreSixTerms_data() { addJourneyModels(); }
    void theScoresOfALayer0HeadAreSixTerms()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j9-") + QLatin1String(QTest::currentDataTag()));
        openComputed(journey, which);
        // J9: a menu, its group and an entry; then the user's own token list.
        journey.trigger(QStringLiteral("Six terms of a layer-0 score"));
        auto* terms = journey.named<HeatmapView>(QStringLiteral("T^ee"));
        auto* prompt = journey.named<QPlainTextEdit>(QStringLiteral("Prompt"));
        QTest::mouseClick(prompt->viewport(), Qt::LeftButton);
        journey.keys(QStringLiteral("Ctrl+A"));
        journey.type(QStringLiteral("the king of the sea"));
        QVERIFY(journey.shows(QStringLiteral("Run the analysis again")));
        journey.click(QStringLiteral("Run again"));
        const Tokenizer tokenizer = tokenizerIn(folderOf(which));
        const auto ids = tokenizer.encode("the king of the sea");
        QVERIFY(isOk(ids));
        journey.waitFor([&] { return terms->scene().rowCount() == std::ssize(*ids); },
                        QStringLiteral("the terms"));
        journey.waitForRest();
        const Circuits circuits = circuitsIn(folderOf(which));
        const Matrix<double> ee =
            scoreTerms(circuits.weights(), {0, 0}, promptParts(circuits.weights(), *ids)).pairs[0];
        QVERIFY(reads(numberAfter(readOut(journey, terms, 3, 1), QStringLiteral("   ")), ee(3, 1)));
        // The paper's figure: T^p, T^pp and the softmax of their sum, with the numbers of its curves.
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("figure3.csv"));
        prompt->setFocus();
        QTimer::singleShot(0, qApp, [] { takeFirstOfMenu(); });
        journey.keys(QStringLiteral("Ctrl+E"));
        choose(journey.named<QComboBox>(QStringLiteral("Format")), QStringLiteral("CSV"));
        exportTo(journey, file);
        const Table curves = readTable(file);
        const std::array<const Analysis*, 1> sixTerms{findAnalysis("six_terms")};
        const auto core = runAnalyses(circuits, sixTerms, {}, Task{});
        QVERIFY(isOk(core));
        const auto& softmax =
            std::get<std::vector<float>>(core->find("analyses/six_terms/position_pattern")->values);
        const auto first = std::find_if(curves.rows.begin(), curves.rows.end(), [](const auto& row) {
            return QString::fromStdString(row[0]).startsWith(QStringLiteral("softmax"));
        });
        QVERIFY(first != curves.rows.end());
        for (std::ptrdiff_t i : {0, 5, 20})
            QVERIFY(reads(std::stod((first + i)->at(3)), double{softmax[static_cast<std::size_t>(i)]}));
        // The tokens that a suffix attends to as prefixes.
        const QString suffix = which == JourneyModel::Demo ? QStringLiteral("ness") : QStringLiteral("iens");
        journey.keys(QStringLiteral("Ctrl+F"));
        journey.type(suffix);
        journey.keys(QStringLiteral("Return"));
        journey.trigger(QStringLiteral("Detokenization"));
        auto* prefixes = journey.named<QTableView>(QStringLiteral("Prefixes the suffix looks for"));
        AnalysisOptions options;
        options.heads = {{0, 0}};
        options.inputs.token = *tokenizer.find(suffix.toStdString());
        const std::array<const Analysis*, 1> chosen{findAnalysis("detokenization")};
        const auto results = runAnalyses(circuits, chosen, options, Task{});
        QVERIFY(isOk(results));
        const auto& values =
            std::get<std::vector<float>>(results->find("analyses/detokenization/prefix_values")->values);
        QTRY_VERIFY(prefixes->model()->rowCount() > 0);
        QVERIFY(reads(numberIn(prefixes, 0, 2), values.front()));
        journey.waitForRest();
    }

    void thePositionAndTheTokenOfAScoreAreMoved_data() { addJourneyModels(); }
    void thePositionAndTheTokenOfAScoreAreMoved()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j9-scores-") + QLatin1String(QTest::currentDataTag()));
        openComputed(journey, which);
        journey.begin();
        journey.openTab(QStringLiteral("Scores")); // J9: one click
        auto* pairs = journey.named<LineChart>(QStringLiteral("T^pp"));
        journey.waitFor([&] { return !pairs->series().empty(); }, QStringLiteral("the terms of positions"));
        QVERIFY(journey.tookGestures(1, 200ms));
        journey.waitFor([&] { return !journey.shows(QStringLiteral("so far")); },
                        QStringLiteral("the norms of all tokens"));
        QTest::mouseClick(journey.named<QPushButton>(QStringLiteral("Query position 50")), Qt::LeftButton);
        const Circuits circuits = circuitsIn(folderOf(which));
        const ProcessedWeights& weights = circuits.weights();
        const auto spread = divisorSpread(weights, {}, Precision::F32, Task{});
        QVERIFY(isOk(spread));
        const PositionTerms terms(weights, {0, 0},
                                  seenPositions(weights, 0, shownPositions(circuits.config())), *spread);
        // The curves overlap; the keys tell them apart.
        const auto point = [&](const QString& chart, int series, int j) {
            auto* on = journey.named<LineChart>(chart);
            QTest::keyClick(on, Qt::Key_Home);
            for (int i = 0; i < series; ++i)
                QTest::keyClick(on, Qt::Key_Down);
            for (int i = 0; i < j; ++i)
                QTest::keyClick(on, Qt::Key_Right);
            return numberAfter(statusText(journey), QStringLiteral("j = %1").arg(j));
        };
        QVERIFY(reads(point(QStringLiteral("T^p"), 0, 20), terms.p(20)));
        QVERIFY(reads(point(QStringLiteral("T^pp"), 0, 40), terms.at(50).pp(40)));
        // One step of the token's slider selects the next id and shows its attention to positions.
        const QString suffix = which == JourneyModel::Demo ? QStringLiteral("ness") : QStringLiteral("iens");
        const Tokenizer tokenizer = tokenizerIn(folderOf(which));
        const int token = *tokenizer.find(suffix.toStdString());
        QTest::mouseClick(journey.named<QLineEdit>(QStringLiteral("Token at the query, text")),
                          Qt::LeftButton);
        journey.type(suffix);
        journey.keys(QStringLiteral("Return"));
        auto* slider = journey.named<QSlider>(QStringLiteral("Token at the query"));
        journey.waitFor([&] { return slider->value() == token; }, QStringLiteral("the token"));
        QTest::keyClick(slider, Qt::Key_Right);
        const QueryTokenTerms next = terms.at(50, token + 1);
        QVERIFY(reads(point(QStringLiteral("T^pp"), 3, 30), next.ep(30)));
        QTest::keyClick(slider, Qt::Key_Left);
        journey.waitForRest();
        readPrefixesAndWords(journey, circuits, tokenizer, token);
        journey.waitForRest();
    }
};

HEADWISE_TEST_MAIN(PositionQuestionsTest, runJourneys<PositionQuestionsTest>)
#include "position_questions_test.moc"
