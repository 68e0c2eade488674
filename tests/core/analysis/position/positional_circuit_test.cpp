#include "core/analysis/catalogue.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/circuits/position_scores.h"
#include "core/runs/queue.h"

#include "tests/support/analysed.h"
#include "tests/support/family_model.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <cmath>

using namespace headwise;
using test::ToyOptions;

namespace {

/// One head's part of an array [L, H, …], as rows of `width`.
Matrix<double> ofHead(const Circuits& circuits, const ResultSet& results, const std::string& path,
                      HeadId head)
{
    const ResultArray* array = results.find(path);
    const auto all = test::numbers(results, path);
    const ModelConfig& config = circuits.config();
    const std::size_t size = all.size() / (static_cast<std::size_t>(config.nLayers) * config.nHeads);
    const auto width = static_cast<Eigen::Index>(array->shape.size() > 2 ? array->shape.back() : 1);
    const std::size_t at = (static_cast<std::size_t>(head.layer) * config.nHeads + head.head) * size;
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    return Eigen::Map<const RowMajor>(all.data() + at, static_cast<Eigen::Index>(size) / width, width);
}

/// s_ij by its definition, row = query, from weights whose norms are folded.
Matrix<double> denseScores(const Circuits& circuits, HeadId head)
{
    const ModelConfig& config = circuits.config();
    const auto norm = circuits.weights().ln1<double>(head.layer);
    const auto h = circuits.weights().head<double>(head);
    Matrix<double> p = circuits.weights().W_pos<double>(0, config.nCtx);
    for (Eigen::Index i = 0; i < p.rows(); ++i) {
        if (norm.kind == NormKind::LayerNorm)
            p.row(i).array() -= p.row(i).mean();
        if (norm.kind != NormKind::None)
            p.row(i) /= std::sqrt(p.row(i).array().square().mean() + norm.eps);
    }
    const Matrix<double> q = (p * h.W_Q).rowwise() + h.b_Q, k = (p * h.W_K).rowwise() + h.b_K;
    Matrix<double> scores = q * k.transpose() * config.attentionScaleOf(head.layer);
    if (config.attentionSoftCap > 0)
        scores = (scores.array() / config.attentionSoftCap).tanh() * config.attentionSoftCap;
    return scores;
}

Matrix<double> densePattern(const Matrix<double>& scores)
{
    Matrix<double> pattern = Matrix<double>::Zero(scores.rows(), scores.cols());
    for (Eigen::Index i = 0; i < scores.rows(); ++i) {
        for (Eigen::Index j = 0; j <= i; ++j)
            pattern(i, j) = std::exp(scores(i, j));
        pattern.row(i) /= pattern.row(i).sum();
    }
    return pattern;
}

std::vector<std::pair<const char*, ToyOptions>> learnedClasses()
{
    auto classes = test::toyClasses();
    std::erase_if(classes, [](const auto& entry) {
        return entry.second.positional != "standard" || entry.second.layout == test::ToyLayout::Llama;
    });
    for (auto& entry : classes)
        entry.second.float64 = true;
    return classes;
}

} // namespace

