#include "core/analysis/analyses.h"
#include "core/analysis/position/previous_token_null.h"
#include "core/analysis/position/token_rows.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/position_vectors.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/base/matrix.h"
#include "core/circuits/position_scores.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index longestContext = 1024;
constexpr const char* previousTokenFormula = "mean over i = 1…n−1 of softmax_{j ≤ i}(s_ij) at j = i−1";

Eigen::Index contextLength(const ModelConfig& config)
{
    return std::min<Eigen::Index>(config.nCtx, longestContext);
}

/// Function that returns the score of a head, given its weights or replacements for them.
using ScoreOf = std::function<double(HeadId, const HeadWeights<double>&)>;

std::vector<ArraySpec> previousTokenArrays()
{
    std::vector<ArraySpec> all = previousTokenNullArrays();
    all.insert(
        all.begin(),
        {"scores/previous_token", headAxes(), "Previous token",
         std::string(previousTokenFormula)
             + ", n = min(n_ctx, 1024), s_ij = scores of positions, or of the mean token where positions are rotary",
         "", std::pair(0.0, 1.0)});
    return all;
}

/// Words about the scores s_ij.
struct ScoreText {
    std::string formula, assumption;
};

/// Returns the formula of the input of queries and keys: the vector after the first norm.
std::string readFrom(const ProcessedWeights& weights, const std::string& vector)
{
    bool isNormed = false, isFolded = true;
    for (int layer = 0; layer < weights.config().nLayers; ++layer) {
        const Norm<double> norm = weights.ln1<double>(layer);
        isNormed = isNormed || norm.kind != NormKind::None;
        isFolded = isFolded && norm.w.size() == 0 && norm.b.size() == 0;
    }
    if (!isNormed)
        return vector;
    return isFolded ? vector + "/σ(" + vector + ")" : "ln1(" + vector + ")";
}

/// \param query, key vectors of the residual stream: "p_i" \param between the text between their products: " R(i−j) "
std::string scoreText(const ProcessedWeights& weights, const std::string& query, const std::string& between,
                      const std::string& key)
{
    const ModelConfig& config = weights.config();
    const std::string product = "(" + readFrom(weights, query) + " W_Q + b_Q)" + between + "("
        + readFrom(weights, key) + " W_K + b_K)ᵀ · scale";
    std::string text = "s_ij = " + product;
    if (config.attentionSoftCap > 0)
        text = "s_ij = c · tanh(u_ij/c), c = " + fmt::format("{}", config.attentionSoftCap)
            + ", u_ij = " + product;
    if (config.qkvLimit > 0)
        text += ", queries and keys clipped at ±" + fmt::format("{}", config.qkvLimit);
    if (config.qkNorm != NormKind::None)
        text += ", queries and keys after their own norms";
    if (config.latentAttention)
        text += ", queries and keys after the norms of their latents";
    return text;
}

/// Returns the definition text for attention windows, or an empty string if no layer has one.
std::string windowText(const ModelConfig& config)
{
    std::set<int> sizes;
    for (int layer = 0; layer < config.nLayers; ++layer)
        sizes.insert(config.windowOf(layer));
    const bool isEverywhere = sizes.erase(0) == 0;
    if (sizes.empty())
        return {};
    std::string list;
    for (const int size : sizes)
        list += (list.empty() ? "" : " or ") + std::to_string(size);
    return std::string(isEverywhere ? ", over i−w < j ≤ i alone"
                                    : ", in layers with a window over i−w < j ≤ i alone")
        + ", w = " + list;
}

ResultArray& putPreviousToken(Results& results, const ModelConfig& config, RealNumbers scores,
                              const ScoreText& text)
{
    ResultArray& array = results.put("scores/previous_token", std::move(scores));
    array.definition = previousTokenFormula + windowText(config)
        + (config.attentionSinks ? ", the head's sink beside the scores" : "") + ", n = min(n_ctx, 1024), "
        + text.formula;
    array.attributes["assumption"] = text.assumption;
    return array;
}

