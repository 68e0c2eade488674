#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/tokens/writing_means.h"
#include "core/base/parallel.h"
#include "core/model/families/layer_parts.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <numbers>
#include <random>

namespace headwise {

namespace {

constexpr Eigen::Index samples = 8;                 // random x
constexpr Eigen::Index foldingTokensPerBlock = 128; // of W_U: what a core keeps at hand
constexpr double flopsPerRead = 100; // of a product, in the time that a weight is read and folded in
constexpr double mlpLimit = 1 << 27; // bytes of one MLP in double; larger ones are compared in float32

std::string foldingAt(const std::string& name)
{
    return "analyses/folding/" + name;
}

std::vector<ArraySpec> foldingArrays()
{
    const std::vector<ArrayAxis> norms{Axis::NormAndMatrix}, matrices{Axis::Matrix};
    return {{foldingAt("difference"), norms, "Largest difference",
             "max |LN(x) W + b − ((x/σ) W' + b')| over random x, in float64"},
            {foldingAt("stored_difference_null"), norms, "As stored",
             "the same with W' and b' rounded as headwise process writes them: the error of rounding alone"},
            {foldingAt("size"), norms, "Largest number", "max |LN(x) W + b| over the same x"},
            {foldingAt("mean"), matrices, "Largest mean in use",
             "max |mean| of the rows over d_model, of W_U over the vocabulary, as they are in use"},
            {foldingAt("mean_raw"), matrices, "Largest mean in the file",
             "the same of the weights as they are in the file"}};
}

/// Returns [rows, cols] Gaussian numbers with mean ½ and deviation 1, so that LayerNorm has a mean to subtract.
Matrix<double> randomRows(Eigen::Index rows, Eigen::Index cols, std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    const auto uniform = [&random] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
    Matrix<double> out(rows, cols);
    for (double& value : out.reshaped())
        value = 0.5 + std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
    return out;
}

struct Comparison {
    double size = 0;       ///< max |LN(x) W + b|
    double difference = 0; ///< max |LN(x) W + b − ((x/σ) W' + b')|
    double stored = 0;     ///< The same with W' and b' as `process` writes them.

    void take(const Comparison& other)
    {
        size = std::max(size, other.size);
        difference = std::max(difference, other.difference);
        stored = std::max(stored, other.stored);
    }
};

struct Row {
    std::string label; ///< "layer 0: ln1 → W_Q, folded"
    Comparison comparison;
};

double largest(const Matrix<double>& m)
{
    return m.size() > 0 ? m.cwiseAbs().maxCoeff() : 0;
}

/// The weights before, after, and after as stored. The only step is the folding of norms.
using Stages = std::array<ProcessedWeights, 3>;

Result<Stages> stagesOf(const ProcessedWeights& weights, const Task& task)
{
    const auto original = std::make_shared<const ModelWeights>(weights.original());
    ProcessingPlan plan;
    auto before = process(original, plan, task);
    if (!before)
        return before.error();
    const ProcessingPlan& used = weights.plan();
    plan.applied.foldLayerNorm = used.applied.foldLayerNorm;
    plan.applied.foldBiases = used.applied.foldBiases;
    plan.applied.centerWeights = used.applied.centerWeights;
    plan.unfolded = used.unfolded;
    auto after = process(original, plan, task);
    if (!after)
        return after.error();
    return Stages{**before, **after, (*after)->asStored()};
}

template <typename Scalar>
Matrix<double> affine(const Norm<Scalar>& norm, const Matrix<Scalar>& x, const Matrix<Scalar>& W,
                      const RowVector<Scalar>& b)
{
    Matrix<Scalar> out = normalized(norm, x) * W;
    if (b.size() > 0)
        addRow(out, b);
    return out.template cast<double>();
}

class FoldingReport {
public:
    FoldingReport(const AnalysisContext& context, Stages stages)
        : m_weights(context.circuits.weights())
        , m_config(m_weights.original().config())
        , m_stages(std::move(stages))
        , m_x(randomRows(samples, m_config.dModel, context.options.inputs.seed))
        , m_seed(context.options.inputs.seed)
    {
    }

