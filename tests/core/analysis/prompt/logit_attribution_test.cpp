#include "core/runs/queue.h"
#include "tests/support/program.h"

#include "tests/core/analysis/prompt/prompt_toys.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace headwise;
using namespace headwise::test;

namespace {

const std::string attributionFolder = "analyses/logit_attribution/";
const std::size_t attributionLength = toyPrompt.size();

bool isNearLogit(double found, double expected, double tolerance = 1e-9)
{
    return std::abs(found - expected) <= tolerance * (1 + std::abs(expected));
}

double sumOfParts(const std::vector<double>& values)
{
    return std::accumulate(values.begin(), values.end(), 0.0);
}

/// The logit before the cap.
double uncapped(double cap, double logit)
{
    return cap > 0 ? cap * std::atanh(logit / cap) : logit;
}

std::size_t likeliest(const std::vector<double>& logits)
{
    return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// The final norm as loops, its statistics taken from one vector.
struct FinalNorm {
    Norm<double> norm;
    double sigma = 1;

    FinalNorm(Norm<double> of, std::vector<double> x)
        : norm(std::move(of))
    {
        if (norm.kind == NormKind::None)
            return;
        if (norm.kind == NormKind::LayerNorm)
            centre(x);
        sigma = std::sqrt(dot(x, x) / static_cast<double>(x.size()) + norm.eps);
    }
    static void centre(std::vector<double>& x)
    {
        const double mean = sumOfParts(x) / static_cast<double>(x.size());
        for (double& entry : x)
            entry -= mean;
    }
    std::vector<double> through(std::vector<double> x) const
    {
        if (norm.kind == NormKind::LayerNorm)
            centre(x);
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] *= (norm.w.size() > 0 ? norm.w(static_cast<Eigen::Index>(i)) : 1) / sigma;
        return x;
    }
};

std::vector<double> column(const Circuits& circuits, std::size_t token)
{
    const Matrix<double> W_U = circuits.weights().W_U<double>(static_cast<Eigen::Index>(token), 1);
    return {W_U.data(), W_U.data() + W_U.size()};
}

} // namespace

class LogitAttributionTest : public QObject {
    Q_OBJECT

private slots:
    // For every placement of norms, raw or processed, the parts add up to the reference's logit.
    void thePartsAddUpToTheLogit()
    {
        int checked = 0;
        forEachPromptToy([&](const PromptToy& toy) {
            const auto& logits = toy.reference.logits.back();
            for (const bool isProcessed : {false, true}) {
                const Circuits circuits =
                    isProcessed ? circuitsOf(toy.path) : circuitsOf(toy.path, noProcessing());
                AnalysisOptions ask = askedInDouble();
                const std::size_t top = likeliest(logits), other = (top + 1) % logits.size();
                ask.inputs.token = static_cast<int>(other);
                const ResultSet results = analysed(circuits, {"logit_attribution"}, ask);
                if (circuits.config().hasHeadTransform) {
                    QVERIFY(results.arrays.empty());
                    continue;
                }
                const double cap = circuits.config().outputSoftCap;
                const double expected = uncapped(cap, logits[other]) - uncapped(cap, logits[top]);
                const auto parts = numbers(results, attributionFolder + "component_difference");
                QVERIFY2(isNearLogit(sumOfParts(parts), expected), toy.name.c_str());
                QVERIFY2(isNearLogit(numbers(results, attributionFolder + "logit_difference")[0], expected),
                         toy.name.c_str());
                if (!isProcessed || !circuits.weights().plan().applied.centerUnembed) {
                    const auto alone = numbers(results, attributionFolder + "component");
                    QVERIFY2(isNearLogit(sumOfParts(alone), uncapped(cap, logits[other])), toy.name.c_str());
                }
                ++checked;
            }
        });
        QVERIFY(checked > 100);
    }

