#include "core/analysis/analyses.h"
#include "core/analysis/position/position_kernel.h"
#include "core/analysis/position/previous_token_null.h"
#include "core/analysis/position/token_rows.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/position_vectors.h"
#include "core/base/matrix.h"
#include "core/circuits/position_scores.h"

#include <spdlog/fmt/fmt.h>

#include <functional>
#include <set>
#include <string>
#include <utility>

namespace headwise {

namespace {

constexpr const char* previousTokenFormula = "mean over i = 1…n−1 of softmax_{j ≤ i}(s_ij) at j = i−1";

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
    if (const auto others = squares.addOtherHeads(context, task); !others)
        return others.error();
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
    const Eigen::Index n = scoredPositions(config);
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
        const auto tokens = embeddingsOf(context, task);
        if (!tokens)
            return tokens.error();
        const auto means = meanTokens(**tokens, task);
        if (!means)
            return means.error();
        const auto scoreOf = [&](HeadId id, const HeadWeights<double>& head) {
            return previousTokenScore(offsetScores(weights, id.layer, head, means->of(id.layer), n),
                                      config.windowOf(id.layer), weights.sink(id));
        };
        return scoreHeads(context, scoreOf, (*tokens)->isLayer0Special(0),
                          {scoreText(weights, "x", " R(i−j) ", "x") + ", x = mean row of E", "mean token"},
                          task);
    }
    Results results = resultsOf(context, previousTokenArrays());
    putPreviousToken(results, config, RealNumbers::perHead(config),
                     {"defined for learned and rotary positions only", "raw positions"});
    return std::move(results).finish();
}

std::string onlyCausal(const ModelConfig& config, const AnalysisOptions&)
{
    return whyNoCausalMask(config);
}

AnalysisCost previousTokenCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const AnalysisCost cost = positionScoresCost(config, options);
    return {cost.flops * (1 + randomHeads / heads), cost.bytes, 0.3};
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
         .arrays = {"scores/previous_token"}}};
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
            .pictures = previousTokenPictures(),
            .isSplit = true};
}

} // namespace headwise
