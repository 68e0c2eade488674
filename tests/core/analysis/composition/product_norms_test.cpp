#include "core/analysis/composition/product_norms.h"

#include "tests/support/program.h"

#include <cmath>

using namespace headwise;

namespace {

/// Thin matrices of float64 with one pair of them in float32, their products worked out densely.
struct ThinCase {
    std::vector<Matrix<double>> left, right;
    std::vector<int> reach;

    static std::vector<Strips<float>> rounded(const std::vector<Matrix<double>>& sides)
    {
        std::vector<Strips<float>> out;
        for (const Matrix<double>& side : sides)
            out.emplace_back(side.transpose().cast<float>());
        return out;
    }
    Matrix<double> norms(NormRoute route, int threads = 1) const
    {
        const auto a = rounded(left), b = rounded(right);
        const auto found =
            productNorms<float>({a, b, reach, [](int, int) { return true; }}, route, Task{{}, {}, threads});
        return found ? *found : Matrix<double>();
    }
    double dense(int i, int j) const
    {
        return (left[static_cast<std::size_t>(i)] * right[static_cast<std::size_t>(j)].transpose()).norm();
    }
};

/// Random sides of norm 1, [r, d]. \param rank of each
std::vector<Matrix<double>> randomSides(int count, Eigen::Index r, Eigen::Index d, Eigen::Index rank)
{
    std::vector<Matrix<double>> sides;
    for (int i = 0; i < count; ++i) {
        Matrix<double> side = Matrix<double>::Random(r, rank) * Matrix<double>::Random(rank, d);
        side /= side.norm();
        sides.push_back(side.cast<float>().cast<double>());
    }
    return sides;
}

} // namespace

/// Norms of products of thin matrices by both routes.
class ProductNormsTest : public QObject {
    Q_OBJECT

private slots:
    void bothRoutesAreTheDenseNorms_data()
    {
        QTest::addColumn<int>("d"); // below, at and above a tile's edge
        QTest::addColumn<int>("rank");
        for (const int d : {40, 96, 97, 230}) {
            for (const int rank : {1, 2, 8})
                QTest::addRow("d %d, rank %d", d, rank) << d << rank;
        }
    }
    void bothRoutesAreTheDenseNorms()
    {
        QFETCH(const int, d);
        QFETCH(const int, rank);
        std::srand(1);
        const ThinCase of{randomSides(5, 8, d, rank), randomSides(4, 8, d, rank), {2, 2, 5, 5}};
        for (const NormRoute route : {NormRoute::Products, NormRoute::Grams}) {
            const Matrix<double> norms = of.norms(route);
            QCOMPARE(norms.rows(), 5);
            for (int i = 0; i < 5; ++i) {
                for (int j = 0; j < 4; ++j) {
                    if (i >= of.reach[static_cast<std::size_t>(j)])
                        QVERIFY(std::isnan(norms(i, j)));
                    else
                        QVERIFY2(std::abs(norms(i, j) - of.dense(i, j)) < 1e-7,
                                 qPrintable(QString::number(norms(i, j) - of.dense(i, j))));
                }
            }
        }
    }

    // Gram matrices of norm 1 whose inner product is far below their rounding.
    void nearlyOrthogonalPairsKeepTheirDigits()
    {
        std::srand(2);
        constexpr Eigen::Index d = 200;
        for (const double angle : {0.0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.04, 0.1}) {
            RowVector<double> u = RowVector<double>::Random(d).normalized();
            RowVector<double> v = RowVector<double>::Random(d);
            v = (v - v.dot(u) * u).normalized();
            ThinCase of{{Matrix<double>::Zero(4, d)}, {Matrix<double>::Zero(4, d)}, {1}};
            of.left[0].row(1) = u.cast<float>().cast<double>();
            of.right[0].row(2) = (std::cos(angle) * v + std::sin(angle) * u).cast<float>().cast<double>();
            const double norm = of.norms(NormRoute::Grams)(0, 0);
            QVERIFY2(std::abs(norm - of.dense(0, 0)) < 3e-7,
                     qPrintable(QStringLiteral("%1: %2").arg(angle).arg(norm - of.dense(0, 0))));
        }
    }

    void threadsChangeNothingAndNaNStaysInItsPair()
    {
        std::srand(3);
        ThinCase of{randomSides(6, 4, 300, 4), randomSides(6, 4, 300, 4), {3, 3, 3, 6, 6, 6}};
        of.left[1].setConstant(notComputed);
        const Matrix<double> one = of.norms(NormRoute::Grams, 1), three = of.norms(NormRoute::Grams, 3);
        for (int j = 0; j < 6; ++j) {
            for (int i = 0; i < of.reach[static_cast<std::size_t>(j)]; ++i) {
                QCOMPARE(std::isnan(one(i, j)), i == 1);
                QVERIFY(i == 1 || one(i, j) == three(i, j));
            }
        }
    }
};

HEADWISE_TEST(ProductNormsTest)
#include "product_norms_test.moc"