/// Scores of positions alone (CONTRACTS.md §5).
class PositionalCircuitTest : public QObject {
    Q_OBJECT

private slots:
    void squaresAndLinesAreTheDenseScores_data()
    {
        QTest::addColumn<int>("index");
        const auto classes = learnedClasses();
        QVERIFY(classes.size() > 15);
        for (std::size_t i = 0; i < classes.size(); ++i)
            QTest::newRow(classes[i].first) << static_cast<int>(i);
    }
    void squaresAndLinesAreTheDenseScores()
    {
        QFETCH(int, index);
        const Circuits circuits = test::toyCircuits(learnedClasses()[static_cast<std::size_t>(index)].second);
        const ModelConfig& config = circuits.config();
        const ResultSet results =
            test::analysed(circuits, {"positional_circuit", "position_kernel"}, test::inDouble());
        const std::string circuit = "analyses/positional_circuit/", kernel = "analyses/position_kernel/";
        const std::vector<int> queries = shownQueries(config.nCtx);
        for (const HeadId head : {HeadId{0, 0}, HeadId{config.nLayers - 1, config.nHeads - 1}}) {
            const Matrix<double> scores = denseScores(circuits, head);
            const Matrix<double> pattern = densePattern(scores);
            QVERIFY(test::isClose(ofHead(circuits, results, circuit + "scores", head), scores, 1e-11));
            QVERIFY(test::isClose(ofHead(circuits, results, circuit + "pattern", head), pattern, 1e-11));
            QVERIFY(test::isClose(ofHead(circuits, results, circuit + "query_scores", head),
                                  scores(queries, Eigen::all), 1e-11));
            QVERIFY(test::isClose(ofHead(circuits, results, circuit + "query_pattern", head),
                                  pattern(queries, Eigen::all), 1e-11));
            const auto mass = [&](const char* name) {
                return ofHead(circuits, results, kernel + name, head)(0, 0);
            };
            QVERIFY(std::abs(mass("current_token") - pattern.diagonal().mean()) < 1e-12);
            QVERIFY(std::abs(mass("previous_token") - pattern.diagonal(-1).mean()) < 1e-12);
            QVERIFY(std::abs(mass("second_previous_token") - pattern.diagonal(-2).mean()) < 1e-12);
            QVERIFY(std::abs(mass("first_token") - pattern.col(0).tail(config.nCtx - 1).mean()) < 1e-12);
            const auto low = ofHead(circuits, results, kernel + "score_low", head);
            const auto high = ofHead(circuits, results, kernel + "score_high", head);
            for (int offset = 0; offset < config.nCtx; ++offset) {
                const Eigen::ArrayXd line = scores.diagonal(-offset);
                const double deviation = std::sqrt((line - line.mean()).square().mean());
                QVERIFY(std::abs(low(0, offset) - (line.mean() - deviation)) < 1e-10 * scores.norm());
                QVERIFY(std::abs(high(0, offset) - (line.mean() + deviation)) < 1e-10 * scores.norm());
            }
        }
    }

    void theKeyBiasIsWhatAZeroQueryScores()
    {
        ToyOptions toy;
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        const ResultSet results = test::analysed(circuits, {"positional_circuit"}, test::inDouble());
        const auto h = circuits.weights().head<double>({1, 2});
        const Matrix<double> x = positionVectors(circuits.weights(), 1, toy.nCtx);
        const auto bias = ofHead(circuits, results, "analyses/positional_circuit/key_bias", {1, 2});
        for (int j = 0; j < toy.nCtx; ++j)
            QVERIFY(std::abs(bias(0, j) - h.b_Q.dot(x.row(j) * h.W_K) * circuits.config().attentionScaleOf(1))
                    < 1e-12);
    }

    void theKeyBiasIsTheSameWhetherTheNormIsFoldedOrNot()
    {
        ToyOptions toy;
        toy.float64 = true;
        ProcessingWish unfolded;
        unfolded.foldLayerNorm = StepWish::Off;
        const std::string path = "analyses/positional_circuit/key_bias";
        const auto values = [&](const ProcessingWish& wish) {
            const Circuits circuits = test::toyCircuits(toy, wish);
            return ofHead(circuits, test::analysed(circuits, {"positional_circuit"}, test::inDouble()), path,
                          {0, 1});
        };
        QVERIFY((values({}) - values(unfolded)).cwiseAbs().maxCoeff() < 1e-12);
    }

