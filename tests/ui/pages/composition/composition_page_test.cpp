#include "ui/pages/composition/composition_page.h"

#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/charts/diagram_view.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/array_part.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/models/array_table_model.h"
#include "ui/pages/overview/composition_panel.h"
#include "ui/pages/parts/compute_button.h"
#include "ui/widgets/table_figure.h"

#include <QAbstractButton>
#include <QCheckBox>
#include <QLabel>
#include <QSignalSpy>
#include <QSlider>
#include <QTabWidget>

#include <cmath>
#include <set>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class CompositionPageTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedPage<CompositionPage>;

    static HeatmapView* map(Opened& opened) { return opened.page.findChild<HeatmapView*>(); }

    /// ‖W_OV W_QKᵀ‖ / (‖W_OV‖ ‖W_QK‖) of dense matrices.
    static double kComposition(const Circuits& circuits, HeadId earlier, HeadId later)
    {
        const Matrix<double> ov = circuits.circuit<double>(CircuitKind::Ov, earlier, nullptr).dense();
        const Matrix<double> qk = circuits.circuit<double>(CircuitKind::Qk, later, nullptr).dense();
        return (ov * qk.transpose()).norm() / (ov.norm() * qk.norm());
    }

private slots:
    /// The numbers of a pair use the metric of the map.
    void aPairFollowsTheMetricOfTheMap()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        const auto composition = [&] { return opened.workspace.model()->results()->find("composition/k"); };
        QTRY_VERIFY(map(opened)->matrix() && composition());
        AnalysisInputs inputs = opened.workspace.runs()->inputs();
        inputs.metric = ResidualMetric::Embedding;
        opened.workspace.runs()->setInputs(inputs);
        opened.workspace.runs()->runAnalysis("composition");
        QTRY_VERIFY(composition()->attributes.contains("metric"));
        const double score = wholeArray(*composition()).at((1 * 2 + 1) * 8 + 5); // 0.1 to 1.5
        QVERIFY(std::abs(score - kComposition(*opened.workspace.model()->circuits(), {0, 1}, {1, 5})) > 0.01);
        opened.workspace.selection()->setReference(HeadId{0, 1});
        opened.workspace.selection()->setHead({1, 5});
        const auto said = [&] {
            for (const QLabel* label : opened.page.findChildren<QLabel*>())
                if (label->text().contains(QStringLiteral("norms by the embedding covariance"))
                    && label->text().contains(QStringLiteral("score %1,").arg(number(score))))
                    return true;
            return false;
        };
        QTRY_VERIFY(said());
    }

    void theMapShowsEveryPairAndTheSliderTheStrongest()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QTRY_VERIFY(map(opened)->matrix());
        const double baseline = 1 / std::sqrt(opened.workspace.model()->card().dModel);
        const double score = kComposition(*opened.workspace.model()->circuits(), {0, 1}, {1, 5});
        QVERIFY(std::abs(double{(*map(opened)->matrix())(1, 5)} - (score - baseline)) < 1e-5);
        QTest::mouseClick(opened.page.findChild<QCheckBox*>(), Qt::LeftButton, {}, QPoint(8, 8));
        QTRY_VERIFY(std::abs(double{(*map(opened)->matrix())(1, 5)} - score) < 1e-5);
        opened.find<QSlider>(QStringLiteral("Percentile cutoff"))->setValue(75);
        QTRY_COMPARE(map(opened)->content()->notFiniteCount(), 48);               // of 64 pairs
        QVERIFY(std::abs(double{(*map(opened)->matrix())(1, 5)} - score) < 1e-5); // one of the remaining ones
        const QJsonObject state = opened.page.viewState();
        opened.find<QSlider>(QStringLiteral("Percentile cutoff"))->setValue(0);
        opened.page.setViewState(state);
        QCOMPARE(opened.page.viewState(), state);
    }

    /// As in a window of 1,024 × 640.
    void theMapHasMostOfANarrowPage()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QTRY_VERIFY(map(opened)->matrix());
        opened.page.resize(593, 480);
        QTRY_VERIFY2(map(opened)->cells().area().width() >= 215,
                     qPrintable(QString::number(map(opened)->cells().area().width())));
    }

    void theMapIsSquareAndKeepsItsSizeWhenAPairIsChosen()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QTRY_VERIFY(map(opened)->matrix());
        const QRectF cells = map(opened)->cells().area();
        QVERIFY2(std::abs(cells.width() - cells.height()) <= 1, "8 × 8 pairs");
        QCOMPARE(map(opened)->scene().rows.groupSize, 8);
        QCOMPARE(map(opened)->scene().rows.groupLabel(0), QStringLiteral("L0"));
        QCOMPARE(map(opened)->scene().columns.groupLabel(0), QStringLiteral("L1"));
        const int high = map(opened)->height();
        QVERIFY2(high > opened.page.height() - 220, qPrintable(QString::number(high)));
        auto* angles = opened.find<LineChart>(QStringLiteral("Principal angles of the pair"));
        QVERIFY(!angles->isVisible());
        opened.workspace.selection()->setReference(HeadId{0, 1});
        opened.workspace.selection()->setHead({1, 5});
        QTRY_VERIFY(angles->isVisible() && !angles->series().empty());
        QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
        QCOMPARE(map(opened)->cells().area(), cells);
        opened.workspace.selection()->setHead({0, 5});
        QTRY_VERIFY(!angles->isVisible());
        QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
        QCOMPARE(map(opened)->cells().area(), cells);
    }

    /// A cell shows the score minus its baseline, so that the raw score alone would contradict it.
    void theReadOutSaysTheScoreTheBaselineAndWhatTheCellShows()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QTRY_VERIFY(map(opened)->matrix());
        QSignalSpy said(&opened.page, &Page::readOutChanged);
        QTest::mouseMove(map(opened), map(opened)->cells().rect(1, 5).center().toPoint());
        QTRY_VERIFY(!said.isEmpty());
        const double score = kComposition(*opened.workspace.model()->circuits(), {0, 1}, {1, 5});
        const double baseline = 1 / std::sqrt(opened.workspace.model()->card().dModel);
        const QString words = said.last()[0].toString();
        const QString wanted = QStringLiteral("%1, baseline %2, above it %3")
                                   .arg(number(score), number(baseline), number(score - baseline));
        QVERIFY2(words.contains(wanted), qPrintable(words));
        const QString title = QStringLiteral("minus the baseline 1/√d_model");
        QVERIFY(map(opened)->content()->valueTitle().contains(title));
        QTest::mouseClick(opened.page.findChild<QCheckBox*>(), Qt::LeftButton, {}, QPoint(8, 8));
        QTRY_VERIFY(!map(opened)->content()->valueTitle().contains(title));
    }

    void restoredColoursOutliveWhatIsComputedAfterwards()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QTRY_VERIFY(map(opened)->matrix());
        ColorScale chosen = map(opened)->colors()->scale();
        chosen.map = ColorMap::Gray;
        map(opened)->colors()->setScale(chosen);
        const QJsonObject state = opened.page.viewState();
        Opened another(HEADWISE_DEMO_MODEL);
        another.page.setViewState(state);
        QTRY_VERIFY(map(another)->matrix());
        QTest::mouseClick(another.page.findChild<QCheckBox*>(), Qt::LeftButton, {}, QPoint(8, 8));
        QTRY_VERIFY(map(another)->colors()->scale().high != chosen.high); // nothing locked it
        QCOMPARE(map(another)->colors()->scale().map, ColorMap::Gray);
    }

    void whatIsNotThereIsComputedWhenAsked()
    {
        Workspace workspace;
        CompositionPage page(&workspace);
        page.show();
        const Analysis* composition = findAnalysis("composition");
        bool removed = false; // somebody takes it off the list of jobs
        connect(workspace.runs(), &Runs::waitingChanged, &page, [&] {
            const auto& waiting = workspace.runs()->waiting();
            if (!removed && std::find(waiting.begin(), waiting.end(), composition) != waiting.end()) {
                removed = true;
                workspace.runs()->removeWaiting(*composition);
            }
        });
        workspace.opener()->openModel({HEADWISE_DEMO_MODEL, {}, {}});
        QTRY_VERIFY(workspace.model()->results()->find("scores/matching")
                    && workspace.runs()->waiting().empty() && !workspace.runs()->job()->isRunning());
        QVERIFY(removed && !workspace.model()->results()->find("composition/k"));
        auto* compute = page.findChild<ComputeButton*>();
        QTRY_VERIFY(compute->isVisible());
        QTest::mouseClick(compute, Qt::LeftButton);
        QTRY_VERIFY(workspace.model()->results()->find("composition/k"));
        QTRY_VERIFY(!compute->isVisible());
        QVERIFY(!workspace.session()->isModified());
    }

    void aClickSelectsThePairAndTheMouseReadsItsNullAndZ()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QTRY_VERIFY(map(opened)->matrix());
        QTest::mouseClick(map(opened), Qt::LeftButton, {},
                          map(opened)->cells().rect(1, 7).center().toPoint());
        QCOMPARE(opened.workspace.selection()->reference(), std::optional(HeadId{0, 1}));
        QCOMPARE(opened.workspace.selection()->head(), (HeadId{1, 7}));
        for (QAbstractButton* button : opened.page.findChildren<QAbstractButton*>())
            if (button->text() == QLatin1String("Against chance"))
                QTest::mouseClick(button, Qt::LeftButton);
        const auto z = [&] {
            return opened.workspace.model()->results()->find("analyses/composition_nulls/k_z");
        };
        QTRY_VERIFY(z());
        QSignalSpy said(&opened.page, &Page::readOutChanged);
        QTest::mouseMove(map(opened), map(opened)->cells().rect(1, 5).center().toPoint());
        QTRY_VERIFY(!said.isEmpty());
        const auto& values = std::get<std::vector<float>>(z()->values);
        const QString words = said.last()[0].toString();
        QVERIFY2(words.contains(QStringLiteral("L0H1 → L1H5")), qPrintable(words));
        QVERIFY(words.contains(number(kComposition(*opened.workspace.model()->circuits(), {0, 1}, {1, 5}))));
        QVERIFY(words.endsWith(QStringLiteral("z ") + signedNumber(double{values[1 * 16 + 13]})));
    }

    void wiringDrawsTheStrongestEdges()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QTRY_VERIFY(map(opened)->matrix());
        opened.page.findChild<QTabWidget*>()->setCurrentIndex(1);
        auto* diagram = opened.page.findChild<DiagramView*>();
        QVERIFY(diagram);
        QTRY_VERIFY(diagram->isVisible());
        Eigen::Index row = 0, column = 0;
        map(opened)->matrix()->maxCoeff(&row, &column);
        QCOMPARE(diagram->edges().front().from, (HeadId{0, static_cast<int>(row)}));
        QCOMPARE(diagram->edges().front().to, (HeadId{1, static_cast<int>(column)}));
        QCOMPARE(opened.page.figures().size(), 2);
    }

    void aFigureSaysWhyRatiosOfNormsAreNegative()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QTRY_VERIFY(map(opened)->matrix());
        QCheckBox* subtract = nullptr;
        for (QCheckBox* box : opened.page.findChildren<QCheckBox*>())
            if (box->text().contains(QStringLiteral("baseline")))
                subtract = box;
        QVERIFY(subtract);
        for (const bool isLess : {true, false}) {
            subtract->setChecked(isLess);
            QVERIFY(opened.page.figures().contains(map(opened)));
            const QString caption = figureCaption(*map(opened));
            QCOMPARE(caption.contains(QStringLiteral("atios of norms minus the baseline 1/√d_model = ")),
                     isLess);
            QCOMPARE(map(opened)->figureTitle().contains(QStringLiteral("minus the baseline")), isLess);
        }
    }

    void allPairsAreListedTheStrongestFirstAndARowSelectsBoth()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QTRY_VERIFY(map(opened)->matrix());
        opened.workspace.runs()->runAnalysis("composition_nulls");
        const auto result = [&](const char* path) { return opened.workspace.model()->results()->find(path); };
        QTRY_VERIFY(result("analyses/composition_nulls/k_percentile"));
        opened.page.findChild<QTabWidget*>()->setCurrentIndex(2);
        auto* table = opened.find<TableFigure>(QStringLiteral("Composition of all pairs, sorted"));
        QTRY_COMPARE(table->model()->rowCount(), 64);
        QCOMPARE(table->model()->columnCount(), 7); // heads, score, null, z, percentile, excess
        std::set<QString> pairs;
        for (int row = 0; row < 64; ++row) {
            const HeadId from = *parseHeadId(cellText(table, row, 0).toStdString());
            const HeadId to = *parseHeadId(cellText(table, row, 1).toStdString());
            pairs.insert(cellText(table, row, 0) + cellText(table, row, 1));
            const auto place =
                static_cast<std::size_t>((from.layer * 8 + from.head) * 16 + to.layer * 8 + to.head);
            const double score = kComposition(*opened.workspace.model()->circuits(), from, to);
            QCOMPARE(cellText(table, row, 2), number(static_cast<float>(score)));
            QCOMPARE(cellText(table, row, 3), number(1 / std::sqrt(opened.workspace.model()->card().dModel)));
            int column = 4;
            for (const char* name : {"k_z", "k_percentile", "k_excess"}) {
                const std::string path = std::string("analyses/composition_nulls/") + name;
                const auto& values = std::get<std::vector<float>>(result(path.c_str())->values);
                QCOMPARE(cellText(table, row, column++), number(values[place]));
            }
            if (row > 0)
                QVERIFY(table->model()->index(row, 2).data(ArrayTableModel::SortRole).toDouble()
                        <= table->model()->index(row - 1, 2).data(ArrayTableModel::SortRole).toDouble());
        }
        QCOMPARE(pairs.size(), std::size_t{64});
        table->sortByColumn(2, Qt::AscendingOrder); // the weakest first
        const auto weakest = parseHeadId(cellText(table, 0, 1).toStdString());
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                          table->visualRect(table->model()->index(0, 0)).center());
        QCOMPARE(opened.workspace.selection()->head(), *weakest);
        QCOMPARE(opened.workspace.selection()->reference(), parseHeadId(cellText(table, 0, 0).toStdString()));
        const QList<FigureSource*> figures = opened.page.figures();
        QVERIFY(figures.contains(table));
        QCOMPARE(dataRows(table).size(), std::size_t{65}); // and the titles
    }

    void theOverviewListsTheLinksOfOneHead()
    {
        OpenedPage<CompositionPanel> opened(HEADWISE_DEMO_MODEL);
        opened.workspace.selection()->setHead({1, 5});
        auto* table = opened.find<TableFigure>(QStringLiteral("Composition of the head"));
        QTRY_COMPARE(table->model()->rowCount(), 16);
        for (int rowIndex = 0; rowIndex < 16; ++rowIndex) {
            if (!cellText(table, rowIndex, 0).startsWith(u'K'))
                continue;
            const auto other = parseHeadId(cellText(table, rowIndex, 0).section(u' ', -1).toStdString());
            QCOMPARE(cellText(table, rowIndex, 1),
                     number(static_cast<float>(
                         kComposition(*opened.workspace.model()->circuits(), *other, {1, 5}))));
            QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                              table->visualRect(table->model()->index(rowIndex, 0)).center());
            QCOMPARE(opened.workspace.selection()->reference(), other);
            return;
        }
        QFAIL("no K-composition among the strongest links of an induction head");
    }
};

HEADWISE_TEST(CompositionPageTest)
#include "composition_page_test.moc"
