#include "core/analysis/analyses.h"
#include "core/analysis/pattern_scores.h"
#include "core/analysis/per_head.h"
#include "core/analysis/prompt/prompt_arrays.h"
#include "core/analysis/prompt/value_norms.h"
#include "core/model/families/attention_parts.h"
#include "core/model/families/layer_parts.h"
#include "core/model/forward.h"
#include "core/model/merges.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <limits>
#include <utility>

namespace headwise {

namespace {

constexpr double memoryBudget = 640e6; // bytes of all patterns: of the forward pass and of the two arrays
const std::string attentionFolder = "analyses/attention/";

double bytesPerNumber(const AnalysisOptions& options)
{
    return options.precision == Precision::F64 ? 8 : 4;
}

double patternBytes(const ModelConfig& config, const AnalysisOptions& options)
{
    const double n = promptLength(config, options);
    return 5 * bytesPerNumber(options) * config.nLayers * config.nHeads * n
        * n; // the arrays are made in double
}

/// All numbers about one prompt, head by head.
struct AttentionArrays {
    HeadBlocks pattern, valueWeighted; // [n, n]
    HeadBlocks outputNorm, valueNorm;  // [n]
    PerHead entropy, first;

    AttentionArrays(const ModelConfig& config, std::size_t n)
        : pattern(config, {n, n})
        , valueWeighted(config, {n, n})
        , outputNorm(config, {n})
        , valueNorm(config, {n})
        , entropy(config)
        , first(config)
    {
    }

    /// \param norms [n], ‖v_j W_O‖
    template <typename Scalar>
    void set(HeadId head, const ForwardResult<Scalar>& run, const Eigen::VectorXd& norms)
    {
        const auto layer = static_cast<std::size_t>(head.layer);
        const Matrix<Scalar>& alpha = run.patterns[layer][static_cast<std::size_t>(head.head)];
        const std::size_t n = static_cast<std::size_t>(norms.size());
        double disorder = 0, onFirst = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const auto row = static_cast<Eigen::Index>(i);
            outputNorm.of(head)[i] = static_cast<double>(run.outputNorms[layer](head.head, row));
            valueNorm.of(head)[i] = norms(row);
            onFirst += static_cast<double>(alpha(row, 0)) / static_cast<double>(n);
            for (std::size_t j = 0; j < n; ++j) {
                const auto share = static_cast<double>(alpha(row, static_cast<Eigen::Index>(j)));
                pattern.of(head)[i * n + j] = share;
                valueWeighted.of(head)[i * n + j] = share * norms(static_cast<Eigen::Index>(j));
                if (share != 0)
                    disorder -= share * std::log(share) / static_cast<double>(n);
            }
        }
        entropy.set(head, disorder);
        first.set(head, onFirst);
    }
};

template <typename Scalar>
Result<std::vector<std::string>> fill(const AnalysisContext& context, AttentionArrays& arrays,
                                      const Task& task)
{
    const ProcessedWeights& weights = context.circuits.weights();
    const auto run = forward<Scalar>(weights, context.options.inputs.prompt, task);
    if (!run)
        return run.error();
    const ValueNorms<Scalar> norms(weights, *run);
    return forEachHead(context, task, "values", [&](HeadId head) -> Result<Done> {
        arrays.set(head, *run, norms.of(head));
        return Done{};
    });
}

/// Baseline of uniform attention, by layer because windows may differ.
struct EvenAttention {
    std::vector<double> share, entropy, first; // [layers · n], [layers], [layers]