Result<ResultSet> scoreHeads(const AnalysisContext& context, const ScoreOf& scoreOf, bool isLayer0Alone,
                             const ScoreText& text, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    RealNumbers scores = RealNumbers::perHead(config);
    EntrySquares squares(config);
    const auto done = forEachHead(context, task, "previous-token scores", [&](HeadId head) -> Result<Done> {
        const HeadWeights<double> weights = context.circuits.weights().head<double>(head);
        squares.set(head, weights);
        scores.set(head, scoreOf(head, weights));
        return Done{};
    });
    if (!done)
        return done.error();
    const auto nulls = previousTokenNulls(context, squares, isLayer0Alone, scoreOf, task);
    if (!nulls)
        return nulls.error();
    Results results = resultsOf(context, previousTokenArrays());
    results.warn(*done);
    putPreviousTokenNulls(results, putPreviousToken(results, config, std::move(scores), text), *nulls);
    return std::move(results).finish();
}

Result<ResultSet> runPreviousToken(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const ProcessedWeights& weights = context.circuits.weights();
    const Eigen::Index n = contextLength(config);
    if (config.positional == Positional::Learned) {
        const PositionVectors<> vectors(weights, n);
        const auto scoreOf = [&](HeadId id, const HeadWeights<double>& head) {
            return previousTokenScore(positionScores(weights, id.layer, head, *vectors.of(id.layer)),
                                      config.windowOf(id.layer), weights.sink(id));
        };
        return scoreHeads(context, scoreOf, false,
                          {scoreText(weights, "p_i", "", "p_j") + ", p = W_pos", "raw positions"}, task);
    }
    if (config.positional == Positional::Rotary) {
        const auto tokens = TokenRows::create(context, task);
        if (!tokens)
            return tokens.error();
        const auto means = meanTokens(*tokens, task);
        if (!means)
            return means.error();
        const auto scoreOf = [&](HeadId id, const HeadWeights<double>& head) {
            return previousTokenScore(offsetScores(weights, id.layer, head, means->of(id.layer), n),
                                      config.windowOf(id.layer), weights.sink(id));
        };
        return scoreHeads(context, scoreOf, tokens->isLayer0Special(),
                          {scoreText(weights, "x", " R(i−j) ", "x") + ", x = mean row of E", "mean token"},
                          task);
    }
    Results results = resultsOf(context, previousTokenArrays());
    putPreviousToken(results, config, RealNumbers::perHead(config),
                     {"defined for learned and rotary positions only", "raw positions"});
    return std::move(results).finish();
}

/// Scores of two positions do not depend on tokens.
bool hasPositionScores(const ModelConfig& config)
{
    return config.positional == Positional::Learned || config.positional == Positional::Relative;
}

std::string onlyLearned(const ModelConfig& config, const AnalysisOptions&)
{
    return hasPositionScores(config)
        ? whyNoCausalMask(config)
        : "The position kernel needs learned positions or a learned bias by distance.";
}

std::string onlyCausal(const ModelConfig& config, const AnalysisOptions&)
{
    return whyNoCausalMask(config);
}

const std::string positionKernelFolder = "analyses/position_kernel/";

/// Mean attention at fixed places relative to the query, and at the first token.
struct Masses {
    double current = 0, previous = 0, twoBack = 0, first = 0;
};

/// Averages over the queries that have such a key: i ≥ 0, 1, 2, and 1 for the first token. \param pattern [n, n], row = query
Masses massesOf(const Matrix<double>& pattern)
{
    const Eigen::Index n = pattern.rows();
    const auto back = [&](Eigen::Index offset) {
        return n > offset ? pattern.diagonal(-offset).mean() : notComputed;
    };
    return {back(0), back(1), back(2), n > 1 ? pattern.col(0).tail(n - 1).mean() : notComputed};
}

struct MassArray {
    const char *name, *title, *where;
    double Masses::*mass;
};
constexpr std::array massArrays{
    MassArray{"current_token", "Current token", "j = i", &Masses::current},
    MassArray{"previous_token", "Previous token", "j = i−1", &Masses::previous},
    MassArray{"second_previous_token", "Second previous token", "j = i−2", &Masses::twoBack},
    MassArray{"first_token", "First token", "j = 0, i ≥ 1", &Masses::first}};

