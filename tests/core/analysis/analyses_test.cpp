#include "core/analysis/block.h"
#include "core/analysis/catalogue.h"
#include "core/analysis/spectrum.h"
#include "core/analysis/token_table.h"

#include "tests/support/analysed.h"
#include "tests/support/dense_algebra.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

using namespace headwise;
using test::ToyOptions;

namespace {

std::string name(CircuitKind kind)
{
    return std::string(circuitName(kind));
}

/// The numbers of one head in an array [n_layers, n_heads, width].
std::vector<double> ofHead(const Circuits& circuits, const ResultSet& results, const std::string& path,
                           HeadId head)
{
    const auto all = test::numbers(results, path);
    const ModelConfig& config = circuits.config();
    const std::size_t width = all.size() / (static_cast<std::size_t>(config.nLayers) * config.nHeads);
    const std::size_t at = (static_cast<std::size_t>(head.layer) * config.nHeads + head.head) * width;
    return {all.begin() + static_cast<std::ptrdiff_t>(at),
            all.begin() + static_cast<std::ptrdiff_t>(at + width)};
}

double number(const Circuits& circuits, const ResultSet& results, const std::string& path, HeadId head)
{
    return ofHead(circuits, results, path, head).at(0);
}

std::vector<HeadId> allHeads(const Circuits& circuits)
{
    std::vector<HeadId> heads;
    for (int layer = 0; layer < circuits.config().nLayers; ++layer) {
        for (int head = 0; head < circuits.config().nHeads; ++head)
            heads.push_back({layer, head});
    }
    return heads;
}

/// First and last: dense 512 × 512 problems take a while.
std::vector<HeadId> someHeads(const Circuits& circuits)
{
    const ModelConfig& config = circuits.config();
    return {{0, 0}, {config.nLayers - 1, config.nHeads - 1}};
}

void addModels()
{
    QTest::addColumn<QString>("model");
    for (const char* model : {"toy", "llama toy", "two tokens", "gpt-nano-sort", "stories260k"})
        QTest::newRow(model) << model;
}

Circuits circuitsNamed(const QString& model)
{
    if (model == "toy")
        return test::toyCircuits({});
    if (model == "llama toy")
        return test::toyCircuits(test::llamaOptions());
    if (model == "two tokens") { // d_vocab < d_head
        ToyOptions options;
        options.dVocab = 2;
        return test::toyCircuits(options);
    }
    return test::circuitsOf(test::testData("models/" + model.toStdString()));
}

} // namespace

class AnalysesTest : public QObject {
    Q_OBJECT

private slots:
    void rankMeasuresOfAHandMadeSpectrum()
    {
        const std::vector<double> sigma{4, 2, 2, 0};
        const RankMeasures measures = rankMeasures(sigma);
        QCOMPARE(measures.frobeniusNorm, std::sqrt(24.0));
        QCOMPARE(measures.stableRank, 24.0 / 16);
        QCOMPARE(measures.participationRatio, 24.0 * 24 / (256 + 16 + 16));
        QCOMPARE(measures.effectiveRank, std::exp(0.5 * std::log(2) + 2 * 0.25 * std::log(4)));
        QCOMPARE(measures.k90, 3.0);
        const RankMeasures zero = rankMeasures(std::vector<double>(3, 0.0));
        QCOMPARE(zero.frobeniusNorm, 0.0);
        QVERIFY(std::isnan(zero.effectiveRank) && std::isnan(zero.stableRank)
                && std::isnan(zero.participationRatio));
    }

