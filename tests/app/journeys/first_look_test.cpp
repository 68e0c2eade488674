#include "core/tokenizer/tokenizer.h"
#include "tests/support/journey_core.h"
#include "tests/support/journey_tables.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/document/workspace.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/models/token_table_model.h"

#include <QComboBox>
#include <QLocale>

#include <cmath>

using namespace headwise;
using namespace headwise::test;
using ui::text;

namespace {

/// ‖W_V W_O‖ of a head of the processed weights, computed by core alone.
double normOfOv(JourneyModel model, HeadId head)
{
    return coreModel(model).circuits->ov(head).frobeniusNorm();
}

/// The token of largest ‖E[t] W_OV‖ / ‖E[t]‖, and that ratio.
std::pair<int, double> mostSalient(JourneyModel model, HeadId head)
{
    const CoreModel& core = coreModel(model);
    const auto ov = core.circuits->ov(head);
    const Matrix<float> E = *core.matrices()->E.whole<float>();
    const Matrix<float> read = E * ov.left().cast<float>();
    const Matrix<float> made = read * ov.right().cast<float>(); // [V, d]
    const auto tokenizer = Tokenizer::open(folderOf(model) / "tokenizer.json");
    if (!tokenizer)
        qFatal("%s", printed(tokenizer.error()).constData());
    std::pair<int, double> most{-1, 0};
    for (Eigen::Index token = 0; token < made.rows(); ++token) {
        const auto id = static_cast<int>(token);
        const double ratio = static_cast<double>(made.row(token).norm() / E.row(token).norm());
        if (tokenizer->hasToken(id) && ratio > most.second)
            most = {id, ratio};
    }
    return most;
}

/// Colours of the grid of a newly opened model, recorded for every layer whose norms arrive.
class FirstColours : public QObject {
public:
    struct Seen {
        /// Layers from the first on with a finite colour for every head; −1 if others have one too.
        int layers;
        double first; ///< The value of L0H0.
        QString score;
    };

    explicit FirstColours(Journey& journey)
        : m_journey(journey)
    {
        const auto* workspace = journey.window()->findChild<ui::Workspace*>();
        connect(workspace->firstNorms(), &ui::FirstNorms::changed, this, &FirstColours::look);
    }

    std::vector<Seen> seen;

private:
    void look()
    {
        const ui::HeatmapView* grid = nullptr;
        for (const auto* one : m_journey.window()->findChildren<ui::HeatmapView*>())
            if (one->accessibleName() == QStringLiteral("Heads"))
                grid = one;
        int layers = 0;
        bool isInOrder = true;
        for (int layer = 0; layer < grid->scene().rowCount(); ++layer) {
            int known = 0;
            for (int head = 0; head < grid->scene().columnCount(); ++head)
                known += std::isfinite(grid->scene().at(layer, head)) ? 1 : 0;
            isInOrder =
                isInOrder && (known == 0 || (known == grid->scene().columnCount() && layers == layer));
            layers += known > 0 ? 1 : 0;
        }
        QString score;
        for (const auto* box : m_journey.window()->findChildren<QComboBox*>())
            if (box->accessibleName() == QStringLiteral("Score of the heads"))
                score = box->currentText();
        seen.push_back({isInOrder ? layers : -1, static_cast<double>(grid->scene().at(0, 0)), score});
    }

    Journey& m_journey;
};

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
        const ModelConfig& config = coreModel(which).circuits->config();
        const double expected = normOfOv(which, {0, 0});
        FirstColours colours(journey);
        journey.begin();
        journey.drop(journey.window(), {text(folderOf(which).string())});
        journey.named(QStringLiteral("Heads"));
        // The card describes the model as soon as it is open.
        auto* card = journey.named<QLabel>(QStringLiteral("Model"));
        QVERIFY(card);
        QVERIFY2(card->text().startsWith(QStringLiteral("%1 × %2 heads, d %3, ")
                                             .arg(config.nLayers)
                                             .arg(config.nHeads)
                                             .arg(config.dModel)),
                 qPrintable(card->text()));
        if (which == JourneyModel::Gpt2Small) {
            const auto bytes = std::filesystem::file_size(folderOf(which) / "model.safetensors");
            QVERIFY2(card->text().endsWith(QStringLiteral("LayerNorm, learned positions, tied embeddings, %1")
                                               .arg(QLocale().formattedDataSize(static_cast<qint64>(bytes), 1,
                                                                                QLocale::DataSizeSIFormat))),
                     qPrintable(card->text()));
        }
        journey.waitFor([&] { return journey.shows(QStringLiteral("‖OV‖")); }, QStringLiteral("the norms"));
        const double shown = numberAfter(journey.labelWith(QStringLiteral("‖OV‖")), QStringLiteral("‖OV‖"));
        QVERIFY2(std::abs(shown - expected) < 0.006 * expected, qPrintable(QString::number(shown)));
        QVERIFY(journey.tookGestures(1, 4s));
        journey.waitForRest();
        // The grid is coloured, and the card describes the files.
        auto* grid = journey.named<ui::HeatmapView>(QStringLiteral("Heads"));
        QVERIFY(grid && !grid->isEmpty());
        QCOMPARE(grid->content()->notFiniteCount(), 0);
        // Before the first analysis the grid was coloured layer by layer.
        QVERIFY(which == JourneyModel::Demo || !colours.seen.empty());
        for (std::size_t i = 0; i < colours.seen.size(); ++i)
            QCOMPARE(colours.seen[i].layers, static_cast<int>(i) + 1);
        if (!colours.seen.empty()) {
            QCOMPARE(colours.seen.front().score, QStringLiteral("Norm of OV"));
            QVERIFY(saysThreeDigits(colours.seen.front().first, expected));
        }
        journey.openTab(QStringLiteral("Model"));
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
        QVERIFY(journey.tookGestures(0, 300ms));
        const double shown = numberAfter(journey.labelWith(QStringLiteral("‖OV‖")), QStringLiteral("‖OV‖"));
        const double expected = normOfOv(which, wanted);
        QVERIFY2(std::abs(shown - expected) < 0.006 * expected, qPrintable(QString::number(shown)));
        journey.waitForRest();
        // Its most salient token, with the gain.
        const auto* salient = journey.named<QTableView>(QStringLiteral("Salient tokens of the head"));
        QVERIFY(salient);
        const auto [most, norm] = mostSalient(which, wanted);
        QCOMPARE(salient->model()->index(0, 0).data(ui::TokenTableModel::IdRole).toInt(), most);
        QVERIFY2(saysThreeDigits(numberIn(salient, 0, 1), norm), qPrintable(cell(salient, 0, 1)));
        // And back to the previous page.
        journey.keys(QStringLiteral("Esc"));
        QVERIFY(journey.shows(QStringLiteral("L0H0")));
        const double back =
            numberAfter(journey.labelWith(QStringLiteral("copying")), QStringLiteral("copying"));
        const double first = coreScore(which, "copying", "scores/copying", {0, 0});
        QVERIFY2(saysThreeDigits(back, first), qPrintable(QString::number(back)));
    }
};

HEADWISE_TEST_MAIN(FirstLookTest, runJourneys<FirstLookTest>)
#include "first_look_test.moc"