    Result<std::vector<Row>> run(const Task& task)
    {
        for (int layer = 0; layer < m_config.nLayers; ++layer) {
            if (const auto done = hasLayerNorms() ? addHeads(layer, task) : Done{}; !done)
                return done.error();
            const bool isMeasured = !m_config.attentionOnly && m_config.nExperts == 0;
            const double bytes = 8.0 * m_config.dModel * m_config.dMlp * (m_config.gatedMlp ? 3 : 2);
            if (isMeasured && bytes <= mlpLimit)
                addMlp<double>(layer);
            else if (isMeasured)
                addMlp<float>(layer);
            if (task.cancelled())
                return stopped();
            task.report(layer + 1, m_config.nLayers + 1, "norms");
        }
        if (m_config.finalNorm != NormKind::None) {
            if (const auto done = addUnembedding(task); !done)
                return done.error();
        }
        task.report(m_config.nLayers + 1, m_config.nLayers + 1, "norms");
        return std::move(m_rows);
    }

private:
    bool hasLayerNorms() const { return m_config.hasPreNorms && m_config.norm != NormKind::None; }

    void add(std::string where, TensorKind norm, int layer, const Comparison& comparison)
    {
        const auto& unfolded = m_weights.plan().unfolded;
        const bool isPassedOver =
            std::find(unfolded.begin(), unfolded.end(), NormId{norm, layer}) != unfolded.end();
        const bool hasWeight = m_weights.original().has(norm, layer);
        const char* state = !hasWeight                                ? "has no weight"
            : m_weights.plan().applied.foldLayerNorm && !isPassedOver ? "folded"
                                                                      : "kept";
        m_rows.push_back({std::move(where) + ", " + state, comparison});
    }

    Result<Done> addHeads(int layer, const Task& task)
    {
        std::array<Comparison, 3> worst;
        std::mutex mutex;
        const auto done =
            parallelFor(m_config.nHeads, withoutProgress(task), "heads", [&](int h) -> Result<Done> {
                std::array<Matrix<double>, 3> before;
                for (std::size_t stage = 0; stage < m_stages.size(); ++stage) {
                    const ProcessedWeights& weights = m_stages[stage];
                    const auto head = weights.head<double>({layer, h});
                    const auto norm = weights.ln1<double>(layer);
                    const std::array<Matrix<double>, 3> now{affine(norm, m_x, head.W_Q, head.b_Q),
                                                            affine(norm, m_x, head.W_K, head.b_K),
                                                            affine(norm, m_x, head.W_V, head.b_V)};
                    if (stage == 0)
                        before = now;
                    const std::lock_guard lock(mutex);
                    for (std::size_t i = 0; i < now.size(); ++i)
                        worst[i].take(measured(stage, before[i], now[i]));
                }
                return Done{};
            });
        if (!done)
            return done.error();
        for (std::size_t i = 0; i < worst.size(); ++i)
            add(fmt::format("layer {}: ln1 → {}", layer, std::array{"W_Q", "W_K", "W_V"}[i]),
                TensorKind::ln1_w, layer, worst[i]);
        return Done{};
    }

    static Comparison measured(std::size_t stage, const Matrix<double>& before, const Matrix<double>& now)
    {
        if (stage == 0)
            return {largest(before), 0, 0};
        const double difference = largest(now - before);
        return stage == 1 ? Comparison{0, difference, 0} : Comparison{0, 0, difference};
    }

