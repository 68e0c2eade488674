#include "core/analysis/composition/product_norms.h"

#include "tests/support/program.h"

#include <cmath>

using namespace headwise;

namespace {

/// Thin matrices of float64 with one pair of them in float32, their products worked out densely.
struct ThinCase {
    static bool all(int, int) { return true; }

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
        const auto a = rounded(left);
        const Task task{{}, {}, threads};
        if (route == NormRoute::Products)
            return valueOf(normsByProducts<float>(a, alone(), all, task));
        return valueOf(normsByGrams({a, rounded(right), reach, all}, task));
    }
    /// Each right matrix in a group of its own.
    SharedSides<float> alone() const
    {
        SharedSides<float> sides;
        const Eigen::Index r = right.front().rows();
        sides.factors.resize(right.front().cols(), r * static_cast<Eigen::Index>(right.size()));
        for (std::size_t j = 0; j < right.size(); ++j) {
            sides.factors.middleCols(r * static_cast<Eigen::Index>(j), r) =
                right[j].transpose().cast<float>();
            sides.groups.push_back({reach[j], {}});
        }
        return sides;
    }
    static Matrix<double> valueOf(const Result<Matrix<double>>& norms)
    {
        return norms ? *norms : Matrix<double>();
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

    void sidesThatShareAFactorAreTheirProducts_data()
    {
        QTest::addColumn<int>("r"); // left matrices come 512 / r at a time
        QTest::addColumn<int>("leftCount");
        QTest::newRow("fewer than come at once") << 32 << 5;
        QTest::newRow("more than come at once") << 128 << 11;
        QTest::newRow("wider than what comes at once") << 600 << 2;
    }
    void sidesThatShareAFactorAreTheirProducts()
    {
        QFETCH(const int, r);
        QFETCH(const int, leftCount);
        std::srand(4);
        constexpr Eigen::Index d = 97;
        const std::vector<Matrix<double>> left = randomSides(leftCount, r, d, 8);
        SharedSides<double> sides{Matrix<double>::Random(d, 20 * r), {}}; // more groups than come at once
        std::vector<Matrix<double>> dense;                                // [d, r] of each side
        std::vector<int> reach;
        for (int group = 0; group < 20; ++group) {
            const int rootCount = group % 4; // none: the factor itself
            const int own = group < 3 ? 0 : group < 18 ? leftCount / 2 : leftCount;
            const Matrix<double> roots = Matrix<double>::Random(rootCount * r, r);
            const Matrix<double> factor = sides.factors.middleCols(group * r, r);
            for (int root = 0; root < std::max(1, rootCount); ++root) {
                dense.push_back(rootCount == 0 ? factor : factor * roots.middleRows(root * r, r).transpose());
                reach.push_back(own);
            }
            sides.groups.push_back({own, roots});
        }
        std::vector<Strips<double>> strips;
        for (const Matrix<double>& side : left)
            strips.emplace_back(side.transpose());
        const auto isAsked = [&](int i, int j) { return (i + j) % 3 != 0 && (i != 1 || j > 20); };
        const auto norms = normsByProducts<double>(strips, sides, isAsked, Task{{}, {}, 2});
        QVERIFY(norms);
        QCOMPARE(norms->cols(), Eigen::Index(dense.size()));
        for (int j = 0; j < int(dense.size()); ++j) {
            for (int i = 0; i < leftCount; ++i) {
                if (i >= reach[std::size_t(j)] || !isAsked(i, j)) {
                    QVERIFY(std::isnan((*norms)(i, j)));
                    continue;
                }
                const double norm = (left[std::size_t(i)] * dense[std::size_t(j)]).norm();
                QVERIFY(std::abs((*norms)(i, j) - norm) < 1e-12 * norm);
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
