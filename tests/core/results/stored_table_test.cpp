#include "core/results/stored_table.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <cmath>

using namespace headwise;

namespace {

ResultArray array(const std::string& path, ResultArray::Values values)
{
    ResultArray made;
    made.path = path;
    made.shape = {1, 2, 2};
    made.values = std::move(values);
    return made;
}

/// One head analysed, 1.5, of a vocabulary of two tokens with k = 2; token 1 has a padded row.
ResultSet tables()
{
    using Ids = std::vector<std::int32_t>;
    using Values = std::vector<float>;
    ResultSet results;
    const float none = std::nanf("");
    results.arrays = {array("tables/full_ov/ids", Ids{1, 0, 0, -1}),
                      array("tables/full_ov/values", Values{3, -1, 2, none}),
                      array("tables/full_ov/lowest_ids", Ids{0, 1, 0, -1}),
                      array("tables/full_ov/lowest_values", Values{-1, 3, 2, none}),
                      array("tables/full_ov/column_ids", Ids{1, 0, 0, 1}),
                      array("tables/full_ov/column_values", Values{2, -1, 3, 0})};
    results.groupAttributes["tables/full_ov"]["heads"] = std::vector<std::string>{"1.5"};
    return results;
}

} // namespace

class StoredTableTest : public QObject {
    Q_OBJECT

private slots:
    void readsTheLineOfATokenAndLeavesPaddingOut()
    {
        const auto first = storedEnds(tables(), CircuitKind::FullOv, {1, 5}, TableSide::Row, 0);
        QVERIFY(first);
        QVERIFY((*first == TokenEnds{{{1, 3}, {0, -1}}, {{0, -1}, {1, 3}}}));
        const auto second = storedEnds(tables(), CircuitKind::FullOv, {1, 5}, TableSide::Row, 1);
        QVERIFY(second);
        QVERIFY((*second == TokenEnds{{{0, 2}}, {{0, 2}}}));
    }

    void columnsHaveTheirOwnTable()
    {
        const auto column = storedEnds(tables(), CircuitKind::FullOv, {1, 5}, TableSide::Column, 1);
        QVERIFY(column);
        QVERIFY((*column == TokenEnds{{{0, 3}, {1, 0}}, {}}));
    }

    void theStatisticsOfALineStandBesideItsTable()
    {
        ResultSet results = tables();
        QVERIFY(!storedStatistics(results, CircuitKind::FullOv, {1, 5}, TableSide::Row, 1));
        const auto moments = [&](const std::string& name, std::vector<float> values) {
            ResultArray made;
            made.path = "analyses/tables/full_ov_" + name;
            made.shape = {1, 2};
            made.values = std::move(values);
            made.attributes["entries"] = 5.0;
            results.arrays.push_back(std::move(made));
        };
        moments("row_mean", {3, -1});
        QVERIFY(!storedStatistics(results, CircuitKind::FullOv, {1, 5}, TableSide::Row, 1));
        moments("row_deviation", {4, std::nanf("")});
        const auto found = storedStatistics(results, CircuitKind::FullOv, {1, 5}, TableSide::Row, 0);
        QVERIFY(found);
        QCOMPARE(found->zScore(11), 2.0);
        QCOMPARE(found->norm, std::sqrt(125.0));
        QVERIFY(!storedStatistics(results, CircuitKind::FullOv, {1, 5}, TableSide::Row, 1)); // a padded row
        QVERIFY(!storedStatistics(results, CircuitKind::FullOv, {1, 5}, TableSide::Row, 2));
        QVERIFY(!storedStatistics(results, CircuitKind::FullOv, {0, 0}, TableSide::Row, 0));
        QVERIFY(!storedStatistics(results, CircuitKind::FullOv, {1, 5}, TableSide::Column, 0));
    }

    void whatTheSessionDoesNotHoldIsNothing()
    {
        QVERIFY(!storedEnds(tables(), CircuitKind::FullOv, {0, 0}, TableSide::Row, 0));
        QVERIFY(!storedEnds(tables(), CircuitKind::FullQk, {1, 5}, TableSide::Row, 0));
        QVERIFY(!storedEnds(tables(), CircuitKind::FullOv, {1, 5}, TableSide::Row, 2));
        QVERIFY(!storedEnds(tables(), CircuitKind::FullOv, {1, 5}, TableSide::Row, -1));
    }
};

HEADWISE_TEST(StoredTableTest)
#include "stored_table_test.moc"
