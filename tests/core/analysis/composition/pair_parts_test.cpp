#include "core/analysis/composition/pair_parts.h"

#include "tests/support/dense_algebra.h"
#include "tests/support/matchers.h"
#include "tests/support/planted.h"
#include "tests/support/program.h"

#include <algorithm>
#include <cmath>

using namespace headwise;

namespace {

PairParts partsOf(const Circuits& circuits, ReadBy by)
{
    const auto found = pairParts(circuits, by, {0, 1}, {1, 0}, Task{});
    if (!found)
        qFatal("%s", test::printed(found.error()).constData());
    return *found;
}

} // namespace

class PairPartsTest : public QObject {
    Q_OBJECT

private slots:
    // The keys read two of the directions that the earlier head writes, a third one half, and two others.
    void sharedDirectionsHaveNoAngleBetweenThem()
    {
        test::PlantedModel model(test::widePlantedOptions());
        const Matrix<double> basis = test::orthonormalColumns(24, 20, 1);
        Matrix<double> reading(24, 5);
        reading << basis.col(0), 3 * basis.col(1), basis.col(2) + basis.col(10), basis.col(11), basis.col(12);
        model.set("W_O", {0, 1}, basis.leftCols(5).transpose());
        model.set("W_K", {1, 0}, reading);
        const std::vector<double> angles = partsOf(model.circuits(), ReadBy::Keys).angles;
        const std::vector<double> expected{0, 0, 45, 90, 90};
        QCOMPARE(angles.size(), expected.size());
        for (std::size_t i = 0; i < angles.size(); ++i)
            QVERIFY2(std::abs(angles[i] - expected[i]) < 1e-4, qPrintable(QString::number(angles[i])));
    }

    // Computed a second way: from products of dense matrices.
    void thePartsAreTheSpectrumOfTheProduct()
    {
        test::PlantedModel model(test::widePlantedOptions());
        const Circuits circuits = model.circuits();
        const Matrix<double> ov = circuits.ov({0, 1}).dense();
        const Matrix<double> qk = circuits.qk({1, 0}).dense(), values = circuits.ov({1, 0}).dense();
        for (const auto& [by, read] : {std::pair(ReadBy::Queries, qk),
                                       {ReadBy::Keys, Matrix<double>(qk.transpose())},
                                       {ReadBy::Values, values}}) {
            const PairParts found = partsOf(circuits, by);
            const Matrix<double> product = ov * read;
            const double norms = ov.norm() * read.norm();
            const Eigen::VectorXd sigma = test::singularValuesOf(product);
            QCOMPARE(found.parts.size(), std::size_t{5});
            for (std::size_t i = 0; i < found.parts.size(); ++i)
                QVERIFY(std::abs(found.parts[i] - sigma(static_cast<Eigen::Index>(i)) / norms) < 1e-10);
            QVERIFY(std::abs(found.score() - product.norm() / norms) < 1e-10);
        }
    }

    // cos² of random subspaces of rank r adds up to r²/d.
    void chanceHasItsKernel()
    {
        test::PlantedModel model(test::widePlantedOptions());
        const std::vector<double> chance = partsOf(model.circuits(), ReadBy::Values).anglesOfChance;
        double kernel = 0;
        for (const double angle : chance)
            kernel += std::pow(std::cos(angle * std::acos(-1.0) / 180), 2);
        QVERIFY2(std::abs(kernel - 25.0 / 24) < 0.4, qPrintable(QString::number(kernel)));
        QVERIFY(std::is_sorted(chance.begin(), chance.end()));
    }

    void headsInTheWrongOrderAreRefused()
    {
        test::PlantedModel model(test::widePlantedOptions());
        const auto refused = pairParts(model.circuits(), ReadBy::Keys, {1, 0}, {0, 1}, Task{});
        QVERIFY(test::failsWith(refused, ErrorCode::InvalidArgument, "1.0 and 0.1"));
    }
};

HEADWISE_TEST(PairPartsTest)
#include "pair_parts_test.moc"