    // sin and cos of two frequencies; W_QK rotates by one step.
    void aPlantedPreviousTokenHead()
    {
        QTemporaryDir temporary;
        ToyOptions toy;
        toy.nLayers = 1, toy.dModel = 4, toy.nHeads = 2, toy.dHead = 4, toy.nCtx = 60;
        toy.normalization.reset();
        toy.attnOnly = toy.float64 = true, toy.qkvBias = false;
        const auto path = std::filesystem::path(temporary.path().toStdString()) / "toy";
        auto tensors = test::writeToyModel(path, toy).tensors;
        const std::array<double, 2> frequencies{2.4, 0.7};
        auto& positions = tensors.at("pos_embed.W_pos").values;
        for (int i = 0; i < toy.nCtx; ++i)
            for (int m = 0; m < 2; ++m) {
                positions[static_cast<std::size_t>(4 * i + 2 * m)] = std::cos(frequencies[m] * i);
                positions[static_cast<std::size_t>(4 * i + 2 * m + 1)] = std::sin(frequencies[m] * i);
            }
        auto& W_Q = tensors.at("blocks.0.attn.W_Q").values; // head 0 first
        auto& W_K = tensors.at("blocks.0.attn.W_K").values;
        std::fill(W_Q.begin(), W_Q.begin() + 16, 0.0);
        std::fill(W_K.begin(), W_K.begin() + 16, 0.0);
        for (int m = 0; m < 2; ++m) {
            const double c = 60 * std::cos(frequencies[m]), s = 60 * std::sin(frequencies[m]);
            const int a = 2 * m, b = 2 * m + 1;
            W_Q[static_cast<std::size_t>(4 * a + a)] = c; // p_i turned back by one step
            W_Q[static_cast<std::size_t>(4 * b + a)] = s;
            W_Q[static_cast<std::size_t>(4 * a + b)] = -s;
            W_Q[static_cast<std::size_t>(4 * b + b)] = c;
            W_K[static_cast<std::size_t>(5 * a)] = W_K[static_cast<std::size_t>(5 * b)] = 1;
        }
        test::writeSafetensors(path / "model.safetensors", tensors, true);
        const Circuits circuits = test::circuitsOf(path, test::noProcessing());
        const ResultSet results = test::analysed(circuits, {"position_kernel"}, test::inDouble());
        const auto kernel = ofHead(circuits, results, "analyses/position_kernel/mean_score", {0, 0});
        Eigen::Index peak = 0;
        kernel.row(0).maxCoeff(&peak);
        QCOMPARE(peak, Eigen::Index(1));
        for (int offset = 0; offset < toy.nCtx; ++offset) // 60 Σ cos ω(Δ − 1) / √4
            QVERIFY(std::abs(kernel(0, offset)
                             - 30 * (std::cos(2.4 * (offset - 1)) + std::cos(0.7 * (offset - 1))))
                    < 1e-10);
        const ResultArray* previous = results.find("analyses/position_kernel/previous_token");
        QVERIFY(test::numbers(results, previous->path)[0] > 0.99);
        QVERIFY(*previous->nullMean < 0.08);
    }

    /// The scores of T5's decoder by position are its bias by distance, in every layer.
    void aLearnedBiasIsTheKernelOfEveryLayer()
    {
        const QTemporaryDir temporary;
        const Circuits circuits = test::circuitsOf(
            test::writeFamily(temporary.path().toStdString(), test::familyModel("t5")), test::noProcessing());
        const ModelConfig& config = circuits.config();
        const Matrix<double> table = circuits.weights().original().read<double>(TensorKind::b_rel);
        const ResultSet results = test::analysed(circuits, {"position_kernel"}, test::inDouble());
        for (const HeadId head : {HeadId{0, 1}, HeadId{config.nLayers - 1, 2}}) {
            const auto kernel = ofHead(circuits, results, "analyses/position_kernel/mean_score", head);
            const auto previous = ofHead(circuits, results, "analyses/position_kernel/previous_token", head);
            double sum = std::exp(table(0, head.head)), expected = 0;
            for (int i = 1; i < config.nCtx; ++i) {
                sum += std::exp(table(relativeBucket(config.relativeBias, false, i), head.head));
                expected += std::exp(table(1, head.head)) / sum / (config.nCtx - 1);
            }
            for (int offset = 0; offset < config.nCtx; ++offset)
                QVERIFY(std::abs(kernel(0, offset)
                                 - table(relativeBucket(config.relativeBias, false, offset), head.head))
                        < 1e-12);
            QVERIFY(std::abs(previous(0, 0) - expected) < 1e-12);
        }
    }

