#include "core/circuits/largest_entries.h"

#include "tests/support/analysed.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>

using namespace headwise;
using namespace headwise::test;

namespace {

Matrix<double> gaussian(Eigen::Index rows, Eigen::Index cols, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    return Matrix<double>::NullaryExpr(rows, cols, [&] { return normal(random); });
}

FactoredMatrix<double> product(Matrix<double> left, Matrix<double> right)
{
    return FactoredMatrix<double>::create(std::move(left), std::move(right)).value();
}

bool isMarked(const std::vector<bool>& marks, Eigen::Index id)
{
    return !marks.empty() && marks[static_cast<std::size_t>(id)];
}

/// Brute force: the first entries of the dense product in double, equal ones by their place.
std::vector<MatrixEntry> sortedEntries(const Matrix<double>& dense, const EntrySearch& search)
{
    std::vector<MatrixEntry> all;
    for (Eigen::Index row = 0; row < dense.rows(); ++row) {
        for (Eigen::Index col = 0; col < dense.cols(); ++col) {
            if (!isMarked(search.unusedRows, row) && !isMarked(search.unusedCols, col))
                all.push_back({static_cast<int>(row), static_cast<int>(col), dense(row, col)});
        }
    }
    const auto isBefore = [](const MatrixEntry& a, const MatrixEntry& b) {
        return std::tuple(b.value, a.row, a.col) < std::tuple(a.value, b.row, b.col);
    };
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), search.count));
    std::nth_element(all.begin(), end, all.end(), isBefore);
    std::sort(all.begin(), end, isBefore);
    all.erase(end, all.end());
    return all;
}

/// Compares entries in order. Sums in another order may differ in their last digits.
bool areSame(const std::vector<MatrixEntry>& found, const std::vector<MatrixEntry>& expected,
             double tolerance)
{
    if (found.size() != expected.size()) {
        qWarning("%d entries, expected %d", int(found.size()), int(expected.size()));
        return false;
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i].row != expected[i].row || found[i].col != expected[i].col
            || std::abs(found[i].value - expected[i].value) > tolerance) {
            qWarning("rank %d: (%d, %d) %.17g, expected (%d, %d) %.17g", int(i), found[i].row, found[i].col,
                     found[i].value, expected[i].row, expected[i].col, expected[i].value);
            return false;
        }
    }
    return true;
}

bool agreesWithBruteForce(const FactoredMatrix<double>& matrix, const EntrySearch& search)
{
    const auto found = largestEntries(matrix, search, Task{});
    if (!isOk(found))
        return false;
    const Matrix<double> dense = matrix.dense();
    return areSame(*found, sortedEntries(dense, search), 1e-13 * dense.cwiseAbs().maxCoeff());
}

/// Rows of log-normal length, as token vectors have.
Matrix<double> logNormalRows(Eigen::Index rows, Eigen::Index cols, double sigma, unsigned seed)
{
    const Matrix<double> lengths = gaussian(rows, 1, seed + 1000);
    return (sigma * lengths).array().exp().matrix().asDiagonal() * gaussian(rows, cols, seed);
}

} // namespace

class LargestEntriesTest : public QObject {
    Q_OBJECT

private slots:
    void fourEntriesByHand()
    {
        // (1 0; 2 1) (3 -1; 5 4) = (3 -1; 11 2)
        const auto matrix = product((Matrix<double>(2, 2) << 1, 0, 2, 1).finished(),
                                    (Matrix<double>(2, 2) << 3, -1, 5, 4).finished());
        const std::vector<MatrixEntry> all{{1, 0, 11}, {0, 0, 3}, {1, 1, 2}, {0, 1, -1}};
        for (const std::size_t count : {1, 3, 4, 9}) {
            const auto found = largestEntries(matrix, {count, {}, {}}, Task{});
            QVERIFY(isOk(found));
            QVERIFY(
                *found
                == std::vector(all.begin(), all.begin() + std::ptrdiff_t(std::min<std::size_t>(count, 4))));
        }
        const auto some = largestEntries(matrix, {4, {false, true}, {true, false}}, Task{});
        QVERIFY(isOk(some));
        QVERIFY(*some == (std::vector<MatrixEntry>{{0, 1, -1}}));
        const auto none = largestEntries(matrix, {4, {true, true}, {}}, Task{});
        QVERIFY(isOk(none));
        QVERIFY(none->empty());
    }

