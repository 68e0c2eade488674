#include "core/circuits/factored_matrix.h"

#include "tests/support/dense_algebra.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <limits>
#include <random>

using namespace headwise;

namespace {

template <typename Scalar>
Matrix<Scalar> gaussian(Eigen::Index rows, Eigen::Index cols, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    return Matrix<double>::NullaryExpr(rows, cols, [&] { return normal(random); }).template cast<Scalar>();
}

template <typename Scalar>
FactoredMatrix<Scalar> product(Eigen::Index rows, Eigen::Index inner, Eigen::Index cols)
{
    return *FactoredMatrix<Scalar>::create(gaussian<Scalar>(rows, inner, 1),
                                           gaussian<Scalar>(inner, cols, 2));
}

/// The oracle shares no step with the code: it forms the product, without QR or SVD.
Eigen::VectorXd singularValuesOfDense(const Matrix<double>& dense, Eigen::Index count)
{
    const bool wide = dense.cols() > dense.rows();
    const Matrix<double> gram =
        wide ? Matrix<double>(dense * dense.transpose()) : Matrix<double>(dense.transpose() * dense);
    return test::DenseEigen(gram).eigenvalues().reverse().head(count).cwiseMax(0).cwiseSqrt();
}

template <typename T>
Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>> asVector(const std::vector<T>& values)
{
    return {values.data(), static_cast<Eigen::Index>(values.size())};
}

} // namespace

class FactoredMatrixTest : public QObject {
    Q_OBJECT

private slots:
    void refusesFactorsThatDoNotMultiplyAndNamesTheirShapes()
    {
        QVERIFY(test::failsWith(FactoredMatrix<float>::create(Matrix<float>(3, 2), Matrix<float>(4, 5)),
                                ErrorCode::InvalidArgument, "[3, 2] factor by a [4, 5]"));
        QVERIFY(test::failsWith(FactoredMatrix<float>::create(Matrix<float>(3, 0), Matrix<float>(0, 5)),
                                ErrorCode::InvalidArgument, "[3, 0]"));
        QVERIFY(test::failsWith(product<float>(5, 2, 4).times(Matrix<float>::Zero(3, 3)),
                                ErrorCode::InvalidArgument, "[5, 4] factor by a [3, 3]"));
        QVERIFY(test::failsWith(product<float>(5, 2, 4).after(Matrix<float>::Zero(3, 3)),
                                ErrorCode::InvalidArgument, "[3, 3] factor by a [5, 4]"));
        QVERIFY(test::failsWith(product<float>(5, 2, 4).times(product<float>(5, 2, 4)),
                                ErrorCode::InvalidArgument, "[5, 4] factor by a [5, 4]"));
        QVERIFY(test::failsWith(product<float>(5, 2, 4).eigenvalues(), ErrorCode::InvalidArgument, "[5, 4]"));
    }

    void readsEntriesRowsColumnsAndBlocksOfTheProduct()
    {
        const auto m = product<double>(7, 3, 5);
        const Matrix<double> dense = m.left() * m.right();
        QVERIFY(std::abs(m.at(6, 2) - dense(6, 2)) < 1e-12);
        QVERIFY(test::isClose(m.row(4), dense.row(4), 1e-12));
        QVERIFY(test::isClose(m.column(1), dense.col(1).transpose(), 1e-12));
        QVERIFY(test::isClose(m.block(1, 2, 4, 3), dense.block(1, 2, 4, 3), 1e-12));
        QVERIFY(test::isClose(m.dense(), dense, 1e-12));
        const std::vector<int> rows{6, 0, 6};
        const std::vector<int> cols{4, 1};
        QVERIFY(test::isClose(m.at(rows, cols), dense(rows, cols), 1e-12));
    }

    // In TransformerLens' FactoredMatrix a slice that ends with the last entry, [−1 : 0], is empty. Here the last index
    // is the last entry, and −1 is invalid.
    void theLastIndexIsTheLastEntryAndMinusOneIsNone()
    {
        const auto m = product<float>(7, 3, 5);
        const Matrix<float> dense = m.dense();
        const Matrix<float> lastRow = m.block(6, 0, 1, 5), lastColumn = m.block(0, 4, 7, 1);
        QVERIFY(lastRow.rows() == 1 && lastRow.cols() == 5 && lastColumn.rows() == 7
                && lastColumn.cols() == 1);
        QVERIFY(test::isClose(lastRow, dense.bottomRows(1), 1e-6));
        QVERIFY(test::isClose(lastColumn, dense.rightCols(1), 1e-6));
        QVERIFY(test::isClose(m.row(6), dense.row(6), 1e-6));
        QVERIFY(std::abs(m.at(6, 4) - dense(6, 4)) < 1e-5F);
    }

