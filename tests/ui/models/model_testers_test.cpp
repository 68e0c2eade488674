#include "ui/models/array_table_model.h"
#include "ui/models/head_table_model.h"
#include "ui/models/tensor_table_model.h"
#include "ui/models/token_table_model.h"

#include "core/checkpoint/tensor_statistics.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/document/compared_model.h"
#include "ui/document/head_metrics.h"
#include "ui/pages/analyses/result_page.h"
#include "ui/pages/compare/compare_page.h"
#include "ui/pages/compare/models_page.h"
#include "ui/pages/composition/composition_page.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/pages/model/tensors_page.h"
#include "ui/pages/overview/overview_page.h"
#include "ui/pages/position/position_page.h"
#include "ui/pages/relations/relations_page.h"
#include "ui/pages/spectrum/vectors_page.h"
#include "ui/pages/tokens/tokens_page.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QSortFilterProxyModel>

#include <cmath>
#include <type_traits>

using namespace headwise;
using namespace headwise::ui;

// Every item model of the window under Qt's model tester, which checks the rules at each change.

namespace {

/// A model with a sorting proxy, both tested.
template <typename Model>
struct Watched {
    Model model;
    QSortFilterProxyModel sorted;
    QAbstractItemModelTester ofModel{&model, QAbstractItemModelTester::FailureReportingMode::QtTest};
    QAbstractItemModelTester ofSorted{&sorted, QAbstractItemModelTester::FailureReportingMode::QtTest};

    Watched()
    {
        sorted.setSourceModel(&model);
        sorted.setSortRole(Qt::UserRole); // each model's SortRole
    }

    void sortByEveryColumn()
    {
        for (int column = 0; column < model.columnCount(); ++column)
            for (const Qt::SortOrder order : {Qt::DescendingOrder, Qt::AscendingOrder})
                sorted.sort(column, order);
        QCOMPARE(sorted.rowCount(), model.rowCount());
        sorted.sort(-1);
    }
};

} // namespace

class ModelTestersTest : public QObject {
    Q_OBJECT

private:
    std::unique_ptr<Workspace> m_workspace;

    HeadTableModel::Scores scoresOf(const ResultArray& metric) const
    {
        auto scores = std::make_shared<std::vector<HeadScore>>();
        const ModelCard& card = m_workspace->model()->card();
        for (int layer = 0; layer < card.nLayers; ++layer)
            for (int head = 0; head < card.nHeads; ++head) {
                const double value = metricAt(metric, {layer, head});
                scores->push_back({{layer, head}, value, zScore(metric, value)});
            }
        return scores;
    }

    /// Changes selection, results and model while testers watch every model below `page`.
    template <typename PageType>
    void watchPage()
    {
        Workspace workspace;
        PageType page(&workspace);
        page.resize(1000, 800);
        static_cast<QWidget&>(page).show();
        std::vector<std::unique_ptr<QAbstractItemModelTester>> testers;
        const auto watch = [&] {
            testers.clear();
            for (QAbstractItemModel* model : page.template findChildren<QAbstractItemModel*>())
                if (!model->inherits("QTreeModel")) // Qt's own, of QTreeWidget: children below every column
                    testers.push_back(std::make_unique<QAbstractItemModelTester>(
                        model, QAbstractItemModelTester::FailureReportingMode::QtTest));
        };
        watch();
        for (int time = 0; time < 2; ++time) {
            workspace.opener()->openModel({HEADWISE_DEMO_MODEL, {}, {}});
            QTRY_VERIFY(workspace.model()->tokens() && !workspace.model()->tokenReader()->job()->isRunning()
                        && !workspace.runs()->job()->isRunning() && workspace.runs()->waiting().empty());
            watch(); // Pages make tables for what has been computed.
            workspace.selection()->setReference(HeadId{0, 0});
            if constexpr (std::is_same_v<PageType, ModelsPage>) {
                ComparedModel::of(&workspace)
                    ->compare({HEADWISE_DEMO_MODEL, {}, {}}); // nothing changed, and every head has its row
                QTRY_VERIFY(!comparedWith(*workspace.model()->results()).isEmpty());
                watch();
            }
            for (const HeadId head : {HeadId{1, 0}, HeadId{0, 1}, HeadId{1, 1}}) {
                workspace.selection()->setHead(head);
                workspace.selection()->setToken(head.layer + 2 * head.head + 3);
                QTRY_VERIFY(JobBoard::instance().running().isEmpty());
            }
            QVERIFY(!QTest::currentTestFailed());
            workspace.opener()->close();
            QCoreApplication::processEvents();
        }
        QVERIFY(!testers.empty());
    }

private slots:
    void initTestCase()
    {
        m_workspace = std::make_unique<Workspace>();
        m_workspace->opener()->openModel({HEADWISE_DEMO_MODEL, {}, {}});
        QTRY_VERIFY(m_workspace->model()->tokens() && !m_workspace->model()->tokenReader()->job()->isRunning()
                    && !m_workspace->runs()->job()->isRunning() && m_workspace->runs()->waiting().empty());
    }

    void cleanupTestCase() { m_workspace.reset(); }

