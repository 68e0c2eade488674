#include "core/base/decompositions.h"

#include "tests/support/dense_algebra.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <cmath>
#include <limits>
#include <random>

using namespace headwise;

namespace {

Matrix<double> gaussian(Eigen::Index rows, Eigen::Index cols, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    return Matrix<double>::NullaryExpr(rows, cols, [&] { return normal(random); });
}

/// Full rank, rank 2 of at least 4, and zero.
Matrix<double> sample(const QString& kind, int rows, int cols)
{
    if (kind == "zero")
        return Matrix<double>::Zero(rows, cols);
    if (kind == "deficient")
        return gaussian(rows, 2, 1) * gaussian(2, cols, 2);
    return gaussian(rows, cols, 3);
}

void addShapes()
{
    QTest::addColumn<QString>("kind");
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("cols");
    for (const char* kind : {"full", "deficient", "zero"}) {
        QTest::addRow("%s, tall", kind) << kind << 31 << 5;
        QTest::addRow("%s, wide", kind) << kind << 4 << 19;
        QTest::addRow("%s, square", kind) << kind << 7 << 7;
        QTest::addRow("%s, scalar", kind) << kind << 1 << 1;
    }
}

/// Tall matrices at the limits of QR by Cholesky decompositions: lengths, dependence, and squares beyond the range of double.
Matrix<double> extreme(const QString& kind)
{
    Matrix<double> m = gaussian(200, 8, 12);
    if (kind == "lengths") {
        for (int i = 0; i < 8; ++i)
            m.col(i) *= std::pow(10.0, 30 * (i % 3) - 60);
    } else if (kind == "leaning") { // condition about 10: one Cholesky factor
        for (int i = 1; i < 8; ++i)
            m.col(i) += 0.7 * m.col(i - 1);
    } else if (kind == "leaning more") { // about 100: two
        for (int i = 1; i < 8; ++i)
            m.col(i) += 3 * m.col(i - 1);
    } else if (kind == "close") { // condition about 10⁵
        m.col(5) = m.col(2) + 1e-5 * m.col(5);
    } else if (kind == "closer") { // about 10⁹
        m.col(5) = m.col(2) + 1e-9 * m.col(5);
    } else if (kind == "many close") { // each column but 10⁻³ from the one before it
        for (int i = 1; i < 8; ++i)
            m.col(i) = m.col(i - 1) + 1e-3 * m.col(i);
    } else if (kind == "equal") {
        m.col(5) = m.col(2);
    } else if (kind == "zero column") {
        m.col(5).setZero();
    } else if (kind == "huge") {
        m *= 1e200;
    } else if (kind == "tiny") {
        m *= 1e-200;
    } else if (kind == "denormal") {
        m *= 1e-310;
    }
    return m;
}

} // namespace

class DecompositionsTest : public QObject {
    Q_OBJECT

private slots:
    void qrGivesBackTheMatrixFromOrthonormalColumns_data() { addShapes(); }
    void qrGivesBackTheMatrixFromOrthonormalColumns()
    {
        QFETCH(QString, kind);
        QFETCH(int, rows);
        QFETCH(int, cols);
        const Matrix<double> m = sample(kind, rows, cols);
        const auto qr = thinQr(m);
        QVERIFY(test::isOk(qr));
        const int k = std::min(rows, cols);
        QVERIFY(test::isClose((qr->Q * qr->R).eval(), m, 1e-13));
        QVERIFY(test::isClose((qr->Q.transpose() * qr->Q).eval(), Matrix<double>::Identity(k, k), 1e-13));
        QVERIFY(qr->R.isUpperTriangular(0));
        QVERIFY(*triangularFactor(m) == qr->R);
    }

    void qrHoldsAtTheLimitsOfCholesky_data()
    {
        QTest::addColumn<QString>("kind");
        for (const char* kind : {"plain", "lengths", "leaning", "leaning more", "close", "closer",
                                 "many close", "equal", "zero column", "huge", "tiny", "denormal"})
            QTest::newRow(kind) << kind;
    }
    void qrHoldsAtTheLimitsOfCholesky()
    {
        QFETCH(QString, kind);
        const Matrix<double> m = extreme(kind);
        const auto qr = thinQr(m);
        QVERIFY(test::isOk(qr));
        const Matrix<double> identity = Matrix<double>::Identity(8, 8);
        QVERIFY(test::isClose((qr->Q.transpose() * qr->Q).eval(), identity, 1e-14));
        QVERIFY(qr->R.isUpperTriangular(0));
        QVERIFY(*triangularFactor(m) == qr->R);
        const Matrix<double> back = qr->Q * qr->R;
        for (int i = 0; i < 8;
             ++i) { // column by column, so that a short one counts as much; a denormal has few digits
            const double size = m.col(i).cwiseAbs().maxCoeff();
            QVERIFY((back.col(i) - m.col(i)).cwiseAbs().maxCoeff() <= 1e-14 * size + 1e-322);
        }
    }