    EvenAttention(const ModelConfig& config, int n)
    {
        for (int layer = 0; layer < config.nLayers; ++layer) {
            const Matrix<double> even = uniformPattern(
                n, config.windowOf(layer), config.bidirectional ? Sight::Everything : Sight::Causal);
            double disorder = 0;
            for (int i = 0; i < n; ++i) {
                share.push_back(even.row(i).maxCoeff());
                disorder -= std::log(share.back()) / n;
            }
            entropy.push_back(disorder);
            first.push_back(even.col(0).mean());
        }
    }
};

/// Returns the null if it is the same for every layer, else none.
std::optional<double> oneNull(const std::vector<double>& byLayer)
{
    for (const double null : byLayer)
        if (null != byLayer.front())
            return std::nullopt;
    return byLayer.front();
}

void describe(ResultArray& array, std::string title, std::string definition, std::string unit = {})
{
    array.title = std::move(title);
    array.definition = std::move(definition);
    array.unit = std::move(unit);
}

ResultSet attentionArraysOf(const AnalysisContext& context, AttentionArrays found)
{
    const ModelConfig& config = context.circuits.config();
    const Precision precision = context.options.precision;
    const std::size_t n = context.options.inputs.prompt.size();
    const EvenAttention even(config, static_cast<int>(n));
    const std::string values = context.circuits.weights().plan().applied.foldValueBiases
        ? ", v = x W_V: b_V is folded into b_O"
        : ", with b_V in v";
    ResultSet results;
    const auto add = [&](ResultArray array, const char* title, std::string definition,
                         const char* unit = "") {
        describe(array, title, std::move(definition), unit);
        results.arrays.push_back(std::move(array));
    };
    add(std::move(found.pattern).array(precision, attentionFolder + "pattern", {Axis::Query, Axis::Key}),
        "Attention", "α_ij = softmax over j of the scores of query i");
    results.arrays.back().range = {0.0, 1.0};
    add(std::move(found.valueWeighted)
            .array(precision, attentionFolder + "value_weighted", {Axis::Query, Axis::Key}),
        "Value-weighted attention", "α_ij ‖v_j W_O‖₂, not normalised" + values);
    add(std::move(found.outputNorm).array(precision, attentionFolder + "output_norm", {Axis::Query}),
        "Norm of the output", "‖(Σ_j α_ij v_j) W_O‖₂, without b_O, before any norm behind it" + values);
    add(std::move(found.valueNorm).array(precision, attentionFolder + "value_norm", {Axis::Key}),
        "Norm of the value", "‖v_j W_O‖₂" + values);
    add(realArray(precision, attentionFolder + "null_pattern", {static_cast<std::size_t>(config.nLayers), n},
                  even.share, {Axis::Layer, Axis::Query}),
        "Even attention", "1 / number of keys that query i may see");
    for (ResultArray& array : results.arrays)
        array.attributes["labels"] = promptLabels(context.options.inputs);
    add(found.entropy.array(precision, attentionFolder + "entropy", {}, {}), "Entropy on the prompt",
        "mean over i of −Σ_j α_ij ln α_ij", "nats");
    results.arrays.back().nullMean = oneNull(even.entropy);
    add(found.first.array(precision, attentionFolder + "first", {}, {}),
        "Attention to the first token, on the prompt", "mean over i of α_i0");
    results.arrays.back().range = {0.0, 1.0};
    results.arrays.back().nullMean = oneNull(even.first);
    const std::vector<int>& prompt = context.options.inputs.prompt;
    ResultArray ids =
        tokenArray(attentionFolder + "tokens", {n}, {prompt.begin(), prompt.end()}, {Axis::Position});
    describe(ids, "Prompt", "token ids", "token");
    results.arrays.push_back(std::move(ids));
    return results;
}

Result<ResultSet> runAttention(const AnalysisContext& context, const Task& task)
{
    AttentionArrays arrays(context.circuits.config(), context.options.inputs.prompt.size());
    auto done = context.options.precision == Precision::F64 ? fill<double>(context, arrays, task)
                                                            : fill<float>(context, arrays, task);
    if (!done)
        return done.error();
    ResultSet results = attentionArraysOf(context, std::move(arrays));
    results.warnings = *std::move(done);
    return results;
}

std::string promptTooLong(const ModelConfig& config, const AnalysisOptions& options)
{
    const double n = promptLength(config, options);
    const double bytes = patternBytes(config, options);
    if (bytes <= memoryBudget)
        return {};
    return fmt::format("The patterns of {} tokens take {:.1f} GB in this model; {} tokens are the most.", n,
                       bytes / 1e9, std::floor(n * std::sqrt(memoryBudget / bytes)));
}

AnalysisCost attentionCost(const ModelConfig& config, const AnalysisOptions& options)
{
    ModelConfig sized = config;
    sized.nCtx = promptLength(config, options);
    const double n = sized.nCtx;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    return {countFlops(sized).perSequence + heads * n * (4.0 * config.dModel * config.dHead + 20 * n),
            patternBytes(config, options)
                + bytesPerNumber(options) * n * (config.dVocabOut + 3.0 * config.nLayers * config.dModel)};
}

} // namespace

Analysis attentionAnalysis()
{
    return {
        .id = "attention",
        .number = "G1",
        .title = "Attention on a prompt",
        .formula = "α_ij, α_ij ‖v_j W_O‖₂, ‖(Σ_j α_ij v_j) W_O‖₂",
        .citation =
            "Elhage et al. 2021, \"Attention Heads as Information Movement\"; Kobayashi et al. 2020, arXiv 2004.10102",
        .whyNot = promptTooLong,
        .cost = attentionCost,
        .run = runAttention,
        .needs = {.prompt = true},
        .pictures = {
            {Picture::Kind::Matrix,
             "Attention",
             {attentionFolder + "pattern"},
             false,
             false,
             false,
             "Rows are queries, columns keys; a column that every row attends to may be a place to rest. Even attention gives query i one part in as many keys as it sees: null_pattern."},
            {Picture::Kind::Matrix,
             "Value-weighted attention",
             {attentionFolder + "value_weighted"},
             false,
             false,
             false,
             "Attention times the size of what is moved: keys that heads rest on often have small values."},
            {Picture::Kind::Lines,
             "Size of the output by query, of the value by key",
             {attentionFolder + "output_norm", attentionFolder + "value_norm"},
             false,
             false,
             true,
             {}},
            {Picture::Kind::HeadGrid,
             "Entropy, and attention to the first token",
             {attentionFolder + "entropy", attentionFolder + "first"},
             false,
             false,
             false,
             {}}}};
}

} // namespace headwise
