#include "core/analysis/analyses.h"
#include "core/analysis/prompt/prompt_arrays.h"
#include "core/analysis/prompt/residual_parts.h"
#include "core/analysis/prompt/score_positions.h"
#include "core/analysis/prompt/score_split.h"
#include "core/analysis/selected_heads.h"
#include "core/model/merges.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

namespace headwise {

int scoreQuery(const AnalysisInputs& inputs)
{
    return inputs.queryPosition.value_or(static_cast<int>(inputs.prompt.size()) - 1);
}

Result<Done> checkScorePositions(const AnalysisInputs& inputs)
{
    if (!inputs.queryPosition && !inputs.keyPosition)
        return Done{};
    if (inputs.prompt.empty())
        return Error{ErrorCode::InvalidArgument, "Query and key positions refer to a prompt; give one."};
    const int count = static_cast<int>(inputs.prompt.size());
    const int query = scoreQuery(inputs);
    if (query < 0 || query >= count)
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("There is no query at position {}; the prompt has positions 0 to {}.", query,
                                 count - 1)};
    const int key = inputs.keyPosition.value_or(0);
    if (key < 0 || key > query)
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("The query at position {} sees no key at position {}, only 0 to {}.", query,
                                 key, query)};
    return Done{};
}

namespace {

const std::string scoreSourcesFolder = "analyses/score_sources/";
constexpr double partsBudget = 640e6; // bytes of the streams taken apart

/// Returns the number of positions to split: the query, and at most one key per head.
double positionsNeeded(const ModelConfig& config, const AnalysisOptions& options)
{
    if (options.inputs.keyPosition)
        return 2;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    return std::min<double>(promptLength(config, options), heads + 1);
}

double partsBytes(const ModelConfig& config, const AnalysisOptions& options)
{
    return 8 * positionsNeeded(config, options) * PartList(config).count() * config.dModel;
}

std::vector<ArraySpec> scoreSourcesArrays()
{
    const std::string& folder = scoreSourcesFolder;
    const std::string later = "; NaN for what comes after the head";
    const std::string bilinear = "neither rotary positions nor norms of queries and keys";
    return {
        {folder + "components", headAxes({Axis::QueryComponent, Axis::KeyComponent}), "Score by sources",
         "scale · q_a · k_b, the query part of component a with the key part of b, norms frozen; they add up to score"
             + later},
        {folder + "query_component", headAxes({Axis::Component}), "Score by the query's sources",
         "Σ_b scale · q_a · k_b" + later},
        {folder + "key_component", headAxes({Axis::Component}), "Score by the key's sources",
         "Σ_a scale · q_a · k_b" + later},
        {folder + "score", headAxes(), "Score of the key", "score of the query with the key"},
        {folder + "null_score_mean", headAxes(), "Mean score of all keys",
         "mean over the keys the query sees of its score"},
        {folder + "null_score_deviation", headAxes(), "Deviation of the scores",
         "standard deviation over the keys the query sees of its score"},
        {.path = folder + "distance_term",
         .axes = headAxes(),
         .title = "Score by distance",
         .definition =
             "−slope · (i − j), or the learned bias of that distance; part of score but of no component",
         .condition = "with ALiBi or a learned bias by distance"},
        {.path = folder + "directions",
         .axes = headAxes({Axis::SingularDirection}),
         .title = "Score by singular direction",
         .definition =
             "scale · (x_i · u_k) σ_k (v_k · x_j) with W_Q W_Kᵀ = Σ_k u_kᵀ σ_k v_k, x after the norm; they add up to bilinear",
         .condition = bilinear},
        {.path = folder + "bilinear",
         .axes = headAxes(),
         .title = "Score without biases",
         .definition = "scale · x_i W_Q W_Kᵀ x_jᵀ, b_Q and b_K left out",
         .condition = bilinear},
        {.path = folder + "key",
         .axes = headAxes(),
         .title = "Strongest key",
         .definition = "argmax over j of α_ij, i the query; −1: not requested",
         .unit = "position",
         .type = NumberType::Whole},
        {.path = folder + "key_token",
         .axes = headAxes(),
         .title = "Token at the strongest key",
         .definition = "the prompt's token at key",
         .unit = "token",
         .type = NumberType::Whole}};
}

/// "query 7 with key 3", for the definitions.
std::string whichScore(const AnalysisInputs& inputs)
{
    return fmt::format(
        "{} with {}",
        inputs.queryPosition ? fmt::format("query {}", *inputs.queryPosition) : "the last query",
        inputs.keyPosition ? fmt::format("key {}", *inputs.keyPosition) : "the key it attends to most");
}

/// Returns a warning that lists the layers whose window hides the named key. Empty if none does.
std::string behindWindow(const AnalysisContext& context)
{
    const AnalysisInputs& inputs = context.options.inputs;
    if (!inputs.keyPosition)
        return {};
    const ModelConfig& config = context.circuits.config();
    const int back = scoreQuery(inputs) - *inputs.keyPosition;
    std::vector<int> layers;
    for (const HeadId id : selectedHeads(config, context.options)) {
        const int window = config.windowOf(id.layer);
        if (window > 0 && back >= window && (layers.empty() || layers.back() != id.layer))
            layers.push_back(id.layer);
    }
    return layers.empty()
        ? std::string()
        : fmt::format("Key {} is outside the window of query {} in layer{} {}, so their scores stay empty.",
                      *inputs.keyPosition, scoreQuery(inputs), layers.size() == 1 ? "" : "s",
                      fmt::join(layers, ", "));
}

Result<ResultSet> scoreSourcesOf(const AnalysisContext& context, ScoreSources found)
{
    const ModelConfig& config = context.circuits.config();
    Results results = resultsOf(context, scoreSourcesArrays());
    results.warn(found.warnings);
    results.put(scoreSourcesFolder + "components", std::move(found.components));
    results.put(scoreSourcesFolder + "query_component", std::move(found.ofQuery));
    results.put(scoreSourcesFolder + "key_component", std::move(found.ofKey));
    for (ResultArray& array : results.arrays())
        array.attributes["labels"] = found.list.names;
    results.put(scoreSourcesFolder + "score", std::move(found.score)).definition = "score of "
        + whichScore(context.options.inputs) + (config.attentionSoftCap > 0 ? ", before the soft cap" : "");
    results.put(scoreSourcesFolder + "null_score_mean", std::move(found.nullMean));
    results.put(scoreSourcesFolder + "null_score_deviation", std::move(found.nullDeviation));
    if (config.hasDistanceBias())
        results.put(scoreSourcesFolder + "distance_term", std::move(found.distance));
    if (isBilinear(config)) {
        results.put(scoreSourcesFolder + "directions", std::move(found.directions));
        results.put(scoreSourcesFolder + "bilinear", std::move(found.bilinear));
    }
    const bool isNamed = context.options.inputs.keyPosition.has_value();
    ResultArray& key = results.put(scoreSourcesFolder + "key", std::move(found.keys));
    if (isNamed) {
        key.title = "Key";
        key.definition = "the requested position; −1: a head that was not requested";
    }
    ResultArray& token = results.put(scoreSourcesFolder + "key_token", std::move(found.keyTokens));
    if (isNamed)
        token.title = "Token at the key";
    for (ResultArray& array : results.arrays())
        array.attributes["query_position"] = static_cast<double>(scoreQuery(context.options.inputs));
    if (const std::string behind = behindWindow(context); !behind.empty())
        results.warn(behind);
    return std::move(results).finish();
}

template <typename Scalar>
Result<ResultSet> runScoreSourcesAs(const AnalysisContext& context, const Task& task)
{
    const auto run =
        forward<Scalar>(context.circuits.weights(), context.options.inputs.prompt, withoutProgress(task));
    if (!run)
        return run.error();
    auto found = splitScores(context, *run, task);
    if (!found)
        return found.error();
    return scoreSourcesOf(context, *std::move(found));
}

Result<ResultSet> runScoreSources(const AnalysisContext& context, const Task& task)
{
    if (const auto checked = checkScorePositions(context.options.inputs); !checked)
        return checked.error();
    return context.options.precision == Precision::F64 ? runScoreSourcesAs<double>(context, task)
                                                       : runScoreSourcesAs<float>(context, task);
}

std::string noSum(const ModelConfig& config, const AnalysisOptions& options)
{
    if (config.qkvLimit > 0)
        return fmt::format("This model clips queries and keys at ±{}, so its scores are not a sum of parts.",
                           config.qkvLimit);
    const double bytes = partsBytes(config, options);
    if (bytes > partsBudget)
        return fmt::format(
            "Splitting the scores of {} prompt positions takes {:.1f} GB in this model; name fewer heads or give a shorter prompt.",
            positionsNeeded(config, options), bytes / 1e9);
    return {};
}

AnalysisCost scoreSourcesCost(const ModelConfig& config, const AnalysisOptions& options)
{
    ModelConfig sized = config;
    sized.nCtx = static_cast<int>(options.inputs.prompt.size());
    const double n = sized.nCtx;
    const double parts = PartList(config).count();
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double width = static_cast<double>(ScoreComponents(config).names.size());
    const double scalar = options.precision == Precision::F64 ? 8 : 4;
    const double perHead = 4.0 * config.dModel * config.dHead * (n + 2 * parts)
        + 2 * width * width * config.dHead
        + (isBilinear(config) ? 16.0 * config.dModel * config.dHead * config.dHead : 0.0);
    return {2 * countFlops(sized).perSequence + heads * perHead,
            partsBytes(config, options) + 12 * all * width * width
                + scalar * (all * n * n + n * config.dVocabOut + n * config.dModel * config.nLayers)};
}

std::vector<Picture> scoreSourcesPictures()
{
    return {
        {.kind = Picture::Kind::Matrix,
         .title = "Score by sources of query and key",
         .arrays = {scoreSourcesFolder + "components"},
         .note =
             "By default, the last query with the key it attends to most. The cells add up to the score."},
        {Picture::Kind::Bars,
         "Sources of the query and of the key",
         {scoreSourcesFolder + "query_component", scoreSourcesFolder + "key_component"}},
        {.kind = Picture::Kind::Bars,
         .title = "Score along the singular directions of W_QK",
         .arrays = {scoreSourcesFolder + "directions"},
         .note =
             "Without biases. Not available for rotary positions or for models that normalise queries and keys."},
        {Picture::Kind::HeadGrid,
         "Score of the key, and of all keys",
         {scoreSourcesFolder + "score", scoreSourcesFolder + "null_score_mean"}}};
}

} // namespace

Analysis scoreSourcesAnalysis()
{
    return {
        .id = "score_sources",
        .number = "G4",
        .title = "Where a score comes from",
        .formula =
            "score_ij = scale · Σ_ab q_a · k_b over the parts a, b of the streams; = Σ_k (x_i·u_k) σ_k (v_k·x_j)",
        .citation = "Elhage et al. 2021; Franco & Crovella 2024, arXiv 2410.00340",
        .whyNot = noSum,
        .cost = scoreSourcesCost,
        .run = runScoreSources,
        .arrays = scoreSourcesArrays(),
        .needs = {.prompt = true, .config = forwardFields()},
        .pictures = scoreSourcesPictures(),
        .uses = {.positions = true}};
}

} // namespace headwise
