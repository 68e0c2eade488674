#include "core/analysis/head_pairs.h"
#include "core/circuits/clustering.h"

#include "tests/support/dense_algebra.h"
#include "tests/support/planted.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace headwise;

namespace {

double similarityAt(const Circuits& circuits, const ResultSet& results, const std::string& name, HeadId a,
                    HeadId b)
{
    const ModelConfig& config = circuits.config();
    const auto flat = [&](HeadId head) {
        return static_cast<std::size_t>(head.layer * config.nHeads + head.head);
    };
    const auto heads = static_cast<std::size_t>(config.nLayers * config.nHeads);
    return test::numbers(results, "analyses/similarity/" + name)[flat(a) * heads + flat(b)];
}

Matrix<double> projectorOnto(const Matrix<double>& W)
{
    const test::DenseSvd svd(W * W.transpose());
    Matrix<double> sum = Matrix<double>::Zero(W.rows(), W.rows());
    for (Eigen::Index i = 0; i < W.rows() && svd.singularValues()(i) > 1e-10 * svd.singularValues()(0); ++i)
        sum += svd.matrixU().col(i) * svd.matrixU().col(i).transpose();
    return sum;
}

double cosine(const Matrix<double>& A, const Matrix<double>& B)
{
    return A.cwiseProduct(B).sum() / A.norm() / B.norm();
}

double spectrumDistance(const Matrix<double>& A, const Matrix<double>& B)
{
    const Eigen::VectorXd a = test::singularValuesOf(A) / A.norm();
    const Eigen::VectorXd b = test::singularValuesOf(B) / B.norm();
    return (a - b).norm();
}

double cka(Matrix<double> X, Matrix<double> Y)
{
    X.rowwise() -= X.colwise().mean().eval();
    Y.rowwise() -= Y.colwise().mean().eval();
    return (X.transpose() * Y).squaredNorm() / (X.transpose() * X).norm() / (Y.transpose() * Y).norm();
}

std::set<Eigen::Index> top(const Eigen::RowVectorXd& row, std::size_t k)
{
    std::vector<Eigen::Index> ids(static_cast<std::size_t>(row.size()));
    std::iota(ids.begin(), ids.end(), Eigen::Index(0));
    std::stable_sort(ids.begin(), ids.end(), [&](auto a, auto b) { return row(a) > row(b); });
    return {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(k)};
}

double jaccard(const Matrix<double>& A, const Matrix<double>& B, std::size_t k)
{
    double sum = 0;
    for (Eigen::Index row = 0; row < A.rows(); ++row) {
        const auto a = top(A.row(row), k);
        const auto b = top(B.row(row), k);
        std::set<Eigen::Index> both = a;
        both.insert(b.begin(), b.end());
        sum += static_cast<double>(a.size() + b.size() - both.size()) / static_cast<double>(both.size());
    }
    return sum / static_cast<double>(A.rows());
}

test::ToyOptions wideOptions()
{
    test::ToyOptions options = test::plantedOptions();
    options.dModel = 24;
    options.dHead = 5;
    options.nHeads = 3;
    return options;
}

/// Distance of every two rows. \param points [n, dimensions]
Matrix<double> distancesBetween(const Matrix<double>& points)
{
    Matrix<double> distances(points.rows(), points.rows());
    for (Eigen::Index i = 0; i < points.rows(); ++i) {
        for (Eigen::Index j = 0; j < points.rows(); ++j)
            distances(i, j) = (points.row(i) - points.row(j)).norm();
    }
    return distances;
}

} // namespace

