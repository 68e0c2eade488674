#include "core/base/matrix.h"
#include "tests/support/program.h"

#include <QTest>

using namespace headwise;

namespace {

template <typename Scalar>
Matrix<Scalar> counted(Eigen::Index rows, Eigen::Index cols, int start)
{
    Matrix<Scalar> m(rows, cols);
    for (Eigen::Index i = 0; i < m.size(); ++i)
        m.data()[i] = Scalar((i * 7 + start) % 23) / 8 - 1;
    return m;
}

// The sums of the definition, entry by entry; exact, because the entries are few eighths.
template <typename Left, typename Right>
auto bySums(const Left& left, const Right& right)
{
    using Scalar = typename Left::Scalar;
    Matrix<Scalar> out = Matrix<Scalar>::Zero(left.rows(), right.cols());
    for (Eigen::Index i = 0; i < out.rows(); ++i)
        for (Eigen::Index j = 0; j < out.cols(); ++j)
            for (Eigen::Index k = 0; k < left.cols(); ++k)
                out(i, j) += left(i, k) * right(k, j);
    return out;
}

template <typename Scalar>
void everyForm(int rows, int depth, int cols)
{
    const Matrix<Scalar> a = counted<Scalar>(rows, depth, 1);
    const Matrix<Scalar> b = counted<Scalar>(depth, cols, 5);
    const Matrix<Scalar> at = a.transpose();
    const Matrix<Scalar> bt = b.transpose();
    const Matrix<Scalar> ab = bySums(a, b);
    QCOMPARE(Matrix<Scalar>(a * b), ab);
    QCOMPARE(Matrix<Scalar>(at.transpose() * b), ab);
    QCOMPARE(Matrix<Scalar>(a * bt.transpose()), ab);
    QCOMPARE(Matrix<Scalar>(at.transpose() * bt.transpose()), ab);
    QCOMPARE(Matrix<Scalar>((-a) * (2 * b)), Matrix<Scalar>(-2 * ab));
    QCOMPARE(Matrix<Scalar>(a.template cast<double>().template cast<Scalar>() * b), ab);
    QCOMPARE(Matrix<Scalar>((a * b).transpose()), Matrix<Scalar>(ab.transpose()));

    using ByRows = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const ByRows rowsOfA = a;
    QCOMPARE(Matrix<Scalar>(ByRows(rowsOfA * b)), ab);

    Matrix<Scalar> large = Matrix<Scalar>::Ones(rows + 3, cols + 2);
    large.block(1, 1, rows, cols).noalias() += a * b;
    QCOMPARE(Matrix<Scalar>(large.block(1, 1, rows, cols)), Matrix<Scalar>(ab.array() + 1));
    large.block(1, 1, rows, cols).noalias() -= a * b;
    QCOMPARE(large, Matrix<Scalar>(Matrix<Scalar>::Ones(rows + 3, cols + 2)));

    Matrix<Scalar> wide = Matrix<Scalar>::Ones(2 * rows, cols);
    Eigen::Map<Matrix<Scalar>, 0, Eigen::Stride<Eigen::Dynamic, 2>> everySecond(
        wide.data(), rows, cols, Eigen::Stride<Eigen::Dynamic, 2>(2 * rows, 2));
    everySecond += a * b;
    QCOMPARE(Matrix<Scalar>(everySecond), Matrix<Scalar>(ab.array() + 1));
    everySecond = a * b;
    QCOMPARE(Matrix<Scalar>(everySecond), ab);
    Matrix<Scalar> last = Matrix<Scalar>::Ones(3, cols);
    const Matrix<Scalar> lastOfA = a.bottomRows(1);
    last.row(1).noalias() += lastOfA * b;
    QCOMPARE(Matrix<Scalar>(last.row(1)), Matrix<Scalar>(ab.bottomRows(1).array() + 1));
    QCOMPARE(Matrix<Scalar>(last.row(0)), Matrix<Scalar>(Matrix<Scalar>::Ones(1, cols)));
    QCOMPARE(Matrix<Scalar>(last.row(2)), Matrix<Scalar>(Matrix<Scalar>::Ones(1, cols)));
    for (int row = 1; row < 2 * rows; row += 2)
        QCOMPARE(Matrix<Scalar>(wide.row(row)), Matrix<Scalar>(Matrix<Scalar>::Ones(1, cols)));
}

} // namespace

// Products are compiled once for all types of operands; every form of an operand and of a target gives the sums of the definition.
class MatrixProductTest : public QObject {
    Q_OBJECT

private slots:
    void everyFormGivesTheSums_data();
    void everyFormGivesTheSums();
    void bitsAreThoseOfEigen();
    void nothingToSumGivesZeros();
};

void MatrixProductTest::everyFormGivesTheSums_data()
{
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("depth");
    QTest::addColumn<int>("cols");
    QTest::newRow("small") << 3 << 4 << 5;
    QTest::newRow("large") << 33 << 17 << 29;
    QTest::newRow("one row") << 1 << 40 << 30;
    QTest::newRow("one column") << 40 << 30 << 1;
    QTest::newRow("one entry") << 1 << 50 << 1;
    QTest::newRow("outer") << 30 << 1 << 30;
}

void MatrixProductTest::everyFormGivesTheSums()
{
    QFETCH(int, rows);
    QFETCH(int, depth);
    QFETCH(int, cols);
    everyForm<float>(rows, depth, cols);
    everyForm<double>(rows, depth, cols);
}

void MatrixProductTest::bitsAreThoseOfEigen()
{
    for (const int n : {2, 5, 6, 7, 31, 64, 200}) {
        const Matrix<float> a = Matrix<float>::Random(n, n + 1);
        const Matrix<float> b = Matrix<float>::Random(n + 1, n);
        const ProductOperand<float> left(a.data(), n, n + 1, Eigen::OuterStride<>(n));
        const ProductOperand<float> right(b.data(), n + 1, n, Eigen::OuterStride<>(n + 1));
        QVERIFY(Matrix<float>(a * b) == Matrix<float>(left * right));
        QVERIFY(Matrix<float>(b.transpose() * a.transpose())
                == Matrix<float>(right.transpose() * left.transpose()));
    }
}

void MatrixProductTest::nothingToSumGivesZeros()
{
    const Matrix<double> a(3, 0);
    const Matrix<double> b(0, 4);
    QCOMPARE(Matrix<double>(a * b), Matrix<double>(Matrix<double>::Zero(3, 4)));
    QCOMPARE(Matrix<double>(b * Matrix<double>(4, 0)).size(), Eigen::Index(0));
}

HEADWISE_TEST(MatrixProductTest)
#include "matrix_product_test.moc"
