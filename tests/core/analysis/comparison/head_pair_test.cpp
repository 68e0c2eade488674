#include "core/analysis/comparison/head_pair.h"

#include "core/analysis/comparison/ratio.h"
#include "core/base/decompositions.h"
#include "tests/support/planted.h"
#include "tests/support/program.h"

#include <QTest>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

using namespace headwise;
using namespace headwise::test;

class HeadPairTest : public QObject {
    Q_OBJECT

private slots:
    void agreesWithDenseMatrices()
    {
        ToyOptions options = plantedOptions();
        options.dModel = 13;
        const PlantedModel model(options);
        const Circuits circuits = model.circuits();
        const HeadId a{0, 2}, b{1, 1};
        for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov}) {
            const auto pair = compareHeads({circuits, a}, {circuits, b}, kind, Task{});
            QVERIFY(pair);
            const auto dense = [&](HeadId head) {
                return circuits.circuit<double>(kind, head, nullptr).dense();
            };
            const Matrix<double> A = dense(a), B = dense(b);
            QVERIFY(std::abs(pair->cosine - A.cwiseProduct(B).sum() / (A.norm() * B.norm())) < 1e-10);
            const auto left = [](const Matrix<double>& m) {
                return Matrix<double>(thinSvd(m)->U.leftCols(5));
            };
            QVERIFY(std::abs(pair->leftKernel - (left(A).transpose() * left(B)).squaredNorm()) < 1e-9);
            const Matrix<double> At = A.transpose(), Bt = B.transpose();
            QVERIFY(std::abs(pair->rightKernel - (left(At).transpose() * left(Bt)).squaredNorm()) < 1e-9);
            const Eigen::VectorXd sA = singularValues(A)->head(5), sB = singularValues(B)->head(5);
            QVERIFY(std::abs(pair->spectrumDistance - (sA / sA.norm() - sB / sB.norm()).norm()) < 1e-9);
            QCOMPARE(pair->first.size(), 5U);
            QVERIFY(std::abs(pair->first[1] - sA(1)) < 1e-9 && std::abs(pair->second[0] - sB(0)) < 1e-9);
            QCOMPARE(pair->kernelOfChance, 25.0 / 13);
        }
    }

    void aHeadIsLikeItself()
    {
        const PlantedModel model(plantedOptions());
        const Circuits circuits = model.circuits();
        const auto pair = compareHeads({circuits, {1, 0}}, {circuits, {1, 0}}, CircuitKind::Ov, Task{});
        QVERIFY(pair);
        QVERIFY(std::abs(pair->cosine - 1) < 1e-12 && pair->spectrumDistance == 0);
        QVERIFY(std::abs(pair->leftKernel - 5) < 1e-9);
        QVERIFY(!compareHeads({circuits, {1, 0}}, {circuits, {7, 0}}, CircuitKind::Ov, Task{}));
    }

    void anglesAreThoseOfDenseMatricesAndAddUpToTheKernels()
    {
        ToyOptions options = plantedOptions();
        options.dModel = 13;
        const PlantedModel model(options);
        const Circuits circuits = model.circuits();
        const HeadId a{0, 2}, b{1, 1};
        const auto pair = compareHeads({circuits, a}, {circuits, b}, CircuitKind::Ov, Task{});
        QVERIFY(pair);
        const Matrix<double> A = circuits.ov(a).dense(), B = circuits.ov(b).dense();
        const auto check = [](const PrincipalAngles& found, double kernel, const Matrix<double>& first,
                              const Matrix<double>& second) {
            const Matrix<double> U = thinSvd(first)->U.leftCols(5), V = thinSvd(second)->U.leftCols(5);
            const auto cosines = singularValues(Matrix<double>(U.transpose() * V));
            QCOMPARE(found.angles.size(), 5U);
            QCOMPARE(found.ofChance.size(), 5U);
            double sum = 0;
            for (std::size_t i = 0; i < 5; ++i) {
                const double radians = found.angles[i] * std::numbers::pi / 180;
                QVERIFY(std::abs(std::cos(radians) - (*cosines)(static_cast<Eigen::Index>(i))) < 1e-9);
                sum += std::cos(radians) * std::cos(radians);
                QVERIFY(i == 0 || found.ofChance[i] > found.ofChance[i - 1]);
            }
            QVERIFY(std::abs(sum - kernel) < 1e-9);
        };
        check(pair->left, pair->leftKernel, A, B);
        check(pair->right, pair->rightKernel, A.transpose(), B.transpose());
    }

    void headsOfTwoModelsHaveThePlantedAngles()
    {
        // The newer head reads the same directions except one, which is turned by 30° out of their span.
        PlantedModel older(widePlantedOptions()), newer(widePlantedOptions());
        const HeadId head{1, 0};
        const Matrix<double> basis = orthonormalColumns(24, 6, 3);
        Matrix<double> turned = basis.leftCols(5);
        const double angle = 30 * std::numbers::pi / 180;
        turned.col(2) = std::cos(angle) * basis.col(2) + std::sin(angle) * basis.col(5);
        const Matrix<double> writing = orthonormalColumns(24, 5, 4).transpose();
        older.set("W_V", head, basis.leftCols(5));
        newer.set("W_V", head, turned);
        older.set("W_O", head, writing);
        newer.set("W_O", head, writing);
        const auto pair =
            compareHeads({older.circuits(), head}, {newer.circuits(), head}, CircuitKind::Ov, Task{});
        QVERIFY(pair);
        for (std::size_t i = 0; i < 4; ++i)
            QVERIFY(pair->left.angles[i] < 1e-5); // the cosine of a small angle is 1 to half of the digits
        QVERIFY(std::abs(pair->left.angles[4] - 30) < 1e-9);
        QVERIFY(pair->right.angles[4] < 1e-5);
        QVERIFY(std::abs(pair->cosine - (4 + std::cos(angle)) / 5) < 1e-12);
        QVERIFY(std::abs(pair->leftKernel - (4 + std::cos(angle) * std::cos(angle))) < 1e-9);
        // By chance, five random directions of 24 are seldom near.
        QVERIFY(pair->left.ofChance[0] > 20 && pair->left.ofChance[4] > 80);
        const PlantedModel narrow(plantedOptions());
        const auto none =
            compareHeads({older.circuits(), head}, {narrow.circuits(), {0, 0}}, CircuitKind::Ov, Task{});
        QVERIFY(!none);
        QVERIFY(none.error().message.starts_with("d_model is 24 and "));
    }

    void headsOfDifferentWidthsCompareInBothDirections_data()
    {
        QTest::addColumn<bool>("isNarrowFirst");
        QTest::newRow("3 and 5") << true;
        QTest::newRow("5 and 3") << false;
    }
    void headsOfDifferentWidthsCompareInBothDirections()
    {
        QFETCH(bool, isNarrowFirst);
        ToyOptions options = widePlantedOptions();
        PlantedModel wide(options);
        options.dHead = 3;
        PlantedModel narrow(options);
        const HeadId head{1, 1};
        // σ = 2, 1, 2 and 1, 1, 1, 1, 1 along the same directions.
        const Matrix<double> U = orthonormalColumns(24, 5, 3), V = orthonormalColumns(24, 5, 4);
        const Eigen::Vector3d few(2, 1, 2);
        narrow.set("W_V", head, U.leftCols(3) * few.asDiagonal());
        narrow.set("W_O", head, V.leftCols(3).transpose());
        wide.set("W_V", head, U);
        wide.set("W_O", head, V.transpose());
        const HeadOfModel small{narrow.circuits(), head}, large{wide.circuits(), head};
        const auto pair = compareHeads(isNarrowFirst ? small : large, isNarrowFirst ? large : small,
                                       CircuitKind::Ov, Task{});
        QVERIFY(pair);
        QCOMPARE(pair->first.size(), isNarrowFirst ? 3U : 5U);
        QCOMPARE(pair->second.size(), isNarrowFirst ? 5U : 3U);
        // (2, 2, 1, 0, 0)/3 and (1, 1, 1, 1, 1)/√5: squared distance 2 − 2 · 5/(3 √5).
        QVERIFY(std::abs(pair->spectrumDistance - std::sqrt(2 - 10 / (3 * std::sqrt(5.0)))) < 1e-12);
        QVERIFY(std::abs(pair->cosine - 5 / (3 * std::sqrt(5.0))) < 1e-12);
        QVERIFY(std::abs(pair->leftKernel - 3) < 1e-12 && std::abs(pair->rightKernel - 3) < 1e-12);
        QCOMPARE(pair->kernelOfChance, 15.0 / 24);
        QCOMPARE(pair->left.angles.size(), 3U);
        QVERIFY(pair->left.angles[2] < 1e-5 && pair->right.angles[2] < 1e-5);
        // Three random directions beside a random space of five.
        QCOMPARE(pair->left.ofChance.size(), 3U);
        QVERIFY(pair->left.ofChance[0] > 35 && pair->left.ofChance[2] > 65);
    }

    void aRatioIsLeftOutWhereThereIsNothingToDivideBy()
    {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        Eigen::MatrixXf a(2, 3), b(2, 3);
        a << 1, -6, 5, 0, 2, 7;
        b << 2, 3, 0.029F, -4, nan,
            0.031F; // the root mean square of the five is 2.41, a hundredth of it 0.0241
        const Eigen::MatrixXf ratio = ratioOf(a, b);
        QCOMPARE(ratio(0, 0), 0.5F);
        QCOMPARE(ratio(0, 1), -2.0F);
        QCOMPARE(ratio(1, 0), 0.0F);
        QVERIFY(std::isnan(ratio(1, 1)));
        QCOMPARE(ratio(0, 2), static_cast<float>(5 / double{0.029F}));
        b(0, 2) = 0.024F; // below
        b(1, 2) = -0.0242F;
        const Eigen::MatrixXf masked = ratioOf(a, b);
        QVERIFY(std::isnan(masked(0, 2)));
        QCOMPARE(masked(1, 2), static_cast<float>(7 / double{-0.0242F}));
        QVERIFY(ratioOf(a, Eigen::MatrixXf::Zero(2, 3)).array().isNaN().all());
    }

    void nearestHeadsAreThoseWithTheLargestCosine()
    {
        const PlantedModel model(plantedOptions());
        const Circuits circuits = model.circuits();
        const auto found = nearestHeads(circuits, CircuitKind::Qk, {0, 1}, 4, Task{});
        QVERIFY(found);
        std::vector<NearHead> all;
        for (int layer = 0; layer < 2; ++layer)
            for (int head = 0; head < 3; ++head)
                if (layer != 0 || head != 1)
                    all.push_back(
                        {{layer, head},
                         compareHeads({circuits, {0, 1}}, {circuits, {layer, head}}, CircuitKind::Qk, Task{})
                             ->cosine});
        std::sort(all.begin(), all.end(),
                  [](const NearHead& a, const NearHead& b) { return a.cosine > b.cosine; });
        QCOMPARE(found->size(), 4U);
        for (std::size_t i = 0; i < 4; ++i) {
            QCOMPARE((*found)[i].head, all[i].head);
            QVERIFY(std::abs((*found)[i].cosine - all[i].cosine) < 1e-12);
        }
    }

    void tellsWhatEnteredAndLeftTheTop()
    {
        RowVector<double> first(6), second(6);
        first << 5, 4, 3, 2, 1, 0;
        second << 1, 9, 0, 7, 1, 8; // 4 ties with 0, which stands first
        const TableDifference found = tableDifference(first, second, 3, {});
        QCOMPARE(found.onlyFirst, (std::vector<ChangedEntry>{{0, 0, 3, 5, 1}, {2, 2, 5, 3, 0}}));
        QCOMPARE(found.both, (std::vector<ChangedEntry>{{1, 1, 0, 4, 9}}));
        QCOMPARE(found.onlySecond, (std::vector<ChangedEntry>{{5, 5, 1, 0, 8}, {3, 3, 2, 2, 7}}));
        const std::vector<bool> unused{false, true, false, false, false, false};
        const TableDifference without = tableDifference(first, second, 3, unused);
        QCOMPARE(without.both, (std::vector<ChangedEntry>{{0, 0, 2, 5, 1}, {3, 2, 1, 2, 7}}));
        QCOMPARE(without.onlySecond.size(), 1U);
    }
};

HEADWISE_TEST(HeadPairTest)
#include "head_pair_test.moc"
