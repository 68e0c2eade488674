#include "ui/models/array_table_model.h"

#include "tests/support/printed.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/document/workspace.h"

#include <QAbstractItemModelTester>
#include <QTest>

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::ui;
using Kind = Picture::Kind;

namespace {

/// −3, −2, …
ResultArray arrayOf(std::string path, std::vector<std::size_t> shape, const std::vector<std::string>& axes)
{
    ResultArray array;
    array.path = std::move(path);
    array.shape = std::move(shape);
    array.axes = axesNamed(axes);
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
        m_workspace->opener()->openModel({HEADWISE_DEMO_MODEL, {}, {}});
        QTRY_VERIFY(m_workspace->model()->isOpen());
    }

    void cleanupTestCase() { m_workspace.reset(); }

    /// Numbers that count the heads of all layers are shown as heads.
    void numbersOfHeadsAreNames()
    {
        auto results = std::make_shared<ResultSet>();
        ResultArray nearest = arrayOf("analyses/x/nearest", {3}, {"rank"});
        nearest.unit = "head";
        nearest.values = std::vector<std::int32_t>{1, 11, -1};
        results->arrays = {nearest};
        PictureContext context;
        context.results = results;
        context.card.nHeads = 8;
        ArrayTableModel model;
        model.setParts(results, {wholeArray(results->arrays[0])}, context);
        const auto shown = [&model](int row) { return model.index(row, 1).data().toString(); };
        QCOMPARE(shown(0), QStringLiteral("L0H1"));
        QCOMPARE(shown(1), QStringLiteral("L1H3"));
        QCOMPARE(shown(2), QStringLiteral("–"));
        QVERIFY(model.headsAt(0).empty()); // The row is not of that head.
    }

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
                       pictureContext(*m_workspace));
        QCOMPARE(model.rowCount(), 4);
        QCOMPARE(model.headerData(1, Qt::Horizontal).toString(), QStringLiteral("Best 1"));
        QCOMPARE(model.headerData(2, Qt::Horizontal).toString(), QStringLiteral("Score 1"));
        QCOMPARE(test::printed(model).at(1),
                 (QStringList{QStringLiteral("1"), m_workspace->model()->tokenText(3),
                              QStringLiteral("−1.00"), QStringLiteral("–"), QStringLiteral("–")}
                      .join(u'|')));
        QCOMPARE(model.tokenAt(2), std::optional(5));
        // −3 … 4 except NaN, on one scale; tokens and row names have no colour.
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
        model.setParts(results, parts, pictureContext(*m_workspace));
        QCOMPARE(model.headsAt(0).size(), std::size_t{2});
        QCOMPARE(model.headsAt(0)[1], (HeadId{1, 1}));
        QCOMPARE(test::printed(model).at(1), QStringLiteral("L0H0|L0H0"));
        QVERIFY(model.index(0, 1).data(ArrayTableModel::SortRole).toLongLong()
                > model.index(1, 1).data(ArrayTableModel::SortRole).toLongLong());
    }

    /// A token that names a row is listed once, beside its rank.
    void tokensThatNameRowsAreToldOnce()
    {
        m_workspace->runs()->runAnalysis("direct_path");
        QTRY_VERIFY(m_workspace->model()->results()->find("analyses/direct_path/token_ids"));
        const auto results = m_workspace->model()->results();
        const ArrayPart ids = wholeArray(*results->find("analyses/direct_path/token_ids"));
        const ArrayPart values = wholeArray(*results->find("analyses/direct_path/token_values"));
        const QString second = m_workspace->model()->tokenText(static_cast<int>(ids.at(1)));
        ArrayTableModel model;
        const auto shown = [&](int row, int column) { return model.index(row, column).data().toString(); };
        model.setParts(results, {ids, values}, pictureContext(*m_workspace));
        QCOMPARE(model.columnCount(), 3);
        QCOMPARE(model.headerData(0, Qt::Horizontal).toString(), QStringLiteral("rank in row"));
        QCOMPARE(shown(0, 0), QStringLiteral("1"));
        QCOMPARE(shown(1, 1), second);
        QCOMPARE(shown(1, 2), number(values.at(1)));
        QCOMPARE(model.tokenAt(1), std::optional(static_cast<int>(ids.at(1))));

        // The values alone are named by their tokens.
        model.setParts(results, {values}, pictureContext(*m_workspace));
        QCOMPARE(model.columnCount(), 2);
        QCOMPARE(shown(1, 0), second);
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
        model.setParts(results, parts, pictureContext(*m_workspace));
        const auto bar = [&](int row, int column) {
            return model.index(row, column).data(ArrayTableModel::BarRole);
        };
        QVERIFY(!bar(0, 1).isValid());
        // −3 is the longest bar; zero is in the middle if both signs occur.
        QCOMPARE(bar(0, 2).toPointF(), QPointF(0, 0.5));
        QCOMPARE(bar(4, 2).toPointF(), QPointF(0.5, 0.5 + 0.5 / 3));
        QCOMPARE(bar(1, 3).toPointF(), QPointF(0, 0.5));
        QCOMPARE(bar(3, 3).toPointF(), QPointF(0, 1));
        QVERIFY(!bar(2, 3).isValid());
    }

    void numbersOfAColumnAreWrittenAlike()
    {
        auto results = std::make_shared<ResultSet>();
        for (const char* name : {"possible", "weights", "saving", "score"})
            results->arrays.push_back(arrayOf(std::string("analyses/x/") + name, {2}, {"rank"}));
        std::get<std::vector<float>>(results->arrays[0].values) = {1.F, 0.F};
        results->arrays[0].unit = "yes or no";
        std::get<std::vector<float>>(results->arrays[1].values) = {1572864.F, 512.F};
        std::get<std::vector<float>>(results->arrays[2].values) = {0.125F, NAN};
        results->arrays[2].unit = "fraction";
        std::get<std::vector<float>>(results->arrays[3].values) = {1500.5F, 12.F};
        ArrayTableModel model;
        std::vector<ArrayPart> parts;
        for (const ResultArray& column : results->arrays)
            parts.push_back(wholeArray(column));
        model.setParts(results, parts, pictureContext(*m_workspace));
        // Ranks begin with one.
        QCOMPARE(test::printed(model).at(0),
                 (QStringList{QStringLiteral("1"), QStringLiteral("yes"), count(1572864),
                              QStringLiteral("12.5 %"), number(1500.5)}
                      .join(u'|')));
        QCOMPARE(test::printed(model).at(1),
                 (QStringList{QStringLiteral("2"), QStringLiteral("no"), QStringLiteral("512"),
                              QStringLiteral("–"), number(12)}
                      .join(u'|')));
        QCOMPARE(model.index(0, 3).data(ArrayTableModel::SortRole).toDouble(), 0.125);
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
        for (const Picture& picture : picturesOf(bare, results, m_workspace->model()->card()))
            kinds.push_back(picture.kind);
        QCOMPARE(
            kinds,
            (std::vector<Kind>{Kind::HeadGrid, Kind::Lines, Kind::Matrix, Kind::HeadPairs, Kind::Table}));
    }

    void labelsNameTheLastSideOfASquareAndTheirOwnAxis()
    {
        ResultArray square = arrayOf("analyses/x/square", {2, 2}, {"leaf", "part"});
        square.attributes["labels"] = std::vector<std::string>{"heads", "MLP"};
        QVERIFY(!namesAlong(wholeArray(square), 0, pictureContext(*m_workspace)));
        QCOMPARE(namesAlong(wholeArray(square), 1, pictureContext(*m_workspace))(1), QStringLiteral("MLP"));
        square.attributes["leaf_labels"] = std::vector<std::string>{"0.1", "1.5"};
        QCOMPARE(namesAlong(wholeArray(square), 0, pictureContext(*m_workspace))(1), QStringLiteral("1.5"));
    }

    // Lists of a layer, and the columns beside them, are cut at the selected head's layer; alone, a list shows all
    // layers.
    void listsOfLayersAreCutAtTheSelectedOne()
    {
        const ResultArray lists = arrayOf("analyses/x/in_values", {2, 3, 4}, {"layer", "direction", "rank"});
        const ResultArray sigma = arrayOf("analyses/x/in_sigma", {2, 3}, {"layer", "direction"});
        m_workspace->selection()->setHead({1, 0});
        const auto both = cutSideBySide({&sigma, &lists}, pictureContext(*m_workspace));
        QCOMPARE(both[0]->shape, (std::vector<std::size_t>{3}));
        QCOMPARE(both[0]->at(0), 0.0);
        QCOMPARE(both[1]->shape, (std::vector<std::size_t>{3, 4}));
        QCOMPARE(both[1]->at(0), 9.0);
        QCOMPARE(cutSideBySide({&sigma}, pictureContext(*m_workspace))[0]->shape, sigma.shape);
        ResultArray left = lists;
        auto& values = std::get<std::vector<float>>(left.values);
        std::fill(values.begin() + 12, values.end(), NAN);
        QVERIFY(!cutSideBySide({&left}, pictureContext(*m_workspace))[0]);
        m_workspace->selection()->setHead({0, 0});
        QCOMPARE(cutSideBySide({&left}, pictureContext(*m_workspace))[0]->at(0), -3.0);
    }

    void directionsOfABlockAreGreyedOut()
    {
        auto results = std::make_shared<ResultSet>();
        ResultArray sizes = arrayOf("analyses/x/in_block_size", {3}, {"direction"});
        sizes.values = std::vector<std::int32_t>{1, 2, 2};
        ResultArray ids = arrayOf("analyses/x/in_ids", {3, 2}, {"direction", "rank"});
        ids.values = std::vector<std::int32_t>{1, 2, 3, 4, 5, 6};
        const ResultArray values = arrayOf("analyses/x/in_values", {3, 2}, {"direction", "rank"});
        results->arrays = {sizes, ids, values};
        ArrayTableModel model;
        model.setParts(
            results,
            {wholeArray(results->arrays[0]), wholeArray(results->arrays[1]), wholeArray(results->arrays[2])},
            pictureContext(*m_workspace));
        for (const int column : {2, 3}) { // a token and its score
            for (const int row : {0, 1, 2}) {
                const QModelIndex cell = model.index(row, column);
                QCOMPARE(cell.data(ArrayTableModel::IsMutedRole).toBool(), row > 0);
                QCOMPARE(cell.data(Qt::ToolTipRole)
                             .toString()
                             .contains(QStringLiteral("One of 2 directions with nearly the same")),
                         row > 0);
            }
        }
        QVERIFY(model.index(0, 3).data(ArrayTableModel::HeatRole).isValid());
        QVERIFY(!model.index(1, 3).data(ArrayTableModel::HeatRole).isValid());
        QVERIFY(!model.index(1, 1).data(ArrayTableModel::IsMutedRole).toBool()); // how many is true of each
    }

    void partsAreRunsOfTheArray()
    {
        const ResultArray whole = arrayOf("analyses/x/cube", {2, 3, 4}, {"a", "b", "c"});
        const ArrayPart row = entryOf(entryOf(wholeArray(whole), 1), 2);
        QCOMPARE(row.shape, (std::vector<std::size_t>{4}));
        QCOMPARE(row.axis(0).name(), std::string("c"));
        QCOMPARE(row.at(3), 23.0 - 3.0);
        QVERIFY(std::isnan(wholeArray(whole).at(24)));
        const Eigen::MatrixXf cells = matrixOf(entryOf(wholeArray(whole), 1));
        QCOMPARE(cells(2, 3), 20.0F);
        QCOMPARE(cells.rows(), Eigen::Index(3));
    }
};

HEADWISE_TEST(ArrayTableModelTest)
#include "array_table_model_test.moc"
