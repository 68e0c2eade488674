#include "core/runs/plan.h"
#include "tests/support/analysed.h"
#include "tests/support/every_input.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <complex>

using namespace headwise;
using Vectors = TokenMatrix::Vectors;

namespace {

constexpr Eigen::Index tokens = 5000, d = 3; // several blocks

/// Numbers that float cannot hold.
double numberAt(Eigen::Index token, Eigen::Index k)
{
    return static_cast<double>(token) + 1.0 / static_cast<double>(3 + k);
}

Matrix<double> rowsOf(Eigen::Index first, Eigen::Index count)
{
    return Matrix<double>::NullaryExpr(
        count, d, [first](Eigen::Index i, Eigen::Index k) { return numberAt(first + i, k); });
}

/// The same matrix in one of its forms.
TokenMatrix formOf(Vectors are, Precision precision, bool isHeld)
{
    const auto part = [are](Eigen::Index first, Eigen::Index count) -> Matrix<double> {
        const Matrix<double> rows = rowsOf(first, count);
        return are == Vectors::Rows ? rows : Matrix<double>(rows.transpose());
    };
    const auto rounded = [part](Eigen::Index first, Eigen::Index count) -> Matrix<float> {
        return part(first, count).cast<float>();
    };
    if (precision == Precision::F64)
        return isHeld ? TokenMatrix(are, part(0, tokens))
                      : TokenMatrix(are, tokens, TokenMatrix::Read<double>(part));
    return isHeld ? TokenMatrix(are, rounded(0, tokens))
                  : TokenMatrix(are, tokens, TokenMatrix::Read<float>(rounded));
}

template <typename T>
std::complex<double> number(T value)
{
    return static_cast<double>(value);
}
template <typename T>
std::complex<double> number(std::complex<T> value)
{
    return {static_cast<double>(value.real()), static_cast<double>(value.imag())};
}

/// Tells whether two arrays agree to `tolerance` of their largest number, and ids exactly.
bool agree(const ResultArray& a, const ResultArray& b, double tolerance)
{
    if (a.shape != b.shape || a.values.index() != b.values.index())
        return false;
    return std::visit(
        [&](const auto& left) {
            using Numbers = std::decay_t<decltype(left)>;
            const auto& right = std::get<Numbers>(b.values);
            if constexpr (std::is_same_v<Numbers, std::vector<std::int32_t>>)
                return left == right;
            double largest = 0;
            for (const auto value : left)
                if (const double size = std::abs(number(value)); std::isfinite(size))
                    largest = std::max(largest, size);
            return std::ranges::equal(left, right, [&](auto x, auto y) {
                const double difference = std::abs(number(x) - number(y));
                return std::isfinite(difference)
                    ? difference <= tolerance * largest
                    : std::isfinite(std::abs(number(x))) == std::isfinite(std::abs(number(y)));
            });
        },
        a.values);
}

} // namespace