    void spectraAgreeWithTheDenseCircuits_data() { addModels(); }
    void spectraAgreeWithTheDenseCircuits()
    {
        QFETCH(QString, model);
        const Circuits circuits = circuitsNamed(model);
        const auto results = test::analysed(circuits, {"spectra"});
        for (const HeadId head : someHeads(circuits)) {
            for (const CircuitKind kind : circuitKinds) {
                const Matrix<double> dense = test::denseCircuit(circuits, kind, head);
                const Eigen::VectorXd sigmas = test::singularValuesOf(dense);
                Eigen::VectorXd expected = Eigen::VectorXd::Zero(circuits.config().dHead);
                const Eigen::Index count = std::min(expected.size(), sigmas.size());
                expected.head(count) = sigmas.head(count);
                const std::string folder = "spectra/" + name(kind) + "/";
                const auto sigma = ofHead(circuits, results, folder + "singular_values", head);
                const Eigen::Map<const Eigen::VectorXd> found(sigma.data(), expected.size());
                QVERIFY(test::isClose(found, expected, 1e-5));
                const double norm = number(circuits, results, folder + "frobenius_norm", head);
                QVERIFY(std::abs(norm - dense.norm()) <= 1e-5 * expected(0));
                const RankMeasures measures =
                    rankMeasures(std::vector<double>(expected.begin(), expected.end()));
                const auto isNear = [&](const char* path, double value) {
                    return std::abs(number(circuits, results, folder + path, head) - value) <= 1e-4 * value;
                };
                QVERIFY(isNear("effective_rank", measures.effectiveRank));
                QVERIFY(isNear("stable_rank", measures.stableRank));
                QVERIFY(isNear("participation_ratio", measures.participationRatio));
            }
        }
    }

    void eigenvaluesAgreeWithTheDenseCircuits_data() { addModels(); }
    void eigenvaluesAgreeWithTheDenseCircuits()
    {
        QFETCH(QString, model);
        const Circuits circuits = circuitsNamed(model);
        AnalysisOptions options;
        options.precision = Precision::F64;
        options.heads = someHeads(circuits);
        const auto results = test::analysed(circuits, {"eigenvalues", "copying", "matching"}, options);
        const std::size_t r = circuits.config().dHead;
        for (const HeadId head : options.heads) {
            for (const CircuitKind kind : circuitKinds) {
                if (isFull(kind) && circuits.config().dVocab > 100)
                    continue; // minutes as a dense problem; the demo's published numbers stand for it

                auto expected = inReadingOrder(test::eigenvaluesOf(test::denseCircuit(circuits, kind, head)));
                expected.resize(r);
                const auto& all = std::get<std::vector<std::complex<double>>>(
                    results.find("eigenvalues/" + name(kind))->values);
                const std::size_t at =
                    (static_cast<std::size_t>(head.layer) * circuits.config().nHeads + head.head) * r;
                double real = 0;
                double modulus = 0;
                for (std::size_t i = 0; i < r; ++i) {
                    QVERIFY(std::abs(all[at + i] - expected[i]) <= 1e-4 * std::abs(expected[0]));
                    real += expected[i].real();
                    modulus += std::abs(expected[i]);
                }
                if (kind == CircuitKind::FullOv)
                    QVERIFY(std::abs(number(circuits, results, "scores/copying", head) - real / modulus)
                            < 1e-4);
                if (kind == CircuitKind::FullQk)
                    QVERIFY(std::abs(number(circuits, results, "scores/matching", head) - real / modulus)
                            < 1e-4);
            }
        }
    }

    void compositionAgreesWithTheDenseProducts_data() { addModels(); }
    void compositionAgreesWithTheDenseProducts()
    {
        QFETCH(QString, model);
        const Circuits circuits = circuitsNamed(model);
        for (const Precision precision : {Precision::F32, Precision::F64}) {
            AnalysisOptions options;
            options.precision = precision;
            const auto results = test::analysed(circuits, {"composition"}, options);
            const double tolerance = precision == Precision::F32 ? 1e-6 : 1e-12;
            const auto heads = allHeads(circuits);
            std::array<std::vector<double>, 3> found;
            for (std::size_t mode = 0; mode < 3; ++mode)
                found[mode] = test::numbers(
                    results, std::array{"composition/q", "composition/k", "composition/v"}[mode]);
            for (std::size_t i = 0; i < heads.size(); i += model == "stories260k" ? 7 : 1) {
                const Matrix<double> ov1 = test::denseCircuit(circuits, CircuitKind::Ov, heads[i]);
                for (std::size_t j = 0; j < heads.size(); j += model == "stories260k" ? 3 : 1) {
                    const Matrix<double> qk2 = test::denseCircuit(circuits, CircuitKind::Qk, heads[j]);
                    const Matrix<double> ov2 = test::denseCircuit(circuits, CircuitKind::Ov, heads[j]);
                    const double scores[]{(ov1 * qk2).norm() / ov1.norm() / qk2.norm(),
                                          (ov1 * qk2.transpose()).norm() / ov1.norm() / qk2.norm(),
                                          (ov1 * ov2).norm() / ov1.norm() / ov2.norm()};
                    for (std::size_t mode = 0; mode < 3; ++mode) {
                        const double score = found[mode][i * heads.size() + j];
                        if (heads[i].layer < heads[j].layer)
                            QVERIFY(std::abs(score - scores[mode]) <= tolerance);
                        else
                            QVERIFY(std::isnan(score));
                    }
                }
            }
        }
    }

