#include "core/analysis/prompt/score_split.h"
#include "core/runs/queue.h"

#include "tests/core/analysis/prompt/prompt_toys.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/program.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace headwise;
using namespace headwise::test;

namespace {

const std::string scoreSourcesFolder = "analyses/score_sources/";
const std::size_t scoreLength = toyPrompt.size();

bool isNearScore(double found, double expected, double tolerance = 1e-9)
{
    return std::abs(found - expected) <= tolerance * (1 + std::abs(expected));
}

/// Sums the finite values.
double sumOfSources(const std::vector<double>& values)
{
    double sum = 0;
    for (const double value : values)
        sum += std::isnan(value) ? 0 : value;
    return sum;
}

std::vector<double> rowOf(const Matrix<double>& row)
{
    return {row.data(), row.data() + row.size()};
}

/// x − mean(x) under LayerNorm, times w, divided by the σ of `at`: the norm frozen there, in loops.
std::vector<double> frozen(const Norm<double>& norm, std::vector<double> at, std::vector<double> x)
{
    if (norm.kind == NormKind::None)
        return x;
    for (auto* vector : {&at, &x}) {
        double mean = 0;
        for (const double entry : *vector)
            mean += entry / static_cast<double>(vector->size());
        if (norm.kind == NormKind::LayerNorm)
            for (double& entry : *vector)
                entry -= mean;
    }
    const double sigma = std::sqrt(dot(at, at) / static_cast<double>(at.size()) + norm.eps);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] *= (norm.w.size() > 0 ? norm.w(static_cast<Eigen::Index>(i)) : 1) / sigma;
    return x;
}

/// Returns the part of a score that distance alone takes away.
double lossByDistance(const Circuits& circuits, std::size_t head, std::size_t distance)
{
    const ModelConfig& config = circuits.config();
    if (config.positional == Positional::Relative)
        return -circuits.weights().original().read<double>(TensorKind::b_rel)(
            relativeBucket(config.relativeBias, config.bidirectional, static_cast<int>(distance)),
            static_cast<Eigen::Index>(head));
    return config.positional == Positional::Alibi
        ? alibiSlopes(config.nHeads)[head] * config.alibiScale * static_cast<double>(distance)
        : 0;
}

} // namespace

class ScoreSourcesTest : public QObject {
    Q_OBJECT

private slots:
    // The reference's own loops rotate and normalise q and k.
    void theSourcesAddUpToTheReferencesScore()
    {
        int checked = 0;
        forEachPromptToy([&](const PromptToy& toy) {
            const Circuits circuits = circuitsOf(toy.path, noProcessing());
            const ModelConfig& config = circuits.config();
            const ResultSet results = analysed(circuits, {"score_sources"}, askedInDouble());
            if (config.qkvLimit > 0) {
                QVERIFY(results.arrays.empty() && !results.warnings.empty());
                return;
            }
            const auto scores = numbers(results, scoreSourcesFolder + "score");
            const auto sources = numbers(results, scoreSourcesFolder + "components");
            const auto ofQuery = numbers(results, scoreSourcesFolder + "query_component");
            const auto ofKey = numbers(results, scoreSourcesFolder + "key_component");
            const auto keys = numbers(results, scoreSourcesFolder + "key");
            const auto means = numbers(results, scoreSourcesFolder + "null_score_mean");
            const auto H = static_cast<std::size_t>(config.nHeads),
                       r = static_cast<std::size_t>(config.dHead);
            const std::size_t width = ofQuery.size() / scores.size();
            for (std::size_t at = 0; at < scores.size(); ++at) {
                const int layer = static_cast<int>(at / H);
                const auto& pattern = toy.reference.patterns[at / H][at % H][scoreLength - 1];
                // Keys of one token tie where there are no positions: either will do.
                const auto key = static_cast<std::size_t>(keys[at]);
                QVERIFY2(pattern.at(key) >= *std::max_element(pattern.begin(), pattern.end()) - 1e-12,
                         toy.name.c_str());
                const std::size_t kv = at % H / (H / static_cast<std::size_t>(config.nKvHeads));
                const auto score = [&](std::size_t j) {
                    return config.attentionScaleOf(layer)
                        * dot(part(toy.step(layer, "q")[scoreLength - 1], at % H * r, r),
                              part(toy.step(layer, "k")[j], kv * r, r))
                        - lossByDistance(circuits, at % H, scoreLength - 1 - j);
                };
                const double distance = lossByDistance(circuits, at % H, scoreLength - 1 - key);
                QVERIFY2(isNearScore(scores[at], score(key)), toy.name.c_str());
                QVERIFY2(
                    isNearScore(sumOfSources(part(sources, at * width * width, width * width)) - distance,
                                score(key)),
                    toy.name.c_str());
                QVERIFY(isNearScore(sumOfSources(part(ofQuery, at * width, width)) - distance, score(key)));
                QVERIFY(isNearScore(sumOfSources(part(ofKey, at * width, width)) - distance, score(key)));
                double mean = 0, seen = 0;
                for (std::size_t j = 0; j < scoreLength; ++j) {
                    mean += pattern[j] > 0 ? score(j) : 0;
                    seen += pattern[j] > 0;
                }
                QVERIFY2(isNearScore(means[at], mean / seen), toy.name.c_str());
            }
            ++checked;
        });
        QVERIFY(checked > 50);
    }