    void tiesGoToTheLowerRowThenTheLowerColumn()
    {
        const auto zero = product(Matrix<double>::Zero(3, 2), gaussian(2, 4, 5));
        const auto first = largestEntries(zero, {6, {true, false, false}, {}}, Task{});
        QVERIFY(isOk(first));
        QVERIFY(
            *first
            == (std::vector<MatrixEntry>{{1, 0, 0}, {1, 1, 0}, {1, 2, 0}, {1, 3, 0}, {2, 0, 0}, {2, 1, 0}}));

        // Small whole numbers: exact in float32 too, so that whole groups of entries tie.
        const Matrix<double> left = (3 * gaussian(700, 3, 1)).array().round().matrix();
        const Matrix<double> right = (3 * gaussian(3, 1100, 2)).array().round().matrix();
        for (const std::size_t count : {1u, 37u, 1000u, 5000u})
            QVERIFY(agreesWithBruteForce(product(left, right), {count, {}, {}}));
        QVERIFY(agreesWithBruteForce(product(Matrix<double>::Ones(600, 2), Matrix<double>::Ones(2, 600)),
                                     {77, {}, {}}));
    }

    void agreesWithTheSortedProduct_data()
    {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("inner");
        QTest::addColumn<int>("cols");
        QTest::addColumn<double>("sigma");
        QTest::newRow("equal lengths") << 700 << 16 << 1300 << 0.0;
        QTest::newRow("log-normal") << 700 << 16 << 1300 << 0.25;
        QTest::newRow("far apart") << 700 << 16 << 1300 << 2.0;
        QTest::newRow("one row") << 1 << 5 << 1300 << 0.25;
        QTest::newRow("one column") << 1300 << 5 << 1 << 0.25;
        QTest::newRow("fewer tokens than d_head") << 11 << 64 << 13 << 0.25;
    }
    void agreesWithTheSortedProduct()
    {
        QFETCH(int, rows);
        QFETCH(int, inner);
        QFETCH(int, cols);
        QFETCH(double, sigma);
        const Matrix<double> left = logNormalRows(rows, inner, sigma, 1);
        const Matrix<double> right = logNormalRows(cols, inner, sigma, 2).transpose();
        std::vector<bool> unused(std::size_t(rows), false);
        for (std::size_t i = 0; i < unused.size() && rows > 1; i += 3)
            unused[i] = true;
        for (const std::size_t count : {1u, 100u, 20000u}) {
            QVERIFY(agreesWithBruteForce(product(left, right), {count, {}, {}}));
            QVERIFY(agreesWithBruteForce(product(left, right), {count, unused, {}}));
            QVERIFY(agreesWithBruteForce(product(-left, right), {count, {}, {}}));
        }
        QVERIFY(agreesWithBruteForce(product(left, right), {3000000, {}, {}})); // all there are
    }

    /// Entries that float32 cannot separate, factors that it cannot hold, and directions that one side lacks.
    void roundingNeverDecides()
    {
        Matrix<double> left = Matrix<double>::Ones(900, 3) + 1e-9 * gaussian(900, 3, 3);
        const Matrix<double> right = Matrix<double>::Ones(3, 900) + 1e-9 * gaussian(3, 900, 4);
        QVERIFY(agreesWithBruteForce(product(left, right), {500, {}, {}}));
        const Matrix<double> small = 1e-30 * gaussian(700, 8, 5);
        QVERIFY(agreesWithBruteForce(product(small, 1e-30 * gaussian(8, 700, 6)), {500, {}, {}}));
        QVERIFY(agreesWithBruteForce(product(1e60 * small, 1e40 * gaussian(8, 700, 6)), {500, {}, {}}));
        Matrix<double> thin = gaussian(700, 8, 7);
        thin.rightCols(5).setZero();
        Matrix<double> wide = gaussian(8, 700, 8);
        wide.topRows(2).setZero();
        QVERIFY(agreesWithBruteForce(product(thin, wide), {500, {}, {}}));
        wide.topRows(3).setZero(); // the two sides share nothing: a product of exact zeros
        QVERIFY(agreesWithBruteForce(product(thin, wide), {50, {}, {}}));
    }

