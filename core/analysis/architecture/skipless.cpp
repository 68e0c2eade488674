#include "core/model/skipless.h"
#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/base/matrix.h"
#include "core/base/parallel.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>

namespace headwise {

namespace {

constexpr std::array<MergePair, 3> pairs{MergePair::QP, MergePair::KP, MergePair::VP};
const std::vector<std::string> pairNames{"qp", "kp", "vp"}; // as the command line has them
const std::vector<std::string> pairLabels{"Q, P", "K, P", "V, P"};
const std::vector<std::string> letters{"Q", "K", "V"};
const std::vector<std::string> precisionNames{"float64", "float32", "bfloat16"};
constexpr int sampledTokens = 16;
const std::string skiplessFolder = "analyses/skipless/";

std::vector<ArraySpec> skiplessArrays()
{
    std::vector<ArraySpec> all;
    // Counts of weights do not fit into a float.
    const auto addCounts = [&](Axis axis, const char* name, const char* title, const char* definition,
                               const char* unit) {
        all.push_back({.path = skiplessFolder + name,
                       .axes = {axis},
                       .title = title,
                       .definition = definition,
                       .unit = unit,
                       .type = NumberType::Double,
                       .condition = axis == Axis::Matrix ? "models that can lose one matrix exactly" : ""});
    };
    addCounts(
        Axis::Pair, "possible", "Possible",
        "1 if the removed Q, K or V, its heads side by side, is square with a condition number below 10^7 in every layer; else 0",
        "yes or no");
    addCounts(
        Axis::Pair, "equivalent", "Same function",
        "1 if the skipless counterpart without the pair computes the same; 0 for parallel blocks, which can lose one of Q, K, V or P exactly, and for models without MLPs",
        "yes or no");
    addCounts(Axis::Pair, "weights_total", "Weights",
              "W_E + W_U (once if tied) + Q, K, V, P and MLP matrices", "weights");
    addCounts(Axis::Pair, "weights_removed", "Weights removed",
              "2 d_model² per layer where heads are not grouped", "weights");
    addCounts(Axis::Pair, "saving", "Saving", "removed / total", "fraction");
    addCounts(Axis::Pair, "speedup", "Speed-up",
              "total / (total − removed): one token at a time, bound by memory bandwidth", "");
    addCounts(Axis::Matrix, "single_removed", "Weights removed, one matrix",
              "d_model² per layer of Q, K or V, which is square and well conditioned; 0 where it is not",
              "weights");
    addCounts(Axis::Matrix, "single_saving", "Saving, one matrix", "removed / total", "fraction");
    addCounts(Axis::Matrix, "single_speedup", "Speed-up, one matrix",
              "total / (total − removed): one token at a time, bound by memory bandwidth", "");
    const auto add = [&](std::vector<ArrayAxis> axes, const char* name, const char* title,
                         const char* definition, const char* condition) {
        all.push_back({.path = skiplessFolder + name,
                       .axes = std::move(axes),
                       .title = title,
                       .definition = definition,
                       .condition = condition});
    };
    const char* small = "where it takes under about half a minute";
    const char* error =
        "max |logits − logits of the unmerged skipless model| / max |these|, both stored and computed in float64, float32, bfloat16 (sums in float32), over seeded random tokens";
    add({Axis::Layer, Axis::Pair}, "log10_condition", "log₁₀ of the condition number",
        "log10(σ_max / σ_min) of Q, K and V of a layer, their heads side by side, as in the file; NaN where it is not square; null: Gaussian entries (Edelman 1988)",
        small);
    add({Axis::Pair, Axis::Precision}, "error", "Error of the merge", error, small);
    add({Axis::Precision}, "error_null", "Error of rounding alone",
        "max |logits of the unmerged skipless model − its logits in float64| / max |these|, over the same tokens",
        small);
    add({Axis::Matrix, Axis::Precision}, "single_error", "Error of merging one matrix", error,
        "models that can lose one matrix exactly, where it takes under about half a minute");
    return all;
}

/// Above these limits the numbers are skipped with a warning: each would take about half a minute on one core.
constexpr double maxConditionFlops = 3e12;
constexpr double maxErrorFlops = 2e12;

/// A condition number costs an LU decomposition and some tens of solves.
double conditionFlops(const ModelConfig& c)
{
    return 3.0 * c.nLayers * (std::pow(c.dModel, 3) + 200 * std::pow(c.dModel, 2));
}

/// Three merged forward passes per pair, which share every layer's multiplied MLP.
double errorFlops(const ModelConfig& c)
{
    const double d = c.dModel, mlp = static_cast<double>(c.dMlp) * std::max(1, c.nExperts);
    const double merging = c.nLayers * 2 * d * d * mlp * (c.gatedMlp ? 3 : 2);
    return 9 * (merging + 2 * sampledTokens * countFlops(c).perToken);
}

/// Returns the condition numbers, [layer][pair]; NaN where the matrix is not square.
/// \param merges may already hold condition numbers, which are reused
Result<std::vector<double>> conditions(const ModelWeights& weights, const std::array<Merge, 3>& merges,
                                       const Task& task)
{
    const ModelConfig& c = weights.config();
    std::vector<double> all(static_cast<std::size_t>(c.nLayers) * pairs.size(), notComputed);
    const auto done =
        parallelFor(static_cast<int>(all.size()), task, "condition numbers", [&](int i) -> Result<Done> {
            const auto index = static_cast<std::size_t>(i), pair = index % pairs.size(),
                       layer = index / pairs.size();
            const MergedMatrix matrix = mergedMatrix(pairs[pair], c);
            if (!merges[pair].conditions.empty())
                all[index] = merges[pair].conditions[layer];
            else if (matrix.heads * c.dHead == c.dModel)
                all[index] = conditionNumber(
                    sideBySide(weights, matrix.weight, static_cast<int>(layer), matrix.heads));
            return Done{};
        });
    if (!done)
        return done.error();
    return all;
}

/// Output errors of the exact merges. A row is a pair, or only its first matrix where the block can lose just one matrix.
struct Errors {
    std::vector<double> merged = std::vector<double>(pairs.size() * 3, notComputed); // [pair][precision]
    std::vector<double> rounding = std::vector<double>(3, notComputed);              // [precision]
};

Result<Errors> measuredErrors(const ProcessedWeights& unmerged, const std::array<Merge, 3>& merges,
                              std::uint64_t seed, const Task& task)
{
    const std::vector<int> tokens =
        seededTokens(unmerged.config(), sampledTokens, static_cast<unsigned>(seed));
    Task single = withoutProgress(task);
    single.threads = 1;
    // The mergeable pairs, followed by the unmerged model.
    std::vector<ProcessedWeights> models;
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < pairs.size(); ++row) {
        if (!merges[row].possible || !(merges[row].equivalent || losesOneMatrix(unmerged.config())))
            continue;
        auto merged = mergePair(unmerged, pairs[row], withoutProgress(task));
        if (!merged && merged.error().code == ErrorCode::InvalidArgument)
            continue; // the matrix has no inverse; its condition number shows that
        if (!merged)
            return merged.error();
        models.push_back(*std::move(merged));
        rows.push_back(row);
    }
    models.push_back(unmerged);
    std::vector<RoundedLogits> logits(models.size());
    const auto done =
        parallelFor(static_cast<int>(models.size()), task, "merged models", [&](int i) -> Result<Done> {
            const auto model = static_cast<std::size_t>(i);
            auto found = roundedLogits(models[model], tokens, single);
            if (!found)
                return found.error();
            logits[model] = *std::move(found);
            return Done{};
        });
    if (!done)
        return done.error();
    Errors errors;
    const auto put = [](std::vector<double>& out, std::size_t row, const OutputErrors& found) {
        out[row * 3] = found.f64;
        out[row * 3 + 1] = found.f32;
        out[row * 3 + 2] = found.bf16;
    };
    for (std::size_t i = 0; i < rows.size(); ++i)
        put(errors.merged, rows[i], outputErrors(logits[i], logits.back()));
    put(errors.rounding, 0, roundingErrors(logits.back()));
    return errors;
}

/// Names the rows of an array of pairs.
void namePairs(ResultArray& array)
{
    array.attributes["pairs"] = pairNames;
    array.attributes["pair_labels"] = pairLabels;
}

void putSavings(Results& results, const std::array<Merge, 3>& merges)
{
    const auto put = [&](const char* name, double (*value)(const Merge&)) {
        std::vector<double> values;
        std::vector<std::string> reasons;
        for (const Merge& merge : merges) {
            values.push_back(value(merge));
            reasons.push_back(merge.reason);
        }
        ResultArray& array = results.put(skiplessFolder + name, std::move(values));
        namePairs(array);
        array.attributes["reasons"] = std::move(reasons);
    };
    put("possible", [](const Merge& m) { return m.possible ? 1.0 : 0.0; });
    put("equivalent", [](const Merge& m) { return m.equivalent ? 1.0 : 0.0; });
    put("weights_total", [](const Merge& m) { return static_cast<double>(m.weightsTotal); });
    put("weights_removed", [](const Merge& m) { return static_cast<double>(m.weightsRemoved); });
    put("saving", [](const Merge& m) { return m.saving; });
    put("speedup", [](const Merge& m) { return m.speedup; });
}

/// Puts the savings from removing only Q, K or V, for a model that can lose one matrix exactly.
void putSingles(Results& results, const std::array<Merge, 3>& merges, const ModelConfig& c)
{
    std::vector<double> removed, saving, speedup;
    for (const Merge& merge : merges) {
        const auto gone = merge.possible ? static_cast<double>(c.nLayers) * c.dModel * c.dModel : 0.0;
        const auto total = static_cast<double>(merge.weightsTotal);
        removed.push_back(gone);
        saving.push_back(gone / total);
        speedup.push_back(total / (total - gone));
    }
    const auto put = [&](const char* name, std::vector<double> values) {
        results.put(skiplessFolder + name, std::move(values)).attributes["labels"] = letters;
    };
    put("single_removed", std::move(removed));
    put("single_saving", std::move(saving));
    put("single_speedup", std::move(speedup));
}

void putErrors(Results& results, const Errors& errors, bool ofOneMatrix)
{
    const std::vector<double> notExact(errors.merged.size(), notComputed);
    const auto put = [&](const char* name, std::vector<std::size_t> shape,
                         const std::vector<double>& values) -> ResultArray& {
        ResultArray& array = results.put(skiplessFolder + name, std::move(shape), values);
        array.attributes["precisions"] = precisionNames;
        return array;
    };
    namePairs(put("error", {pairs.size(), 3}, ofOneMatrix ? notExact : errors.merged));
    put("error_null", {3}, errors.rounding);
    if (ofOneMatrix)
        put("single_error", {pairs.size(), 3}, errors.merged).attributes["labels"] = letters;
}

Result<Done> putConditions(Results& results, const ModelWeights& weights, const std::array<Merge, 3>& merges,
                           const Task& task)
{
    const ModelConfig& c = weights.config();
    auto all = conditions(weights, merges, task);
    if (!all)
        return all.error();
    std::vector<double> logarithms = *std::move(all);
    for (double& value : logarithms)
        value = std::log10(value);
    ResultArray& array =
        results.put(skiplessFolder + "log10_condition", {static_cast<std::size_t>(c.nLayers), pairs.size()},
                    std::move(logarithms));
    // ln(κ/n) has the limit law P(κ/n < x) = exp(−2/x − 2/x²).
    array.nullMean = std::log10(static_cast<double>(c.dModel)) + 0.6675;
    array.nullDeviation = 0.488;
    namePairs(array);
    return Done{};
}

Result<ResultSet> runSkipless(const AnalysisContext& context, const Task& task)
{
    const auto source =
        std::make_shared<const ModelWeights>(skiplessCounterpart(context.circuits.weights().original()));
    const ModelConfig& c = source->config();
    const auto merges = mergesOf(*source, withoutProgress(task));
    if (!merges)
        return merges.error();
    Results results = resultsOf(context, skiplessArrays());
    putSavings(results, *merges);
    if (losesOneMatrix(c))
        putSingles(results, *merges, c);
    if (conditionFlops(c) <= maxConditionFlops) {
        if (const auto done = putConditions(results, *source, *merges, task); !done)
            return done.error();
    } else {
        results.warn("This model is too large for the condition numbers of its skipless merges.");
    }
    if (errorFlops(c) > maxErrorFlops) {
        results.warn("This model is too large to measure the errors of its skipless merges.");
        return std::move(results).finish();
    }
    const auto unmerged = process(source, {}, withoutProgress(task));
    if (!unmerged)
        return unmerged.error();
    const auto errors = measuredErrors(**unmerged, *merges, context.options.inputs.seed, task);
    if (!errors)
        return errors.error();
    putErrors(results, *errors, losesOneMatrix(c));
    return std::move(results).finish();
}

std::string whyNot(const ModelConfig& config, const AnalysisOptions& /*options*/)
{
    return config.merged ? "A pair of this model's matrices is already merged." : "";
}

AnalysisCost cost(const ModelConfig& config, const AnalysisOptions& /*options*/)
{
    const double d = config.dModel;
    AnalysisCost cost{0, 8 * 3.0 * config.nLayers};
    if (conditionFlops(config) <= maxConditionFlops)
        cost = {2 * conditionFlops(config), cost.bytes + 5 * 8 * d * d};
    if (errorFlops(config) <= maxErrorFlops) {
        cost.flops += errorFlops(config);
        cost.bytes += 8 * (2 * d * d * config.nLayers + 4 * d * config.dMlp) * 3;
    }
    return cost;
}

} // namespace