/// Similarity of heads, and their map.
class SimilarityTest : public QObject {
    Q_OBJECT

private slots:
    // Toys have fewer tokens than the sample, so every token is in it and the dense answer is exact.
    void everyNumberAgreesWithTheDenseOne()
    {
        for (const auto& [name, options] : test::toyClasses()) {
            const Circuits circuits = test::toyCircuits(options);
            const ModelConfig& config = circuits.config();
            AnalysisOptions asked = test::inDouble();
            asked.tableSize = 3;
            const auto results = test::analysed(circuits, {"similarity"}, asked);
            const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
            const Matrix<double> U = circuits.weights().W_U<double>(0, config.dVocabOut);
            const HeadId a{0, 2}, b{1, 0};
            const auto wa = circuits.weights().head<double>(a);
            const auto wb = circuits.weights().head<double>(b);
            const Matrix<double> qk[]{wa.W_Q * wa.W_K.transpose(), wb.W_Q * wb.W_K.transpose()};
            const Matrix<double> ov[]{wa.W_V * wa.W_O, wb.W_V * wb.W_O};
            const auto isNear = [&](const char* array, double expected, double tolerance) {
                return std::abs(similarityAt(circuits, results, array, a, b) - expected) < tolerance
                    && similarityAt(circuits, results, array, a, b)
                    == similarityAt(circuits, results, array, b, a);
            };
            QVERIFY2(isNear("cosine_qk", cosine(qk[0], qk[1]), 1e-12), name);
            QVERIFY2(isNear("cosine_ov", cosine(ov[0], ov[1]), 1e-12), name);
            QVERIFY2(isNear("spectrum_distance_qk", spectrumDistance(qk[0], qk[1]), 1e-9), name);
            QVERIFY2(isNear("spectrum_distance_ov", spectrumDistance(ov[0], ov[1]), 1e-9), name);
            QVERIFY2(isNear("kernel_q", (projectorOnto(wa.W_Q) * projectorOnto(wb.W_Q)).trace(), 1e-9), name);
            QVERIFY2(isNear("kernel_k", (projectorOnto(wa.W_K) * projectorOnto(wb.W_K)).trace(), 1e-9), name);
            QVERIFY2(isNear("kernel_v", (projectorOnto(wa.W_V) * projectorOnto(wb.W_V)).trace(), 1e-9), name);
            QVERIFY2(isNear("kernel_o",
                            (projectorOnto(wa.W_O.transpose()) * projectorOnto(wb.W_O.transpose())).trace(),
                            1e-9),
                     name);
            QVERIFY2(isNear("token_jaccard", jaccard(E * ov[0] * U, E * ov[1] * U, 3), 1e-12), name);
            QVERIFY2(isNear("cka_ov", cka(E * ov[0], E * ov[1]), 1e-12), name);
            QVERIFY2(std::abs(similarityAt(circuits, results, "cosine_ov", a, a) - 1) < 1e-12, name);
            QVERIFY2(std::abs(similarityAt(circuits, results, "token_jaccard", b, b) - 1) < 1e-12, name);
        }
    }

    void copiesOfAHeadAreItsNearest()
    {
        test::PlantedModel model(wideOptions());
        const auto w = model.circuits().weights().head<double>({0, 1});
        Matrix<double> T = test::orthonormalColumns(5, 5, 3);
        T.col(2) *= 4;
        // The same circuits in other coordinates, twice as large, and with the outputs negated.
        model.set("W_Q", {1, 2}, 2 * w.W_Q * T);
        model.set("W_K", {1, 2}, w.W_K * test::inverseOf(T).transpose());
        model.set("W_V", {1, 2}, w.W_V * T);
        model.set("W_O", {1, 2}, -2 * test::inverseOf(T) * w.W_O);
        const Circuits circuits = model.circuits();
        const auto results = test::analysed(circuits, {"similarity"}, test::inDouble());
        QVERIFY(std::abs(similarityAt(circuits, results, "cosine_qk", {0, 1}, {1, 2}) - 1) < 1e-10);
        QVERIFY(std::abs(similarityAt(circuits, results, "cosine_ov", {0, 1}, {1, 2}) + 1) < 1e-10);
        QVERIFY(std::abs(similarityAt(circuits, results, "kernel_o", {0, 1}, {1, 2}) - 5) < 1e-10);
        QVERIFY(similarityAt(circuits, results, "spectrum_distance_ov", {0, 1}, {1, 2}) < 1e-10);
        QVERIFY(std::abs(similarityAt(circuits, results, "cka_ov", {0, 1}, {1, 2}) - 1) < 1e-5);
        const auto nearest = test::numbers(results, "analyses/similarity/nearest_qk");
        QCOMPARE(nearest[1 * 5], 5.0); // of 0.1: 1.2
        QCOMPARE(nearest[5 * 5], 1.0);
        QCOMPARE(std::get<std::vector<std::string>>(
                     results.find("analyses/similarity/nearest_qk")->attributes.at("heads"))[5],
                 std::string("1.2"));
        // … and adjacent in the order of each picture that ignores the sign of an output.
        for (const char* name : {"cosine_qk", "kernel_q", "kernel_k", "kernel_v", "kernel_o", "cka_ov",
                                 "spectrum_distance_qk", "spectrum_distance_ov"}) {
            const auto leaves =
                test::numbers(results, std::string("analyses/similarity/") + name + "_leaves");
            QCOMPARE(leaves.size(), std::size_t(6));
            const auto place = [&](double head) {
                return std::find(leaves.begin(), leaves.end(), head) - leaves.begin();
            };
            QVERIFY2(std::abs(place(1) - place(5)) == 1, name);
        }
        // With opposite signs they are as far apart as heads can be.
        Matrix<double> distances(6, 6);
        for (int i = 0; i < 6; ++i)
            for (int j = 0; j < 6; ++j)
                distances(i, j) = i == j
                    ? 0
                    : 1 - similarityAt(circuits, results, "cosine_ov", {i / 3, i % 3}, {j / 3, j % 3});
        const Clustering expected = averageLinkage(distances);
        QCOMPARE(test::numbers(results, "analyses/similarity/cosine_ov_leaves"),
                 std::vector<double>(expected.leaves.begin(), expected.leaves.end()));
    }