    void multipliesAndTransposesWithoutFormingTheProduct()
    {
        const auto m = product<double>(7, 3, 5);
        const Matrix<double> dense = m.dense();
        const Matrix<double> square = gaussian<double>(5, 6, 3);
        QVERIFY(test::isClose(m.transposed().dense(), dense.transpose(), 1e-12));
        QCOMPARE(m.transposed().inner(), Eigen::Index(3));
        QVERIFY(test::isClose(m.times(square)->dense(), dense * square, 1e-12));
        const Matrix<double> before = gaussian<double>(4, 7, 4);
        QVERIFY(test::isClose(m.after(before)->dense(), before * dense, 1e-12));
        const RowVector<double> x = gaussian<double>(1, 7, 5);
        QVERIFY(test::isClose(m.apply(x), x * dense, 1e-12));
        for (const Eigen::Index inner : {2, 4}) {
            const auto other =
                *FactoredMatrix<double>::create(gaussian<double>(5, inner, 6), gaussian<double>(inner, 8, 7));
            const auto both = m.times(other);
            QVERIFY(test::isClose(both->dense(), dense * other.dense(), 1e-12));
            QCOMPARE(both->inner(), std::min<Eigen::Index>(3, inner));
        }
    }

    void decomposesAHandMadeProduct()
    {
        // diag(3, 2) written as a product: singular values and vectors are known exactly.
        const Matrix<float> left = (Matrix<float>(3, 2) << 1, 0, 0, 1, 0, 0).finished();
        const Matrix<float> right = (Matrix<float>(2, 2) << 0, 3, 2, 0).finished();
        const auto svd = FactoredMatrix<float>::create(left, right)->svd();
        QVERIFY(test::isOk(svd));
        QVERIFY(test::isClose(svd->S, Eigen::Vector2f(3, 2), 1e-6));
        QVERIFY(test::isClose(svd->U, left, 1e-6));
        QVERIFY(test::isClose(svd->V, (Matrix<float>(2, 2) << 0, 1, 1, 0).finished(), 1e-6));
    }

    // V is V: M v_k = σ_k u_k holds for its columns, not for its rows, even if the sizes are equal (TransformerLens,
    // issue 341).
    void vIsVAndNotItsTranspose()
    {
        const auto thin = product<double>(9, 4, 6).svd();
        QVERIFY(test::isOk(thin));
        QVERIFY(thin->U.rows() == 9 && thin->U.cols() == 4 && thin->V.rows() == 6 && thin->V.cols() == 4);
        const auto square = product<double>(5, 5, 5);
        const auto svd = square.svd();
        QVERIFY(test::isOk(svd));
        const Matrix<double> dense = square.dense();
        for (Eigen::Index k = 0; k < 5; ++k) {
            const Eigen::VectorXd expected = svd->S(k) * svd->U.col(k);
            QVERIFY((dense * svd->V.col(k) - expected).norm() < 1e-12 * svd->S(0));
            QVERIFY((dense * svd->V.row(k).transpose() - expected).norm() > 1e-2 * svd->S(k));
        }
    }

    void svdAndSingularValuesAgreeWithTheDenseProduct_data()
    {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("inner");
        QTest::addColumn<int>("cols");
        QTest::newRow("low rank") << 60 << 4 << 50;
        QTest::newRow("few rows") << 4 << 60 << 50;
        QTest::newRow("few columns") << 60 << 50 << 4;
        QTest::newRow("one number") << 1 << 1 << 1;
        QTest::newRow("square") << 7 << 7 << 7;
        QTest::newRow("three tokens, 16 per head") << 3 << 16 << 3;
    }
    void svdAndSingularValuesAgreeWithTheDenseProduct()
    {
        QFETCH(int, rows);
        QFETCH(int, inner);
        QFETCH(int, cols);
        const Eigen::Index k = std::min({rows, inner, cols});
        const auto m = product<float>(rows, inner, cols);
        const Matrix<double> dense = m.left().cast<double>() * m.right().cast<double>();
        const auto svd = m.svd();
        QVERIFY(test::isOk(svd));
        const Eigen::VectorXd expected = singularValuesOfDense(dense, k);
        QVERIFY(test::isClose(svd->S, expected, 1e-6));
        QVERIFY(test::isClose((svd->U * svd->S.asDiagonal() * svd->V.transpose()).eval(), dense, 1e-5));
        QVERIFY(test::isClose((svd->U.transpose() * svd->U).eval(), Matrix<float>::Identity(k, k), 1e-5));
        QVERIFY(test::isClose((svd->V.transpose() * svd->V).eval(), Matrix<float>::Identity(k, k), 1e-5));

        const auto exact = product<double>(rows, inner, cols);
        const Matrix<double> exactDense = exact.dense();
        const auto values = exact.singularValues();
        QVERIFY(test::isOk(values));
        QVERIFY(test::isClose(asVector(*values), singularValuesOfDense(exactDense, k),
                              1e-7)); // the oracle's own: √ε
        QVERIFY(std::abs(exact.frobeniusNorm() - exactDense.norm()) <= 1e-12 * exactDense.norm());
    }

