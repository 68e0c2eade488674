#include "core/circuits/scan/token_scan.h"

#include "core/circuits/scan/scan_kernel.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

using namespace headwise;
using test::normalNumbers;

namespace {

struct ScanCase {
    Matrix<double> rows, cols; // [r, rows], [r, cols]
    std::vector<bool> unusedRows, unusedCols;
    int k = 10;
    ScanEnds ends = ScanEnds::BothAndColumns;
    double columnBytes = 256e6;

    Result<RowEnds> scan(const Task& task = {}, const ScanKernel* kernel = nullptr) const
    {
        const Matrix<float> rows32 = rows.cast<float>();
        const Matrix<float> cols32 = cols.cast<float>();
        return scanRows(
            {{rows32, rows, unusedRows}, {cols32, cols, unusedCols}, k, ends, columnBytes, kernel}, task);
    }
    /// Sums in the order of the scan, so that values are the same to the last bit.
    Matrix<double> product() const
    {
        return Matrix<double>::NullaryExpr(rows.cols(), cols.cols(), [this](Eigen::Index i, Eigen::Index j) {
            return rows.col(i).dot(cols.col(j));
        });
    }
};

/// Compares lists with the sorted rows of a matrix.
bool areTheEnds(const Matrix<double>& dense, double sign, const std::vector<bool>& unusedRows,
                const std::vector<bool>& unusedCols, int k, const std::vector<int>& ids,
                const std::vector<double>& values)
{
    for (Eigen::Index row = 0; row < dense.rows(); ++row) {
        const bool isUnused = !unusedRows.empty() && unusedRows[static_cast<std::size_t>(row)];
        const auto expected =
            isUnused ? std::vector<int>() : test::firstOfRow(dense, row, unusedCols, sign, k);
        for (std::size_t i = 0; i < static_cast<std::size_t>(k); ++i) {
            const std::size_t at = static_cast<std::size_t>(row) * static_cast<std::size_t>(k) + i;
            const bool exists = i < expected.size();
            const int id = exists ? expected[i] : -1;
            if (ids[at] != id || (exists ? values[at] != dense(row, id) : !std::isnan(values[at]))) {
                qWarning("row %d, sign %g, rank %d: id %d, expected %d", int(row), sign, int(i), ids[at], id);
                return false;
            }
        }
    }
    return true;
}

bool agreesWithBruteForce(const ScanCase& given, const RowEnds& found)
{
    const Matrix<double> dense = given.product();
    const auto& [unusedRows, unusedCols] = std::tie(given.unusedRows, given.unusedCols);
    if (!areTheEnds(dense, 1, unusedRows, unusedCols, given.k, found.ids, found.values))
        return false;
    if (given.ends == ScanEnds::Largest)
        return found.lowestIds.empty() && found.columnIds.empty();
    if (!areTheEnds(dense, -1, unusedRows, unusedCols, given.k, found.lowestIds, found.lowestValues))
        return false;
    if (given.ends == ScanEnds::Both)
        return found.columnIds.empty();
    return areTheEnds(dense.transpose(), 1, unusedCols, unusedRows, given.k, found.columnIds,
                      found.columnValues);
}

/// Where there is no entry, both have NaN.
bool areEqual(const RowEnds& a, const RowEnds& b)
{
    const auto haveEqualValues = [](const std::vector<double>& x, const std::vector<double>& y) {
        return std::ranges::equal(
            x, y, [](double i, double j) { return i == j || (std::isnan(i) && std::isnan(j)); });
    };
    return a.ids == b.ids && a.lowestIds == b.lowestIds && a.columnIds == b.columnIds
        && haveEqualValues(a.values, b.values) && haveEqualValues(a.lowestValues, b.lowestValues)
        && haveEqualValues(a.columnValues, b.columnValues);
}

/// With every kernel that this processor can run.
bool agreesWithBruteForce(const ScanCase& given)
{
    std::optional<RowEnds> first;
    return std::ranges::all_of(scanKernels(), [&](const ScanKernel& kernel) {
        const auto found = given.scan({}, &kernel);
        if (!test::isOk(found))
            return false;
        const bool agrees = first ? areEqual(*found, *first) : agreesWithBruteForce(given, *found);
        if (!agrees)
            qWarning("kernel %s", kernel.name);
        first = *found;
        return agrees;
    });
}

/// Random numbers of 64 lines and the words that kernels take.
struct TestTile {
    Matrix<double> numbers; // [64, steps · numbers per word], whole ones
    std::vector<int> words; // [steps, 64]

