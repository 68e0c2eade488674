#include "core/analysis/singular_search.h"
#include "core/model/merges.h"
#include "tests/support/journey_steps.h"

using namespace headwise;
using namespace headwise::test;
using ui::text;

class FiguresTest : public QObject {
    Q_OBJECT

private slots:
    void singularDirectionsAreBrowsedAndSearched_data() { addJourneyModels(); }
    void singularDirectionsAreBrowsedAndSearched()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j7-") + QLatin1String(QTest::currentDataTag()));
        openModel(journey, folderOf(which));
        // J7: one click on the tab, then keys alone.
        journey.openTab(QStringLiteral("Vectors"));
        auto* tokens = journey.named<QTableView>(QStringLiteral("Tokens of the first side"));
        journey.waitFor([&] { return tokens->model()->rowCount() > 0; }, QStringLiteral("the tokens"));
        journey.keys(QStringLiteral("Right"));
        journey.keys(QStringLiteral("Right"));
        journey.keys(QStringLiteral("Space"));
        const Circuits circuits = circuitsIn(folderOf(which));
        const auto expected = singularDirections(circuits, CircuitKind::Ov, {0, 0});
        QVERIFY(isOk(expected));
        QVERIFY(reads(numberAfter(journey.labelWith(QStringLiteral("direction 3 ")), QStringLiteral("σ")),
                      expected->S(2)));
        QVERIFY(tokens->model()->headerData(3, Qt::Horizontal).toString().startsWith(QStringLiteral("−3")));
        // Ctrl+F: every direction of every head that has the token among its strongest.
        const QString word = which == JourneyModel::Demo ? QStringLiteral("with") : QStringLiteral("doctor");
        journey.keys(QStringLiteral("Ctrl+F"));
        journey.type(word);
        journey.keys(QStringLiteral("Return"));
        auto* found = journey.named<QTableView>(QStringLiteral("Directions with the token"));
        journey.waitFor([&] { return found->model()->rowCount() > 0; }, QStringLiteral("the directions"));
        const auto head = parseHeadId(cell(found, 0, 0).toStdString());
        QVERIFY(head);
        const auto token = tokenizerIn(folderOf(which)).find(word.toStdString());
        QVERIFY(isOk(token));
        const auto hits = findInDirections(circuits, *tokensOf(circuits), {*token, 20, {*head}, {}}, Task{});
        QVERIFY(isOk(hits));
        QVERIFY(reads(numberIn(found, 0, 4), hits->front().score));
        QVERIFY(reads(numberIn(found, 0, 5), hits->front().sigma));
        clickRow(found, 0);
        QVERIFY(journey.shows(text(*head)));
        const QString title = QStringLiteral("direction %1 ").arg(hits->front().direction + 1);
        journey.waitFor([&] { return journey.shows(title); }, title);
        QVERIFY(reads(numberAfter(journey.labelWith(title), QStringLiteral("σ")), hits->front().sigma));
        journey.waitForRest();
    }

    void aSkiplessMergeSaysWhatItWouldSave_data() { addJourneyModels(); }
    void aSkiplessMergeSaysWhatItWouldSave()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j14-") + QLatin1String(QTest::currentDataTag()));
        openModel(journey, folderOf(which));
        journey.trigger(QStringLiteral("Skipless merge")); // J14: Model, Skipless merge: two clicks
        const auto* table = journey.named<QTableView>(QStringLiteral("What removing a pair would save"));
        // Well conditioned, so that the sizes decide.
        const std::array<Merge, 3> expected = mergesOf(loaded(folderOf(which))->config());
        const QStringList names{QStringLiteral("qp"), QStringLiteral("kp"), QStringLiteral("vp")};
        for (int pair = 0; pair < 3; ++pair) {
            const Merge& merge = expected[static_cast<std::size_t>(pair)];
            QCOMPARE(cell(table, pair, 0), names[pair]);
            QVERIFY(reads(numberIn(table, pair, columnOf(table, QStringLiteral("Saving"))), merge.saving));
            QVERIFY(reads(numberIn(table, pair, columnOf(table, QStringLiteral("Speed-up"))), merge.speedup));
        }
        QVERIFY(journey.shows(QStringLiteral("Exact only for models without skip connections")));
        journey.waitForRest();
    }
};

int main(int argc, char** argv)
{
    return runJourneys<FiguresTest>(argc, argv);
}
#include "figures_test.moc"
