#include "core/runs/queue.h"
#include "core/tokenizer/tokenizer.h"

#include "tests/core/analysis/prompt/prompt_toys.h"
#include "tests/support/program.h"

#include <cmath>

using namespace headwise;
using namespace headwise::test;

namespace {

const std::string attentionFolder = "analyses/attention/";
const std::size_t attentionLength = toyPrompt.size();

bool isNearlyEqual(double found, double expected, double tolerance = 1e-10)
{
    return std::abs(found - expected) <= tolerance * (1 + std::abs(expected));
}

} // namespace

class AttentionTest : public QObject {
    Q_OBJECT

private slots:
    void everyNumberIsTheReferences()
    {
        for (const auto& [name, options] : toyClasses()) {
            const QTemporaryDir temporary;
            const auto path = std::filesystem::path(temporary.path().toStdString()) / "toy";
            writeToyModel(path, options);
            const ReferenceRun reference = referenceForward(path, toyPrompt);
            const Circuits circuits = circuitsOf(path, noProcessing());
            const ResultSet results = analysed(circuits, {"attention"}, askedInDouble());
            const auto pattern = numbers(results, attentionFolder + "pattern");
            const auto weighted = numbers(results, attentionFolder + "value_weighted");
            const auto outputs = numbers(results, attentionFolder + "output_norm");
            const ModelConfig& config = circuits.config();
            const auto r = static_cast<std::size_t>(config.dHead);
            const auto heads = static_cast<std::size_t>(config.nHeads);
            for (std::size_t at = 0; at < heads * static_cast<std::size_t>(config.nLayers); ++at) {
                const std::size_t layer = at / heads, head = at % heads;
                const std::string step = std::to_string(layer) + ".";
                const auto matrices = referenceHead(path, layer, head);
                const std::size_t kv = head / (heads / static_cast<std::size_t>(config.nKvHeads));
                for (std::size_t q = 0; q < attentionLength; ++q) {
                    const auto mixed = part(reference.steps.at(step + "attention")[q], head * r, r);
                    const auto written = times(mixed, matrices.W_O);
                    QVERIFY2(
                        isNearlyEqual(outputs[at * attentionLength + q], std::sqrt(dot(written, written))),
                        name);
                    for (std::size_t k = 0; k < attentionLength; ++k) {
                        const double alpha = reference.patterns[layer][head][q][k];
                        const auto moved =
                            times(part(reference.steps.at(step + "v")[k], kv * r, r), matrices.W_O);
                        QVERIFY2(
                            isNearlyEqual(pattern[(at * attentionLength + q) * attentionLength + k], alpha),
                            name);
                        QVERIFY2(isNearlyEqual(weighted[(at * attentionLength + q) * attentionLength + k],
                                               alpha * std::sqrt(dot(moved, moved))),
                                 name);
                    }
                }
            }
        }
    }

    void foldingKeepsThePatternAndTheOutput()
    {
        const QTemporaryDir temporary;
        const auto path = std::filesystem::path(temporary.path().toStdString()) / "toy";
        writeToyModel(path, {});
        ProcessingWish norms = noProcessing();
        norms.foldLayerNorm = StepWish::Required;
        const ResultSet raw = analysed(circuitsOf(path, noProcessing()), {"attention"}, askedInDouble());
        const ResultSet folded = analysed(circuitsOf(path, norms), {"attention"}, askedInDouble());
        for (const char* name : {"pattern", "value_weighted", "output_norm"}) {
            const auto before = numbers(raw, attentionFolder + name),
                       after = numbers(folded, attentionFolder + name);
            for (std::size_t i = 0; i < before.size(); ++i)
                QVERIFY(isNearlyEqual(after[i], before[i]));
        }
    }