    void aQueryAndAKeyCanBeNamed()
    {
        const std::size_t query = 6, key = 2;
        int checked = 0, behind = 0;
        forEachPromptToy([&](const PromptToy& toy) {
            const Circuits circuits = circuitsOf(toy.path, noProcessing());
            const ModelConfig& config = circuits.config();
            if (config.qkvLimit > 0)
                return;
            AnalysisOptions ask = askedInDouble();
            ask.inputs.queryPosition = static_cast<int>(query);
            ask.inputs.keyPosition = static_cast<int>(key);
            const ResultSet results = analysed(circuits, {"score_sources"}, ask);
            const auto scores = numbers(results, scoreSourcesFolder + "score");
            const auto sources = numbers(results, scoreSourcesFolder + "components");
            const auto H = static_cast<std::size_t>(config.nHeads),
                       r = static_cast<std::size_t>(config.dHead);
            const std::size_t cells = sources.size() / scores.size();
            int left = 0;
            for (std::size_t at = 0; at < scores.size(); ++at) {
                const int layer = static_cast<int>(at / H);
                const int window = config.windowOf(layer);
                if (window > 0 && window <= static_cast<int>(query - key)) {
                    QVERIFY(std::isnan(scores[at]));
                    ++left;
                    continue;
                }
                const std::size_t kv = at % H / (H / static_cast<std::size_t>(config.nKvHeads));
                const double distance = lossByDistance(circuits, at % H, query - key);
                const double expected = config.attentionScaleOf(layer)
                        * dot(part(toy.step(layer, "q")[query], at % H * r, r),
                              part(toy.step(layer, "k")[key], kv * r, r))
                    - distance;
                QVERIFY2(isNearScore(scores[at], expected), toy.name.c_str());
                QVERIFY2(isNearScore(sumOfSources(part(sources, at * cells, cells)) - distance, expected),
                         toy.name.c_str());
                ++checked;
            }
            behind += left;
            const auto saysWindow = [](const std::string& warning) {
                return warning.find("outside the window of query 6") != std::string::npos;
            };
            QCOMPARE(std::any_of(results.warnings.begin(), results.warnings.end(), saysWindow), left > 0);
            const ResultArray& whole = *results.find(scoreSourcesFolder + "components");
            QVERIFY(whole.attributes.at("query_position") == AttributeValue(static_cast<double>(query)));
            QCOMPARE(numbers(results, scoreSourcesFolder + "key_token")[0],
                     static_cast<double>(toyPrompt[key]));
        });
        QVERIFY(checked > 100);
        QVERIFY(behind > 0);
    }