    void everyHeadAndMlpIsTheReferences()
    {
        for (const auto& [name, options] : toyClasses()) {
            const QTemporaryDir temporary;
            const auto path = std::filesystem::path(temporary.path().toStdString()) / "toy";
            writeToyModel(path, options);
            const ReferenceRun reference = referenceForward(path, toyPrompt);
            const Circuits circuits = circuitsOf(path, noProcessing());
            const ModelConfig& config = circuits.config();
            const ResultSet results = analysed(circuits, {"logit_attribution"}, askedInDouble());
            const std::size_t token = likeliest(reference.logits.back());
            const std::string last = std::to_string(config.nLayers - 1) + ".resid_post";
            const FinalNorm norm(circuits.weights().lnFinal<double>(),
                                 reference.steps.at(last)[attributionLength - 1]);
            const auto u = column(circuits, token);
            const auto heads = numbers(results, attributionFolder + "head");
            const auto byKey = numbers(results, attributionFolder + "head_by_key");
            const auto layers = numbers(results, attributionFolder + "layer");
            const auto r = static_cast<std::size_t>(config.dHead),
                       H = static_cast<std::size_t>(config.nHeads);
            for (std::size_t at = 0; at < H * static_cast<std::size_t>(config.nLayers); ++at) {
                const std::string step = std::to_string(at / H) + ".";
                const auto W_O = referenceHead(path, at / H, at % H).W_O;
                const auto effect = [&](const std::vector<double>& mixed) {
                    return dot(norm.through(times(mixed, W_O)), u);
                };
                const auto mixed =
                    part(reference.steps.at(step + "attention")[attributionLength - 1], at % H * r, r);
                QVERIFY2(isNearLogit(heads[at], effect(mixed)), name);
                const std::size_t kv = at % H / (H / static_cast<std::size_t>(config.nKvHeads));
                for (std::size_t j = 0; j < attributionLength; ++j) {
                    const double alpha = reference.patterns[at / H][at % H][attributionLength - 1][j];
                    const auto v = part(reference.steps.at(step + "v")[j], kv * r, r);
                    QVERIFY2(isNearLogit(byKey[at * attributionLength + j], alpha * effect(v)), name);
                }
                if (!config.attentionOnly) {
                    const auto mlp = reference.steps.at(step + "mlp_out")[attributionLength - 1];
                    QVERIFY2(isNearLogit(layers[at / H * 2 + 1], dot(norm.through(mlp), u)), name);
                }
            }
        }
    }

    void theKeysOfAHeadAddUpToIt()
    {
        forEachPromptToy([&](const PromptToy& toy) {
            const Circuits circuits = circuitsOf(toy.path);
            const ResultSet results = analysed(circuits, {"logit_attribution"}, askedInDouble());
            const ModelConfig& config = circuits.config();
            const bool isTold = !config.hasSumNorms && !config.residualFromNorm && !config.hasHeadTransform;
            QCOMPARE(results.find(attributionFolder + "head_by_key") != nullptr, isTold);
            if (!isTold)
                return;
            const auto heads = numbers(results, attributionFolder + "head");
            const auto keys = numbers(results, attributionFolder + "head_by_key");
            for (std::size_t at = 0; at < heads.size(); ++at)
                QVERIFY2(
                    isNearLogit(sumOfParts(part(keys, at * attributionLength, attributionLength)), heads[at]),
                    toy.name.c_str());
        });
    }

    void theNullIsWhatAPartAddsToEveryToken()
    {
        const Circuits circuits = toyCircuits({});
        const ResultSet results = analysed(circuits, {"logit_attribution"}, askedInDouble());
        const auto mean = numbers(results, attributionFolder + "null_head_mean");
        const auto deviation = numbers(results, attributionFolder + "null_head_deviation");
        std::vector<std::vector<double>> byToken;
        for (int token = 0; token < 11; ++token) {
            AnalysisOptions ask = askedInDouble();
            ask.inputs.token = token;
            byToken.push_back(
                numbers(analysed(circuits, {"logit_attribution"}, ask), attributionFolder + "head"));
        }
        for (std::size_t head = 0; head < mean.size(); ++head) {
            double sum = 0, squares = 0;
            for (const auto& effects : byToken) {
                sum += effects[head] / 11;
                squares += effects[head] * effects[head] / 11;
            }
            QVERIFY(std::abs(mean[head] - sum) < 1e-9);
            QVERIFY(isNearLogit(deviation[head], std::sqrt(squares - sum * sum), 1e-7));
        }
        // The effects on token 3 in deviations of those on all tokens, and the same for the difference of token 3 and the
        // most likely one.
        AnalysisOptions ask = askedInDouble();
        ask.inputs.token = 3;
        const ResultSet ofThree = analysed(circuits, {"logit_attribution"}, ask);
        const auto likeliest = static_cast<std::size_t>(numbers(ofThree, attributionFolder + "target")[1]);
        QVERIFY(likeliest != 3);
        const auto z = numbers(ofThree, attributionFolder + "head_z"),
                   apart = numbers(ofThree, attributionFolder + "head_z_difference");
        for (std::size_t head = 0; head < mean.size(); ++head) {
            QVERIFY(isNearLogit(z[head], (byToken[3][head] - mean[head]) / deviation[head], 1e-7));
            const double difference = byToken[3][head] - byToken[likeliest][head];
            QVERIFY(isNearLogit(apart[head], difference / (std::sqrt(2.0) * deviation[head]), 1e-7));
        }
    }