    void evenScoresGiveTheNulls()
    {
        QTemporaryDir temporary;
        ToyOptions toy;
        toy.float64 = true;
        const auto path = std::filesystem::path(temporary.path().toStdString()) / "toy";
        auto tensors = test::writeToyModel(path, toy).tensors;
        for (const char* name : {"blocks.0.attn.W_Q", "blocks.0.attn.b_Q"})
            for (double& value : tensors.at(name).values)
                value = 0;
        test::writeSafetensors(path / "model.safetensors", tensors, true);
        const Circuits circuits = test::circuitsOf(path);
        const ResultSet results =
            test::analysed(circuits, {"position_kernel", "positional_circuit"}, test::inDouble());
        for (const char* name : {"current_token", "previous_token", "second_previous_token", "first_token"}) {
            const ResultArray* array = results.find(std::string("analyses/position_kernel/") + name);
            QVERIFY(std::abs(test::numbers(results, array->path)[1] - *array->nullMean) < 1e-13);
        }
        double previous = 0;
        for (int i = 1; i < toy.nCtx; ++i)
            previous += 1.0 / (i + 1) / (toy.nCtx - 1);
        QVERIFY(std::abs(*results.find("analyses/position_kernel/previous_token")->nullMean - previous)
                < 1e-13);
        const auto null = test::numbers(results, "analyses/positional_circuit/pattern_null");
        const Matrix<double> pattern =
            ofHead(circuits, results, "analyses/positional_circuit/pattern", {0, 0}).transpose();
        for (std::size_t i = 0; i < null.size(); ++i)
            QVERIFY(std::abs(null[i] - pattern.data()[i]) < 1e-13);
    }

    void scoresOfRandomDirectionsAreAsLargeAsTheirNull()
    {
        ToyOptions toy;
        toy.dModel = 61, toy.dHead = 7, toy.nHeads = 40, toy.nLayers = 1, toy.qkvBias = false;
        toy.normalization = "LNPre";
        const Circuits circuits = test::toyCircuits(toy);
        const ResultSet results = test::analysed(circuits, {"positional_circuit"}, test::inDouble());
        const auto null = test::numbers(results, "analyses/positional_circuit/score_null_deviation");
        double found = 0, expected = 0;
        for (int head = 0; head < 40; ++head) {
            const auto scores = ofHead(circuits, results, "analyses/positional_circuit/scores", {0, head});
            double sum = 0;
            for (int i = 0; i < toy.nCtx; ++i)
                sum += scores.row(i).head(i + 1).squaredNorm();
            found += sum / (toy.nCtx * (toy.nCtx + 1) / 2.0);
            expected += std::pow(null[static_cast<std::size_t>(head)], 2);
        }
        QVERIFY2(std::abs(std::sqrt(found / expected) - 1) < 0.1, QByteArray::number(found / expected));
    }

    void positionsShownAreEvenAndTheirQueriesThoseOfThePaper()
    {
        QCOMPARE(shownQueries(1024), (std::vector<int>{50, 500, 1000}));
        QCOMPARE(shownQueries(1), (std::vector<int>{0}));
        QCOMPARE(evenlySpaced(5, 3), (std::vector<int>{0, 2, 4}));
        QCOMPARE(evenlySpaced(3, 7), (std::vector<int>{0, 1, 2}));
        QCOMPARE(evenlySpaced(4, 1), (std::vector<int>{0}));
        ModelConfig small;
        small.nLayers = 12, small.nHeads = 12, small.nCtx = 1024;
        QCOMPARE(squareSide(small), Eigen::Index(120)); // 144 · 120² ≤ 2²¹
        small.nLayers = 1;
        QCOMPARE(squareSide(small), Eigen::Index(128));
    }