    /// Without a causal mask, a query in the middle of the prompt also sees later keys.
    void theMeanIsOverAllKeysThatAnEncodersQuerySees()
    {
        const std::size_t query = 4;
        const QTemporaryDir temporary;
        const auto path = writeFamily(temporary.path().toStdString(), familyModel("t5, encoder"));
        const ReferenceRun reference = referenceForward(path, toyPrompt);
        const Circuits circuits = circuitsOf(path, noProcessing());
        AnalysisOptions ask = askedInDouble();
        ask.inputs.queryPosition = static_cast<int>(query);
        const ResultSet results = analysed(circuits, {"score_sources"}, ask);
        const auto keys = numbers(results, scoreSourcesFolder + "key");
        const auto scores = numbers(results, scoreSourcesFolder + "score");
        const auto means = numbers(results, scoreSourcesFolder + "null_score_mean");
        const auto H = static_cast<std::size_t>(circuits.config().nHeads);
        for (std::size_t at = 0; at < scores.size(); ++at) {
            // ln α is the score but for a number that the row shares.
            const auto& pattern = reference.patterns[at / H][at % H][query];
            double mean = 0;
            for (const double share : pattern)
                mean += std::log(share) / static_cast<double>(pattern.size());
            const double best = *std::max_element(pattern.begin(), pattern.end());
            QVERIFY(isNearScore(pattern.at(static_cast<std::size_t>(keys[at])), best));
            QVERIFY(isNearScore(scores[at] - means[at], std::log(best) - mean));
        }
    }

    void positionsOutsideThePromptAreRefused()
    {
        const std::vector<const Analysis*> rows{findAnalysis("score_sources")};
        const auto refused = [&](std::optional<int> query, std::optional<int> key, const char* words) {
            AnalysisOptions ask = askedInDouble();
            ask.inputs.queryPosition = query;
            ask.inputs.keyPosition = key;
            return failsWith(runAnalyses(toyCircuits({}), rows, ask, {}), ErrorCode::InvalidArgument, words);
        };
        QVERIFY(refused(9, {}, "positions 0 to 8"));
        QVERIFY(refused(-1, {}, "positions 0 to 8"));
        QVERIFY(refused(3, 4, "sees no key at position 4"));
        QVERIFY(refused({}, -1, "sees no key at position -1"));
    }

    void processedSourcesAddUpToTheScoreOfTheProcessedModel()
    {
        forEachPromptToy([&](const PromptToy& toy) {
            const Circuits circuits = circuitsOf(toy.path);
            const ResultSet results = analysed(circuits, {"score_sources"}, askedInDouble());
            if (circuits.config().qkvLimit > 0 || circuits.config().hasDistanceBias())
                return;
            const auto scores = numbers(results, scoreSourcesFolder + "score");
            const auto sources = numbers(results, scoreSourcesFolder + "components");
            const std::size_t cells = sources.size() / scores.size();
            for (std::size_t at = 0; at < scores.size(); ++at)
                QVERIFY2(isNearScore(sumOfSources(part(sources, at * cells, cells)), scores[at]),
                         toy.name.c_str());
        });
    }

