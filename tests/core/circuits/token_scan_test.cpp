#include "core/circuits/token_scan.h"

#include "core/circuits/scan_kernel.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

using namespace headwise;
using test::normalNumbers;

namespace {

/// Brute force: the whole product in double, every row sorted as a whole.
std::vector<int> sortedRow(const Matrix<double>& dense, Eigen::Index row, const std::vector<bool>& unused,
                           double sign)
{
    std::vector<int> ids(static_cast<std::size_t>(dense.cols()));
    std::iota(ids.begin(), ids.end(), 0);
    if (!unused.empty())
        std::erase_if(ids, [&](int id) { return unused[static_cast<std::size_t>(id)]; });
    std::stable_sort(ids.begin(), ids.end(),
                     [&](int a, int b) { return sign * dense(row, a) > sign * dense(row, b); });
    return ids;
}

struct Case {
    Matrix<double> rows, cols; // [r, rows], [r, cols]
    std::vector<bool> unusedRows, unusedCols;
    int k = 10;
    ScanEnds ends = ScanEnds::Both;

    Result<RowEnds> scan(const Task& task = {}) const
    {
        const Matrix<float> rows32 = rows.cast<float>();
        const Matrix<float> cols32 = cols.cast<float>();
        const Matrix<double> dense = product();
        return scanRows({rows32, cols32, [&](Eigen::Index i, Eigen::Index j) { return dense(i, j); },
                         unusedRows, unusedCols, k, ends},
                        task);
    }
    Matrix<double> product() const { return rows.transpose() * cols; }
};

bool agreesWithBruteForce(const Case& given)
{
    const auto found = given.scan();
    if (!test::isOk(found))
        return false;
    const Matrix<double> dense = given.product();
    for (Eigen::Index row = 0; row < dense.rows(); ++row) {
        const bool isUnused = !given.unusedRows.empty() && given.unusedRows[static_cast<std::size_t>(row)];
        for (const double sign : {1.0, -1.0}) {
            const auto expected =
                isUnused ? std::vector<int>() : sortedRow(dense, row, given.unusedCols, sign);
            const auto& ids = sign > 0 ? found->ids : found->lowestIds;
            const auto& values = sign > 0 ? found->values : found->lowestValues;
            if (sign < 0 && given.ends == ScanEnds::Largest)
                continue;
            for (std::size_t i = 0; i < static_cast<std::size_t>(given.k); ++i) {
                const std::size_t at = static_cast<std::size_t>(row) * static_cast<std::size_t>(given.k) + i;
                const bool exists = i < expected.size();
                const int id = exists ? expected[i] : -1;
                const bool isRight =
                    ids[at] == id && (exists ? values[at] == dense(row, id) : std::isnan(values[at]));
                if (!isRight) {
                    qWarning("row %d, sign %g, rank %d: id %d, expected %d", int(row), sign, int(i), ids[at],
                             id);
                    return false;
                }
            }
        }
    }
    return true;
}

} // namespace

class TokenScanTest : public QObject {
    Q_OBJECT

private slots:
    void listsAHandMadeMatrix()
    {
        Case given;
        given.rows = Matrix<double>::Identity(2, 2);
        given.cols = (Matrix<double>(2, 4) << 1, 5, 5, -2, 0, -7, 3, -7).finished();
        given.k = 2;
        const auto found = given.scan();
        QVERIFY(test::isOk(found));
        QCOMPARE(found->ids, (std::vector<int>{1, 2, 2, 0}));
        QCOMPARE(found->values, (std::vector<double>{5, 5, 3, 0}));
        QCOMPARE(found->lowestIds, (std::vector<int>{3, 0, 1, 3}));
        QCOMPARE(found->lowestValues, (std::vector<double>{-2, 1, -7, -7}));
    }

    void everyKernelFindsTheEndsInEveryColumn()
    {
        for (const ScanKernel& kernel : scanKernels()) {
            for (Eigen::Index col = 0; col < ScanKernel::columns; ++col) {
                const Eigen::Index inner = 1 + col;
                Matrix<float> tile = normalNumbers(ScanKernel::columns, inner, 13).cast<float>();
                tile.row(col).setConstant(9);
                tile.row((col + 17) % ScanKernel::columns).setConstant(-9);
                const Matrix<float> rows =
                    normalNumbers(ScanKernel::rows, inner, 14).cwiseAbs().cast<float>();
                const Matrix<double> product = rows.cast<double>() * tile.cast<double>().transpose();
                std::array<float, ScanKernel::rows> largest{};
                std::array<float, ScanKernel::rows> smallest{};
                kernel.ends(tile.data(), rows.data(), inner, largest.data(), smallest.data());
                for (Eigen::Index row = 0; row < ScanKernel::rows; ++row) {
                    const auto at = static_cast<std::size_t>(row);
                    QVERIFY2(std::abs(double(largest[at]) - product.row(row).maxCoeff()) < 1e-3, kernel.name);
                    QVERIFY2(std::abs(double(smallest[at]) - product.row(row).minCoeff()) < 1e-3,
                             kernel.name);
                    const Eigen::VectorXf factors = rows.row(row).transpose();
                    Eigen::VectorXf entries(ScanKernel::columns);
                    kernel.entries(tile.data(), factors.data(), inner, entries.data());
                    const auto wrong = entries.cast<double>() - product.row(row).transpose();
                    QVERIFY2(wrong.cwiseAbs().maxCoeff() < 1e-3, kernel.name);
                }
            }
        }
    }

