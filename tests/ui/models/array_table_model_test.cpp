#include "ui/models/array_table_model.h"

#include "tests/support/printed.h"

#include <QAbstractItemModelTester>
#include <QTest>

#include <cmath>

using namespace headwise;
using namespace headwise::ui;
using Kind = Picture::Kind;

namespace {

constexpr int patience = 60000; // ms, under a loaded machine

/// −3, −2, …
ResultArray arrayOf(std::string path, std::vector<std::size_t> shape, std::vector<std::string> axes)
{
    ResultArray array;
    array.path = std::move(path);
    array.shape = std::move(shape);
    array.axes = std::move(axes);
    std::size_t size = 1;
    for (const std::size_t length : array.shape)
        size *= length;
    std::vector<float> values(size);
    for (std::size_t i = 0; i < size; ++i)
        values[i] = static_cast<float>(i) - 3;
    array.values = std::move(values);
    return array;
}

} // namespace

class ArrayTableModelTest : public QObject {
    Q_OBJECT

private:
    std::unique_ptr<Workspace> m_workspace;

private slots:
    void initTestCase()
    {
        m_workspace = std::make_unique<Workspace>();
        m_workspace->openModel({HEADWISE_DEMO_MODEL, {}, {}});
        QTRY_VERIFY_WITH_TIMEOUT(m_workspace->isOpen(), patience);
    }

    void cleanupTestCase() { m_workspace.reset(); }

    void theTableModelIsAModel()
    {
        auto results = std::make_shared<ResultSet>();
        ResultArray ids = arrayOf("analyses/x/ids", {4, 2}, {"token", "rank"});
        ids.values = std::vector<std::int32_t>{1, 2, 3, -1, 5, 6, 7, 8};
        ids.unit = "token";
        ids.title = "Best";
        ResultArray values = arrayOf("analyses/x/values", {4, 2}, {"token", "rank"});
        values.title = "Score";
        std::get<std::vector<float>>(values.values)[3] = NAN;
        results->arrays = {ids, values};
        ArrayTableModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
        model.setParts(results, {wholeArray(results->arrays[0]), wholeArray(results->arrays[1])},
                       *m_workspace);
        QCOMPARE(model.rowCount(), 4);
        QCOMPARE(model.headerData(1, Qt::Horizontal).toString(), QStringLiteral("Best 1"));
        QCOMPARE(model.headerData(2, Qt::Horizontal).toString(), QStringLiteral("Score 1"));
        QCOMPARE(test::printed(model).at(1),
                 (QStringList{QStringLiteral("1"), m_workspace->tokenText(3), QStringLiteral("−1.00"),
                              QStringLiteral("–"), QStringLiteral("–")}
                      .join(u'|')));
        QCOMPARE(model.tokenAt(2), std::optional(5));
        // −3 … 4 but for what is no number, on one scale; tokens and row names have no colour.
        const auto heat = [&model](int row, int column) {
            return model.index(row, column).data(ArrayTableModel::HeatRole);
        };
        QCOMPARE(heat(0, 2).toDouble(), -0.75);
        QCOMPARE(heat(3, 4).toDouble(), 1.0);
        QVERIFY(!heat(1, 4).isValid() && !heat(0, 1).isValid() && !heat(0, 0).isValid());
        model.clear();
        QCOMPARE(model.rowCount(), 0);
    }

    void aRowOfHeadsSaysWhichHeadsItIsAbout()
    {
        auto results = std::make_shared<ResultSet>();
        for (const char* name : {"earlier_layer", "earlier_head", "later_layer", "later_head"}) {
            ResultArray column = arrayOf(std::string("analyses/x/") + name, {2}, {"rank"});
            column.values = std::vector<std::int32_t>{std::string(name).starts_with("later") ? 1 : 0, 0};
            results->arrays.push_back(column);
        }
        ArrayTableModel model;
        std::vector<ArrayPart> parts;
        for (const ResultArray& column : results->arrays)
            parts.push_back(wholeArray(column));
        model.setParts(results, parts, *m_workspace);
        QCOMPARE(model.headsAt(0).size(), std::size_t{2});
        QCOMPARE(model.headsAt(0)[1], (HeadId{1, 1}));
        QCOMPARE(test::printed(model).at(1), QStringLiteral("L0H0|L0H0"));
        QVERIFY(model.index(0, 1).data(ArrayTableModel::SortRole).toLongLong()
                > model.index(1, 1).data(ArrayTableModel::SortRole).toLongLong());
    }

