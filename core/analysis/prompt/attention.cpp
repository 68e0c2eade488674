#include "core/analysis/analyses.h"
#include "core/analysis/pattern_scores.h"
#include "core/analysis/prompt/prompt_arrays.h"
#include "core/analysis/prompt/value_norms.h"
#include "core/analysis/selected_heads.h"
#include "core/model/families/attention_parts.h"
#include "core/model/families/layer_parts.h"
#include "core/model/forward.h"
#include "core/model/merges.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <span>
#include <utility>

namespace headwise {

namespace {

constexpr double memoryBudget = 640e6; // bytes of all patterns: of the forward pass and of the two arrays
const std::string attentionFolder = "analyses/attention/";

std::vector<ArraySpec> attentionArrays()
{
    const std::string& folder = attentionFolder;
    return {{.path = folder + "pattern",
             .axes = headAxes({Axis::Query, Axis::Key}),
             .title = "Attention",
             .definition = "α_ij = softmax over j of the scores of query i",
             .range = {{0.0, 1.0}}},
            {folder + "value_weighted", headAxes({Axis::Query, Axis::Key}), "Value-weighted attention",
             "α_ij ‖v_j W_O‖₂, not normalised"},
            {folder + "output_norm", headAxes({Axis::Query}), "Norm of the output",
             "‖(Σ_j α_ij v_j) W_O‖₂, without b_O, before any norm after it"},
            {folder + "value_norm", headAxes({Axis::Key}), "Norm of the value", "‖v_j W_O‖₂"},
            {folder + "null_pattern",
             {Axis::Layer, Axis::Query},
             "Uniform attention",
             "1 / number of keys that query i may see"},
            {.path = folder + "entropy",
             .axes = headAxes(),
             .title = "Entropy on the prompt",
             .definition = "mean over i of −Σ_j α_ij ln α_ij",
             .unit = "nats"},
            {.path = folder + "first",
             .axes = headAxes(),
             .title = "Attention to the first token, on the prompt",
             .definition = "mean over i of α_i0",
             .range = {{0.0, 1.0}}},
            {.path = folder + "tokens",
             .axes = {Axis::Position},
             .title = "Prompt",
             .definition = "token ids",
             .unit = "token",
             .type = NumberType::Whole}};
}

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
struct AttentionNumbers {
    RealNumbers pattern, valueWeighted; // [n, n] of a head
    RealNumbers outputNorm, valueNorm;  // [n]
    RealNumbers entropy, first;

    AttentionNumbers(const ModelConfig& config, std::size_t n)
        : pattern(RealNumbers::perHead(config, n, n))
        , valueWeighted(pattern)
        , outputNorm(RealNumbers::perHead(config, n))
        , valueNorm(outputNorm)
        , entropy(RealNumbers::perHead(config))
        , first(entropy)
    {
    }

