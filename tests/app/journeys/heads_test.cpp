#include "core/circuits/token_table.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/support/journey_core.h"
#include "tests/support/journey_steps.h"
#include "tests/support/program.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/head_metrics.h"
#include "ui/document/workspace.h"
#include "ui/models/token_table_model.h"

#include <QRegularExpression>

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::test;
using ui::text;

namespace {

double asNumber(QString shown)
{
    return shown.replace(u'−', u'-').toDouble();
}

} // namespace

class HeadsTest : public QObject {
    Q_OBJECT

private slots:
    // J2: 1 key, 3 letters, Enter; the best head by a double-click.
    void whichHeadsCopy_data() { addJourneyModels(); }
    void whichHeadsCopy()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j2-") + QLatin1String(QTest::currentDataTag()));
        openComputed(journey, which);
        journey.begin();
        journey.keys(QStringLiteral("Ctrl+M"));
        journey.type(QStringLiteral("cop"));
        journey.keys(QStringLiteral("Return"));
        auto* ranking = journey.named<QTableView>(QStringLiteral("Heads by their score"));
        QVERIFY(ranking);
        QVERIFY(journey.tookGestures(1, 300ms));
        const QString best = cell(ranking, 0, 0);
        const auto head = parseHeadId(best.toStdString());
        QVERIFY(head);
        const double expected = coreScore(which, "copying", "scores/copying", *head);
        QVERIFY2(saysThreeDigits(asNumber(cell(ranking, 0, 1)), expected), qPrintable(cell(ranking, 0, 1)));
        for (int row = 1; row < ranking->model()->rowCount(); ++row)
            QVERIFY(asNumber(cell(ranking, row, 1)) <= asNumber(cell(ranking, row - 1, 1)));
        // The score on a scale from −1 to 1 with zero in the middle, and the selected head's in the status bar.
        const auto* grid = journey.named<ui::HeatmapView>(QStringLiteral("Heads"));
        QCOMPARE(std::pair(grid->colors()->scale().low, grid->colors()->scale().high),
                 std::pair(-1.0F, 1.0F));
        sayCopying(journey, which, {0, 0});
        const QPoint first = ranking->visualRect(ranking->model()->index(0, 0)).center();
        QTest::mouseClick(ranking->viewport(), Qt::LeftButton, {}, first);
        sayCopying(journey, which, *head);
        showEigenvalues(journey, which, *head);
        QTest::mouseDClick(ranking->viewport(), Qt::LeftButton, {}, first);
        auto* table = journey.named<QTableView>(QStringLiteral("largest"));
        QVERIFY(table);
        journey.waitFor([&] { return table->model()->rowCount() > 0; }, QStringLiteral("the table"));
        QVERIFY(journey.shows(best));
        journey.waitForRest();
        // The source token stands out where the head writes it.
        const int source = journey.window()->findChild<ui::Workspace*>()->selection()->token();
        int bold = 0;
        for (int row = 0; row < table->model()->rowCount(); ++row) {
            const QModelIndex token = table->model()->index(row, ui::TokenTableModel::TokenColumn);
            const bool isSource = token.data(ui::TokenTableModel::IdRole).toInt() == source;
            QCOMPARE(token.data(ui::TokenTableModel::IsSourceRole).toBool(), isSource);
            bold += isSource ? 1 : 0;
        }
        QVERIFY(bold == 1 || which == JourneyModel::Gpt2Small); // whose heads copy nothing
    }

    // J4: Ctrl+F, the word, Enter; a click on a head opens its tables.
    void whatAttendingToATokenDoesInEveryHead_data() { addJourneyModels(); }
    void whatAttendingToATokenDoesInEveryHead()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        const HeadId wanted = which == JourneyModel::Demo ? HeadId{1, 5} : HeadId{7, 3};
        Journey journey(QStringLiteral("j4-") + QLatin1String(QTest::currentDataTag()));
        openComputed(journey, which);
        journey.begin();
        journey.keys(QStringLiteral("Ctrl+F"));
        journey.type(QStringLiteral(" king"));
        journey.keys(QStringLiteral("Return"));
        auto* map = journey.named<ui::HeatmapView>(QStringLiteral("Effect of attending to the token"));
        QVERIFY(map);
        journey.waitFor([&] { return !map->isEmpty(); }, QStringLiteral("the map"));
        QVERIFY(journey.tookGestures(1, 500ms));
        journey.waitForRest();
        QTest::mouseClick(map, Qt::LeftButton, {},
                          map->cells().rect(wanted.layer, wanted.head).center().toPoint());
        QVERIFY(journey.shows(text(wanted)));
        auto* table = journey.named<QTableView>(QStringLiteral("largest"));
        QVERIFY(table);

        const CoreModel& core = coreModel(which);
        const auto tokenizer = Tokenizer::open(folderOf(which) / "tokenizer.json");
        QVERIFY(tokenizer);
        const auto king = tokenizer->find(" king");
        QVERIFY(king);
        const auto line =
            tokenLine(*core.circuits, *core.matrices(), {CircuitKind::FullOv, wanted}, TableSide::Row, *king);
        QVERIFY(line);
        const TokenEntry best = ends(*line, 1, {}).top.front();
        journey.waitFor([&] { return cell(table, 0, 2) == QString::number(best.id); },
                        QStringLiteral("core's best token in the first row"));
        QVERIFY2(saysThreeDigits(asNumber(cell(table, 0, 3)), static_cast<double>(best.value)),
                 qPrintable(cell(table, 0, 3)));
        journey.waitForRest();
    }

    // J11: a click and a Shift+click on the grid; D for the difference.
    void twoHeadsSideBySide_data() { addJourneyModels(); }
    void twoHeadsSideBySide()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j11-") + QLatin1String(QTest::currentDataTag()));
        openComputed(journey, which);
        auto* grid = journey.named<ui::HeatmapView>(QStringLiteral("Heads"));
        QVERIFY(grid);
        journey.begin();
        QTest::mouseClick(grid, Qt::LeftButton, {}, grid->cells().rect(1, 5).center().toPoint());
        QTest::mouseClick(grid, Qt::LeftButton, Qt::ShiftModifier,
                          grid->cells().rect(1, 7).center().toPoint());
        journey.keys(QStringLiteral("Alt+9"));
        journey.waitFor([&] { return journey.shows(QStringLiteral("cosine")); },
                        QStringLiteral("the numbers"));
        QVERIFY(journey.tookGestures(2, 300ms));
        journey.waitForRest();
        const QString numbers = journey.labelWith(QStringLiteral("cosine"));
        const auto& circuits = *coreModel(which).circuits;
        const Eigen::MatrixXd a = circuits.ov({1, 5}).dense(), b = circuits.ov({1, 7}).dense();
        const double expected = a.cwiseProduct(b).sum() / (a.norm() * b.norm());
        QVERIFY2(std::abs(numberAfter(numbers, QStringLiteral("cosine of OV")) - expected)
                     < 0.006 * std::abs(expected) + 5e-4,
                 qPrintable(numbers));
        journey.keys(QStringLiteral("D"));
        auto* difference = journey.named<ui::HeatmapView>(QStringLiteral("Selected head minus reference"));
        QVERIFY(difference);
        journey.waitForRest();
        const QString shown = readOut(journey, difference, 2, 1);
        const QRegularExpressionMatch cellOf =
            QRegularExpression(QStringLiteral("(\\d+)\\D* → (\\d+)")).match(shown);
        QVERIFY2(cellOf.hasMatch(), qPrintable(shown));
        const int row = cellOf.captured(1).toInt(), column = cellOf.captured(2).toInt();
        QVERIFY2(saysThreeDigits(numberAfter(shown, QStringLiteral("L1H5")), a(row, column)),
                 qPrintable(shown));
        QVERIFY2(saysThreeDigits(numberAfter(shown, QStringLiteral("L1H7")), b(row, column)),
                 qPrintable(shown));
        QVERIFY2(saysThreeDigits(numberAfter(shown, QStringLiteral("difference")),
                                 a(row, column) - b(row, column)),
                 qPrintable(shown));
        journey.waitForRest();
    }