    void theBasisOfTheHeadAndTheThreadsChangeNothing()
    {
        const Matrix<double> left = logNormalRows(1500, 12, 0.5, 1);
        const Matrix<double> right = logNormalRows(1500, 12, 0.5, 2).transpose();
        Matrix<double> T = gaussian(12, 12, 9);
        T.col(3) *= 1e3; // hides the lengths from a bound that ignores one side
        const auto plain = largestEntries(product(left, right), {300, {}, {}}, Task{});
        const auto moved =
            largestEntries(product(left * T, test::inverseOf(T) * right), {300, {}, {}}, Task{});
        QVERIFY(isOk(plain) && isOk(moved));
        QVERIFY(areSame(*moved, *plain, 1e-9 * plain->front().value));
        for (const int threads : {1, 2, 7}) {
            Task task;
            task.threads = threads;
            const auto again = largestEntries(product(left, right), {300, {}, {}}, task);
            QVERIFY(isOk(again));
            QVERIFY(*again == *plain);
        }
    }

    /// The result equals brute force on a model of 2000 tokens.
    void ofAModelOfTwoThousandTokens()
    {
        ToyOptions toy;
        toy.dVocab = 2003;
        const Circuits circuits = toyCircuits(toy);
        const auto tokens = tokensOf(circuits, Embedding::Raw, Precision::F64);
        for (const CircuitKind kind : {CircuitKind::FullOv, CircuitKind::FullQk}) {
            const HeadId head{1, 2};
            const Matrix<double> dense = denseCircuit(circuits, kind, head);
            const auto found =
                largestEntries(circuits.circuit<double>(kind, head, tokens.get()), {1000, {}, {}}, Task{});
            QVERIFY(isOk(found));
            QVERIFY(
                areSame(*found, sortedEntries(dense, {1000, {}, {}}), 1e-12 * dense.cwiseAbs().maxCoeff()));
        }
    }

    void theAnalysisOfEveryClass()
    {
        for (const auto& [name, toy] : toyClasses()) {
            const Circuits circuits = toyCircuits(toy);
            AnalysisOptions options;
            options.precision = Precision::F64;
            options.heads = {{1, 1}};
            options.unusedTokens.assign(std::size_t(toy.dVocab), false);
            options.unusedTokens[2] = true;
            const ResultSet results = analysed(circuits, {"largest_entries"}, options);
            for (const CircuitKind kind : {CircuitKind::FullOv, CircuitKind::FullQk}) {
                const std::string path = "analyses/largest_entries/" + std::string(circuitName(kind));
                const Matrix<double> dense = denseCircuit(circuits, kind, {1, 1});
                const auto expected = sortedEntries(dense, {100, options.unusedTokens, options.unusedTokens});
                const auto rows = numbers(results, path + "_row_ids");
                const auto cols = numbers(results, path + "_column_ids");
                const auto values = numbers(results, path + "_values");
                const std::size_t listed = std::min<std::size_t>(100, std::size_t(dense.size()));
                const std::size_t first = std::size_t(circuits.config().nHeads + 1) * listed;
                QCOMPARE(values.size(), std::size_t(2 * circuits.config().nHeads) * listed);
                for (std::size_t i = 0; i < listed; ++i) {
                    const bool exists = i < expected.size();
                    if (exists
                        && (rows[first + i] != expected[i].row || cols[first + i] != expected[i].col
                            || std::abs(values[first + i] - expected[i].value)
                                > 1e-12 * dense.cwiseAbs().maxCoeff()))
                        QFAIL(qPrintable(QString("%1: rank %2 of %3").arg(name).arg(i).arg(path.c_str())));
                    if (!exists)
                        QVERIFY(rows[first + i] == -1 && std::isnan(values[first + i]));
                }
                QVERIFY(rows[0] == -1 && cols[0] == -1 && std::isnan(values[0])); // 0.0 was not asked for
            }
        }
    }

    /// For Gaussian entries the null is right on average.
    void theNullIsWhatGaussianEntriesReach()
    {
        ToyOptions toy;
        toy.dVocab = 101;
        const ResultSet results = analysed(toyCircuits(toy), {"largest_entries"}, {});
        const auto null = numbers(results, "analyses/largest_entries/full_ov_null");
        const Matrix<double> dense = denseCircuit(toyCircuits(toy), CircuitKind::FullOv, {0, 0});
        const double n = double(dense.size());
        const double mean = dense.mean();
        const double deviation = std::sqrt((dense.array() - mean).square().mean());
        for (const std::size_t i : {0u, 9u, 99u}) { // Φ((null − μ)/σ) = 1 − (rank − ½)/n
            const double tail = 0.5 * std::erfc((null[i] - mean) / deviation / std::sqrt(2.0));
            QVERIFY(std::abs(tail * n - (double(i) + 0.5)) < 1e-3);
        }
    }