class TokenMatrixTest : public QObject {
    Q_OBJECT

private slots:
    void everyFormHasTheSameNumbers_data()
    {
        QTest::addColumn<bool>("areRows");
        QTest::addColumn<bool>("isExact");
        QTest::addColumn<bool>("isHeld");
        for (const bool areRows : {true, false})
            for (const bool isExact : {true, false})
                for (const bool isHeld : {true, false})
                    QTest::addRow("%s, %s, %s", areRows ? "rows" : "columns", isExact ? "double" : "float",
                                  isHeld ? "held" : "read")
                        << areRows << isExact << isHeld;
    }
    void everyFormHasTheSameNumbers()
    {
        QFETCH(const bool, areRows);
        QFETCH(const bool, isExact);
        QFETCH(const bool, isHeld);
        const TokenMatrix matrix = formOf(areRows ? Vectors::Rows : Vectors::Columns,
                                          isExact ? Precision::F64 : Precision::F32, isHeld);
        QCOMPARE(matrix.count(), tokens);
        QCOMPARE(matrix.isExact(), isExact);
        QCOMPARE(matrix.isHeld(), isHeld);
        Matrix<double> whole = rowsOf(0, tokens);
        const Matrix<float> rounded = whole.cast<float>();
        if (!isExact)
            whole = rounded.cast<double>();
        const auto asRows = [&](const auto& part) -> Matrix<double> {
            if (areRows)
                return part.template cast<double>();
            return part.transpose().template cast<double>();
        };
        QVERIFY(asRows(*matrix.whole<double>()) == whole);
        QVERIFY(asRows(*matrix.whole<float>()) == rounded.cast<double>());
        QVERIFY(*matrix.columns<double>() == whole.transpose());
        QVERIFY(*matrix.columns<float>() == rounded.transpose());
        QCOMPARE(matrix.exactColumns()->size(), isExact ? whole.size() : Eigen::Index(0));
        QVERIFY(asRows(*matrix.block<double>(2040, 20)) == whole.middleRows(2040, 20));
        QVERIFY(asRows(*matrix.block<float>(4999, 1)) == rounded.bottomRows(1).cast<double>());
        const std::vector<int> ids{7, 8, 9, 4999, 0, 1, 7};
        QVERIFY(asRows(matrix.of<double>(ids)) == whole(ids, Eigen::all));
        QVERIFY(asRows(matrix.of<float>(ids)) == rounded(ids, Eigen::all).cast<double>());
        const Matrix<double> W = Matrix<double>::NullaryExpr(
            d, 2, [](Eigen::Index i, Eigen::Index j) { return static_cast<double>(i - 2 * j); });
        const Matrix<double> product = whole * W;
        QVERIFY(test::isClose(areRows
                                  ? rowsTimes(matrix, W)
                                  : Matrix<double>(timesColumns<double>(W.transpose(), matrix).transpose()),
                              product, 1e-14));
        const auto line = dotTokens(matrix, W.col(1).transpose(), Task{}, "");
        QVERIFY(test::isOk(line));
        QVERIFY(test::isClose(line->transpose(), product.col(1), 1e-14));
        const auto statistics = matrix.statistics(Task{}, "");
        QVERIFY(test::isOk(statistics));
        QVERIFY(test::isClose((*statistics)->mean.transpose(), whole.colwise().mean().transpose(), 1e-13));
        QVERIFY(test::isClose((*statistics)->lengths.transpose(), whole.rowwise().norm(), 1e-14));
        const auto held = matrix.held(Task{}, "");
        QVERIFY(test::isOk(held));
        QVERIFY(held->isHeld() && held->isExact() == isExact);
        QVERIFY(asRows(*held->whole<double>()) == whole);
    }

    void noTokensAreNoNumbers()
    {
        const TokenMatrix none;
        QVERIFY(none.isEmpty());
        QCOMPARE(none.whole<float>()->size(), Eigen::Index(0));
        QVERIFY(test::isOk(none.held(Task{}, "")));
        const auto statistics = none.statistics(Task{}, "");
        QVERIFY(test::isOk(statistics));
        QCOMPARE((*statistics)->lengths.size(), Eigen::Index(0));
    }

    void statisticsAreComputedOnce()
    {
        const TokenMatrix matrix = formOf(Vectors::Rows, Precision::F32, false);
        std::stop_source stop;
        stop.request_stop();
        Task cancelled;
        cancelled.stop = stop.get_token();
        const auto none = matrix.statistics(cancelled, "");
        QVERIFY(!none && none.error().code == ErrorCode::Cancelled);
        const TokenMatrix copy = matrix;
        const auto first = copy.statistics(Task{}, "");
        QVERIFY(test::isOk(first));
        QCOMPARE(matrix.statistics(cancelled, "").value(), first.value()); // nothing to cancel
    }

