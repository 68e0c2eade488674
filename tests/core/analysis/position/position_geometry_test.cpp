#include "core/analysis/catalogue.h"
#include "core/analysis/shared/norm_divisors.h"
#include "core/runs/queue.h"

#include "tests/support/analysed.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <cmath>
#include <functional>
#include <numbers>

using namespace headwise;
using test::ToyOptions;

namespace {

const std::string geometry = "analyses/position_geometry/", spread = "analyses/norm_spread/";

Matrix<double> asMatrix(const ResultSet& results, const std::string& path)
{
    const ResultArray* array = results.find(path);
    const auto values = test::numbers(results, path);
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const auto cols = static_cast<Eigen::Index>(array->shape.back());
    return Eigen::Map<const RowMajor>(values.data(), static_cast<Eigen::Index>(values.size()) / cols, cols);
}

/// Returns the results for a W_pos [60, 7], row-major, that is zero except for the entries that `plant` sets.
ResultSet geometryOf(const std::function<void(std::vector<double>&)>& plant)
{
    QTemporaryDir temporary;
    ToyOptions toy;
    toy.nLayers = 1, toy.dModel = 7, toy.nCtx = 60, toy.float64 = true;
    const auto path = std::filesystem::path(temporary.path().toStdString()) / "toy";
    auto tensors = test::writeToyModel(path, toy).tensors;
    auto& values = tensors.at("pos_embed.W_pos").values;
    std::fill(values.begin(), values.end(), 0.0);
    plant(values);
    test::writeSafetensors(path / "model.safetensors", tensors, true);
    return test::analysed(test::circuitsOf(path, test::noProcessing()), {"position_geometry"},
                          test::inDouble());
}

double sigmaOf(const Circuits& circuits, int position, int token)
{
    const auto norm = circuits.weights().ln1<double>(0);
    RowVector<double> x =
        circuits.weights().W_E<double>(token, 1) + circuits.weights().W_pos<double>(position, 1);
    if (norm.kind == NormKind::LayerNorm)
        x.array() -= x.mean();
    return std::sqrt(x.array().square().mean() + norm.eps);
}

} // namespace

/// The geometry of W_pos, and the divisors of the first norm.
class PositionGeometryTest : public QObject {
    Q_OBJECT

private slots:
    void componentsAreThoseOfADenseDecomposition()
    {
        ToyOptions toy;
        toy.dModel = 13, toy.nCtx = 29, toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        const ResultSet results = test::analysed(circuits, {"position_geometry"}, test::inDouble());
        const Matrix<double> p = circuits.weights().W_pos<double>(0, 29);
        const Matrix<double> centred = p.rowwise() - p.colwise().mean();
        const test::DenseSvd svd(centred);
        const Matrix<double> components = asMatrix(results, geometry + "components");
        const auto explained = test::numbers(results, geometry + "explained");
        QCOMPARE(components.cols(), Eigen::Index(6));
        for (Eigen::Index k = 0; k < 6; ++k) {
            Eigen::VectorXd expected = svd.matrixU().col(k) * svd.singularValues()(k);
            if (std::abs(expected.minCoeff()) > expected.maxCoeff())
                expected *= -1;
            QVERIFY(test::isClose(Eigen::VectorXd(components.col(k)), expected, 1e-9));
            QVERIFY(std::abs(explained[static_cast<std::size_t>(k)]
                             - std::pow(svd.singularValues()(k), 2) / centred.squaredNorm())
                    < 1e-12);
        }
        const Matrix<double> cosines = asMatrix(results, geometry + "cosines");
        const auto variances = test::numbers(results, geometry + "row_variance");
        for (int i = 0; i < 29; ++i) {
            for (int j = 0; j < 29; ++j)
                QVERIFY(std::abs(cosines(i, j) - p.row(i).dot(p.row(j)) / p.row(i).norm() / p.row(j).norm())
                        < 1e-12);
            QVERIFY(std::abs(variances[static_cast<std::size_t>(i)]
                             - (p.row(i).array() - p.row(i).mean()).square().mean())
                    < 1e-12);
        }
        const auto h = circuits.weights().head<double>({0, 0});
        const Matrix<double> tail = asMatrix(results, geometry + "tail_scores").topRows(5);
        QVERIFY(test::isClose(
            tail, Matrix<double>(p.bottomRows(5) * h.W_Q * h.W_K.transpose() * p.transpose()), 1e-11));
    }