    void eigenvaluesAreThoseOfTheDenseProduct_data()
    {
        QTest::addColumn<int>("size");
        QTest::addColumn<int>("inner");
        QTest::newRow("low rank") << 40 << 5;
        QTest::newRow("full") << 6 << 6;
        QTest::newRow("three tokens, 16 per head") << 3 << 16;
        QTest::newRow("one number") << 1 << 1;
    }
    void eigenvaluesAreThoseOfTheDenseProduct()
    {
        QFETCH(int, size);
        QFETCH(int, inner);
        const auto m = product<double>(size, inner, size);
        const auto values = m.eigenvalues();
        QVERIFY(test::isOk(values));
        QCOMPARE(static_cast<int>(values->size()), std::min(size, inner));
        const auto expected = inReadingOrder(test::eigenvaluesOf(m.dense()));
        for (std::size_t i = 0; i < values->size(); ++i)
            QVERIFY(std::abs((*values)[i] - expected[i]) <= 1e-9 * std::abs(expected[0]));
        for (std::size_t i = 1; i < values->size(); ++i)
            QVERIFY(std::abs((*values)[i]) <= std::abs((*values)[i - 1]));
    }

    void eigenvaluesAreListedInTheirFixedOrder()
    {
        using C = std::complex<double>;
        const Eigen::VectorXcd shuffled =
            (Eigen::VectorXcd(6) << C(-2, 0), C(0, -3), C(1, 0), C(0, 3), C(2, 0), C(3, 0)).finished();
        const std::vector<C> expected{C(3, 0), C(0, 3), C(0, -3), C(2, 0), C(-2, 0), C(1, 0)};
        QVERIFY(inReadingOrder(shuffled) == expected);
    }

    void rankDeficientFactorsGiveTrailingZeros()
    {
        Matrix<double> left = gaussian<double>(20, 4, 3);
        left.col(3) = left.col(0);
        const auto m = *FactoredMatrix<double>::create(left, gaussian<double>(4, 20, 4));
        const auto svd = m.svd();
        QVERIFY(svd->S(2) > 1e-2 * svd->S(0));
        QVERIFY(svd->S(3) < 1e-12 * svd->S(0));
        QVERIFY(test::isClose((svd->U.transpose() * svd->U).eval(), Matrix<double>::Identity(4, 4), 1e-12));
        QVERIFY(std::abs(m.eigenvalues()->back()) < 1e-12 * svd->S(0));

        const auto zero =
            *FactoredMatrix<double>::create(Matrix<double>::Zero(5, 2), Matrix<double>::Ones(2, 5));
        QCOMPARE(*zero.singularValues(), std::vector<double>(2, 0.0));
        QCOMPARE(zero.frobeniusNorm(), 0.0);
    }

    void svdSignsDoNotDependOnTheSignsOfTheFactors()
    {
        const auto m = product<float>(9, 3, 8);
        const auto a = m.svd();
        const auto b = FactoredMatrix<float>::create(-m.left(), -m.right())->svd();
        QVERIFY(test::isClose(b->U, a->U, 1e-5));
        QVERIFY(test::isClose(b->V, a->V, 1e-5));
    }

    void theSpectrumDoesNotDependOnTheBasisInsideTheHead()
    {
        const auto m = product<double>(30, 5, 30);
        const Matrix<double> basis = gaussian<double>(5, 5, 9);
        const auto turned =
            FactoredMatrix<double>::create(m.left() * basis, test::inverseOf(basis) * m.right());
        QVERIFY(test::isClose(asVector(*turned->singularValues()), asVector(*m.singularValues()), 1e-10));
        QVERIFY(test::isClose(asVector(*turned->eigenvalues()), asVector(*m.eigenvalues()), 1e-9));
    }

    void numbersThatAreNotFiniteAreAnErrorAndNotAHang()
    {
        for (const float bad :
             {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            Matrix<float> left = gaussian<float>(6, 2, 1);
            left(3, 1) = bad;
            const auto m = *FactoredMatrix<float>::create(left, gaussian<float>(2, 6, 2));
            QVERIFY(test::failsWith(m.svd(), ErrorCode::Corrupt, "NaN or infinity"));
            QVERIFY(test::failsWith(m.singularValues(), ErrorCode::Corrupt, "NaN or infinity"));
            QVERIFY(test::failsWith(m.eigenvalues(), ErrorCode::Corrupt, "NaN or infinity"));
        }
    }
};

HEADWISE_TEST(FactoredMatrixTest)
#include "factored_matrix_test.moc"