std::vector<ArraySpec> positionKernelArrays()
{
    const std::string at = positionKernelFolder;
    const std::vector<ArrayAxis> axes = headAxes({Axis::Offset});
    std::vector<ArraySpec> all{{at + "mean_score", axes, "Mean score by offset",
                                "k(Δ) = mean over i ≥ Δ of s_{i,i−Δ}, s as in scores/previous_token"},
                               {at + "centred_mean_score", axes, "Mean centred score by offset",
                                "k(Δ) = mean over i ≥ Δ of s_{i,i−Δ} − mean_{j ≤ i} s_ij"},
                               {at + "score_low", axes, "Mean score minus one deviation",
                                "k(Δ) − deviation over i ≥ Δ of s_{i,i−Δ}"},
                               {at + "score_high", axes, "Mean score plus one deviation",
                                "k(Δ) + deviation over i ≥ Δ of s_{i,i−Δ}"}};
    for (const MassArray& mass : massArrays)
        all.push_back({at + mass.name, headAxes(), mass.title,
                       std::string("mean over i of softmax_{j ≤ i}(s_ij) at ") + mass.where
                           + ", s as in scores/previous_token",
                       "", std::pair(0.0, 1.0)});
    all.push_back(
        {.path = at + "mass_null",
         .axes = {Axis::Layer, Axis::Mass},
         .title = "Masses of uniform attention",
         .definition =
             "current, previous, second previous and first token where every key seen gets the same",
         .condition = "layers with different windows"});
    return all;
}

/// The kernel of every head with its band, and the masses of its attention.
struct PositionKernelNumbers {
    RealNumbers mean, centred, low, high;
    std::array<RealNumbers, massArrays.size()> masses;

    PositionKernelNumbers(const ModelConfig& config, Eigen::Index n)
        : mean(RealNumbers::perHead(config, n))
        , centred(mean)
        , low(mean)
        , high(mean)
        , masses{RealNumbers::perHead(config), RealNumbers::perHead(config), RealNumbers::perHead(config),
                 RealNumbers::perHead(config)}
    {
    }

    void set(HeadId head, const Matrix<double>& scores, int window)
    {
        const PositionKernel kernel = positionKernel(scores);
        mean.set(head, std::span<const double>(kernel.mean));
        centred.set(head, std::span<const double>(kernel.centred));
        for (Eigen::Index offset = 0; offset < scores.rows(); ++offset) {
            const auto at = static_cast<std::size_t>(offset);
            low.of(head)[at] = kernel.mean[at] - kernel.deviation[at];
            high.of(head)[at] = kernel.mean[at] + kernel.deviation[at];
        }
        const Masses found = massesOf(maskedSoftmax(scores.transpose(), window));
        for (std::size_t i = 0; i < masses.size(); ++i)
            masses[i].set(head, found.*massArrays[i].mass);
    }
};

/// Returns the masses of uniform attention, shared by all layers. Returns nothing if layers have different windows.
std::optional<Masses> evenMasses(const ModelConfig& config, Eigen::Index n)
{
    for (int layer = 1; layer < config.nLayers; ++layer)
        if (config.windowOf(layer) != config.windowOf(0))
            return std::nullopt;
    return massesOf(maskedSoftmax(Matrix<double>::Zero(n, n), config.windowOf(0)));
}

/// Puts the masses with their null, or with an array of nulls by layer where windows differ.
void putMasses(Results& results, const PositionKernelNumbers& numbers, const ModelConfig& config,
               Eigen::Index n)
{
    const std::optional<Masses> even = evenMasses(config, n);
    for (std::size_t i = 0; i < massArrays.size(); ++i) {
        ResultArray& array = results.put(positionKernelFolder + massArrays[i].name, numbers.masses[i]);
        if (even)
            array.nullMean = (*even).*massArrays[i].mass;
    }
    if (even)
        return;
    std::vector<double> values;
    for (int layer = 0; layer < config.nLayers; ++layer) {
        const Masses ofLayer = massesOf(maskedSoftmax(Matrix<double>::Zero(n, n), config.windowOf(layer)));
        for (const MassArray& mass : massArrays)
            values.push_back(ofLayer.*mass.mass);
    }
    results.put(positionKernelFolder + "mass_null",
                {static_cast<std::size_t>(config.nLayers), massArrays.size()}, std::move(values));
}