    void theLensReadsEveryStream()
    {
        forEachPromptToy([&](const PromptToy& toy) {
            const Circuits circuits = circuitsOf(toy.path, noProcessing());
            const ModelConfig& config = circuits.config();
            if (config.hasHeadTransform)
                return;
            AnalysisOptions ask = askedInDouble();
            ask.tableSize = 3;
            const ResultSet results = analysed(circuits, {"logit_attribution"}, ask);
            const auto ids = numbers(results, attributionFolder + "lens_tokens");
            const auto ranks = numbers(results, attributionFolder + "lens_rank");
            const auto shares = numbers(results, attributionFolder + "lens_probability");
            const std::size_t token = likeliest(toy.reference.logits.back());
            for (int layer = 0; layer < config.nLayers; ++layer) {
                const auto& stream = toy.step(layer, "resid_post")[attributionLength - 1];
                const auto norm = circuits.weights().lnFinal<double>();
                auto x = FinalNorm(norm, stream).through(stream);
                for (std::size_t i = 0; i < x.size() && norm.b.size() > 0; ++i)
                    x[i] += norm.b(static_cast<Eigen::Index>(i));
                std::vector<double> logits;
                for (int t = 0; t < config.dVocabOut; ++t) {
                    logits.push_back(dot(x, column(circuits, static_cast<std::size_t>(t)))
                                     + circuits.weights().b_U<double>(t, 1)(0));
                    if (config.outputSoftCap > 0)
                        logits.back() =
                            config.outputSoftCap * std::tanh(logits.back() / config.outputSoftCap);
                }
                const auto depth = static_cast<std::size_t>(layer) + 1;
                QVERIFY2(static_cast<std::size_t>(ids[depth * 3]) == likeliest(logits), toy.name.c_str());
                double better = 0, total = 0;
                for (const double logit : logits) {
                    better += logit > logits[token];
                    total += std::exp(logit);
                }
                QCOMPARE(ranks[depth], better + 1);
                QVERIFY(isNearLogit(shares[depth], std::exp(logits[token]) / total));
            }
            QCOMPARE(ranks.back(), 1.0);
        });
    }

    void theBasisOfAHeadDoesNotMatter()
    {
        const QTemporaryDir temporary;
        const auto path = std::filesystem::path(temporary.path().toStdString()) / "toy";
        writeToyModel(path, {});
        ProcessingWish refactored;
        refactored.refactorAttention = StepWish::Required;
        const ResultSet plain = analysed(circuitsOf(path), {"logit_attribution"}, askedInDouble());
        const ResultSet turned =
            analysed(circuitsOf(path, refactored), {"logit_attribution"}, askedInDouble());
        const auto a = numbers(plain, attributionFolder + "head"),
                   b = numbers(turned, attributionFolder + "head");
        for (std::size_t i = 0; i < a.size(); ++i)
            QVERIFY(isNearLogit(a[i], b[i], 1e-8));
    }

    void floatIsCloseToDouble()
    {
        const Circuits circuits = circuitsOf(HEADWISE_DEMO_MODEL);
        AnalysisOptions ask;
        ask.inputs.prompt = {0, 17, 400, 33, 1200, 17, 400, 33};
        const ResultSet rough = analysed(circuits, {"logit_attribution"}, ask);
        ask.precision = Precision::F64;
        const ResultSet fine = analysed(circuits, {"logit_attribution"}, ask);
        const auto a = numbers(rough, attributionFolder + "component"),
                   b = numbers(fine, attributionFolder + "component");
        for (std::size_t i = 0; i < a.size(); ++i)
            QVERIFY(isNearLogit(a[i], b[i], 1e-4));
        QVERIFY(isNearLogit(sumOfParts(a), numbers(fine, attributionFolder + "lens_logit").back(), 1e-5));
        const auto labels = std::get<std::vector<std::string>>(
            rough.find(attributionFolder + "component")->attributes.at("labels"));
        QCOMPARE(labels.size(), a.size());
        QCOMPARE(labels[1], std::string("positions"));
        QCOMPARE(labels[3 + 8 + 5], std::string("L1H5"));
    }

    void refusals()
    {
        const Circuits circuits = toyCircuits({});
        AnalysisOptions ask = askedInDouble();
        ask.inputs.token = 11;
        const std::vector<const Analysis*> rows{findAnalysis("logit_attribution")};
        QVERIFY(failsWith(runAnalyses(circuits, rows, ask, Task{}), ErrorCode::InvalidArgument, "token 11"));
        ask.inputs.token.reset();
        ask.heads = {{1, 2}};
        const auto heads =
            numbers(analysed(circuits, {"logit_attribution"}, ask), attributionFolder + "head");
        for (std::size_t i = 0; i < heads.size(); ++i)
            QCOMPARE(std::isnan(heads[i]), i != 5);
        std::stop_source source;
        source.request_stop();
        QVERIFY(failsWith(runAnalyses(circuits, rows, ask, Task{source.get_token(), {}, 0}),
                          ErrorCode::Cancelled, "cancelled"));
    }
};

HEADWISE_TEST(LogitAttributionTest)
#include "logit_attribution_test.moc"