    void aLongContextIsShownByItsFirstPositions()
    {
        ToyOptions toy;
        toy.nCtx = 331, toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        const ResultSet results = test::analysed(circuits, {"positional_circuit"}, test::inDouble());
        const Matrix<double> scores = denseScores(circuits, {1, 0});
        const std::string path = "analyses/positional_circuit/scores";
        QVERIFY(
            test::isClose(ofHead(circuits, results, path, {1, 0}), // neighbours, so that stripes can be seen
                          Matrix<double>(scores.topLeftCorner(128, 128)), 1e-11));
        const auto pattern = ofHead(circuits, results, "analyses/positional_circuit/pattern", {1, 0});
        QVERIFY(test::isClose(pattern, Matrix<double>(densePattern(scores).topLeftCorner(128, 128)), 1e-11));
        QVERIFY(std::abs(pattern.row(127).sum() - 1) < 1e-12); // no key is left out
        QVERIFY(results.find(path)->definition.find("the first 128 positions") != std::string::npos);
        const auto& positions = std::get<std::vector<std::int32_t>>(
            results.find("analyses/positional_circuit/positions")->values);
        QCOMPARE(positions.size(), std::size_t(128));
        QCOMPARE(positions[127], 127);
    }

    void whatNeedsACausalMaskIsRefusedByNameWithoutOne()
    {
        test::ToyOptions toy;
        toy.bidirectional = true;
        const Circuits circuits = test::toyCircuits(toy);
        for (const char* id :
             {"previous_token", "position_kernel", "positional_circuit", "six_terms", "induction"}) {
            const Analysis* analysis = findAnalysis(id);
            QVERIFY2(analysis->whyNot(circuits.config(), {}).find("causal mask") != std::string::npos, id);
            QVERIFY2(analysis->whyNot(test::toyCircuits({}).config(), {}).empty(), id);
        }
        QVERIFY(findAnalysis("spectra")->whyNot(circuits.config(), {}).empty());
    }

    void otherPositionsAreLeftOutAndHeadsNotAskedForAreEmpty()
    {
        const auto reason = [](const ModelConfig& config) {
            return findAnalysis("positional_circuit")->whyNot(config, {});
        };
        QVERIFY(reason(test::toyCircuits(test::llamaOptions()).config()).find("rotary") != std::string::npos);
        const Circuits circuits = test::toyCircuits({});
        QVERIFY(reason(circuits.config()).empty());
        AnalysisOptions options = test::inDouble();
        options.heads = {{1, 1}};
        const ResultSet some = test::analysed(circuits, {"positional_circuit", "position_kernel"}, options);
        const ResultSet all =
            test::analysed(circuits, {"positional_circuit", "position_kernel"}, test::inDouble());
        for (const ResultArray& array : some.arrays) {
            if (array.axes[0] != Axis::Layer || array.axes[1] != Axis::Head)
                continue;
            QVERIFY(std::isnan(ofHead(circuits, some, array.path, {0, 1})(0, 0)));
            QVERIFY(ofHead(circuits, some, array.path, {1, 1}) == ofHead(circuits, all, array.path, {1, 1}));
            QVERIFY(array.attributes.contains("assumption"));
        }
        std::stop_source stop;
        stop.request_stop();
        Task task;
        task.stop = stop.get_token();
        QVERIFY(test::failsWith(
            runAnalyses(circuits, std::vector{findAnalysis("positional_circuit")}, test::inDouble(), task),
            ErrorCode::Cancelled, "cancelled"));
    }

    void everyPictureHasItsArrays()
    {
        const ResultSet results = test::analysed(test::toyCircuits({}),
                                                 {"positional_circuit", "position_kernel"}, test::inDouble());
        for (const char* name : {"positional_circuit", "position_kernel"})
            for (const Picture& picture : findAnalysis(name)->pictures)
                if (picture.kind != Picture::Kind::HeadPlane) // its other side is measured on tokens
                    for (const std::string& path : picture.arrays)
                        QVERIFY2(results.find(path), path.c_str());
    }
};

HEADWISE_TEST(PositionalCircuitTest)
#include "positional_circuit_test.moc"
