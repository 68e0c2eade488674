#include "core/analysis/catalogue.h"
#include "core/circuits/spectrum.h"
#include "core/runs/queue.h"

#include "tests/core/analysis/small_models.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/program.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace headwise;
using test::addModels;
using test::allHeads;
using test::circuitsNamed;
using test::number;
using test::ofHead;
using test::ToyOptions;

namespace {

std::string name(CircuitKind kind)
{
    return std::string(circuitName(kind));
}

/// First and last: dense 512 × 512 problems take a while.
std::vector<HeadId> someHeads(const Circuits& circuits)
{
    const ModelConfig& config = circuits.config();
    return {{0, 0}, {config.nLayers - 1, config.nHeads - 1}};
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
                    continue; // minutes as a dense problem; covered by the demo's published numbers

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
                if (kind == CircuitKind::Ov)
                    QVERIFY(
                        std::abs(number(circuits, results, "scores/copying_weights", head) - real / modulus)
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

    void compositionWithOneEndIsThatOfAllPairs_data() { addModels(); }
    void compositionWithOneEndIsThatOfAllPairs()
    {
        QFETCH(QString, model);
        const Circuits circuits = circuitsNamed(model);
        const auto heads = allHeads(circuits);
        AnalysisOptions options;
        options.precision = Precision::F64;
        const auto all = test::analysed(circuits, {"composition"}, options);
        const double fullCost = findAnalysis("composition")->cost(circuits.config(), options).flops;
        const auto isNamed = [&](HeadId head) {
            return std::find(options.heads.begin(), options.heads.end(), head) != options.heads.end();
        };
        for (const std::vector<HeadId>& named :
             {std::vector<HeadId>{heads.front()}, {{1, 1}}, {{0, 1}, {1, 2}}}) {
            options.heads = named;
            for (const bool oneEnd : {true, false}) {
                options.oneEndIsEnough = oneEnd;
                const auto some = test::analysed(circuits, {"composition"}, options);
                int found = 0;
                for (const char* mode : {"composition/q", "composition/k", "composition/v"}) {
                    const auto expected = test::numbers(all, mode), row = test::numbers(some, mode);
                    for (std::size_t i = 0; i < heads.size(); ++i) {
                        for (std::size_t j = 0; j < heads.size(); ++j) {
                            const bool isAsked = oneEnd ? isNamed(heads[i]) || isNamed(heads[j])
                                                        : isNamed(heads[i]) && isNamed(heads[j]);
                            const std::size_t at = i * heads.size() + j;
                            if (!isAsked || heads[i].layer >= heads[j].layer) {
                                QVERIFY(std::isnan(row[at]));
                                continue;
                            }
                            QVERIFY(std::abs(row[at] - expected[at]) <= 1e-12);
                            ++found;
                        }
                    }
                }
                QCOMPARE(some.warnings.empty(), found > 0);
                if (found == 0)
                    QVERIFY(some.warnings[0].find("--one-end") != std::string::npos);
                const double cost = findAnalysis("composition")->cost(circuits.config(), options).flops;
                QVERIFY(cost > 0 && cost < fullCost);
            }
        }
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
            options.inputs.seed = 7;
            for (int id = 0; id < std::min(circuits.config().dVocab, circuits.config().dVocabOut); ++id)
                options.inputs.cycle.push_back(id); // else a warning says that all ids were taken
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
                QCOMPARE(std::get<double>(array.attributes.at("seed")), 7.0);
                const bool isDouble = std::holds_alternative<std::vector<double>>(array.values)
                    || std::holds_alternative<std::vector<std::complex<double>>>(array.values);
                const bool isInteger = std::holds_alternative<std::vector<std::int32_t>>(array.values);
                const bool isCount = array.path.starts_with("analyses/skipless/")
                    && array.axes == std::vector<ArrayAxis>{Axis::Pair}; // does not fit into a float
                QVERIFY2(isInteger || isCount || isDouble == (precision == Precision::F64),
                         array.path.c_str());
            }
        }
    }

    void randomHeadsMeetTheirNulls()
    {
        // Reference values of random heads: 32.5 / 62.6 / 54.9 for d_head 64, d_model 768.
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
        const ResultArray* full = results.find("spectra/full_ov/effective_rank"); // between 11 tokens
        QVERIFY(full->nullMean && *full->nullMean > 1 && *full->nullMean < 11);
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
};

HEADWISE_TEST(AnalysesTest)
#include "analyses_test.moc"
