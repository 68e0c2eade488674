#include "core/io/tokenizer.h"
#include "tests/support/journey_core.h"
#include "tests/support/journey_tables.h"
#include "ui/models/token_table_model.h"
#include "ui/text.h"
#include "ui/views/heatmap_view.h"

using namespace headwise;
using namespace headwise::test;
using ui::text;

namespace {

/// ‖W_V W_O‖ of a head of the processed weights, from core alone.
double normOfOv(JourneyModel model, HeadId head)
{
    return coreModel(model).circuits->ov(head).frobeniusNorm();
}

/// The token of largest ‖E[t] W_OV‖ / ‖E[t]‖, and that ratio.
std::pair<int, double> mostSalient(JourneyModel model, HeadId head)
{
    const CoreModel& core = coreModel(model);
    const auto ov = core.circuits->ov(head);
    const Matrix<float> read = core.tokens->E * ov.left().cast<float>();
    const Matrix<float> made = read * ov.right().cast<float>(); // [V, d]
    const auto tokenizer = Tokenizer::open(folderOf(model) / "tokenizer.json");
    if (!tokenizer)
        qFatal("%s", printed(tokenizer.error()).constData());
    std::pair<int, double> most{-1, 0};
    for (Eigen::Index token = 0; token < made.rows(); ++token) {
        const auto id = static_cast<int>(token);
        const double ratio = static_cast<double>(made.row(token).norm() / core.tokens->E.row(token).norm());
        if (tokenizer->hasToken(id) && ratio > most.second)
            most = {id, ratio};
    }
    return most;
}

} // namespace

class FirstLookTest : public QObject {
    Q_OBJECT

private slots:
    void aDroppedModelShowsItsCardAndItsHeads_data() { addJourneyModels(); }
    void aDroppedModelShowsItsCardAndItsHeads()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j1-") + QLatin1String(QTest::currentDataTag()));
        QVERIFY(journey.shows(QStringLiteral("Drop a model folder")));
        journey.drop(journey.window(), {text(folderOf(which).string())});
        journey.named(QStringLiteral("Heads"));
        journey.waitFor([&] { return journey.shows(QStringLiteral("‖OV‖")); }, QStringLiteral("the norms"));
        const double shown = numberAfter(journey.labelWith(QStringLiteral("‖OV‖")), QStringLiteral("‖OV‖"));
        const double expected = normOfOv(which, {0, 0});
        QVERIFY2(std::abs(shown - expected) < 0.006 * expected, qPrintable(QString::number(shown)));
        QVERIFY(journey.tookGestures(1));
        journey.waitForRest();
        // The grid is coloured, and the card says what the files hold.
        auto* grid = journey.named<ui::HeatmapView>(QStringLiteral("Heads"));
        QVERIFY(grid && !grid->isEmpty());
        QCOMPARE(grid->notFiniteCount(), 0);
        journey.openTab(QStringLiteral("Model"));
        const ModelConfig& config = coreModel(which).circuits->config();
        QVERIFY(journey.shows(QStringLiteral("%1 × %2").arg(config.nLayers).arg(config.nHeads)));
        const auto tensors = coreModel(which).weights->original().file().tensors().size();
        QVERIFY(journey.shows(QStringLiteral("F32 · %1 tensors").arg(tensors)));
        journey.waitForRest();
    }

    void oneFileIsEnough()
    {
        Journey journey(QStringLiteral("j1-file"));
        journey.drop(journey.window(), {text((folderOf(JourneyModel::Demo) / "model.safetensors").string())});
        journey.waitFor([&] { return journey.shows(QStringLiteral("‖OV‖")); }, QStringLiteral("the norms"));
        const double shown = numberAfter(journey.labelWith(QStringLiteral("‖OV‖")), QStringLiteral("‖OV‖"));
        const double expected = normOfOv(JourneyModel::Demo, {0, 0});
        QVERIFY2(std::abs(shown - expected) < 0.006 * expected, qPrintable(QString::number(shown)));
        journey.waitForRest();
    }

    void aHeadIsReachedByItsName_data() { addJourneyModels(); }
    void aHeadIsReachedByItsName()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        const HeadId wanted = which == JourneyModel::Demo ? HeadId{1, 5} : HeadId{10, 7};
        Journey journey(QStringLiteral("j3-") + QLatin1String(QTest::currentDataTag()));
        journey.drop(journey.window(), {text(folderOf(which).string())});
        journey.waitFor([&] { return journey.shows(QStringLiteral("‖OV‖")); }, QStringLiteral("the norms"));
        journey.begin();
        journey.keys(QStringLiteral("Ctrl+L"));
        journey.type(text(dottedHead(wanted)));
        journey.keys(QStringLiteral("Return"));
        QVERIFY(journey.shows(text(wanted)));
        QVERIFY(journey.tookGestures(0));
        const double shown = numberAfter(journey.labelWith(QStringLiteral("‖OV‖")), QStringLiteral("‖OV‖"));
        const double expected = normOfOv(which, wanted);
        QVERIFY2(std::abs(shown - expected) < 0.006 * expected, qPrintable(QString::number(shown)));
        journey.waitForRest();
        // The token it makes the most of, and how much.
        const auto* salient = journey.named<QTableView>(QStringLiteral("Salient tokens of the head"));
        QVERIFY(salient);
        const auto [most, norm] = mostSalient(which, wanted);
        QCOMPARE(salient->model()->index(0, 0).data(ui::TokenTableModel::IdRole).toInt(), most);
        QVERIFY2(saysThreeDigits(numberIn(salient, 0, 1), norm), qPrintable(cell(salient, 0, 1)));
        // And back to where one was.
        journey.keys(QStringLiteral("Esc"));
        QVERIFY(journey.shows(QStringLiteral("L0H0")));
        const double back =
            numberAfter(journey.labelWith(QStringLiteral("copying")), QStringLiteral("copying"));
        const double first = coreScore(which, "copying", "scores/copying", {0, 0});
        QVERIFY2(saysThreeDigits(back, first), qPrintable(QString::number(back)));
    }
};

int main(int argc, char** argv)
{
    return runJourneys<FirstLookTest>(argc, argv);
}
#include "first_look_test.moc"
