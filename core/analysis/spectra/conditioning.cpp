#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/circuits/random_matrix.h"
#include "core/results/layer_null.h"
#include "core/results/picture_of.h"

#include "core/base/decompositions.h"
#include "core/base/matrix.h"
#include "core/base/parallel.h"
#include "core/model/merges.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headwise {

namespace {

constexpr const char* conditioningFolder = "analyses/conditioning/";
constexpr int conditioningNullHeads = 32;

struct ConditioningPart {
    TensorKind kind;
    const char* name;
    const char* letter;
    bool isGrouped; // one per key/value head
};

constexpr std::array<ConditioningPart, 4> conditioningParts{{{TensorKind::W_Q, "W_Q", "Q", false},
                                                             {TensorKind::W_K, "W_K", "K", true},
                                                             {TensorKind::W_V, "W_V", "V", true},
                                                             {TensorKind::W_O, "W_O", "O", false}}};

/// A type in which a matrix with a smaller condition number than `worst` can be inverted.
struct ConditioningDtype {
    const char* suffix;
    const char* name;
    const char* limit;
    double worst;
};

constexpr std::array<ConditioningDtype, 2> conditioningDtypes{{
    {"_invertible_fp32", "float32", "1e7",
     1e7}, // as for the merges: an inverse in float32 keeps no digit beyond
    {"_invertible_bf16", "bfloat16", "256", 256}, // 1/u, u = 2^-8
}};

std::vector<ArraySpec> conditioningArrays()
{
    std::vector<ArraySpec> all;
    for (const ConditioningPart& part : conditioningParts) {
        const std::string name = part.name;
        const std::string path = conditioningFolder + name;
        all.push_back({path + "_head", headAxes(), "Condition of a head's " + name + ", log10",
                       "log10(σ_max/σ_min) of the head's " + name
                           + " as it is in the file; depends on the basis (gauge)"});
        all.push_back(
            {path + "_layer",
             {Axis::Layer},
             "Condition of a layer's " + name + ", log10",
             "log10(σ_max/σ_min) of all heads' " + name
                 + " side by side as it is in the file, a lower bound within a few per cent; NaN where that is not square"});
        for (const ConditioningDtype& dtype : conditioningDtypes)
            all.push_back({.path = path + dtype.suffix,
                           .axes = {Axis::Layer},
                           .title = "A layer's " + name + " is invertible in " + dtype.name,
                           .definition = "1 if σ_max/σ_min of all heads' " + name + " side by side is below "
                               + dtype.limit + ", else 0; −1 where that is not square",
                           .type = NumberType::Whole});
    }
    return all;
}

int headsOf(const ModelConfig& c, const ConditioningPart& part)
{
    return part.isGrouped ? c.nKvHeads : c.nHeads;
}

bool isSquare(const ModelConfig& c, const ConditioningPart& part)
{
    return static_cast<std::int64_t>(headsOf(c, part)) * c.dHead == c.dModel;
}

/// Returns log10 of σ_max/σ_min of a head's factor over its min(d, r) singular values. Infinite if the factor is rank-deficient.
Result<double> headCondition(const Matrix<double>& factor)
{
    const bool isTall = factor.rows() > factor.cols();
    const auto R = triangularFactor(isTall ? factor : Matrix<double>(factor.transpose()));
    if (!R)
        return R.error();
    const auto sigma = singularValues(*R);
    if (!sigma)
        return sigma.error();
    const double largest = (*sigma)(0);
    const double smallest = (*sigma)(sigma->size() - 1);
    if (largest == 0)
        return notComputed;
    return std::log10(largest / smallest); // 1/0: infinite
}

/// Returns all heads of a layer side by side, [d, d]. For W_O it returns the transpose, which has the same condition number.
Matrix<double> concatenated(const ModelWeights& weights, const ConditioningPart& part, int layer)
{
    const ModelConfig& c = weights.config();
    Matrix<double> all(c.dModel, c.dModel);
    for (int head = 0; head < headsOf(c, part); ++head) {
        const Matrix<double> one = weights.read<double>(part.kind, layer, head);
        all.middleCols(Eigen::Index(head) * c.dHead, c.dHead) =
            part.kind == TensorKind::W_O ? Matrix<double>(one.transpose()) : one;
    }
    return all;
}

struct ConditioningNumbers {
    std::array<std::vector<double>, 4> layers; // log10, [n_layers]
    std::vector<RealNumbers> heads;
};

Result<Done> readConditioningLayers(const AnalysisContext& context, const Task& task,
                                    ConditioningNumbers& out)
{
    const ModelWeights& weights = context.circuits.weights().original();
    const ModelConfig& c = weights.config();
    std::vector<std::pair<std::size_t, int>> questions; // (part, layer)
    std::vector<bool> asked(static_cast<std::size_t>(c.nLayers), false);
    for (const HeadId head : selectedHeads(context.circuits.config(), context.options))
        asked[static_cast<std::size_t>(head.layer)] = true;
    for (std::size_t part = 0; part < conditioningParts.size(); ++part) {
        out.layers[part].assign(static_cast<std::size_t>(c.nLayers), notComputed);
        for (int layer = 0; layer < c.nLayers; ++layer) {
            if (isSquare(c, conditioningParts[part]) && asked[static_cast<std::size_t>(layer)])
                questions.emplace_back(part, layer);
        }
    }
    Task few = task;
    if (c.dModel > 2048)
        few.threads = task.threads == 1 ? 1 : 2; // each holds the matrix and its factors in double
    return parallelFor(
        static_cast<int>(questions.size()), few, "condition numbers", [&](int i) -> Result<Done> {
            const auto [part, layer] = questions[static_cast<std::size_t>(i)];
            out.layers[part][static_cast<std::size_t>(layer)] =
                std::log10(conditionNumber(concatenated(weights, conditioningParts[part], layer)));
            return Done{};
        });
}

struct ConditioningNull {
    double mean = 0, deviation = 0;
};

/// Returns the null of log10 κ for a head's factor with Gaussian weights, [d, r].
Result<ConditioningNull> headNull(const ModelConfig& c, std::uint64_t seed)
{
    Eigen::ArrayXd conditions(conditioningNullHeads);
    for (int i = 0; i < conditioningNullHeads; ++i) {
        const auto condition =
            headCondition(gaussianMatrix(c.dModel, c.dHead, seed + static_cast<std::uint64_t>(i)));
        if (!condition)
            return condition.error();
        conditions(i) = *condition;
    }
    const double mean = conditions.mean();
    return ConditioningNull{mean,
                            std::sqrt((conditions - mean).square().sum() / (conditioningNullHeads - 1))};
}

/// Returns the null of log10 κ for a square Gaussian matrix: log10 n + 0.6675 ± 0.488.
/// κ/n has the density (2x + 4)/x³ exp(−2/x − 2/x²).
/// Source: Edelman 1988, "Eigenvalues and condition numbers of random matrices", §6.
ConditioningNull squareNull(const ModelConfig& c)
{
    return {std::log10(c.dModel) + 0.6675, 0.488};
}

void setNull(ResultArray& array, const ConditioningNull& null)
{
    array.nullMean = null.mean;
    array.nullDeviation = null.deviation;
}

std::vector<std::int32_t> flags(const std::vector<double>& log10Conditions, double worst)
{
    std::vector<std::int32_t> out;
    out.reserve(log10Conditions.size());
    for (const double condition : log10Conditions)
        out.push_back(std::isnan(condition) ? -1 : condition < std::log10(worst) ? 1 : 0);
    return out;
}

void putConditioningPart(Results& results, const ConditioningNumbers& numbers, std::size_t index,
                         const ConditioningNull& ofHead, const ConditioningNull& ofLayer)
{
    const std::string path = conditioningFolder + std::string(conditioningParts[index].name);
    ResultArray& head = results.put(path + "_head", numbers.heads[index]);
    setNull(head, ofHead);
    setNullDraws(head, conditioningNullHeads);
    head.attributes["warning"] = std::string("basis-dependent (gauge)");
    setNull(results.put(path + "_layer", numbers.layers[index]), ofLayer);
    for (const ConditioningDtype& dtype : conditioningDtypes)
        results.put(path + dtype.suffix, flags(numbers.layers[index], dtype.worst));
}

Result<ResultSet> runConditioning(const AnalysisContext& context, const Task& task)
{
    const ModelWeights& weights = context.circuits.weights().original();
    const ModelConfig& c = weights.config();
    ConditioningNumbers numbers{{},
                                std::vector<RealNumbers>(conditioningParts.size(), RealNumbers::perHead(c))};
    const auto done = forEachHead(context, task, "condition numbers", [&](HeadId head) -> Result<Done> {
        const int group = head.head / (c.nHeads / c.nKvHeads);
        for (std::size_t part = 0; part < conditioningParts.size(); ++part) {
            const auto condition =
                headCondition(weights.read<double>(conditioningParts[part].kind, head.layer,
                                                   conditioningParts[part].isGrouped ? group : head.head));
            if (!condition)
                return condition.error();
            numbers.heads[part].set(head, *condition);
        }
        return Done{};
    });
    if (!done)
        return done.error();
    if (const auto layers = readConditioningLayers(context, task, numbers); !layers)
        return layers.error();
    const auto null = headNull(c, context.options.inputs.seed);
    if (!null)
        return null.error();
    Results results = resultsOf(context, conditioningArrays());
    results.warn(*done);
    for (std::size_t part = 0; part < conditioningParts.size(); ++part)
        putConditioningPart(results, numbers, part, *null, squareNull(c));
    return std::move(results).finish();
}

AnalysisCost conditioningCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double square = static_cast<double>(
        std::count_if(conditioningParts.begin(), conditioningParts.end(),
                      [&](const ConditioningPart& part) { return isSquare(config, part); }));
    return {heads * 4 * (2 * d * r * r + 4 * r * r * r) + square * config.nLayers * (d * d * d + 400 * d * d),
            (square > 0 ? 2 * 2 * 8 * d * d : 0) + heads * 4 * 8};
}