    template <typename Scalar>
    void addMlp(int layer)
    {
        const Matrix<Scalar> x = m_x.cast<Scalar>();
        const Matrix<Scalar> hidden = randomRows(samples, m_config.dMlp, m_seed + 1).template cast<Scalar>();
        std::array<Comparison, 3> worst; // W_in, W_gate, W_out
        std::array<Matrix<double>, 3> before;
        for (std::size_t stage = 0; stage < m_stages.size(); ++stage) {
            const ProcessedWeights& weights = m_stages[stage];
            const MlpWeights<Scalar> mlp = weights.mlp<Scalar>(layer);
            const Norm<Scalar> norm = weights.ln2<Scalar>(layer);
            std::array<Matrix<double>, 3> now{
                affine(norm, x, mlp.W_in, m_config.gatedMlp ? mlp.b_up : mlp.b_in), Matrix<double>(),
                Matrix<double>()};
            if (m_config.gatedMlp)
                now[1] = affine(norm, x, mlp.W_gate, mlp.b_gate);
            if (mlp.ln.kind != NormKind::None)
                now[2] = affine(mlp.ln, hidden, mlp.W_out, mlp.b_out);
            if (stage == 0)
                before = now;
            for (std::size_t i = 0; i < now.size(); ++i)
                worst[i].take(measured(stage, before[i], now[i]));
        }
        if (hasLayerNorms())
            addMlpRows(layer, worst);
        if (before[2].size() > 0)
            add(fmt::format("layer {}: mlp.ln → W_out", layer), TensorKind::mlp_ln_w, layer, worst[2]);
    }

    void addMlpRows(int layer, const std::array<Comparison, 3>& worst)
    {
        using enum TensorKind;
        const ModelWeights& original = m_weights.original();
        const bool isShared =
            m_config.parallelBlocks && !original.has(ln2_w, layer) && !original.has(ln2_b, layer);
        const TensorKind norm = isShared ? ln1_w : ln2_w;
        const char* name = isShared ? "ln1" : "ln2";
        add(fmt::format("layer {}: {} → W_in", layer, name), norm, layer, worst[0]);
        if (m_config.gatedMlp)
            add(fmt::format("layer {}: {} → W_gate", layer, name), norm, layer, worst[1]);
    }

    Result<Done> addUnembedding(const Task& task)
    {
        const int blocks =
            static_cast<int>((m_config.dVocabOut + foldingTokensPerBlock - 1) / foldingTokensPerBlock);
        Comparison worst;
        std::mutex mutex;
        const auto done =
            parallelFor(blocks, withoutProgress(task), "unembedding", [&](int block) -> Result<Done> {
                const Eigen::Index first = block * foldingTokensPerBlock;
                const Eigen::Index count = std::min(foldingTokensPerBlock, m_config.dVocabOut - first);
                Matrix<double> before;
                Comparison found;
                for (std::size_t stage = 0; stage < m_stages.size(); ++stage) {
                    const ProcessedWeights& weights = m_stages[stage];
                    const Matrix<double> now =
                        affine(weights.lnFinal<double>(), m_x, weights.W_U<double>(first, count),
                               weights.b_U<double>(first, count));
                    if (stage == 0)
                        before = now;
                    found.take(measured(stage, before, now));
                }
                const std::lock_guard lock(mutex);
                worst.take(found);
                return Done{};
            });
        if (!done)
            return done.error();
        add("ln_final → W_U", TensorKind::ln_final_w, 0, worst);
        return Done{};
    }