Analysis skiplessAnalysis()
{
    const std::string& at = skiplessFolder;
    Analysis row{"skipless",
                 "H1",
                 "Skipless merges",
                 "O ← O T, T ← 1, X ← T⁻¹ X, M ← P M with T one of Q, K, V",
                 "Graef, Transformer tricks: Removing weights for skipless transformers, table 1",
                 false,
                 false,
                 whyNot,
                 cost,
                 runSkipless,
                 skiplessArrays()};
    row.needs.config =
        forwardFields(); // for the errors of merged models, on as many tokens as the context has
    row.needs.config.push_back(ConfigField::Context);
    row.pictures = {
        {.kind = Picture::Kind::Table,
         .title = "Savings from removing a pair",
         .arrays = {at + "possible", at + "equivalent", at + "weights_total", at + "weights_removed",
                    at + "saving", at + "speedup", at + "error"},
         .signedColors = false,
         .note =
             "Exact only for models without skip connections and normalisation. The numbers describe this model's counterpart without them, which computes another function. For parallel blocks the pair is only counted; one of Q, K, V or P can go exactly. Training such models (the paper's figure 4) is out of scope."},
        {.kind = Picture::Kind::Table,
         .title = "Exact savings from one matrix of parallel blocks",
         .arrays = {at + "single_removed", at + "single_saving", at + "single_speedup", at + "single_error"},
         .signedColors = false,
         .note =
             "In parallel blocks, and in models without MLPs, only one of Q, K or V can go without changing the counterpart's function."},
        {.kind = Picture::Kind::Bars,
         .title = "Error of each merge on random tokens",
         .arrays = {at + "error", at + "error_null"},
         .logY = true,
         .signedColors = false,
         .note =
             "Compared with the unmerged skipless model in the same precision, beside the error of rounding alone."},
        {.kind = Picture::Kind::Matrix,
         .title = "Condition numbers of Q, K and V, log₁₀",
         .arrays = {at + "log10_condition"},
         .signedColors = false,
         .note = "At 7 and above the inverse is too inaccurate, and the pair cannot be merged."}};
    return row;
}

} // namespace headwise
