#include "tests/support/journey.h"
#include "tests/support/loaded.h"
#include "ui/text.h"

#include <map>

using namespace headwise;
using namespace headwise::test;
using ui::text;

namespace {

/// ‖W_V W_O‖ of a head of the processed weights, from core alone.
double normOfOv(JourneyModel model, HeadId head)
{
    static std::map<JourneyModel, std::unique_ptr<Circuits>> known;
    std::unique_ptr<Circuits>& circuits = known[model];
    if (!circuits)
        circuits = std::make_unique<Circuits>(
            std::make_shared<const ProcessedWeights>(processed(loaded(folderOf(model)))));
    return circuits->ov(head).frobeniusNorm();
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
        journey.keys(QStringLiteral("Ctrl+L"));
        journey.type(text(dottedHead(wanted)));
        journey.keys(QStringLiteral("Return"));
        QVERIFY(journey.shows(text(wanted)));
        const double shown = numberAfter(journey.labelWith(QStringLiteral("‖OV‖")), QStringLiteral("‖OV‖"));
        const double expected = normOfOv(which, wanted);
        QVERIFY2(std::abs(shown - expected) < 0.006 * expected, qPrintable(QString::number(shown)));
        journey.waitForRest();
        journey.keys(QStringLiteral("Esc"));
        QVERIFY(journey.shows(QStringLiteral("L0H0")));
    }
};

int main(int argc, char** argv)
{
    return runJourneys<FirstLookTest>(argc, argv);
}
#include "first_look_test.moc"
