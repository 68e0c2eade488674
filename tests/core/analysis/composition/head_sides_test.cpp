#include "core/analysis/composition/head_sides.h"

#include "core/base/decompositions.h"
#include "tests/support/program.h"

#include <cmath>

using namespace headwise;

namespace {

/// A circuit that owns its factors.
struct OwnCircuit {
    Matrix<double> inner, outer, innerGram, outerGram;

    OwnCircuit(Matrix<double> from, Matrix<double> to)
        : inner(std::move(from))
        , outer(std::move(to))
        , innerGram(columnGram(inner))
        , outerGram(columnGram(outer))
    {
    }
    ThinCircuit circuit() const { return {inner, outer, innerGram, outerGram}; }
    Matrix<double> dense() const { return inner * outer.transpose(); }
};

/// Returns how far ‖M · side‖ is from ‖M · inner · outerᵀ‖ / ‖inner · outerᵀ‖, for a random M.
template <typename Side>
double errorOf(const OwnCircuit& of, const Side& side)
{
    const Matrix<double> M = Matrix<double>::Random(5, of.inner.rows());
    const double score = (M * of.dense()).norm() / of.dense().norm();
    return std::abs((M * side.template cast<double>()).norm() / score - 1);
}

} // namespace

class HeadSidesTest : public QObject {
    Q_OBJECT

private slots:
    void sidesHaveTheNormsOfTheirCircuits_data()
    {
        QTest::addColumn<int>("rank"); // of the outer factor, whose root has as many rows
        QTest::addColumn<double>("scale");
        for (const int rank : {1, 3, 8}) {
            for (const double scale : {1e-30, 1.0, 1e30})
                QTest::addRow("rank %d, scale %g", rank, scale) << rank << scale;
        }
    }
    void sidesHaveTheNormsOfTheirCircuits()
    {
        QFETCH(const int, rank);
        QFETCH(const double, scale);
        std::srand(1);
        const Matrix<double> outer =
            Matrix<double>::Random(40, rank) * Matrix<double>::Random(rank, 8) * scale;
        const OwnCircuit of(Matrix<double>::Random(40, 8), outer);
        const auto exact = sideOf<double>(of.circuit());
        const auto fast = sideOf<float>(of.circuit());
        QVERIFY(exact && errorOf(of, *exact) < 1e-12);
        QVERIFY(fast && errorOf(of, *fast) < 1e-6);
        const auto root = unitRoot(of.circuit());
        QVERIFY(root && errorOf(of, Matrix<float>(unitFactor(of.inner) * root->transpose())) < 1e-6);
    }

    // All but 1e-4 of the outer factor is where the inner one is 0.
    void nearlyCancellingFactorsHaveNoRoot()
    {
        std::srand(2);
        Matrix<double> inner = Matrix<double>::Random(40, 8), outer = Matrix<double>::Random(40, 8);
        inner.leftCols(4).setZero();
        outer.rightCols(4) *= 1e-4;
        const OwnCircuit of(inner, outer);
        QVERIFY(!unitRoot(of.circuit()));
        const auto side = sideOf<float>(of.circuit());
        QVERIFY(side && errorOf(of, *side) < 1e-6);
    }

    void squaresBeyondTheRangeOfDoubleHaveNoRoot()
    {
        std::srand(3);
        for (const double scale : {1e-200, 1e200}) {
            const OwnCircuit ofInner(Matrix<double>::Random(40, 8) * scale, Matrix<double>::Random(40, 8));
            const OwnCircuit ofOuter(ofInner.outer, ofInner.inner);
            QVERIFY(!unitRoot(ofInner.circuit()) && !unitRoot(ofOuter.circuit()));
        }
    }

    void zeroCircuitsAndThoseThatAreNotFiniteHaveNoScore()
    {
        const Matrix<double> one = Matrix<double>::Ones(40, 8), zero = Matrix<double>::Zero(40, 8);
        const Matrix<double> bad = Matrix<double>::Constant(40, 8, std::nan(""));
        for (const auto& [inner, outer] :
             {std::pair(&one, &zero), {&zero, &one}, {&one, &bad}, {&bad, &one}}) {
            const OwnCircuit of(*inner, *outer);
            const auto side = sideOf<float>(of.circuit());
            QVERIFY(side && side->array().isNaN().all());
        }
    }
};

HEADWISE_TEST(HeadSidesTest)
#include "head_sides_test.moc"