Result<ResultSet> runPositionKernel(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const Eigen::Index n = contextLength(config);
    const ProcessedWeights& weights = context.circuits.weights();
    PositionKernelNumbers numbers(config, n);
    std::optional<PositionVectors<>> vectors;
    if (config.positional == Positional::Learned)
        vectors.emplace(weights, n);
    const auto done = forEachHead(context, task, "position kernels", [&](HeadId head) -> Result<Done> {
        numbers.set(head,
                    vectors ? positionScores(weights, head, *vectors->of(head.layer))
                            : distanceScores(weights, head, n),
                    config.windowOf(head.layer));
        return Done{};
    });
    if (!done)
        return done.error();
    Results results = resultsOf(context, positionKernelArrays());
    results.warn(*done);
    results.put(positionKernelFolder + "mean_score", numbers.mean);
    results.put(positionKernelFolder + "centred_mean_score", numbers.centred).nullMean = 0.0;
    results.put(positionKernelFolder + "score_low", numbers.low);
    results.put(positionKernelFolder + "score_high", numbers.high);
    putMasses(results, numbers, config, n);
    for (ResultArray& array : results.arrays())
        array.attributes["assumption"] =
            std::string(vectors ? "raw positions" : "s_ij is the learned bias of the distance i − j alone");
    return std::move(results).finish();
}

AnalysisCost positionCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double n = static_cast<double>(contextLength(config));
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double perHead = hasPositionScores(config)
        ? 4 * n * config.dModel * config.dHead + n * n * (2.0 * config.dHead + 20)
        : n * (20.0 * config.dHead);
    return {heads * perHead, hasPositionScores(config) ? 16 * n * n : 8 * n};
}

AnalysisCost previousTokenCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const AnalysisCost cost = positionCost(config, options);
    return {cost.flops * (1 + randomHeads / heads), cost.bytes, 0.3};
}

std::vector<Picture> positionKernelPictures()
{
    using enum Picture::Kind;
    const auto in = [](std::initializer_list<const char*> names) {
        return pathsOf("position_kernel", names);
    };
    const std::string later =
        "Only layer 0 reads position vectors unchanged; for later layers this is a guess.";
    return {
        {.kind = Lines,
         .title = "Mean score by offset",
         .arrays = in({"mean_score", "score_low", "score_high"}),
         .note = later},
        {.kind = Lines,
         .title = "Mean centred score by offset",
         .arrays = in({"centred_mean_score"}),
         .note = later},
        {.kind = HeadGrid,
         .title = "Attention by position alone",
         .arrays = in({"previous_token", "current_token", "second_previous_token", "first_token"}),
         .signedColors = false,
         .note = later},
        {HeadPlane,
         "Previous-token scores with and without tokens",
         {"analyses/position_kernel/previous_token", "analyses/pattern_scores/previous"}},
    };
}

std::vector<Picture> previousTokenPictures()
{
    using Kind = Picture::Kind;
    return {
        {.kind = Kind::HeadGrid,
         .title = "Attention to the previous token, by position alone",
         .arrays = {"scores/previous_token"},
         .signedColors = false,
         .note = "Only layer 0 reads learned positions unchanged; for later layers this is an assumption."},
        {.kind = Kind::HeadPlane,
         .title = "Previous token from the weights and on random tokens",
         .arrays = {"scores/previous_token", "analyses/pattern_scores/previous"},
         .note =
             "Needs the pattern scores too. Heads above the diagonal owe their score to the outputs of earlier heads."},
        {.kind = Kind::Histogram,
         .title = "Heads by attention to the previous token",
         .arrays = {"scores/previous_token"},
         .note = {}}};
}

} // namespace

Analysis previousTokenAnalysis()
{
    return {.id = "previous_token",
            .number = "C2, C8",
            .title = "Previous token",
            .formula = previousTokenFormula,
            .citation = "Kamoda et al. 2025, arXiv 2501.15754",
            .isDefault = true,
            .whyNot = onlyCausal,
            .cost = previousTokenCost,
            .run = runPreviousToken,
            .arrays = previousTokenArrays(),
            .needs = {.config = {ConfigField::Positions, ConfigField::RotaryBase, ConfigField::NormEps,
                                 ConfigField::Context}},
            .pictures = previousTokenPictures()};
}

Analysis positionKernelAnalysis()
{
    return {.id = "position_kernel",
            .number = "C2",
            .title = "Mean score by offset",
            .formula = "k(Δ) = mean over i of s_{i,i−Δ}",
            .citation = "Kamoda et al. 2025, arXiv 2501.15754",
            .whyNot = onlyLearned,
            .cost = positionCost,
            .run = runPositionKernel,
            .arrays = positionKernelArrays(),
            .needs = {.config = {ConfigField::Positions, ConfigField::NormEps}},
            .pictures = positionKernelPictures()};
}

} // namespace headwise