    void tablesAreThoseOfBruteForce_data() { addModels(); }
    void tablesAreThoseOfBruteForce()
    {
        QFETCH(QString, model);
        const Circuits circuits = circuitsNamed(model);
        AnalysisOptions options;
        options.precision = Precision::F64;
        options.tableSize = 4;
        options.heads = {{1, 2}, {0, 1}};
        const int V = circuits.config().dVocab;
        const std::size_t k = static_cast<std::size_t>(std::min(4, V));
        options.unusedTokens.assign(static_cast<std::size_t>(V), false);
        if (V > 3)
            options.unusedTokens[3] = true;
        const auto results = test::analysed(circuits, {"tables"}, options);
        const auto& names =
            std::get<std::vector<std::string>>(results.groupAttributes.at("tables/full_ov").at("heads"));
        QCOMPARE(names, (std::vector<std::string>{"0.1", "1.2"}));
        for (const CircuitKind kind : {CircuitKind::FullOv, CircuitKind::FullQk}) {
            const std::string folder = "tables/" + name(kind) + "/";
            QCOMPARE(results.find(folder + "ids")->shape,
                     (std::vector<std::size_t>{2, static_cast<std::size_t>(V), k}));
            for (std::size_t h = 0; h < 2; ++h) {
                const HeadId head = h == 0 ? HeadId{0, 1} : HeadId{1, 2};
                const Matrix<double> dense = test::denseCircuit(circuits, kind, head);
                checkTable(results, folder, "ids", "values", h, k, dense, 1, options.unusedTokens);
                checkTable(results, folder, "lowest_ids", "lowest_values", h, k, dense, -1,
                           options.unusedTokens);
                checkTable(results, folder, "column_ids", "column_values", h, k, dense.transpose(), 1,
                           options.unusedTokens);
            }
        }
    }