    const ProcessedWeights& m_weights;
    const ModelConfig& m_config;
    Stages m_stages;
    Matrix<double> m_x; // [samples, d]
    std::uint64_t m_seed;
    std::vector<Row> m_rows;
};

void putNorms(Results& results, const std::vector<Row>& rows)
{
    std::vector<std::string> labels;
    std::vector<double> size, difference, stored;
    for (const Row& row : rows) {
        labels.push_back(row.label);
        size.push_back(row.comparison.size);
        difference.push_back(row.comparison.difference);
        stored.push_back(row.comparison.stored);
    }
    const auto put = [&](const char* name, std::vector<double> values) {
        ResultArray& array = results.put(foldingAt(name), std::move(values));
        array.attributes["labels"] = labels;
        array.attributes["samples"] = static_cast<double>(samples);
    };
    put("difference", std::move(difference));
    put("stored_difference_null", std::move(stored));
    put("size", std::move(size));
}

void putSteps(Results& results, const ProcessingPlan& plan)
{
    auto& attributes = results.groupAttributes("analyses/folding");
    attributes["fold_layer_norm"] = plan.applied.foldLayerNorm;
    attributes["center_weights"] = plan.applied.foldLayerNorm && plan.applied.centerWeights;
    attributes["center_writing_weights"] = plan.applied.centerWritingWeights;
    attributes["center_unembed"] = plan.applied.centerUnembed;
    attributes["fold_value_biases"] = plan.applied.foldValueBiases;
    attributes["refactor_factored_attention"] = plan.applied.refactorAttention;
    std::vector<std::string> skipped;
    for (const StepOutcome& step : plan.steps) {
        if (!step.applied)
            skipped.push_back(step.name + ": " + step.reason);
    }
    attributes["skipped"] = skipped;
}

Result<ResultSet> runFolding(const AnalysisContext& context, const Task& task)
{
    const ProcessedWeights& weights = context.circuits.weights();
    auto stages = stagesOf(weights, withoutProgress(task));
    if (!stages)
        return stages.error();
    auto found = writingMeans(stages->front(), weights, task);
    if (!found)
        return found.error();
    auto means = std::move(found).value();
    const auto rows = FoldingReport(context, std::move(stages).value()).run(task);
    if (!rows)
        return rows.error();
    Results results = resultsOf(context, foldingArrays());
    putNorms(results, *rows);
    results.put(foldingAt("mean"), std::move(means.after)).attributes["labels"] = means.labels;
    results.put(foldingAt("mean_raw"), std::move(means.before)).attributes["labels"] = means.labels;
    putSteps(results, weights.plan());
    if (weights.config().nExperts > 0)
        results.warn(
            "The norms before the experts of a mixture are folded but not measured in the folding report.");
    return std::move(results).finish();
}

/// Reading and folding dominate the cost: three stages and two means over all weights. The products with a few rows cost little.
AnalysisCost foldingCost(const ModelConfig& config, const AnalysisOptions&)
{
    const double d = config.dModel;
    const double heads = 4 * d * config.nHeads * config.dHead;
    const double mlp = config.attentionOnly ? 0 : d * config.dMlp * (config.gatedMlp ? 3 : 2);
    const double tokens = d * (2.0 * config.dVocab + 6.0 * config.dVocabOut);
    const double reads = config.nLayers * (5 * heads + 3 * mlp) + tokens;
    return {reads * (flopsPerRead + 2 * static_cast<double>(samples)),
            3 * 8 * d * std::max<double>(config.dMlp, foldingTokensPerBlock)};
}

std::string whyNoFolding(const ModelConfig& config, const AnalysisOptions&)
{
    const bool hasNorms = (config.hasPreNorms && config.norm != NormKind::None)
        || config.finalNorm != NormKind::None || config.activation == Activation::SoluLn;
    return hasNorms ? "" : "The model has no norm that can be folded into a matrix.";
}

} // namespace

Analysis foldingAnalysis()
{
    return {
        .id = "folding",
        .number = "A2",
        .title = "Folding report",
        .formula =
            "max |LN(x) W + b − ((x/σ) W' + b')| of every norm and the matrix after it, and the means that centring removes",
        .citation =
            "TransformerLens, fold_layer_norm and SVD_Interpreter_Demo; Kamoda et al. 2025, arXiv 2501.15754",
        .whyNot = whyNoFolding,
        .cost = foldingCost,
        .run = runFolding,
        .arrays = foldingArrays(),
        .needs = {.config = {ConfigField::NormEps}},
        .pictures =
            {{.kind = Picture::Kind::Table,
              .title = "Norms and the matrices they were folded into",
              .arrays = {foldingAt("difference"), foldingAt("stored_difference_null"), foldingAt("size")},
              .signedColors = false,
              .note =
                  "Folding keeps the function. The differences are float64 rounding; the stored weights add rounding to float32."},
             {.kind = Picture::Kind::Table,
              .title = "Centring",
              .arrays = {foldingAt("mean"), foldingAt("mean_raw")},
              .signedColors = false,
              .note = "0 where a matrix is centred."}},
        .isAboutModel = true};
}

} // namespace headwise