    /// \param norms [n], ‖v_j W_O‖
    template <typename Scalar>
    void set(HeadId head, const ForwardResult<Scalar>& run, const Eigen::VectorXd& norms)
    {
        const auto layer = static_cast<std::size_t>(head.layer);
        const Matrix<Scalar>& alpha = run.patterns[layer][static_cast<std::size_t>(head.head)];
        const std::size_t n = static_cast<std::size_t>(norms.size());
        const std::span<double> shares = pattern.of(head), weighted = valueWeighted.of(head);
        double disorder = 0, onFirst = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const auto row = static_cast<Eigen::Index>(i);
            outputNorm.of(head)[i] = static_cast<double>(run.outputNorms[layer](head.head, row));
            valueNorm.of(head)[i] = norms(row);
            onFirst += static_cast<double>(alpha(row, 0)) / static_cast<double>(n);
            for (std::size_t j = 0; j < n; ++j) {
                const auto share = static_cast<double>(alpha(row, static_cast<Eigen::Index>(j)));
                shares[i * n + j] = share;
                weighted[i * n + j] = share * norms(static_cast<Eigen::Index>(j));
                if (share != 0)
                    disorder -= share * std::log(share) / static_cast<double>(n);
            }
        }
        entropy.set(head, disorder);
        first.set(head, onFirst);
    }
};

template <typename Scalar>
Result<std::vector<std::string>> fill(const AnalysisContext& context, AttentionNumbers& found,
                                      const Task& task)
{
    const ProcessedWeights& weights = context.circuits.weights();
    const auto run = forward<Scalar>(weights, context.options.inputs.prompt, task);
    if (!run)
        return run.error();
    const ValueNorms<Scalar> norms(weights, *run);
    return forEachHead(context, task, "values", [&](HeadId head) -> Result<Done> {
        found.set(head, *run, norms.of(head));
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

void putAttention(Results& results, const AnalysisContext& context, AttentionNumbers found)
{
    const ModelConfig& config = context.circuits.config();
    const std::vector<int>& prompt = context.options.inputs.prompt;
    const EvenAttention even(config, static_cast<int>(prompt.size()));
    const std::string values = context.circuits.weights().plan().applied.foldValueBiases
        ? ", v = x W_V: b_V is folded into b_O"
        : ", with b_V in v";
    results.put(attentionFolder + "pattern", std::move(found.pattern)).definition +=
        config.attentionSinks ? " and the head's sink, whose own share is left out" : "";
    results.put(attentionFolder + "value_weighted", std::move(found.valueWeighted)).definition += values;
    results.put(attentionFolder + "output_norm", std::move(found.outputNorm)).definition += values;
    results.put(attentionFolder + "value_norm", std::move(found.valueNorm)).definition += values;
    results.put(attentionFolder + "null_pattern", {static_cast<std::size_t>(config.nLayers), prompt.size()},
                even.share);
    for (ResultArray& array : results.arrays())
        array.attributes["labels"] = promptLabels(context.options.inputs);
    results.put(attentionFolder + "entropy", std::move(found.entropy)).nullMean = oneNull(even.entropy);
    results.put(attentionFolder + "first", std::move(found.first)).nullMean = oneNull(even.first);
    results.put(attentionFolder + "tokens", std::vector<std::int32_t>(prompt.begin(), prompt.end()));
}

Result<ResultSet> runAttention(const AnalysisContext& context, const Task& task)
{
    AttentionNumbers found(context.circuits.config(), context.options.inputs.prompt.size());
    const auto done = context.options.precision == Precision::F64 ? fill<double>(context, found, task)
                                                                  : fill<float>(context, found, task);
    if (!done)
        return done.error();
    Results results = resultsOf(context, attentionArrays());
    results.warn(*done);
    putAttention(results, context, std::move(found));
    return std::move(results).finish();
}

std::string promptTooLong(const ModelConfig& config, const AnalysisOptions& options)
{
    const double n = promptLength(config, options);
    const double bytes = patternBytes(config, options);
    if (bytes <= memoryBudget)
        return {};
    return fmt::format("The patterns of {} tokens take {:.1f} GB in this model; the limit is {} tokens.", n,
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
        .arrays = attentionArrays(),
        .needs = {.prompt = true, .config = forwardFields()},
        .pictures = {
            {.kind = Picture::Kind::Matrix,
             .title = "Attention",
             .arrays = {attentionFolder + "pattern"},
             .signedColors = false,
             .note =
                 "Rows are queries, columns keys. A column that every row attends to may be an attention sink. Uniform attention (null_pattern) gives each key that query i sees the same share."},
            {.kind = Picture::Kind::Matrix,
             .title = "Value-weighted attention",
             .arrays = {attentionFolder + "value_weighted"},
             .signedColors = false,
             .note = "Attention times ‖v W_O‖: attention sinks often have small values."},
            {Picture::Kind::Lines,
             "Output norm by query, value norm by key",
             {attentionFolder + "output_norm", attentionFolder + "value_norm"}},
            {.kind = Picture::Kind::HeadGrid,
             .title = "Entropy, and attention to the first token",
             .arrays = {attentionFolder + "entropy", attentionFolder + "first"},
             .signedColors = false}}};
}

} // namespace headwise