    void randomHeadsAreAtTheNull()
    {
        test::ToyOptions options = wideOptions();
        options.nHeads = 8;
        const Circuits circuits = test::toyCircuits(options, test::noProcessing());
        const auto results = test::analysed(circuits, {"similarity"}, test::inDouble());
        for (const char* name : {"cosine_qk", "cosine_ov", "kernel_q", "kernel_o", "spectrum_distance_qk"}) {
            const ResultArray& array = *results.find(std::string("analyses/similarity/") + name);
            std::vector<double> others;
            for (int i = 0; i < 16; ++i) {
                for (int j = 0; j < i; ++j)
                    others.push_back(similarityAt(circuits, results, name, {i / 8, i % 8}, {j / 8, j % 8}));
            }
            const Sample found(others);
            QVERIFY2(std::abs(found.mean() - *array.nullMean) < *array.nullDeviation, name);
            QVERIFY2(std::abs(found.deviation() / *array.nullDeviation - 1) < 0.6, name);
        }
    }

    void headsAskedForAndZeroHeads()
    {
        test::PlantedModel model(wideOptions());
        model.set("W_O", {0, 0}, Matrix<double>::Zero(5, 24));
        AnalysisOptions options = test::inDouble();
        options.heads = {{0, 0}, {0, 2}, {1, 1}};
        const Circuits circuits = model.circuits();
        const auto results = test::analysed(circuits, {"similarity", "head_map"}, options);
        for (const char* name : {"cosine_ov", "kernel_o", "spectrum_distance_ov", "token_jaccard", "cka_ov"})
            QVERIFY2(std::isnan(similarityAt(circuits, results, name, {0, 0}, {1, 1})), name);
        QVERIFY(!std::isnan(similarityAt(circuits, results, "kernel_q", {0, 0}, {1, 1})));
        QVERIFY(!std::isnan(similarityAt(circuits, results, "cka_ov", {0, 2}, {1, 1})));
        QVERIFY(std::isnan(similarityAt(circuits, results, "cosine_qk", {0, 1}, {1, 1})));
        const auto nearest = test::numbers(results, "analyses/similarity/nearest_ov");
        QCOMPARE(nearest[2 * 5], 4.0);
        QCOMPARE(nearest[2 * 5 + 1], -1.0);
        QCOMPARE(nearest[1 * 5], -1.0);
        QCOMPARE(test::numbers(results, "analyses/head_map/leaves"), (std::vector<double>{2, 4}));
        QCOMPARE(test::numbers(results, "analyses/similarity/kernel_o_leaves"), (std::vector<double>{2, 4}));
        auto readers = test::numbers(results, "analyses/similarity/kernel_q_leaves");
        std::sort(readers.begin(), readers.end());
        QCOMPARE(readers, (std::vector<double>{0, 2, 4}));
        QCOMPARE(std::get<std::vector<std::string>>(
                     results.find("analyses/similarity/kernel_o_leaves")->attributes.at("heads")),
                 (std::vector<std::string>{"0.2", "1.1"}));
        const auto order = test::numbers(results, "analyses/head_map/leaf_order");
        QCOMPARE(order, (std::vector<double>{-1, -1, 0, -1, 1, -1}));
    }