    void theAxesAreLabelledByTheTokens()
    {
        const Circuits circuits = circuitsOf(HEADWISE_DEMO_MODEL);
        AnalysisOptions ask;
        ask.inputs.prompt = {0, 5, 9};
        ask.heads = {{1, 5}};
        const ResultSet plain = analysed(circuits, {"attention"}, ask);
        const auto labels = [](const ResultSet& results) {
            return std::get<std::vector<std::string>>(
                results.find(attentionFolder + "pattern")->attributes.at("labels"));
        };
        QCOMPARE(labels(plain), (std::vector<std::string>{"#0", "#5", "#9"}));
        ask.inputs.tokenizer = std::make_shared<const Tokenizer>(
            Tokenizer::fromVocabulary({"a", "b", "c", "d", "e", "␣f", "g", "h", "i", "j"},
                                      {"a", "b", "c", "d", "e", " f", "g", "h", "i", "j"}));
        QCOMPARE(labels(analysed(circuits, {"attention"}, ask)), (std::vector<std::string>{"a", "␣f", "j"}));
        QCOMPARE(plain.find(attentionFolder + "tokens")->unit, std::string("token"));
        QCOMPARE(numbers(plain, attentionFolder + "tokens"), (std::vector<double>{0, 5, 9}));

        const auto pattern = numbers(plain, attentionFolder + "pattern");
        for (std::size_t i = 0; i < pattern.size(); ++i)
            QCOMPARE(std::isnan(pattern[i]), i / 9 != 8 + 5);
        const auto even = numbers(plain, attentionFolder + "null_pattern");
        QCOMPARE(even[1], 0.5);
        QCOMPARE(even[3 + 2], double(1.0f / 3));
        QCOMPARE(*plain.find(attentionFolder + "first")->nullMean, (1.0 + 1.0 / 2 + 1.0 / 3) / 3);
    }

    void aWindowMakesTheNullOfItsLayer()
    {
        const QTemporaryDir temporary;
        const auto path = writeFamily(std::filesystem::path(temporary.path().toStdString()) / "family",
                                      familyModel("mistral"));
        const Circuits circuits = circuitsOf(path);
        AnalysisOptions ask = askedInDouble();
        const ResultSet results = analysed(circuits, {"attention"}, ask);
        const auto even = numbers(results, attentionFolder + "null_pattern");
        const auto pattern = numbers(results, attentionFolder + "pattern");
        const auto heads = static_cast<std::size_t>(circuits.config().nHeads);
        for (std::size_t i = 0; i < even.size(); ++i) { // as many keys as the pattern lets the query see
            double seen = 0;
            for (std::size_t k = 0; k < attentionLength; ++k)
                seen += pattern[((i / attentionLength * heads) * attentionLength + i % attentionLength)
                                    * attentionLength
                                + k]
                    > 0;
            QVERIFY(isNearlyEqual(even[i], 1 / seen));
        }
    }

    void refusals()
    {
        const Circuits circuits = toyCircuits({});
        const ResultSet without = analysed(circuits, {"attention"});
        QVERIFY(without.arrays.empty() && without.warnings.at(0).find("needs a prompt") != std::string::npos);

        AnalysisOptions ask;
        ask.inputs.prompt = {1, 2, 40};
        const std::vector<const Analysis*> rows{findAnalysis("attention")};
        QVERIFY(failsWith(runAnalyses(circuits, rows, ask, Task{}), ErrorCode::InvalidArgument, "id 40"));
        ask.inputs.prompt.assign(18, 1);
        QVERIFY(
            failsWith(runAnalyses(circuits, rows, ask, Task{}), ErrorCode::InvalidArgument, "context of 17"));
        ModelConfig large = circuits.config();
        large.nLayers = large.nHeads = 12;
        large.nCtx = 4096;
        ask.inputs.prompt.assign(4096, 1);
        QVERIFY(whyLeftOut(*rows.front(), large, ask).find("the limit is") != std::string::npos);
        ask.inputs.prompt.assign(400, 1);
        QCOMPARE(whyLeftOut(*rows.front(), large, ask), std::string());
    }
};

HEADWISE_TEST(AttentionTest)
#include "attention_test.moc"