    void svdOfAProductIsThatOfTheDenseMatrix_data() { qrHoldsAtTheLimitsOfCholesky_data(); }
    void svdOfAProductIsThatOfTheDenseMatrix()
    {
        QFETCH(QString, kind);
        const Matrix<double> left = extreme(kind), right = gaussian(150, 8, 13),
                             dense = left * right.transpose();
        const auto svd = svdOfProduct(left, right), other = svdOfProduct(right, left);
        QVERIFY(test::isOk(svd) && test::isOk(other));
        const auto expected = singularValues(dense);
        QVERIFY(test::isOk(expected));
        const double most = (*expected)[0];
        const Matrix<double> identity = Matrix<double>::Identity(8, 8);
        QVERIFY(((svd->S - expected->head(8)) / most).cwiseAbs().maxCoeff() < 1e-13);
        QVERIFY(((other->S - expected->head(8)) / most).cwiseAbs().maxCoeff() < 1e-13);
        QVERIFY(test::isClose((svd->U.transpose() * svd->U).eval(), identity, 1e-13));
        QVERIFY(test::isClose((svd->V.transpose() * svd->V).eval(), identity, 1e-13));
        const Matrix<double> back = svd->U * svd->S.asDiagonal() * svd->V.transpose();
        QVERIFY(((back - dense) / most).cwiseAbs().maxCoeff() < 1e-13);
    }

    void gramsAreProducts()
    {
        const Matrix<double> m = gaussian(31, 5, 14);
        QVERIFY(test::isClose(columnGram(m), (m.transpose() * m).eval(), 1e-14));
        QVERIFY(columnGram(Matrix<double>(0, 3)) == Matrix<double>::Zero(3, 3));
        QCOMPARE(columnGram(Matrix<double>(3, 0)).size(), Eigen::Index(0));
    }

    void svdGivesBackTheMatrixWhateverItsRank_data() { addShapes(); }
    void svdGivesBackTheMatrixWhateverItsRank()
    {
        QFETCH(QString, kind);
        QFETCH(int, rows);
        QFETCH(int, cols);
        const Matrix<double> m = sample(kind, rows, cols);
        const auto svd = thinSvd(m);
        QVERIFY(test::isOk(svd));
        const int k = std::min(rows, cols);
        const Matrix<double> identity = Matrix<double>::Identity(k, k);
        QVERIFY(test::isClose((svd->U * svd->S.asDiagonal() * svd->V.transpose()).eval(), m, 1e-13));
        QVERIFY(test::isClose((svd->U.transpose() * svd->U).eval(), identity, 1e-13));
        QVERIFY(test::isClose((svd->V.transpose() * svd->V).eval(), identity, 1e-13));
        QVERIFY((svd->S.head(k - 1).array() >= svd->S.tail(k - 1).array()).all());
        QVERIFY(svd->S.minCoeff() >= 0);
        const auto alone = singularValues(m);
        QVERIFY(test::isOk(alone));
        QVERIFY(test::isClose(*alone, svd->S, 1e-13));
    }

    void symmetricEigenvaluesAreThoseOfEigen()
    {
        const Matrix<double> half = gaussian(9, 9, 4);
        const Matrix<double> m = half + half.transpose();
        const auto values = symmetricEigenvalues(m);
        QVERIFY(test::isOk(values));
        QVERIFY(test::isClose(*values, test::DenseEigen(m).eigenvalues(), 1e-13));
    }

    void eigenvaluesSatisfyTheCharacteristicEquation()
    {
        const Matrix<double> m = gaussian(6, 6, 5);
        const auto values = eigenvalues(m);
        QVERIFY(test::isOk(values));
        QVERIFY(std::abs(values->sum() - m.trace()) < 1e-12);
        QVERIFY(std::abs(values->prod() - test::determinantOf(m.cast<std::complex<double>>())) < 1e-11);
        for (const std::complex<double> value : *values) {
            const Eigen::MatrixXcd shifted = m - value * Eigen::MatrixXcd::Identity(6, 6);
            QVERIFY(std::abs(test::determinantOf(shifted)) < 1e-10);
        }
    }