    /// … and tokens that are left out do not affect it, however extreme they are.
    void theNullIsOfTheTokensInUseAlone()
    {
        const Matrix<double> left = gaussian(40, 5, 11), right = gaussian(5, 60, 12);
        Matrix<double> loudLeft = left, loudRight = right;
        std::vector<bool> rows(40, false), cols(60, false);
        for (const int row : {0, 7, 39}) {
            loudLeft.row(row) *= 1e4;
            rows[std::size_t(row)] = true;
        }
        for (const int col : {3, 59}) {
            loudRight.col(col).setConstant(1e3);
            cols[std::size_t(col)] = true;
        }
        const EntrySearch search{50, rows, cols};
        const std::vector<double> found = largestGaussianEntries(product(loudLeft, loudRight), search);
        QVERIFY(found == largestGaussianEntries(product(left, right), search));
        QCOMPARE(found.size(), std::size_t(50));
        double sum = 0, squares = 0, n = 0;
        for (const MatrixEntry& entry : sortedEntries(left * right, {2400, rows, cols}))
            sum += entry.value, squares += entry.value * entry.value, n += 1;
        QCOMPARE(n, 37.0 * 58.0);
        const double deviation = std::sqrt(squares / n - sum / n * (sum / n));
        for (const std::size_t i : {0u, 20u, 49u}) {
            const double tail = 0.5 * std::erfc((found[i] - sum / n) / deviation / std::sqrt(2.0));
            QVERIFY(std::abs(tail * n - (double(i) + 0.5)) < 1e-6 * n);
        }
        QCOMPARE(largestGaussianEntries(product(left, right), {9999, rows, cols}).size(),
                 std::size_t(37 * 58));
        QVERIFY(largestGaussianEntries(product(left, right), {4, std::vector<bool>(40, true), {}}).empty());

        ToyOptions toy;
        AnalysisOptions options;
        options.precision = Precision::F64;
        options.unusedTokens.assign(std::size_t(toy.dVocab), false);
        options.unusedTokens[2] = true;
        const Circuits circuits = toyCircuits(toy);
        const auto tokens = tokensOf(circuits, Embedding::Raw, Precision::F64);
        const ResultSet results = analysed(circuits, {"largest_entries"}, options);
        const auto null = numbers(results, "analyses/largest_entries/full_qk_null");
        const std::vector<double> expected =
            largestGaussianEntries(circuits.circuit<double>(CircuitKind::FullQk, {0, 0}, tokens.get()),
                                   {100, options.unusedTokens, options.unusedTokens});
        QCOMPARE(expected.size(), std::size_t((toy.dVocab - 1) * (toy.dVocab - 1)));
        for (std::size_t i = 0; i < expected.size(); ++i)
            QVERIFY(std::abs(null[i] - expected[i]) < 1e-12);
    }

    void refusals()
    {
        Matrix<double> left = gaussian(5, 3, 1);
        left(4, 2) = std::numeric_limits<double>::quiet_NaN();
        const auto notFinite = largestEntries(product(left, gaussian(3, 5, 2)), {1, {}, {}}, Task{});
        QVERIFY(failsWith(notFinite, ErrorCode::Corrupt, "NaN or infinity"));

        std::stop_source stop;
        stop.request_stop();
        const Task cancelled{stop.get_token(), {}, 0};
        const auto never =
            largestEntries(product(gaussian(50, 3, 1), gaussian(3, 50, 2)), {1, {}, {}}, cancelled);
        QVERIFY(failsWith(never, ErrorCode::Cancelled, "cancelled"));

        ModelConfig large = toyCircuits({}).config();
        large.nLayers = large.nHeads = 12;
        large.dVocab = large.dVocabOut = 50257;
        large.dHead = 64;
        large.dModel = 768;
        const Analysis& row = *findAnalysis("largest_entries");
        QVERIFY(row.whyNot(large, {}).find("--heads") != std::string::npos);
        AnalysisOptions named;
        named.heads = {{0, 0}};
        QVERIFY(row.whyNot(large, named).empty());
        QVERIFY(row.whyNot(toyCircuits({}).config(), {}).empty());
    }
};

HEADWISE_TEST(LargestEntriesTest)
#include "largest_entries_test.moc"