    void linesAreReadAsTheFileHasThem_data()
    {
        QTest::addColumn<Vectors>("are");
        QTest::newRow("rows") << Vectors::Rows;
        QTest::newRow("columns") << Vectors::Columns;
    }
    void linesAreReadAsTheFileHasThem()
    {
        QFETCH(const Vectors, are);
        const Eigen::Vector3d factors(2, -3, 0.5), mean(1, 10, 100);
        const Matrix<double> whole =
            (rowsOf(0, tokens) * factors.asDiagonal()).rowwise() - mean.transpose(); // [tokens, d]
        TokenMatrix matrix(are, tokens, TokenMatrix::Read<float>([&](Eigen::Index first, Eigen::Index count) {
                               const Matrix<float> rows = whole.middleRows(first, count).cast<float>();
                               return are == Vectors::Rows ? rows : Matrix<float>(rows.transpose());
                           }));
        const RowVector<double> x = Eigen::RowVector3d(1, 0.25, -4);
        const Eigen::VectorXd expected = whole * x.transpose();
        const auto rounded = dotTokens(matrix, x, Task{}, "");
        QVERIFY(test::isOk(rounded));
        QVERIFY(test::isClose(rounded->transpose(), expected, 1e-6));
        QVERIFY(!test::isClose(rounded->transpose(), expected, 1e-12));
        matrix.setStored({factors, mean}, [](Eigen::Index first, Eigen::Index count) -> Matrix<double> {
            return rowsOf(first, count).transpose();
        });
        const auto line = dotTokens(matrix, x, Task{}, "");
        QVERIFY(test::isOk(line));
        QVERIFY(test::isClose(line->transpose(), expected, 1e-12));
    }

    /// A large vocabulary is read from the file wherever an analysis asks for it.
    void everyAnalysisGivesTheSameFromTheFile_data()
    {
        QTest::addColumn<Embedding>("embedding");
        QTest::addColumn<Precision>("precision");
        QTest::newRow("raw") << Embedding::Raw << Precision::F32;
        QTest::newRow("raw in double") << Embedding::Raw << Precision::F64;
        QTest::newRow("effective") << Embedding::Effective << Precision::F32;
        QTest::newRow("unembed") << Embedding::Unembed << Precision::F32;
    }
    void everyAnalysisGivesTheSameFromTheFile()
    {
        QFETCH(const Embedding, embedding);
        QFETCH(const Precision, precision);
        test::ToyOptions toy = test::llamaOptions();
        toy.qkvBias = true;
        int compared = 0;
        for (const Circuits& circuits : {test::toyCircuits({}), test::toyCircuits(toy)}) {
            AnalysisOptions options = test::everyInput(circuits.config(), {{0, 0}, {1, 1}});
            options.embedding = embedding;
            options.precision = precision;
            const auto held = test::tokensOf(circuits, embedding, precision);
            const auto made = tokenSide(circuits, embedding, Task{}, precision, TokenParts::GramsAlone);
            QVERIFY(test::isOk(made));
            const std::shared_ptr<const TokenSide> read = *made;
            QVERIFY(held->W_U.isHeld() && !read->W_U.isHeld());
            for (const Analysis& analysis : catalogue()) {
                if (!analysis.needsTokens || !whyLeftOut(analysis, circuits.config(), options).empty())
                    continue;
                const auto expected = analysis.run(AnalysisContext{circuits, held, options}, Task{});
                const auto found = analysis.run(AnalysisContext{circuits, read, options}, Task{});
                QVERIFY2(test::isOk(expected) && test::isOk(found), analysis.id.data());
                QCOMPARE(found->arrays.size(), expected->arrays.size());
                for (const ResultArray& array : expected->arrays) {
                    const ResultArray* other = found->find(array.path);
                    QVERIFY2(other && agree(*other, array, precision == Precision::F64 ? 1e-12 : 1e-5),
                             array.path.c_str());
                    ++compared;
                }
            }
        }
        QVERIFY(compared > 200);
    }
};

HEADWISE_TEST(TokenMatrixTest)
#include "token_matrix_test.moc"