    void tokenLinesAreRowsAndColumnsOfTheDenseCircuit_data() { addModels(); }
    void tokenLinesAreRowsAndColumnsOfTheDenseCircuit()
    {
        QFETCH(QString, model);
        const Circuits circuits = circuitsNamed(model);
        const auto tokens = test::tokensOf(circuits);
        const HeadId head{1, 1};
        for (const CircuitKind kind : {CircuitKind::FullQk, CircuitKind::FullOv}) {
            const Matrix<double> dense = test::denseCircuit(circuits, kind, head);
            const auto row = tokenLine(circuits, *tokens, {kind, head}, TableSide::Row, 1);
            const auto column = tokenLine(circuits, *tokens, {kind, head}, TableSide::Column, 1);
            QVERIFY(test::isOk(row) && test::isOk(column));
            QVERIFY(test::isClose(*row, dense.row(1), 1e-6));
            QVERIFY(test::isClose(*column, dense.col(1).transpose(), 1e-6));
            const auto factored = circuits.circuit<double>(kind, head, tokens.get());
            QVERIFY(
                test::isClose(lineNorms(factored, TableSide::Row), dense.rowwise().norm().transpose(), 1e-6));
            QVERIFY(test::isClose(lineNorms(factored, TableSide::Column), dense.colwise().norm(), 1e-6));
            const std::vector<int> rows{1, 0};
            const std::vector<int> cols{0, 1, 1};
            const auto block = circuitBlock(circuits, tokens.get(), {kind, head}, rows, cols);
            QVERIFY(test::isOk(block));
            const Matrix<double> expected = dense(rows, cols);
            QVERIFY(test::isClose(*block, expected, 1e-5));
            const auto same = denseBlock(circuits.circuit<float>(kind, head, tokens.get()), rows, cols);
            QVERIFY(test::isClose(*same, expected, 1e-5));
        }
        for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov})
            QVERIFY(test::isClose(*wholeCircuit(circuits, {kind, head}),
                                  test::denseCircuit(circuits, kind, head), 1e-5));
        QVERIFY(
            test::failsWith(tokenLine(circuits, *tokens, {CircuitKind::FullQk, {9, 0}}, TableSide::Row, 0),
                            ErrorCode::InvalidArgument, "head 9.0"));
        QVERIFY(
            test::failsWith(tokenLine(circuits, *tokens, {CircuitKind::FullQk, head}, TableSide::Row, 100000),
                            ErrorCode::InvalidArgument, "token 100000"));
        QVERIFY(test::failsWith(circuitBlock(circuits, tokens.get(), {CircuitKind::FullOv, head}, {0}, {-1}),
                                ErrorCode::InvalidArgument, "column -1"));
        const std::vector<int> many(5000, 0);
        QVERIFY(test::failsWith(circuitBlock(circuits, tokens.get(), {CircuitKind::FullOv, head}, many, many),
                                ErrorCode::InvalidArgument, "5000 × 5000"));
    }

    void endsOfALine()
    {
        const RowVector<double> values = (RowVector<double>(5) << 2, -1, 2, 7, -1).finished();
        const TokenEnds all = ends(values, 3, {});
        QVERIFY(all.top == (std::vector<TokenEntry>{{3, 7}, {0, 2}, {2, 2}}));
        QVERIFY(all.bottom == (std::vector<TokenEntry>{{1, -1}, {4, -1}, {0, 2}}));
        const TokenEnds used = ends(values, 9, {false, true, false, true, false});
        QVERIFY(used.top == (std::vector<TokenEntry>{{0, 2}, {2, 2}, {4, -1}}));
    }

    void theDemoShowsItsPublishedNumbers()
    {
        const Circuits circuits = test::circuitsOf(HEADWISE_DEMO_MODEL);
        const auto results = test::analysed(circuits, {"copying", "composition", "previous_token"});
        const auto copying = [&](int layer, int head) {
            return number(circuits, results, "scores/copying", {layer, head});
        };
        QVERIFY(std::abs(copying(1, 5) - 0.93) < 0.005);
        QVERIFY(std::abs(copying(1, 7) - 0.89) < 0.005);
        QVERIFY(std::abs(copying(1, 0) - 0.83) < 0.005);
        QVERIFY(std::abs(copying(1, 1) - 0.75) < 0.005);
        QVERIFY(std::abs(copying(0, 4) - 0.54) < 0.005);
        const auto k = test::numbers(results, "composition/k");
        const auto composed = [&](int earlier, int later) {
            return k[static_cast<std::size_t>(earlier * 16 + 8 + later)];
        };
        QVERIFY(std::abs(composed(1, 5) - 0.15) < 0.005);
        QVERIFY(std::abs(composed(1, 0) - 0.13) < 0.005);
        QVERIFY(std::abs(composed(1, 7) - 0.13) < 0.005);
        const auto previous = test::numbers(results, "scores/previous_token");
        QCOMPARE(std::max_element(previous.begin(), previous.begin() + 8) - previous.begin(),
                 std::ptrdiff_t(1)); // L0H1
        QVERIFY(previous[1] > 0.8);
        const ResultArray* array = results.find("scores/previous_token");
        QCOMPARE(std::get<std::string>(array->attributes.at("assumption")), std::string("raw positions"));
        QCOMPARE(std::get<double>(results.find("composition/k")->attributes.at("baseline")),
                 1 / std::sqrt(256.0));
    }

    // The formula of DESIGN §2 in plain loops, on weights read one by one.
    void previousTokenIsTheFormulaInPlainLoops()
    {
        for (const bool folded : {true, false}) {
            ToyOptions options;
            options.scoreSoftCap = folded ? 0 : 3;
            const Circuits circuits =
                test::toyCircuits(options, folded ? ProcessingWish() : test::noProcessing());
            const auto results = test::analysed(circuits, {"previous_token"});
            for (const HeadId head : allHeads(circuits))
                QVERIFY(std::abs(number(circuits, results, "scores/previous_token", head)
                                 - learnedScore(circuits, head))
                        < 1e-6);
        }
    }

    void previousTokenOfRotaryModelsTurnsTheMeanToken()
    {
        ToyOptions adjacent;
        adjacent.positional = "rotary";
        adjacent.rotaryAdjacent = true;
        adjacent.rotaryDim = 4;
        for (const ToyOptions& options : {test::llamaOptions(), adjacent}) {
            const Circuits circuits = test::toyCircuits(options);
            const auto results = test::analysed(circuits, {"previous_token"});
            for (const HeadId head : allHeads(circuits))
                QVERIFY(std::abs(number(circuits, results, "scores/previous_token", head)
                                 - rotaryScore(circuits, head))
                        < 1e-6);
        }
    }

    void previousTokenNeedsPositions()
    {
        ToyOptions options;
        options.positional = "none";
        const Circuits circuits = test::toyCircuits(options);
        for (const double score :
             test::numbers(test::analysed(circuits, {"previous_token"}), "scores/previous_token"))
            QVERIFY(std::isnan(score));
    }

    void headsNotAskedForAreNan()
    {
        const Circuits circuits = test::toyCircuits({});
        AnalysisOptions options;
        options.heads = {{1, 2}};
        const auto some =
            test::analysed(circuits, {"spectra", "copying", "previous_token", "eigenvalues"}, options);
        const auto all = test::analysed(circuits, {"spectra", "copying", "previous_token", "eigenvalues"});
        for (const char* path :
             {"spectra/full_ov/singular_values", "scores/copying", "scores/previous_token"}) {
            for (const HeadId head : allHeads(circuits)) {
                const auto found = ofHead(circuits, some, path, head);
                if (head == HeadId{1, 2})
                    QCOMPARE(found, ofHead(circuits, all, path, head));
                else
                    QVERIFY(std::isnan(found[0]));
            }
        }
        QVERIFY(std::isnan(
            std::get<std::vector<std::complex<float>>>(some.find("eigenvalues/qk")->values)[0].real()));
    }

    void everyArraySaysWhatItIs()
    {
        const Circuits circuits = test::toyCircuits({});
        for (const Precision precision : {Precision::F32, Precision::F64}) {
            AnalysisOptions options;
            options.precision = precision;
            std::vector<std::string> names;
            for (const Analysis& analysis : catalogue()) {
                if (whyLeftOut(analysis, circuits.config(), options).empty())
                    names.emplace_back(analysis.id);
                QVERIFY(analysis.cost(circuits.config(), options).flops > 0);
                QVERIFY(!analysis.title.empty() && !analysis.formula.empty() && !analysis.citation.empty());
            }
            const auto results = test::analysed(circuits, names, options);
            QCOMPARE(results.warnings, std::vector<std::string>());
            for (const ResultArray& array : results.arrays) {
                QCOMPARE(array.axes.size(), array.shape.size());
                QVERIFY(!array.definition.empty() && !array.title.empty());
                const bool isDouble = std::holds_alternative<std::vector<double>>(array.values)
                    || std::holds_alternative<std::vector<std::complex<double>>>(array.values);
                const bool isInteger = std::holds_alternative<std::vector<std::int32_t>>(array.values);
                const bool isCount = array.path.starts_with("analyses/skipless/")
                    && array.axes == std::vector<std::string>{"pair"}; // does not fit into a float
                QVERIFY2(isInteger || isCount || isDouble == (precision == Precision::F64),
                         array.path.c_str());
            }
        }
    }

    void randomHeadsMeetTheirNulls()
    {
        // Reference of ANALYSES E3, measured elsewhere: 32.5 / 62.6 / 54.9 for d_head 64, d_model 768.
        ToyOptions options;
        options.dModel = 768;
        options.dHead = 64;
        options.nHeads = 2;
        options.attnOnly = true;
        const Circuits circuits = test::toyCircuits(options);
        const auto results = test::analysed(circuits, {"spectra"});
        QVERIFY(std::abs(*results.find("spectra/qk/stable_rank")->nullMean - 32.5) < 0.5);
        QVERIFY(std::abs(*results.find("spectra/ov/effective_rank")->nullMean - 62.6) < 0.1);
        QVERIFY(std::abs(*results.find("spectra/ov/participation_ratio")->nullMean - 54.9) < 0.3);
        QVERIFY(!results.find("spectra/full_ov/effective_rank")->nullMean);
    }

    void theDirectPathListsNextTokens()
    {
        const Circuits circuits = circuitsNamed("stories260k");
        AnalysisOptions options;
        options.tableSize = 3;
        options.precision = Precision::F64;
        const auto results = test::analysed(circuits, {"direct_path"}, options);
        const Matrix<double> dense =
            circuits.weights().W_E<double>(0, 512) * circuits.weights().W_U<double>(0, 512);
        checkTable(results, "analyses/direct_path/", "ids", "values", 0, 3, dense, 1, {});
        QCOMPARE(test::numbers(results, "analyses/direct_path/b_U").size(), std::size_t(512));
    }

    void wrongRequestsNameTheCulprit()
    {
        const Circuits circuits = test::toyCircuits({});
        const std::vector<const Analysis*> chosen{findAnalysis("copying")};
        AnalysisOptions options;
        options.heads = {{0, 7}};
        QVERIFY(test::failsWith(runAnalyses(circuits, chosen, options, Task{}), ErrorCode::InvalidArgument,
                                "no head 0.7"));
        options.heads.clear();
        options.tableSize = 0;
        QVERIFY(test::failsWith(runAnalyses(circuits, chosen, options, Task{}), ErrorCode::InvalidArgument,
                                "is 0"));
        QVERIFY(!findAnalysis("astrology"));
        ToyOptions rotary;
        rotary.positional = "rotary";
        rotary.rotaryDim = 4;
        const auto left = test::analysed(test::toyCircuits(rotary), {"position_kernel"});
        QVERIFY(left.arrays.empty() && left.warnings.size() == 1);
        QVERIFY(left.warnings[0].find("learned positions") != std::string::npos);
    }

    void defaultsAreTheSameEverywhereAndTablesHaveABudget()
    {
        ModelConfig config;
        config.nLayers = 12;
        config.nHeads = 12;
        config.dModel = 768;
        config.dHead = 64;
        config.dVocab = config.dVocabOut = 50257;
        std::vector<std::string_view> ids;
        for (const Analysis* analysis : defaultAnalyses(config, {}))
            ids.push_back(analysis->id);
        QVERIFY(ids
                == (std::vector<std::string_view>{"spectra", "eigenvalues", "copying", "matching",
                                                  "previous_token", "composition"}));
        AnalysisOptions one;
        one.heads = {{0, 0}};
        QCOMPARE(defaultAnalyses(config, one).size(), std::size_t(7)); // 1.6e11
    }

    void everyAnalysisStopsWhenAsked()
    {
        const Circuits circuits = test::toyCircuits({});
        AnalysisOptions options;
        options.inputs.prompt = {1, 2, 3, 1, 2};
        options.inputs.token = 1;
        options.inputs.pair = {{0, 0}, {1, 1}};
        options.inputs.direction.assign(static_cast<std::size_t>(circuits.config().dModel), 1.0);
        int asked = 0;
        for (const Analysis& analysis : catalogue()) {
            if (!whyLeftOut(analysis, circuits.config(), options).empty())
                continue;
            ++asked;
            std::stop_source stop;
            Task task;
            task.stop = stop.get_token();
            AnalysisContext context{circuits, test::tokensOf(circuits), options};
            QVERIFY(test::isOk(analysis.run(context, task))); // it would have answered
            stop.request_stop();
            const auto stopped = analysis.run(context, task);
            QVERIFY2(test::failsWith(stopped, ErrorCode::Cancelled, "cancelled"), analysis.id.data());
        }
        QVERIFY(asked >= 40);
    }