    void cosinesAreOfNeighbours()
    {
        ToyOptions toy;
        toy.nLayers = 1, toy.nCtx = 1030, toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        const ResultSet results = test::analysed(circuits, {"position_geometry"}, test::inDouble());
        const Matrix<double> p = circuits.weights().W_pos<double>(0, 1030);
        const Matrix<double> cosines = asMatrix(results, geometry + "cosines");
        QCOMPARE(cosines.rows(), Eigen::Index(1024));
        for (int i = 1; i < 1024; i += 31)
            QVERIFY(std::abs(cosines(i, i - 1)
                             - p.row(i).dot(p.row(i - 1)) / p.row(i).norm() / p.row(i - 1).norm())
                    < 1e-12);
        QVERIFY(results.find(geometry + "cosines")->definition.find("the first 1024 positions")
                != std::string::npos);
        QCOMPARE(test::numbers(results, geometry + "cosine_positions").back(), 1023.0);
    }

    // A helix: a circle of three turns and a straight line.
    void aPlantedHelixIsFound()
    {
        const ResultSet results = geometryOf([](std::vector<double>& values) {
            for (int i = 0; i < 60; ++i) {
                const double angle = 2 * std::numbers::pi * 3 * i / 60;
                values[static_cast<std::size_t>(7 * i + 1)] = 5 * std::cos(angle);
                values[static_cast<std::size_t>(7 * i + 2)] = 5 * std::sin(angle);
                values[static_cast<std::size_t>(7 * i + 4)] = 0.01 * i;
            }
        });
        const Matrix<double> shares = asMatrix(results, geometry + "frequencies"); // f = 1 … 30
        for (int component : {0, 1})
            QVERIFY(shares(component, 2) > 0.99);
        QVERIFY(std::abs(shares.row(0).sum() - 1) < 1e-12);
        const auto explained = test::numbers(results, geometry + "explained");
        const auto null = test::numbers(results, geometry + "explained_null");
        QVERIFY(std::abs(explained[0] - 0.5) < 0.01 && std::abs(explained[1] - 0.5) < 0.01);
        QVERIFY(null[0] < 0.75 && std::abs(null[0] + null[1] + null[2] - 1) < 1e-9);
        const auto first = test::numbers(results, geometry + "component_1");
        const auto second = test::numbers(results, geometry + "component_2");
        const Matrix<double> components = asMatrix(results, geometry + "components");
        QCOMPARE(test::numbers(results, geometry + "places")[59], 59.0);
        for (std::size_t i = 0; i < 60; ++i) {
            QVERIFY(std::abs(std::hypot(first[i], second[i]) - 5) < 0.1); // the circle
            QCOMPARE(second[i], components(static_cast<Eigen::Index>(i), 1));
        }
        QVERIFY(std::abs(explained[2] - 0.03 / 25.03) < 2e-4); // the line: (0.01 · 60)²/12 beside 5²
    }

    /// A cosine has half the power of a sign change at every step, the one frequency without a partner n − f.
    void theHighestFrequencyOfAnEvenContextCountsOnce()
    {
        const ResultSet results = geometryOf([](std::vector<double>& values) {
            for (int i = 0; i < 60; ++i)
                values[static_cast<std::size_t>(7 * i + 2)] =
                    std::cos(2 * std::numbers::pi * 5 * i / 60) + (i % 2 == 0 ? 1 : -1);
        });
        const Matrix<double> shares = asMatrix(results, geometry + "frequencies");
        QVERIFY(std::abs(shares(0, 4) - 1.0 / 3) < 1e-12);
        QVERIFY(std::abs(shares(0, 29) - 2.0 / 3) < 1e-12);
    }

    void theSpreadIsThatOfEveryPair_data()
    {
        QTest::addColumn<int>("index");
        const auto classes = test::toyClasses();
        for (std::size_t i = 0; i < classes.size(); ++i)
            if (classes[i].second.positional == "standard"
                && classes[i].second.layout != test::ToyLayout::Llama && classes[i].second.normalization)
                QTest::newRow(classes[i].first) << static_cast<int>(i);
    }
    void theSpreadIsThatOfEveryPair()
    {
        QFETCH(int, index);
        ToyOptions toy = test::toyClasses()[static_cast<std::size_t>(index)].second;
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        const ModelConfig& config = circuits.config();
        AnalysisOptions options = test::inDouble();
        options.unusedTokens.assign(static_cast<std::size_t>(config.dVocab), false);
        options.unusedTokens[3] = true;
        const ResultSet results = test::analysed(circuits, {"norm_spread"}, options);
        options.precision = Precision::F32;
        const ResultSet rounded = test::analysed(circuits, {"norm_spread"}, options);
        Matrix<double> all(config.nCtx, config.dVocab);
        for (int position = 0; position < config.nCtx; ++position)
            for (int token = 0; token < config.dVocab; ++token)
                all(position, token) = sigmaOf(circuits, position, token);
        Matrix<double> used(config.nCtx, config.dVocab - 1);
        used << all.leftCols(3), all.rightCols(config.dVocab - 4);
        const auto is = [&](const char* name, const Eigen::VectorXd& expected) {
            const auto exact = test::numbers(results, spread + name),
                       rough = test::numbers(rounded, spread + name);
            const Eigen::Map<const Eigen::VectorXd> a(exact.data(), expected.size()),
                b(rough.data(), expected.size());
            return static_cast<Eigen::Index>(exact.size()) == expected.size()
                && test::isClose(a, expected, 1e-11) && test::isClose(b, expected, 1e-5);
        };
        QVERIFY(is("position_mean", used.rowwise().mean()));
        QVERIFY(is("position_min", used.rowwise().minCoeff()));
        QVERIFY(is("position_max", used.rowwise().maxCoeff()));
        QVERIFY(is("token_mean", all.colwise().mean().transpose()));
        QVERIFY(is("token_min", all.colwise().minCoeff().transpose()));
        QVERIFY(is("token_max", all.colwise().maxCoeff().transpose()));
        QVERIFY(test::isClose(asMatrix(results, spread + "sigma"), used, 1e-11)); // all are in the sample
    }