    void eigenvaluesOfARotationByHand()
    {
        const Matrix<double> quarterTurn = (Matrix<double>(2, 2) << 0, -1, 1, 0).finished();
        const auto values = eigenvalues(quarterTurn);
        QVERIFY(test::isOk(values));
        QVERIFY(std::abs((*values)[0] - std::complex<double>(0, 1)) < 1e-15);
        QVERIFY(std::abs((*values)[1] - std::complex<double>(0, -1)) < 1e-15);
    }

    void refusesNumbersThatAreNotFinite_data()
    {
        QTest::addColumn<double>("bad");
        QTest::newRow("nan") << std::numeric_limits<double>::quiet_NaN();
        QTest::newRow("infinity") << std::numeric_limits<double>::infinity();
    }
    void refusesNumbersThatAreNotFinite()
    {
        QFETCH(double, bad);
        Matrix<double> m = gaussian(5, 5, 6);
        m(4, 1) = bad;
        QVERIFY(test::failsWith(thinQr(m), ErrorCode::Corrupt, "[5, 5]"));
        QVERIFY(test::failsWith(triangularFactor(m), ErrorCode::Corrupt, "[5, 5]"));
        Matrix<double> tall = gaussian(20, 5, 6);
        tall(17, 1) = bad;
        QVERIFY(test::failsWith(thinQr(tall), ErrorCode::Corrupt, "[20, 5]"));
        QVERIFY(test::failsWith(triangularFactor(tall), ErrorCode::Corrupt, "[20, 5]"));
        QVERIFY(test::failsWith(svdOfProduct(tall, gaussian(9, 5, 7)), ErrorCode::Corrupt, "[20, 5]"));
        QVERIFY(test::failsWith(svdOfProduct(gaussian(9, 5, 7), tall), ErrorCode::Corrupt, "[20, 5]"));
        QVERIFY(test::failsWith(thinSvd(m), ErrorCode::Corrupt, "NaN or infinity"));
        QVERIFY(test::failsWith(singularValues(m), ErrorCode::Corrupt, "NaN or infinity"));
        QVERIFY(test::failsWith(symmetricEigenvalues(m), ErrorCode::Corrupt, "NaN or infinity"));
        QVERIFY(test::failsWith(eigenvalues(m), ErrorCode::Corrupt, "NaN or infinity"));
        QVERIFY(test::failsWith(eigenvalues<float>(m.cast<float>()), ErrorCode::Corrupt, "NaN or infinity"));
        QVERIFY(test::failsWith(semidefiniteFactor(m), ErrorCode::Corrupt, "NaN or infinity"));
        QVERIFY(test::failsWith(luFactors(m), ErrorCode::Corrupt, "NaN or infinity"));
    }

    void luFactorsSolveTheMatrixAndItsTranspose()
    {
        const Matrix<double> m = gaussian(31, 31, 10), x = gaussian(31, 1, 11);
        const auto lu = luFactors(m);
        QVERIFY(test::isOk(lu));
        QVERIFY(test::isClose((m * luSolution(*lu, LuSide::Matrix, x)).eval(), x, 1e-12));
        QVERIFY(test::isClose((m.transpose() * luSolution(*lu, LuSide::Transpose, x)).eval(), x, 1e-12));
        const auto singular = luFactors(Matrix<double>::Ones(5, 5));
        QVERIFY(test::isOk(singular));
        QCOMPARE(singular->LU.diagonal().cwiseAbs().minCoeff(), 0.0);
        QVERIFY(test::isOk(luFactors(Matrix<double>())));
    }

    void aSemidefiniteFactorGivesBackItsGramAndFindsItsRank()
    {
        for (const Eigen::Index rank : {9, 4, 1, 0}) {
            const Matrix<double> tall = gaussian(20, rank, 8) * gaussian(rank, 9, 9);
            const Matrix<double> gram = tall.transpose() * tall;
            const auto factor = semidefiniteFactor(gram);
            QVERIFY(test::isOk(factor));
            QCOMPARE(factor->rows(), rank);
            QCOMPARE(factor->cols(), Eigen::Index(9));
            QVERIFY(test::isClose((factor->transpose() * *factor).eval(), gram, 1e-13));
        }
    }
};

HEADWISE_TEST(DecompositionsTest)
#include "decompositions_test.moc"