private:
    static void checkTable(const ResultSet& results, const std::string& folder, const char* idsName,
                           const char* valuesName, std::size_t headIndex, std::size_t k,
                           const Matrix<double>& dense, double sign, const std::vector<bool>& unused)
    {
        const auto ids = test::numbers(results, folder + idsName);
        const auto values = test::numbers(results, folder + valuesName);
        const double size = dense.cwiseAbs().maxCoeff();
        for (Eigen::Index token = 0; token < dense.rows(); ++token) {
            std::vector<int> order(static_cast<std::size_t>(dense.cols()));
            std::iota(order.begin(), order.end(), 0);
            std::erase_if(order,
                          [&](int id) { return !unused.empty() && unused[static_cast<std::size_t>(id)]; });
            std::stable_sort(order.begin(), order.end(),
                             [&](int a, int b) { return sign * dense(token, a) > sign * dense(token, b); });
            if (!unused.empty() && unused[static_cast<std::size_t>(token)])
                order.clear();
            for (std::size_t i = 0; i < k; ++i) {
                const std::size_t at =
                    (headIndex * static_cast<std::size_t>(dense.rows()) + static_cast<std::size_t>(token)) * k
                    + i;
                QCOMPARE(static_cast<int>(ids[at]), i < order.size() ? order[i] : -1);
                if (i < order.size())
                    QVERIFY(std::abs(values[at] - dense(token, order[i])) <= 1e-12 * size);
                else
                    QVERIFY(std::isnan(values[at]));
            }
        }
    }

    /// LN(x) as the layer still has it: γ and β are whatever folding left.
    static std::vector<double> normed(const ProcessedWeights& weights, int layer, const RowVector<double>& x)
    {
        const Norm<double> norm = weights.ln1<double>(layer);
        double mean = 0;
        if (norm.kind == NormKind::LayerNorm)
            mean = x.sum() / static_cast<double>(x.size());
        double square = 0;
        for (const double value : x)
            square += (value - mean) * (value - mean);
        const double sigma = std::sqrt(square / static_cast<double>(x.size()) + norm.eps);
        std::vector<double> out;
        for (Eigen::Index i = 0; i < x.size(); ++i)
            out.push_back((x(i) - mean) / sigma * (norm.w.size() > 0 ? norm.w(i) : 1)
                          + (norm.b.size() > 0 ? norm.b(i) : 0));
        return out;
    }

    static std::vector<double> affine(const std::vector<double>& x, const Matrix<double>& W,
                                      const RowVector<double>& b)
    {
        std::vector<double> out;
        for (Eigen::Index j = 0; j < W.cols(); ++j) {
            out.push_back(b(j));
            for (Eigen::Index i = 0; i < W.rows(); ++i)
                out.back() += x[static_cast<std::size_t>(i)] * W(i, j);
        }
        return out;
    }

    static double meanPrevious(int n, const std::function<double(int, int)>& score)
    {
        double mean = 0;
        for (int i = 1; i < n; ++i) {
            double total = 0;
            for (int j = 0; j <= i; ++j)
                total += std::exp(score(i, j));
            mean += std::exp(score(i, i - 1)) / total / (n - 1);
        }
        return mean;
    }

    static double learnedScore(const Circuits& circuits, HeadId head)
    {
        const auto& weights = circuits.weights();
        const auto w = weights.head<double>(head);
        const ModelConfig& config = circuits.config();
        std::vector<std::vector<double>> q, k;
        for (int i = 0; i < config.nCtx; ++i) {
            const auto x = normed(weights, head.layer, weights.W_pos<double>(i, 1).row(0));
            q.push_back(affine(x, w.W_Q, w.b_Q));
            k.push_back(affine(x, w.W_K, w.b_K));
        }
        return meanPrevious(config.nCtx, [&](int i, int j) {
            const double dot = std::inner_product(q[static_cast<std::size_t>(i)].begin(),
                                                  q[static_cast<std::size_t>(i)].end(),
                                                  k[static_cast<std::size_t>(j)].begin(), 0.0);
            const double score = dot * config.attentionScale;
            const double cap = config.attentionSoftCap;
            return cap > 0 ? cap * std::tanh(score / cap) : score;
        });
    }

    /// Queries and keys turned each by their own position, with complex numbers; the code turns queries by the offset.
    static double rotaryScore(const Circuits& circuits, HeadId head)
    {
        const auto& weights = circuits.weights();
        const auto w = weights.head<double>(head);
        const ModelConfig& config = circuits.config();
        const auto x = normed(weights, head.layer, weights.W_E<double>(0, config.dVocab).colwise().mean());
        const auto q = affine(x, w.W_Q, w.b_Q);
        const auto k = affine(x, w.W_K, w.b_K);
        const Rotary& rotary = config.rotary;
        const auto turned = [&](std::vector<double> v, int position) {
            for (int i = 0; i < rotary.dim / 2; ++i) {
                const auto a = static_cast<std::size_t>(rotary.adjacentPairs ? 2 * i : i);
                const auto b =
                    static_cast<std::size_t>(rotary.adjacentPairs ? 2 * i + 1 : i + rotary.dim / 2);
                const std::complex<double> z = std::complex<double>(v[a], v[b])
                    * std::polar(1.0, position / std::pow(rotary.base, 2.0 * i / rotary.dim));
                v[a] = z.real();
                v[b] = z.imag();
            }
            return v;
        };
        return meanPrevious(config.nCtx, [&](int i, int j) {
            const auto a = turned(q, i);
            const auto b = turned(k, j);
            return std::inner_product(a.begin(), a.end(), b.begin(), 0.0) * config.attentionScale;
        });
    }
};

QTEST_APPLESS_MAIN(AnalysesTest)
#include "analyses_test.moc"
