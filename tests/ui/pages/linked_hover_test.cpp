#include "core/results/layer_null.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/charts/diagram_view.h"
#include "ui/charts/pattern_grid.h"
#include "ui/charts/small_multiples.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/head_metrics.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/composition/composition_page.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/pages/parts/linked_hover.h"
#include "ui/widgets/subject.h"
#include "ui/widgets/table_figure.h"

#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QStandardItemModel>
#include <QTest>
#include <QToolTip>

#include <cmath>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class LinkedHoverTest : public QObject {
    Q_OBJECT

private slots:
    void aHeadUnderTheMouseIsLitInTheOtherPictures()
    {
        Workspace workspace;
        QWidget window;
        auto* layout = new QHBoxLayout(&window);
        auto* heads = new HeadsPage(&workspace, &window);
        auto* composition = new CompositionPage(&workspace, &window);
        layout->addWidget(heads, 1);
        layout->addWidget(composition, 2);
        window.resize(1200, 700);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        workspace.opener()->openModel({HEADWISE_DEMO_MODEL, {}, {}});
        auto* grid = heads->findChild<HeatmapView*>();
        auto* map = composition->findChild<HeatmapView*>();
        QTRY_VERIFY(grid->matrix() && map->matrix() && !workspace.runs()->job()->isRunning()
                    && workspace.runs()->waiting().empty());
        QCoreApplication::processEvents(); // lays out what the last results changed
        const auto hovered = [&] { return workspace.selection()->hovered(); };
        const QImage map0 = map->grab().toImage(), grid0 = grid->grab().toImage();
        QSignalSpy said(heads, &Page::readOutChanged);
        QTest::mouseMove(grid, grid->cells().rect(1, 5).center().toPoint());
        QTRY_COMPARE(hovered(), std::optional(HeadId{1, 5}));
        QVERIFY(map->grab().toImage() != map0);
        QVERIFY(!said.isEmpty());
        QCOMPARE(QToolTip::text(), said.last()[0].toString());
        QVERIFY(QToolTip::text().startsWith(text(HeadId{1, 5})));
        // Value, null and z, three significant digits each.
        const std::string shown = heads->findChild<QComboBox*>()->currentData().toString().toStdString();
        const ResultArray* score = workspace.model()->results()->find(shown);
        QVERIFY(score);
        const double value = metricAt(*score, {1, 5});
        const LayerNull null = layerNull(*score, 1);
        QVERIFY2(std::isfinite(null.zScore(value)), shown.c_str());
        QVERIFY2(QToolTip::text().endsWith(
                     QStringLiteral(" %1   null %2   z %3")
                         .arg(number(value), number(*null.mean), signedNumber(null.zScore(value)))),
                 qPrintable(QToolTip::text()));
        // The other way round: of a pair, the head that a click selects.
        QTest::mouseMove(map, map->cells().rect(2, 7).center().toPoint());
        QTRY_COMPARE(hovered(), std::optional(HeadId{1, 7}));
        QVERIFY(grid->grab().toImage() != grid0);
        QTest::mouseMove(map, QPoint(1, 1)); // beside the cells
        QTRY_VERIFY(!hovered());
        QCOMPARE(map->grab().toImage(), map0);
        QCOMPARE(grid->grab().toImage(), grid0);
    }

    void chartsAndDiagramsLightAHead()
    {
        DiagramView diagram;
        diagram.resize(600, 300);
        diagram.setHeads(2, 8);
        diagram.setEdges({{{0, 1}, {1, 5}, 0.9}, {{0, 2}, {1, 3}, 0.5}});
        const QImage wiring = diagram.grab().toImage();
        diagram.setLit(HeadId{1, 4});
        QVERIFY(diagram.grab().toImage() != wiring);
        diagram.setLit({});
        QCOMPARE(diagram.grab().toImage(), wiring);
        LineChart chart;
        chart.resize(400, 300);
        chart.setSeries({{QString(), {{0, 0}, {1, 2}, {2, 1}}, SeriesStyle::Points}});
        chart.show();
        QVERIFY(QTest::qWaitForWindowExposed(&chart));
        const QImage cloud = chart.grab().toImage();
        chart.setLitPoint(QPointF(1, 2));
        QVERIFY(chart.grab().toImage() != cloud);
        chart.setLitPoint({});
        QCOMPARE(chart.grab().toImage(), cloud);
    }

    void tilesLightAHead()
    {
        SmallMultiples multiples;
        multiples.resize(300, 200);
        multiples.setCells({}, {QStringLiteral("query"), QStringLiteral("key")},
                           {{{0, 0}, Eigen::MatrixXf::Ones(4, 4)}, {{0, 1}, Eigen::MatrixXf::Zero(4, 4)}}, 2);
        const QImage tiles = multiples.grab().toImage();
        multiples.setLit(HeadId{0, 1});
        QVERIFY(multiples.grab().toImage() != tiles);
        const QPoint second = multiples.tileRect({0, 1}).center().toPoint();
        QCOMPARE(subjectAt(&multiples, second).heads, (QList<HeadId>{{0, 1}})); // for the menu
        multiples.setLit(HeadId{3, 3});                                         // not among them
        QCOMPARE(multiples.grab().toImage(), tiles);
        PatternGrid grid;
        grid.resize(300, 200);
        const auto patterns = std::make_shared<const Patterns>(
            2, std::vector<Eigen::MatrixXf>(3, Eigen::MatrixXf::Identity(4, 4)));
        grid.setPatterns(patterns, patterns);
        const OpenedPage<CompositionPage> opened(HEADWISE_DEMO_MODEL);
        Selection* selection = opened.workspace.selection();
        linkHover(&grid, selection);
        const QImage all = grid.grab().toImage();
        emit grid.headHovered(HeadId{1, 2});
        QCOMPARE(selection->hovered(), std::optional(HeadId{1, 2}));
        QVERIFY(grid.grab().toImage() != all);
        emit grid.hoverLeft();
        QVERIFY(!selection->hovered());
        QCOMPARE(grid.grab().toImage(), all);
    }

    void aTableLightsItsRowsAndTellsItsHeads()
    {
        QStandardItemModel model;
        const auto addRow = [&model](const QList<HeadId>& heads) {
            auto* item = new QStandardItem(QStringLiteral("row"));
            item->setData(QVariant::fromValue(heads), TokenTableModel::HeadsRole);
            model.appendRow({new QStandardItem(QStringLiteral("1")), item});
        };
        addRow({{0, 1}});
        addRow({{0, 1}, {1, 5}});
        addRow({});
        TableFigure table;
        table.setSource(&model, Qt::DisplayRole);
        table.resize(300, 200);
        table.show();
        QVERIFY(QTest::qWaitForWindowExposed(&table));
        std::vector<std::optional<HeadId>> told;
        connect(&table, &TableFigure::headHovered, this,
                [&told](std::optional<HeadId> head) { told.push_back(head); });
        const auto hoverRow = [&table](int row) {
            const QPoint at = table.visualRect(table.model()->index(row, 0)).center();
            QMouseEvent move(QEvent::MouseMove, at, table.viewport()->mapToGlobal(at), Qt::NoButton,
                             Qt::NoButton, Qt::NoModifier);
            QApplication::sendEvent(table.viewport(), &move);
        };
        for (const int row : {0, 0, 1, 2})
            hoverRow(row);
        QCOMPARE(told, (std::vector<std::optional<HeadId>>{HeadId{0, 1}, HeadId{1, 5}, std::nullopt}));
        table.clearFocus();
        const QImage rows = table.viewport()->grab().toImage();
        table.setLit(HeadId{1, 5});
        QVERIFY(table.viewport()->grab().toImage() != rows);
        table.setLit(HeadId{1, 4}); // in no row
        QCOMPARE(table.viewport()->grab().toImage(), rows);
    }

    void aHeadThatTheModelLacksIsNotHovered()
    {
        OpenedPage<CompositionPage> opened(HEADWISE_DEMO_MODEL);
        Selection* selection = opened.workspace.selection();
        QSignalSpy changed(selection, &Selection::hoveredChanged);
        selection->setHovered(HeadId{5, 5});
        QVERIFY(!selection->hovered() && changed.isEmpty());
        selection->setHovered(HeadId{1, 5});
        selection->setHovered(HeadId{1, 5});
        QCOMPARE(changed.count(), 1);
    }
};

HEADWISE_TEST(LinkedHoverTest)
#include "linked_hover_test.moc"