    // Points 0, 1, 5, 7 on a line: 0–1 at 1, 5–7 at 2, then (5+7+4+6)/4.
    void averageLinkageByHand()
    {
        const Clustering found = averageLinkage(distancesBetween(Eigen::Vector4d(0, 5, 1, 7)));
        QCOMPARE(found.steps.size(), std::size_t(3));
        QCOMPARE(found.steps[0].height, 1.0);
        QCOMPARE(found.steps[0].second, 2);
        QCOMPARE(found.steps[1].height, 2.0);
        QCOMPARE(found.steps[2].height, 5.5);
        QCOMPARE(found.steps[2].first, 4);
        QCOMPARE(found.steps[2].second, 5);
        QCOMPARE(found.leaves, (std::vector<int>{0, 2, 1, 3}));
        // Unequal clusters: {0, 1, 3} meets 10 at the mean of three distances.
        const Clustering unequal = averageLinkage(distancesBetween(Eigen::Vector4d(0, 1, 3, 10)));
        QCOMPARE(unequal.steps[1].height, 2.5);
        QCOMPARE(unequal.steps[2].height, (10 + 9 + 7) / 3.0);
        QVERIFY(averageLinkage(Matrix<double>(0, 0)).leaves.empty());
        QCOMPARE(averageLinkage(Matrix<double>::Zero(1, 1)).leaves, std::vector<int>{0});
    }

    // The spread of a cluster is the sum of squares around its centre. Each step adds the least, and that is its height.
    void wardLinkageAddsTheLeastSpread()
    {
        const Matrix<double> points = test::orthonormalColumns(9, 3, 4);
        const auto spread = [&](const std::vector<int>& of) {
            const Matrix<double> some = points(of, Eigen::all);
            return (some.rowwise() - some.colwise().mean()).squaredNorm();
        };
        const auto together = [](std::vector<int> a, const std::vector<int>& b) {
            a.insert(a.end(), b.begin(), b.end());
            return a;
        };
        std::vector<std::vector<int>> clusters;
        for (int i = 0; i < 9; ++i)
            clusters.push_back({i});
        const Clustering found = wardLinkage(distancesBetween(points));
        QCOMPARE(found.steps.size(), std::size_t(8));
        std::vector<bool> isGone(17, false);
        for (const ClusterStep& step : found.steps) {
            double least = 1e9;
            for (std::size_t i = 0; i < clusters.size(); ++i) {
                for (std::size_t j = 0; j < i; ++j) {
                    if (!isGone[i] && !isGone[j])
                        least = std::min(least,
                                         spread(together(clusters[i], clusters[j])) - spread(clusters[i])
                                             - spread(clusters[j]));
                }
            }
            const auto first = static_cast<std::size_t>(step.first),
                       second = static_cast<std::size_t>(step.second);
            QVERIFY(!isGone[first] && !isGone[second]);
            const std::vector<int> joined = together(clusters[first], clusters[second]);
            QVERIFY(std::abs(spread(joined) - spread(clusters[first]) - spread(clusters[second]) - least)
                    < 1e-12);
            QVERIFY(std::abs(step.height * step.height / 2 - least) < 1e-12);
            isGone[first] = isGone[second] = true;
            clusters.push_back(joined);
        }
    }

    void clustersAreNumberedByTheirFirstPoints()
    {
        const Clustering found = averageLinkage(distancesBetween(Eigen::Vector4d(0, 5, 1, 7)));
        QCOMPARE(clustersOf(found, 2), (std::vector<int>{0, 1, 0, 1}));
        QCOMPARE(clustersOf(found, 3), (std::vector<int>{0, 1, 0, 2}));
        QCOMPARE(clustersOf(found, 9), (std::vector<int>{0, 1, 2, 3}));
        QCOMPARE(clustersOf(found, 1), (std::vector<int>{0, 0, 0, 0}));
        QVERIFY(clustersOf(averageLinkage(Matrix<double>(0, 0)), 2).empty());
    }