    void headsByEveryScore()
    {
        Watched<HeadTableModel> watched;
        const auto metrics = headMetrics(*m_workspace->model()->results(), m_workspace->model()->card());
        QVERIFY(metrics.size() > 5);
        const int heads = m_workspace->model()->card().nLayers * m_workspace->model()->card().nHeads;
        for (const ResultArray* metric : metrics) {
            watched.model.setScores(scoresOf(*metric), metricTitle(*metric));
            QCOMPARE(watched.model.rowCount(), heads);
            watched.sortByEveryColumn();
        }
        auto fewer = std::make_shared<std::vector<HeadScore>>(*scoresOf(*metrics.front()));
        fewer->resize(1);
        watched.model.setScores(fewer, {});
        QCOMPARE(watched.sorted.rowCount(), 1);
        watched.model.setScores(nullptr, {});
        QCOMPARE(watched.sorted.rowCount(), 0);
        watched.model.setScores(std::make_shared<std::vector<HeadScore>>(), {}); // no heads
        QCOMPARE(watched.sorted.rowCount(), 0);
    }

    void theWholeVocabularyAsTokens()
    {
        Watched<TokenTableModel> watched;
        auto rows = std::make_shared<std::vector<TokenRow>>();
        const int tokens = m_workspace->model()->card().dVocab;
        for (int id = 0; id < tokens; ++id) {
            TokenRow row;
            row.token = id;
            row.shown = m_workspace->model()->tokenText(id);
            row.value = id % 7 == 0 ? std::nan("") : 0.5 * (id % 13) - 3;
            row.isSpecial = id == 0;
            row.isSource = id == 1;
            if (id % 2 == 0)
                row.zScore = row.value / 2;
            if (id % 3 == 0)
                row.share = 0.01;
            rows->push_back(row);
        }
        for (int time = 0; time < 2; ++time) {
            watched.model.setRows(rows);
            QCOMPARE(watched.sorted.rowCount(), tokens);
            watched.sortByEveryColumn();
            watched.sorted.setFilterFixedString(m_workspace->model()->tokenText(5));
            watched.sorted.setFilterFixedString({});
            watched.model.setRows(std::make_shared<std::vector<TokenRow>>(rows->begin(), rows->begin() + 3));
            QCOMPARE(watched.sorted.rowCount(), 3);
            watched.model.setRows(nullptr);
            QCOMPARE(watched.sorted.rowCount(), 0);
        }
    }

    void theTensorsWhoseNumbersComeLater()
    {
        Watched<TensorTableModel> watched;
        const QSignalSpy changed(&watched.model, &QAbstractItemModel::dataChanged);
        for (int time = 0; time < 2; ++time) {
            watched.model.setWeights(m_workspace->model()->weights());
            const int tensors = watched.model.rowCount();
            QCOMPARE(tensors, static_cast<int>(m_workspace->model()->weights()->file().tensors().size()));
            watched.sorted.sort(TensorTableModel::MeanColumn, Qt::DescendingOrder); // Rows move as they come.
            for (int tensor = 0; tensor < tensors; ++tensor) {
                TensorStatistics statistics;
                statistics.mean = std::sin(tensor);
                statistics.minimum = tensor % 5 == 0 ? std::nan("") : -tensor;
                watched.model.setStatistics(tensor,
                                            tensor % 9 == 8 ? std::nullopt : std::optional(statistics));
            }
            QCOMPARE(changed.count(), (time + 1) * tensors);
            watched.sortByEveryColumn();
            watched.model.setWeights(nullptr);
            QCOMPARE(watched.sorted.rowCount(), 0);
        }
    }

    void everyComputedArrayAsATable()
    {
        Watched<ArrayTableModel> watched;
        const auto results = m_workspace->model()->results();
        QVERIFY(results->arrays.size() > 10);
        for (const ResultArray& array : results->arrays) {
            watched.model.setParts(results, {wholeArray(array)}, pictureContext(*m_workspace));
            QVERIFY2(watched.model.rowCount() > 0, array.path.c_str());
            QVERIFY2(watched.model.columnCount() > 1, array.path.c_str());
            if (watched.model.rowCount() < 1000)
                watched.sortByEveryColumn();
            QVERIFY2(!QTest::currentTestFailed(), array.path.c_str());
        }
        watched.model.setParts(results, {}, pictureContext(*m_workspace));
        QCOMPARE(watched.model.columnCount(), 0);
        watched.model.setParts(results,
                               {wholeArray(results->arrays.front()), wholeArray(results->arrays.back())},
                               pictureContext(*m_workspace)); // of different length
        watched.sortByEveryColumn();
        watched.model.clear();
        watched.model.clear();
        QCOMPARE(watched.sorted.rowCount(), 0);
    }

    void theModelsOfEveryPageWhileItIsUsed_data()
    {
        QTest::addColumn<void (ModelTestersTest::*)()>("watch");
        QTest::newRow("heads") << &ModelTestersTest::watchPage<HeadsPage>;
        QTest::newRow("overview") << &ModelTestersTest::watchPage<OverviewPage>;
        QTest::newRow("tokens") << &ModelTestersTest::watchPage<TokensPage>;
        QTest::newRow("vectors") << &ModelTestersTest::watchPage<VectorsPage>;
        QTest::newRow("position") << &ModelTestersTest::watchPage<PositionPage>;
        QTest::newRow("composition") << &ModelTestersTest::watchPage<CompositionPage>;
        QTest::newRow("compare") << &ModelTestersTest::watchPage<ComparePage>;
        QTest::newRow("relations") << &ModelTestersTest::watchPage<RelationsPage>;
        QTest::newRow("models") << &ModelTestersTest::watchPage<ModelsPage>;
        QTest::newRow("analyses") << &ModelTestersTest::watchPage<ResultPage>;
        QTest::newRow("tensors") << &ModelTestersTest::watchPage<TensorsPage>;
    }

    void theModelsOfEveryPageWhileItIsUsed()
    {
        using Watch = void (ModelTestersTest::*)();
        QFETCH(Watch, watch);
        (this->*watch)();
    }
};

HEADWISE_TEST(ModelTestersTest)
#include "model_testers_test.moc"