private:
    /// The status bar shows the head's copying score, its null and its distance from that.
    static void sayCopying(Journey& journey, JourneyModel which, HeadId head)
    {
        const QString words = statusText(journey);
        QVERIFY2(words.contains(text(head)), qPrintable(words));
        const ResultSet results = coreResultsOf(which, "copying", head);
        const ResultArray& scores = *results.find("scores/copying");
        const double score = ui::metricAt(scores, head);
        QVERIFY2(reads(numberAfter(words, QStringLiteral("Copying")), score), qPrintable(words));
        QVERIFY(scores.nullMean && scores.nullDeviation);
        const double z = (score - *scores.nullMean) / *scores.nullDeviation;
        QVERIFY2(reads(numberAfter(words, QStringLiteral("   z")), z), qPrintable(words));
        QVERIFY2(words.contains(QStringLiteral("null ") + ui::number(*scores.nullMean)), qPrintable(words));
    }

    /// The eigenvalues of the selected head's full OV in the complex plane.
    static void showEigenvalues(Journey& journey, JourneyModel which, HeadId head)
    {
        auto* plane = journey.named<ui::LineChart>(QStringLiteral("Eigenvalues of full OV"));
        QVERIFY(plane);
        journey.waitForRest();
        const CoreModel& core = coreModel(which);
        const auto values =
            core.circuits->circuit<double>(CircuitKind::FullOv, head, core.tokens().get()).eigenvalues();
        QVERIFY(isOk(values));
        QCOMPARE(plane->series().size(), std::size_t{1});
        const QVector<QPointF>& shown = plane->series().front().points;
        QCOMPARE(shown.size(), std::ssize(*values));
        double largest = 0;
        for (const auto& value : *values)
            largest = std::max(largest, std::abs(value));
        for (const auto& value : *values)
            QVERIFY(std::ranges::any_of(shown, [&](const QPointF& point) {
                return std::hypot(point.x() - value.real(), point.y() - value.imag()) < 1e-3 * largest;
            }));
    }
};

HEADWISE_TEST_MAIN(HeadsTest, runJourneys<HeadsTest>)
#include "heads_test.moc"
