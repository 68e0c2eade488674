#include "core/analysis/comparison/head_pair.h"

#include "core/base/decompositions.h"
#include "tests/support/planted.h"

#include <QTest>

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
            const auto pair = compareHeads(circuits, kind, a, b, Task{});
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
        const auto pair = compareHeads(circuits, CircuitKind::Ov, {1, 0}, {1, 0}, Task{});
        QVERIFY(pair);
        QVERIFY(std::abs(pair->cosine - 1) < 1e-12 && pair->spectrumDistance == 0);
        QVERIFY(std::abs(pair->leftKernel - 5) < 1e-9);
        QVERIFY(!compareHeads(circuits, CircuitKind::Ov, {1, 0}, {7, 0}, Task{}));
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
                         compareHeads(circuits, CircuitKind::Qk, {0, 1}, {layer, head}, Task{})->cosine});
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

QTEST_APPLESS_MAIN(HeadPairTest)
#include "head_pair_test.moc"