    void aPlaneIsFoundAgain()
    {
        Matrix<double> points(5, 2);
        points << 0, 0, 4, 0, 4, 3, 0, 3, 1, 1;
        Matrix<double> distances = distancesBetween(points);
        const auto map = planeMap(distances);
        QVERIFY(test::isOk(map));
        for (int i = 0; i < 5; ++i) {
            for (int j = 0; j < 5; ++j)
                QVERIFY(std::abs((map->points.row(i) - map->points.row(j)).norm() - distances(i, j)) < 1e-10);
        }
        QVERIFY(std::abs(map->shareOfDistances - 1) < 1e-10);
        distances(0, 1) = std::nan("");
        QVERIFY(test::failsWith(planeMap(distances), ErrorCode::Corrupt, "finite"));
        QVERIFY(std::isnan(planeMap(Matrix<double>::Zero(1, 1))->shareOfDistances));
    }

    void theMapPutsFamiliesTogether()
    {
        test::PlantedModel model(wideOptions());
        const Circuits before = model.circuits();
        const auto family = [&](HeadId like, HeadId copy, double noise) {
            const auto w = before.weights().head<double>(like);
            const auto other = before.weights().head<double>(copy);
            model.set("W_Q", copy, w.W_Q + noise * other.W_Q);
            model.set("W_K", copy, w.W_K + noise * other.W_K);
            model.set("W_V", copy, w.W_V + noise * other.W_V);
            model.set("W_O", copy, w.W_O + noise * other.W_O);
        };
        family({0, 0}, {1, 1}, 0.1); // 0.0 with 1.1, and 0.2 with 1.0
        family({0, 2}, {1, 0}, 0.1);
        const auto results = test::analysed(model.circuits(), {"head_map", "similarity"}, test::inDouble());
        const auto order = test::numbers(results, "analyses/head_map/leaf_order");
        QCOMPARE(std::abs(order[0] - order[4]), 1.0);
        QCOMPARE(std::abs(order[2] - order[3]), 1.0);
        const auto heights = test::numbers(results, "analyses/head_map/step_height");
        QCOMPARE(heights.size(), std::size_t(5));
        QVERIFY(heights[1] < 0.1 && heights[2] > 0.5);
        for (const char* name : {"cluster", "ward_cluster"}) { // two of them, of six heads
            const auto cluster = test::numbers(results, std::string("analyses/head_map/") + name);
            QCOMPARE(cluster[4], cluster[0]);
            QCOMPARE(cluster[3], cluster[2]);
            QCOMPARE(cluster[0], 0.0);
            QCOMPARE(*std::max_element(cluster.begin(), cluster.end()), 1.0);
        }
        const auto wardOrder = test::numbers(results, "analyses/head_map/ward_leaf_order");
        QCOMPARE(std::abs(wardOrder[0] - wardOrder[4]), 1.0);
        const auto points = test::numbers(results, "analyses/head_map/coordinates");
        const auto distance = [&](std::size_t a, std::size_t b) {
            return std::hypot(points[2 * a] - points[2 * b], points[2 * a + 1] - points[2 * b + 1]);
        };
        QVERIFY(distance(0, 4) < 0.3 * distance(0, 2) && distance(2, 3) < 0.3 * distance(0, 2));
        const auto ordered = test::numbers(results, "analyses/head_map/ordered_similarity");
        const auto qk = test::numbers(results, "analyses/similarity/cosine_qk");
        const auto ov = test::numbers(results, "analyses/similarity/cosine_ov");
        const auto place = [&](std::size_t head) { return static_cast<std::size_t>(order[head]); };
        QVERIFY(std::abs(ordered[place(0) * 6 + place(4)] - (qk[4] + ov[4]) / 2) < 1e-12);
    }
};

HEADWISE_TEST(SimilarityTest)
#include "similarity_test.moc"