std::vector<Picture> conditioningPictures()
{
    using Kind = Picture::Kind;
    std::vector<Picture> pictures{
        pictureOf(conditioningFolder, Kind::HeadGrid, "Condition of each head's factors, log10",
                  {"W_Q_head", "W_K_head", "W_V_head", "W_O_head"},
                  "They depend on the basis inside a head (gauge). That basis changes no circuit."),
        pictureOf(conditioningFolder, Kind::Lines, "Condition of all heads together, log10",
                  {"W_Q_layer", "W_K_layer", "W_V_layer", "W_O_layer"},
                  "Only for square matrices, the ones that a skipless merge inverts."),
        pictureOf(
            conditioningFolder, Kind::Table, "Which layers can be inverted",
            {"W_Q_invertible_fp32", "W_K_invertible_fp32", "W_V_invertible_fp32", "W_O_invertible_fp32"}),
        pictureOf(
            conditioningFolder, Kind::Table, "Which layers can be inverted in bfloat16",
            {"W_Q_invertible_bf16", "W_K_invertible_bf16", "W_V_invertible_bf16", "W_O_invertible_bf16"}),
    };
    for (Picture& picture : pictures)
        picture.signedColors = false;
    return pictures;
}

} // namespace

Analysis conditioningAnalysis()
{
    return {
        .id = "conditioning",
        .number = "E10",
        .title = "Conditioning of Q, K, V and O",
        .formula =
            "log10(σ_max/σ_min) of each head's W_Q, W_K, W_V, W_O and of all heads' side by side where that is square",
        .citation = "Graef, KV-weights are all you need for skipless transformers; Edelman 1988",
        .whyNot = appliesAlways,
        .cost = conditioningCost,
        .run = runConditioning,
        .arrays = conditioningArrays(),
        .pictures = conditioningPictures(),
        .crossesStreams = true};
}

} // namespace headwise