    TestTile(int steps, int perWord, int least, int most, unsigned seed)
        : numbers(ScanKernel::lines, steps * perWord)
        , words(static_cast<std::size_t>(steps) * ScanKernel::lines)
    {
        std::mt19937 random(seed);
        std::uniform_int_distribution<int> number(least, most);
        numbers =
            decltype(numbers)::NullaryExpr(numbers.rows(), numbers.cols(), [&] { return number(random); });
        numbers.topLeftCorner(1, perWord)
            .setConstant(most); // with the first of another tile: the largest sum
        const int bits = 32 / perWord;
        for (std::size_t i = 0; i < words.size(); ++i) {
            const auto line = static_cast<Eigen::Index>(i % ScanKernel::lines);
            const auto first = static_cast<Eigen::Index>(i / ScanKernel::lines) * perWord;
            unsigned word = 0;
            for (int k = 0; k < perWord; ++k)
                word |=
                    (static_cast<unsigned>(static_cast<int>(numbers(line, first + k))) & ((1U << bits) - 1))
                    << (k * bits);
            words[i] = static_cast<int>(word);
        }
    }

    /// Returns the words of one line.
    std::vector<int> line(Eigen::Index index) const
    {
        std::vector<int> own;
        for (auto at = static_cast<std::size_t>(index); at < words.size(); at += ScanKernel::lines)
            own.push_back(words[at]);
        return own;
    }
};

/// Compares what a kernel keeps with the ends of a product in double, which is exact below 2^53, the rows' bytes taken as 128 more
/// than their numbers.
bool areTheirEnds(const ScanKernel& kernel, const TestTile& rows, const TestTile& columns)
{
    constexpr std::size_t lines = ScanKernel::lines;
    const double offset = kernel.isOfBytes ? 128 : 0;
    const Matrix<double> product = (rows.numbers.array() - offset).matrix() * columns.numbers.transpose();
    std::array<float, lines> largest{}, smallest{}, columnLargest{};
    std::array<int, lines> starts{};
    for (std::size_t i = 0; i < lines; ++i)
        starts[i] = static_cast<int>(-offset * columns.numbers.row(static_cast<Eigen::Index>(i)).sum());
    kernel.ends(rows.words.data(), columns.words.data(),
                static_cast<std::ptrdiff_t>(rows.words.size() / lines), starts.data(),
                {largest.data(), smallest.data(), columnLargest.data()});
    for (std::size_t i = 0; i < lines; ++i) {
        const auto at = static_cast<Eigen::Index>(i);
        if (largest[i] != static_cast<float>(product.row(at).maxCoeff())
            || smallest[i] != static_cast<float>(product.row(at).minCoeff())
            || columnLargest[i] != static_cast<float>(product.col(at).maxCoeff()))
            return false;
    }
    return true;
}

} // namespace