    void numbersWithBoundsHaveBars()
    {
        auto results = std::make_shared<ResultSet>();
        results->arrays = {arrayOf("analyses/x/free", {5}, {"rank"}),
                           arrayOf("analyses/x/bounded", {5}, {"rank"}),
                           arrayOf("analyses/x/share", {5}, {"rank"})};
        results->arrays[1].range = {-4.0, 4.0};
        results->arrays[2].range = {0.0, 1.0};
        std::get<std::vector<float>>(results->arrays[2].values) = {0.F, 0.25F, NAN, 0.5F, 0.125F};
        ArrayTableModel model;
        std::vector<ArrayPart> parts;
        for (const ResultArray& column : results->arrays)
            parts.push_back(wholeArray(column));
        model.setParts(results, parts, *m_workspace);
        const auto bar = [&](int row, int column) {
            return model.index(row, column).data(ArrayTableModel::BarRole);
        };
        QVERIFY(!bar(0, 1).isValid());
        // −3 is the longest; zero is in the middle where there are both signs.
        QCOMPARE(bar(0, 2).toPointF(), QPointF(0, 0.5));
        QCOMPARE(bar(4, 2).toPointF(), QPointF(0.5, 0.5 + 0.5 / 3));
        QCOMPARE(bar(1, 3).toPointF(), QPointF(0, 0.5));
        QCOMPARE(bar(3, 3).toPointF(), QPointF(0, 1));
        QVERIFY(!bar(2, 3).isValid());
    }

    void arraysSuggestTheirPictures()
    {
        Analysis bare = catalogue().front();
        bare.id = "x";
        bare.pictures.clear();
        ResultSet results;
        results.arrays = {arrayOf("analyses/x/score", {2, 8}, {"layer", "head"}),
                          arrayOf("analyses/x/series", {2, 8, 5}, {"layer", "head", "rank"}),
                          arrayOf("analyses/x/matrix", {3, 4}, {"row", "column"}),
                          arrayOf("analyses/x/pairs", {2, 8, 2, 8},
                                  {"earlier layer", "earlier head", "later layer", "later head"}),
                          arrayOf("analyses/x/cube", {3, 4, 5}, {"a", "b", "c"})};
        std::vector<Kind> kinds;
        for (const Picture& picture : picturesOf(bare, results, m_workspace->card()))
            kinds.push_back(picture.kind);
        QCOMPARE(
            kinds,
            (std::vector<Kind>{Kind::HeadGrid, Kind::Lines, Kind::Matrix, Kind::HeadPairs, Kind::Table}));
    }

    void labelsNameTheLastSideOfASquareAndTheirOwnAxis()
    {
        ResultArray square = arrayOf("analyses/x/square", {2, 2}, {"leaf", "part"});
        square.attributes["labels"] = std::vector<std::string>{"heads", "MLP"};
        QVERIFY(!namesAlong(wholeArray(square), 0, *m_workspace));
        QCOMPARE(namesAlong(wholeArray(square), 1, *m_workspace)(1), QStringLiteral("MLP"));
        square.attributes["leaf_labels"] = std::vector<std::string>{"0.1", "1.5"};
        QCOMPARE(namesAlong(wholeArray(square), 0, *m_workspace)(1), QStringLiteral("1.5"));
    }

    void partsAreRunsOfTheArray()
    {
        const ResultArray whole = arrayOf("analyses/x/cube", {2, 3, 4}, {"a", "b", "c"});
        const ArrayPart row = entryOf(entryOf(wholeArray(whole), 1), 2);
        QCOMPARE(row.shape, (std::vector<std::size_t>{4}));
        QCOMPARE(row.axis(0), std::string("c"));
        QCOMPARE(row.at(3), 23.0 - 3.0);
        QVERIFY(std::isnan(wholeArray(whole).at(24)));
        const Eigen::MatrixXf cells = matrixOf(entryOf(wholeArray(whole), 1));
        QCOMPARE(cells(2, 3), 20.0F);
        QCOMPARE(cells.rows(), Eigen::Index(3));
    }
};

QTEST_MAIN(ArrayTableModelTest)
#include "array_table_model_test.moc"