    // Kamoda et al.'s code keeps σ in float16, three digits. Here it is in double, in the arrays and in the scores.
    void sigmaIsKeptInDouble()
    {
        ToyOptions toy;
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        const auto& weights = circuits.weights();
        const Norm<double> norm = weights.ln1<double>(0);
        const Matrix<double> sigma = divisors(norm, seenPositions(weights, 0, toy.nCtx),
                                              seenRows(norm, weights.W_E<double>(0, toy.dVocab)));
        const Matrix<double> shown =
            asMatrix(test::analysed(circuits, {"norm_spread"}, test::inDouble()), spread + "sigma");
        double lost = 0; // what eleven bits would cost
        for (int position = 0; position < toy.nCtx; ++position)
            for (int token = 0; token < toy.dVocab; ++token) {
                const double expected = sigmaOf(circuits, position, token);
                QVERIFY(std::abs(sigma(position, token) - expected) < 1e-14 * expected);
                QVERIFY(std::abs(shown(position, token) - expected) < 1e-13 * expected);
                int exponent = 0;
                const double half = std::round(std::frexp(expected, &exponent) * 2048) / 2048;
                lost = std::max(lost, std::abs(std::ldexp(half, exponent) - expected) / expected);
            }
        QVERIFY(lost > 1e-4);
    }

    void blocksOfTokensAndThreadsChangeNothing()
    {
        ToyOptions toy;
        toy.dVocab = 1201, toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        Task one, many;
        one.threads = 1, many.threads = 4;
        const ResultSet results = test::analysed(circuits, {"norm_spread"}, test::inDouble(), one);
        QVERIFY(results == test::analysed(circuits, {"norm_spread"}, test::inDouble(), many));
        double sum = 0;
        for (int token = 0; token < 1201; ++token)
            sum += sigmaOf(circuits, 4, token) / 1201;
        QVERIFY(std::abs(test::numbers(results, spread + "position_mean")[4] - sum) < 1e-11);
        for (const int token : {0, 511, 512, 1200})
            QVERIFY(std::abs(test::numbers(results, spread + "token_max")[static_cast<std::size_t>(token)] -
                             [&] {
                                 double most = 0;
                                 for (int position = 0; position < toy.nCtx; ++position)
                                     most = std::max(most, sigmaOf(circuits, position, token));
                                 return most;
                             }())
                    < 1e-11);
    }

    void otherModelsAreLeftOutAndAStopIsHeeded()
    {
        for (const char* name : {"position_geometry", "norm_spread"}) {
            const Analysis* analysis = findAnalysis(name);
            QVERIFY(!analysis->whyNot(test::toyCircuits(test::llamaOptions()).config(), {}).empty());
            const Circuits circuits = test::toyCircuits({});
            QVERIFY(analysis->whyNot(circuits.config(), {}).empty());
            const ResultSet results = test::analysed(circuits, {name}, test::inDouble());
            for (const Picture& picture : analysis->pictures)
                for (const std::string& path : picture.arrays)
                    QVERIFY2(results.find(path), path.c_str());
            std::stop_source stop;
            stop.request_stop();
            Task task;
            task.stop = stop.get_token();
            QVERIFY(test::failsWith(runAnalyses(circuits, std::vector{analysis}, test::inDouble(), task),
                                    ErrorCode::Cancelled, "cancelled"));
        }
        ToyOptions bare;
        bare.normalization.reset();
        QVERIFY(findAnalysis("norm_spread")->whyNot(test::toyCircuits(bare).config(), {}).find("norm")
                != std::string::npos);
    }
};

HEADWISE_TEST(PositionGeometryTest)
#include "position_geometry_test.moc"