class TokenScanTest : public QObject {
    Q_OBJECT

private slots:
    void listsAHandMadeMatrix()
    {
        ScanCase given;
        given.rows = Matrix<double>::Identity(2, 2);
        given.cols = (Matrix<double>(2, 4) << 1, 5, 5, -2, 0, -7, 3, -7).finished();
        given.k = 2;
        const auto found = given.scan();
        QVERIFY(test::isOk(found));
        QCOMPARE(found->ids, (std::vector<int>{1, 2, 2, 0}));
        QCOMPARE(found->values, (std::vector<double>{5, 5, 3, 0}));
        QCOMPARE(found->lowestIds, (std::vector<int>{3, 0, 1, 3}));
        QCOMPARE(found->lowestValues, (std::vector<double>{-2, 1, -7, -7}));
        QCOMPARE(found->columnIds, (std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1}));
        QCOMPARE(found->columnValues, (std::vector<double>{1, 0, 5, -7, 5, 3, -2, -7}));
    }

    void everyKernelMultipliesExactly_data()
    {
        QTest::addColumn<int>("steps");
        QTest::addColumn<int>("most");
        QTest::newRow("one step, as large as allowed") << 1 << 22938;
        QTest::newRow("a head") << 32 << 4055;
        QTest::newRow("many") << 300 << 1324;
    }
    void everyKernelMultipliesExactly()
    {
        QFETCH(int, steps);
        QFETCH(int, most);
        const TestTile rows(steps, 2, -most, most, 3), columns(steps, 2, -most, most, 4);
        const Matrix<double> product = rows.numbers * columns.numbers.transpose();
        for (const ScanKernel& kernel : scanKernels()) {
            QVERIFY2(kernel.isOfBytes || areTheirEnds(kernel, rows, columns), kernel.name);
            for (Eigen::Index i = 0; i < ScanKernel::lines; ++i) {
                for (const int sign : {1, -1}) {
                    const Eigen::VectorXd wanted = sign * product.row(i).transpose();
                    const int least = static_cast<int>(wanted(0)); // one product is exactly as large
                    Eigen::Vector<int, ScanKernel::lines> entries;
                    std::array<signed char, ScanKernel::lines> reaching{};
                    kernel.entries(columns.words.data(), rows.line(i).data(), steps,
                                   {sign, least, entries.data(), reaching.data()});
                    QVERIFY2(entries.cast<double>() == wanted, kernel.name);
                    for (Eigen::Index j = 0; j < ScanKernel::lines; ++j)
                        QCOMPARE(reaching[static_cast<std::size_t>(j)] != 0, wanted(j) >= least);
                }
            }
        }
    }

    void everyKernelMultipliesBytesExactly_data()
    {
        QTest::addColumn<int>("steps");
        QTest::newRow("one step") << 1;
        QTest::newRow("a head") << 16;
        QTest::newRow("as many as are rounded to bytes") << 8192;
    }
    void everyKernelMultipliesBytesExactly()
    {
        QFETCH(int, steps);
        const TestTile random(steps, 4, -127, 127, 5), most(steps, 4, 127, 127, 5),
            least(steps, 4, -127, -127, 5);
        const TestTile bytes(steps, 4, 1, 255, 6), mostBytes(steps, 4, 255, 255, 6);
        for (const ScanKernel& kernel : scanKernels()) {
            if (!kernel.isOfBytes)
                continue;
            QVERIFY2(areTheirEnds(kernel, bytes, random), kernel.name);
            QVERIFY2(areTheirEnds(kernel, mostBytes, most), kernel.name);
            QVERIFY2(areTheirEnds(kernel, mostBytes, least), kernel.name);
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
        QTest::newRow("a long list from more tiles") << 70 << 9001 << 5 << 100;
        QTest::newRow("a tail shorter than a tile") << 3 << 515 << 7 << 4;
        QTest::newRow("most tiles passed over") << 20 << 9001 << 5 << 6;
        QTest::newRow("most tiles passed over, in both directions") << 1100 << 1200 << 3 << 1;
        QTest::newRow("a long inner side") << 70 << 900 << 513 << 5;
    }
    void agreesWithBruteForceOnEveryClassOfShapes()
    {
        QFETCH(int, rows);
        QFETCH(int, cols);
        QFETCH(int, inner);
        QFETCH(int, k);
        QVERIFY(agreesWithBruteForce({normalNumbers(inner, rows, 1),
                                      normalNumbers(inner, cols, 2),
                                      {},
                                      {},
                                      k,
                                      ScanEnds::BothAndColumns}));
        QVERIFY(agreesWithBruteForce(
            {normalNumbers(inner, rows, 3), normalNumbers(inner, cols, 4), {}, {}, k, ScanEnds::Largest}));
        QVERIFY(agreesWithBruteForce(
            {normalNumbers(inner, rows, 3), normalNumbers(inner, cols, 4), {}, {}, k, ScanEnds::Both}));
    }

    void entriesCloserThanFloatRoundingAreStillRankedExactly()
    {
        Matrix<double> cols = normalNumbers(4, 300, 5);
        cols.col(0) *= 3; // long enough to be among the strongest
        // differences below float32's resolution, the last one strongest
        for (Eigen::Index i = 1; i < 200; ++i)
            cols.col(i) = cols.col(0) * (1 + 1e-11 * static_cast<double>(i));
        QVERIFY(agreesWithBruteForce({normalNumbers(4, 50, 6), cols, {}, {}, 10, ScanEnds::BothAndColumns}));
    }

    void tiesGoToTheLowerIdHoweverMany()
    {
        Matrix<double> cols = normalNumbers(4, 600, 7);
        for (Eigen::Index i = 1; i < 600; i += 2)
            cols.col(i) = cols.col(1);
        QVERIFY(agreesWithBruteForce({normalNumbers(4, 9, 8), cols, {}, {}, 10, ScanEnds::BothAndColumns}));
        QVERIFY(
            agreesWithBruteForce({Matrix<double>::Zero(4, 9), cols, {}, {}, 10, ScanEnds::BothAndColumns}));
        const Matrix<double> repeated = cols.replicate(1, 15);
        QVERIFY(
            agreesWithBruteForce({normalNumbers(4, 9, 8), repeated, {}, {}, 10, ScanEnds::BothAndColumns}));
        QVERIFY(agreesWithBruteForce(
            {Matrix<double>::Zero(4, 9), repeated, {}, {}, 10, ScanEnds::BothAndColumns}));
    }

    void linesOfVeryDifferentLengthsAreRankedExactly_data()
    {
        QTest::addColumn<double>("factor"); // of the lengths, from one line to the next
        QTest::newRow("a few long ones") << 1.13;
        QTest::newRow("down to denormal numbers") << 0.8;
        QTest::newRow("up to huge numbers") << 1.1;
    }
    void linesOfVeryDifferentLengthsAreRankedExactly()
    {
        QFETCH(double, factor);
        ScanCase given{normalNumbers(4, 150, 15), normalNumbers(4, 700, 16), {}, {}, 10,
                       ScanEnds::BothAndColumns};
        for (Eigen::Index i = 0; i < given.cols.cols(); ++i) {
            const bool isLong = factor > 1.12 && i % 97 != 0;
            given.cols.col(i) *= isLong ? 1 : std::pow(factor, double(i));
        }
        for (Eigen::Index i = 0; i < given.rows.cols(); ++i)
            given.rows.col(i) *= std::pow(factor, -double(i));
        given.rows = given.rows.cast<float>().cast<double>(); // what float32 cannot hold is nothing in both
        given.cols = given.cols.cast<float>().cast<double>();
        QVERIFY(agreesWithBruteForce(given));
    }

    void tilesTooShortToReachAnEndAreLeftOut_data()
    {
        QTest::addColumn<double>("spread"); // of the logarithms of lengths
        QTest::addColumn<int>("k");
        QTest::addColumn<double>("columnBytes");
        QTest::addColumn<bool>("isSkipped");
        QTest::newRow("alike") << 0.0 << 2 << 256e6 << false;
        QTest::newRow("spread") << 1.0 << 1 << 256e6 << true;
        QTest::newRow("spread, more ends") << 1.5 << 3 << 256e6 << true;
        QTest::newRow("spread, rows in groups") << 1.5 << 1 << 20000.0 << true;
        QTest::newRow("spread far") << 6.0 << 2 << 256e6 << true;
    }
    void tilesTooShortToReachAnEndAreLeftOut()
    {
        QFETCH(double, spread);
        QFETCH(int, k);
        QFETCH(double, columnBytes);
        QFETCH(bool, isSkipped);
        ScanCase given{normalNumbers(3, 900, 31),
                       normalNumbers(3, 800, 32),
                       {},
                       {},
                       k,
                       ScanEnds::BothAndColumns,
                       columnBytes};
        const auto stretch = [spread](Matrix<double>& lines, unsigned seed) {
            const Matrix<double> exponents = normalNumbers(1, static_cast<int>(lines.cols()), seed);
            lines.colwise().normalize();
            lines.array().rowwise() *= (spread * exponents.row(0).array()).exp();
            lines.middleCols(100, 50) = lines.middleCols(700, 50); // ties, some of them the longest
        };
        stretch(given.rows, 33);
        stretch(given.cols, 34);
        for (const ScanEnds ends : {ScanEnds::Largest, ScanEnds::Both, ScanEnds::BothAndColumns}) {
            given.ends = ends;
            QVERIFY(agreesWithBruteForce(given));
            const auto found = given.scan();
            QVERIFY(test::isOk(found));
            QCOMPARE(found->skipped > 0.1, isSkipped);
            QVERIFY(found->skipped < 1);
        }
    }

    void rowsThatNeedFewColumnsShareTiles()
    {
        ScanCase given{
            normalNumbers(2, 640, 41).cwiseAbs(), normalNumbers(2, 1600, 42), {}, {}, 1, ScanEnds::Largest};
        given.cols.row(0) = given.cols.row(0).array().exp();
        given.cols.row(1) *= 0.01; // of no weight in any length
        for (Eigen::Index row = 0; row < given.rows.cols(); ++row)
            given.rows(row % 2, row) = 0;  // every second row meets only that
        given.rows.leftCols(70).setZero(); // more than a tile
        QVERIFY(agreesWithBruteForce(given));
        const auto found = given.scan();
        QVERIFY(test::isOk(found));
        QVERIFY(found->skipped > 0.3);
    }

    void linesThatBytesCannotTellApartAreRankedExactly()
    {
        const Matrix<double> cols = Matrix<double>::Ones(5, 2500)
            + 1e-4 * normalNumbers(5, 2500, 20); // 40 tiles, all of them in doubt
        QVERIFY(agreesWithBruteForce({normalNumbers(5, 200, 19), cols, {}, {}, 1, ScanEnds::BothAndColumns}));
        QVERIFY(agreesWithBruteForce({cols, normalNumbers(5, 200, 19), {}, {}, 1, ScanEnds::BothAndColumns}));
    }

    void columnsAreRankedTheSameInLessMemory()
    {
        ScanCase given{normalNumbers(6, 2100, 17), normalNumbers(6, 130, 18), {}, {}, 3,
                       ScanEnds::BothAndColumns};
        given.unusedRows.assign(2100, false);
        given.unusedRows[7] = true;
        for (const double bytes : {9000.0, 100.0}) { // for two and for eight tiles of rows together
            given.columnBytes = bytes;
            QVERIFY(agreesWithBruteForce(given));
        }
    }

    void unusedTokensAreNeverListed()
    {
        std::vector<bool> unusedCols(600, false);
        std::vector<bool> unusedRows(20, false);
        for (std::size_t i = 0; i < 600; i += 3)
            unusedCols[i] = true;
        unusedRows[4] = true;
        QVERIFY(agreesWithBruteForce({normalNumbers(5, 20, 9), normalNumbers(5, 600, 10), unusedRows,
                                      unusedCols, 10, ScanEnds::BothAndColumns}));
        const std::vector<bool> nearlyAll{true, false, true, true, false};
        QVERIFY(agreesWithBruteForce(
            {normalNumbers(5, 20, 9), normalNumbers(5, 5, 10), {}, nearlyAll, 5, ScanEnds::BothAndColumns}));
    }

    void numbersThatAreNotFiniteAreAnError()
    {
        ScanCase given{normalNumbers(3, 5, 1), normalNumbers(3, 5, 2), {}, {}, 2, ScanEnds::BothAndColumns};
        given.rows(1, 4) = std::numeric_limits<double>::quiet_NaN();
        QVERIFY(test::failsWith(given.scan(), ErrorCode::Corrupt, "NaN or infinity"));
        given.rows(1, 4) = 0;
        given.cols(2, 0) = std::numeric_limits<double>::infinity();
        QVERIFY(test::failsWith(given.scan(), ErrorCode::Corrupt, "NaN or infinity"));
    }

    void stopsWhenAsked()
    {
        const ScanCase given{normalNumbers(3, 50, 1), normalNumbers(3, 50, 2), {}, {}, 2,
                             ScanEnds::BothAndColumns};
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