    // One cell in loops: the query part written by head L0H1 against the embedding part of the key.
    void aCellIsTheProductOfTwoParts()
    {
        for (const auto& [name, options] : toyClasses()) {
            if (options.positional == "rotary" || options.layout == ToyLayout::Llama)
                continue;
            const QTemporaryDir temporary;
            const auto path = std::filesystem::path(temporary.path().toStdString()) / "toy";
            writeToyModel(path, options);
            const ReferenceRun reference = referenceForward(path, toyPrompt);
            const Circuits circuits = circuitsOf(path, noProcessing());
            const ModelConfig& config = circuits.config();
            const ResultSet results = analysed(circuits, {"score_sources"}, askedInDouble());
            const auto& labels = std::get<std::vector<std::string>>(
                results.find(scoreSourcesFolder + "components")->attributes.at("labels"));
            const auto place = [&](const char* label) {
                return static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label)
                                                - labels.begin());
            };
            const auto r = static_cast<std::size_t>(config.dHead),
                       H = static_cast<std::size_t>(config.nHeads);
            const std::size_t head = 2; // L1H2
            const auto key = static_cast<std::size_t>(numbers(results, scoreSourcesFolder + "key")[H + head]);
            const auto norm = circuits.weights().ln1<double>(1);
            const auto& streams = reference.steps.at("0.resid_post");
            const auto asking = referenceHead(path, 1, head), writing = referenceHead(path, 0, 1);
            const auto written =
                times(part(reference.steps.at("0.attention")[scoreLength - 1], r, r), writing.W_O);
            const auto embedded = rowOf(circuits.weights().W_E<double>(toyPrompt[key], 1));
            const double expected = config.attentionScaleOf(1)
                * dot(times(frozen(norm, streams[scoreLength - 1], written), asking.W_Q),
                      times(frozen(norm, streams[key], embedded), asking.W_K));
            const auto cells = numbers(results, scoreSourcesFolder + "components");
            const std::size_t width = labels.size();
            const double found = cells[((H + head) * width + place("L0H1")) * width + place("embedding")];
            QVERIFY2(isNearScore(found, expected), name);
            QVERIFY(std::isnan(cells[((H + head) * width + place("L1H0")) * width + place("embedding")]));
        }
    }

    void theDirectionsAddUpToTheBilinearPart()
    {
        forEachPromptToy([&](const PromptToy& toy) {
            const Circuits circuits = circuitsOf(toy.path, noProcessing());
            const ModelConfig& config = circuits.config();
            const ResultSet results = analysed(circuits, {"score_sources"}, askedInDouble());
            const bool isPlain = config.positional != Positional::Rotary && config.qkNorm == NormKind::None
                && config.qkvLimit == 0;
            QCOMPARE(results.find(scoreSourcesFolder + "directions") != nullptr, isPlain);
            if (!isPlain || config.positionsInQueriesAndKeys)
                return;
            const auto terms = numbers(results, scoreSourcesFolder + "directions");
            const auto whole = numbers(results, scoreSourcesFolder + "bilinear");
            const auto keys = numbers(results, scoreSourcesFolder + "key");
            const auto H = static_cast<std::size_t>(config.nHeads),
                       r = static_cast<std::size_t>(config.dHead);
            for (std::size_t at = 0; at < whole.size(); ++at) {
                const HeadId id{static_cast<int>(at / H), static_cast<int>(at % H)};
                const auto& read = toy.step(id.layer, "ln1");
                const Matrix<double> W_QK = denseCircuit(circuits, CircuitKind::Qk, id);
                const Eigen::Map<const Eigen::VectorXd> x(read[scoreLength - 1].data(), W_QK.rows());
                const Eigen::Map<const Eigen::VectorXd> y(read[static_cast<std::size_t>(keys[at])].data(),
                                                          W_QK.rows());
                const double scale = config.attentionScaleOf(id.layer);
                QVERIFY2(isNearScore(whole[at], scale * x.dot(W_QK * y)), toy.name.c_str());
                QVERIFY2(isNearScore(sumOfSources(part(terms, at * r, r)), whole[at]), toy.name.c_str());
                const DenseSvd svd(W_QK);
                const double first = scale * x.dot(svd.matrixU().col(0)) * svd.singularValues()(0)
                    * y.dot(svd.matrixV().col(0));
                QVERIFY2(isNearScore(terms[at * r], first, 1e-7), toy.name.c_str());
            }
        });
    }

    void manyHeadsAreJoinedByLayer()
    {
        ModelConfig config;
        config.nLayers = config.nHeads = 32;
        config.dModel = 4096;
        config.dHead = 128;
        config.positional = Positional::Rotary;
        const ScoreComponents joined(config);
        QCOMPARE(joined.names.size(),
                 std::size_t(2 + 32 * 2)); // embedding, biases, heads and MLP of each layer
        QCOMPARE(joined.names[2], std::string("heads 0"));
        QCOMPARE(joined.names[3], std::string("MLP 0"));
        QCOMPARE(joined.firstOfLayer[1], 4);
        Matrix<double> rows = Matrix<double>::Zero(2 + 32 * 33, 1);
        rows.middleRows(2, 32).setOnes();
        QCOMPARE(joined.joined(rows)(2, 0), 32.0);
        QCOMPARE(joined.joined(rows).sum(), 32.0);

        config.nCtx = 4096;
        AnalysisOptions ask;
        ask.inputs.prompt.assign(500, 1);
        const Analysis* row = findAnalysis("score_sources");
        QVERIFY(whyLeftOut(*row, config, ask).find("name fewer heads") != std::string::npos);
        ask.heads = {{3, 3}, {4, 4}};
        QCOMPARE(whyLeftOut(*row, config, ask), std::string());
    }

    void floatIsCloseToDouble()
    {
        const Circuits circuits = circuitsOf(HEADWISE_DEMO_MODEL);
        AnalysisOptions ask;
        ask.inputs.prompt = {0, 17, 400, 33, 1200, 17, 400};
        ask.heads = {{1, 5}, {0, 1}};
        const ResultSet rough = analysed(circuits, {"score_sources"}, ask);
        ask.precision = Precision::F64;
        const ResultSet fine = analysed(circuits, {"score_sources"}, ask);
        const auto a = numbers(rough, scoreSourcesFolder + "components"),
                   b = numbers(fine, scoreSourcesFolder + "components");
        const double score = numbers(fine, scoreSourcesFolder + "score")[13];
        for (std::size_t i = 0; i < a.size(); ++i)
            QVERIFY((std::isnan(a[i]) && std::isnan(b[i])) || std::abs(a[i] - b[i]) < 1e-4 * std::abs(score));
        const std::size_t cells = a.size() / 16;
        QVERIFY(isNearScore(sumOfSources(part(a, 13 * cells, cells)), score, 1e-5));
        QVERIFY(std::isnan(numbers(rough, scoreSourcesFolder + "score")[0]));
        QCOMPARE(numbers(rough, scoreSourcesFolder + "key")[0], -1.0);
        // The induction head attends to 33, after the earlier 400, because the previous-token head wrote 400 there.
        QCOMPARE(numbers(rough, scoreSourcesFolder + "key_token")[13], 33.0);
        const auto ofEmbedding = part(b, 13 * cells, 3 + 8); // what layer 1 can read
        QCOMPARE(std::max_element(ofEmbedding.begin(), ofEmbedding.end()) - ofEmbedding.begin(),
                 std::ptrdiff_t(3 + 1)); // L0H1
    }

    void aHeadThatIsNoNumberIsLeftOut()
    {
        const QTemporaryDir temporary;
        const auto path = std::filesystem::path(temporary.path().toStdString()) / "toy";
        auto toy = writeToyModel(path, {});
        toy.tensors.at("blocks.1.attn.W_Q").values[0] = std::numeric_limits<double>::quiet_NaN();
        writeSafetensors(path / "model.safetensors", toy.tensors, false);
        const ResultSet results =
            analysed(circuitsOf(path, noProcessing()), {"score_sources"}, askedInDouble());
        const auto scores = numbers(results, scoreSourcesFolder + "score");
        for (std::size_t head = 0; head < 6; ++head)
            QCOMPARE(std::isnan(scores[head]), head == 3);
        QVERIFY(results.warnings.at(0).find("L1H0") != std::string::npos);
    }

    void itStops()
    {
        std::stop_source source;
        source.request_stop();
        const std::vector<const Analysis*> rows{findAnalysis("score_sources")};
        QVERIFY(
            failsWith(runAnalyses(toyCircuits({}), rows, askedInDouble(), Task{source.get_token(), {}, 0}),
                      ErrorCode::Cancelled, "cancelled"));
    }
};

HEADWISE_TEST(ScoreSourcesTest)
#include "score_sources_test.moc"