    void agreesWithBruteForceOnEveryClassOfShapes_data()
    {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("cols");
        QTest::addColumn<int>("inner");
        QTest::addColumn<int>("k");
        QTest::newRow("several blocks and tiles") << 700 << 1500 << 8 << 10;
        QTest::newRow("one entry") << 1 << 1 << 1 << 1;
        QTest::newRow("fewer columns than k") << 5 << 3 << 4 << 3;
        QTest::newRow("k as long as the row") << 40 << 50 << 3 << 50;
        QTest::newRow("k near the length of the row") << 40 << 50 << 3 << 45;
        QTest::newRow("a tail shorter than a chunk") << 3 << 515 << 7 << 4;
        QTest::newRow("most chunks passed over") << 20 << 9001 << 5 << 6;
    }
    void agreesWithBruteForceOnEveryClassOfShapes()
    {
        QFETCH(int, rows);
        QFETCH(int, cols);
        QFETCH(int, inner);
        QFETCH(int, k);
        QVERIFY(agreesWithBruteForce(
            {normalNumbers(inner, rows, 1), normalNumbers(inner, cols, 2), {}, {}, k, ScanEnds::Both}));
        QVERIFY(agreesWithBruteForce(
            {normalNumbers(inner, rows, 3), normalNumbers(inner, cols, 4), {}, {}, k, ScanEnds::Largest}));
    }

    void entriesCloserThanFloatRoundingAreStillRankedExactly()
    {
        Matrix<double> cols = normalNumbers(4, 300, 5);
        cols.col(0) *= 3; // long enough to be among the strongest
        // differences below float32's resolution, the last one strongest
        for (Eigen::Index i = 1; i < 200; ++i)
            cols.col(i) = cols.col(0) * (1 + 1e-11 * static_cast<double>(i));
        QVERIFY(agreesWithBruteForce({normalNumbers(4, 50, 6), cols, {}, {}, 10, ScanEnds::Both}));
    }

    void tiesGoToTheLowerIdHoweverMany()
    {
        Matrix<double> cols = normalNumbers(4, 600, 7);
        for (Eigen::Index i = 1; i < 600; i += 2)
            cols.col(i) = cols.col(1);
        QVERIFY(agreesWithBruteForce({normalNumbers(4, 9, 8), cols, {}, {}, 10, ScanEnds::Both}));
        QVERIFY(agreesWithBruteForce({Matrix<double>::Zero(4, 9), cols, {}, {}, 10, ScanEnds::Both}));
        const Matrix<double> repeated = cols.replicate(1, 15);
        QVERIFY(agreesWithBruteForce({normalNumbers(4, 9, 8), repeated, {}, {}, 10, ScanEnds::Both}));
        QVERIFY(agreesWithBruteForce({Matrix<double>::Zero(4, 9), repeated, {}, {}, 10, ScanEnds::Both}));
    }

    void unusedTokensAreNeverListed()
    {
        std::vector<bool> unusedCols(600, false);
        std::vector<bool> unusedRows(20, false);
        for (std::size_t i = 0; i < 600; i += 3)
            unusedCols[i] = true;
        unusedRows[4] = true;
        QVERIFY(agreesWithBruteForce({normalNumbers(5, 20, 9), normalNumbers(5, 600, 10), unusedRows,
                                      unusedCols, 10, ScanEnds::Both}));
        const std::vector<bool> nearlyAll{true, false, true, true, false};
        QVERIFY(agreesWithBruteForce(
            {normalNumbers(5, 20, 9), normalNumbers(5, 5, 10), {}, nearlyAll, 5, ScanEnds::Both}));
    }

    void theAnswerDoesNotDependOnTheNumberOfThreads()
    {
        const Case given{normalNumbers(6, 900, 11), normalNumbers(6, 700, 12), {}, {}, 7, ScanEnds::Both};
        Task one;
        one.threads = 1;
        Task three;
        three.threads = 3;
        QVERIFY(given.scan(one)->ids == given.scan(three)->ids);
    }

    void numbersThatAreNotFiniteAreAnError()
    {
        Case given{normalNumbers(3, 5, 1), normalNumbers(3, 5, 2), {}, {}, 2, ScanEnds::Both};
        given.rows(1, 4) = std::numeric_limits<double>::quiet_NaN();
        QVERIFY(test::failsWith(given.scan(), ErrorCode::Corrupt, "NaN or infinity"));
        given.rows(1, 4) = 0;
        given.cols(2, 0) = std::numeric_limits<double>::infinity();
        QVERIFY(test::failsWith(given.scan(), ErrorCode::Corrupt, "NaN or infinity"));
    }

    void stopsWhenAsked()
    {
        const Case given{normalNumbers(3, 50, 1), normalNumbers(3, 50, 2), {}, {}, 2, ScanEnds::Both};
        std::stop_source stop;
        Task task;
        task.stop = stop.get_token();
        QVERIFY(test::isOk(given.scan(task)));
        stop.request_stop();
        QVERIFY(test::failsWith(given.scan(task), ErrorCode::Cancelled, "cancelled"));
    }
};

HEADWISE_TEST(TokenScanTest)
#include "token_scan_test.moc"
