#include "core/circuits/singular_search.h"

#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/cards.h"
#include "core/results/picture_of.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace headwise {

namespace {

constexpr int searchedDepth = 20;
constexpr std::size_t mostHits = 500; // listed; `hits` counts them all
constexpr const char* directionSearchFolder = "analyses/direction_search/";

std::size_t directionSearchSideOf(const DirectionHit& hit)
{
    const auto isIts = [&](const DirectionSide& side) {
        return side.circuit == hit.circuit && side.side == hit.side;
    };
    return static_cast<std::size_t>(std::find_if(directionSides.begin(), directionSides.end(), isIts)
                                    - directionSides.begin());
}

std::vector<ArraySpec> directionSearchArrays()
{
    std::vector<ArraySpec> all{
        {std::string(directionSearchFolder) + "hits", headAxes(), "Directions that hold the token",
         "ends of singular directions of W_V W_O and W_Q W_Kᵀ whose 20 strongest tokens contain the given one"}};
    const auto add = [&](NumberType type, const char* name, const char* title, const char* definition) {
        all.push_back({.path = std::string(directionSearchFolder) + name,
                       .axes = {Axis::Hit},
                       .title = title,
                       .definition = definition,
                       .type = type});
    };
    add(NumberType::Whole, "hit_layer", "Layer", "the layer of the head");
    add(NumberType::Whole, "hit_head", "Head", "the head");
    add(NumberType::Whole, "side", "Side",
        "0: E u_k, 1: v_kᵀ W_U, W_V W_O = U Σ Vᵀ; 2: E u_k, 3: E v_k, W_Q W_Kᵀ = U Σ Vᵀ");
    add(NumberType::Whole, "direction", "Direction", "k, from 0: by falling σ");
    add(NumberType::Whole, "rank", "Rank", "how many tokens rank before the given one at that end");
    add(NumberType::Whole, "end", "End",
        "1: among the largest scores, −1: among the smallest; the score of largest magnitude on the first side is positive, ties to the lower id");
    add(NumberType::Real, "score", "Score", "of the given token along the direction");
    add(NumberType::Real, "score_null", "Score, random direction",
        "‖e‖/√d_model, e the given token's row of E or column of W_U: the deviation of its score over random unit directions");
    add(NumberType::Real, "sigma", "Singular value", "σ_k");
    add(NumberType::Whole, "block_size", "Directions in the block",
        "directions in the block: neighbours with (σ_k − σ_{k+1})/σ_k < 1e-2; above 1 only their span is meaningful");
    return all;
}

/// Puts the arrays of the listed hits. Rows are named by the side; the requested token is an attribute.
void putHits(Results& results, const AnalysisContext& context, const std::vector<DirectionHit>& found)
{
    const std::span<const DirectionHit> hits = std::span(found).first(std::min(found.size(), mostHits));
    const int token = *context.options.inputs.token;
    std::vector<std::string> labels;
    for (const DirectionHit& hit : hits)
        labels.emplace_back(directionSides[directionSearchSideOf(hit)].title);
    const auto put = [&](const char* name, auto value) {
        std::vector<decltype(value(hits.front()))> values;
        for (const DirectionHit& hit : hits)
            values.push_back(value(hit));
        ResultArray& array = results.put(std::string(directionSearchFolder) + name, std::move(values));
        array.attributes["labels"] = labels;
        array.attributes["token"] = static_cast<double>(token);
        array.attributes["found"] = static_cast<double>(found.size());
        array.attributes["embedding"] = std::string(embeddingName(context.tokens->embedding));
    };
    put("hit_layer", [](const DirectionHit& hit) { return hit.head.layer; });
    put("hit_head", [](const DirectionHit& hit) { return hit.head.head; });
    put("side", [](const DirectionHit& hit) { return static_cast<int>(directionSearchSideOf(hit)); });
    put("direction", [](const DirectionHit& hit) { return hit.direction; });
    put("rank", [](const DirectionHit& hit) { return hit.rank; });
    put("end", [](const DirectionHit& hit) { return hit.sign; });
    put("score", [](const DirectionHit& hit) { return hit.score; });
    put("score_null", [&](const DirectionHit& hit) {
        const Matrix<double> row =
            tokenRows(*context.tokens, directionSides[directionSearchSideOf(hit)], hit.head.layer, token, 1);
        return row.norm() / std::sqrt(static_cast<double>(row.cols()));
    });
    put("sigma", [](const DirectionHit& hit) { return hit.sigma; });
    put("block_size", [](const DirectionHit& hit) { return hit.blockSize; });
}

/// Returns the expected number of direction ends of one head that hold the token by chance, with its deviation.
std::pair<double, double> hitsOfChance(const AnalysisContext& context)
{
    const ModelConfig& config = context.circuits.config();
    double mean = 0, variance = 0;
    for (const DirectionSide& side : directionSides) {
        const Eigen::Index count = tokenCount(*context.tokens, side, config.nLayers - 1);
        const std::vector<bool> unused = unusedOf(context.options, count);
        const auto tokens = static_cast<double>(count - std::count(unused.begin(), unused.end(), true));
        if (*context.options.inputs.token >= count)
            continue;
        const double chance = std::min(1.0, searchedDepth / tokens);
        const double ends = 2.0 * std::min(config.dModel, config.dHead);
        mean += ends * chance;
        variance += ends * chance * (1 - chance);
    }
    return {mean, std::sqrt(variance)};
}

Result<ResultSet> runDirectionSearch(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const DirectionSearch search{*context.options.inputs.token, searchedDepth, context.options.heads,
                                 context.options.unusedTokens};
    const auto found = findInDirections(context.circuits, *context.tokens, search, task);
    if (!found)
        return found.error();
    RealNumbers hits = RealNumbers::perHead(config);
    const auto done = forEachHead(context, withoutProgress(task), "", [&](HeadId head) -> Result<Done> {
        const auto w = context.circuits.weights().head<double>(head);
        if (!w.W_Q.allFinite() || !w.W_K.allFinite() || !w.W_V.allFinite() || !w.W_O.allFinite())
            return Error{ErrorCode::Corrupt, headLabel(head) + " holds NaN or infinity."};
        const auto isIts = [&](const DirectionHit& hit) { return hit.head == head; };
        hits.set(head, static_cast<double>(std::count_if(found->begin(), found->end(), isIts)));
        return Done{};
    });
    if (!done)
        return done.error();
    Results results = resultsOf(context, directionSearchArrays());
    results.warn(*done);
    ResultArray& grid = results.put(std::string(directionSearchFolder) + "hits", std::move(hits));
    const auto [mean, deviation] = hitsOfChance(context);
    grid.nullMean = mean;
    grid.nullDeviation = deviation;
    grid.attributes["embedding"] = std::string(embeddingName(context.tokens->embedding));
    putHits(results, context, *found);
    if (found->size() > mostHits)
        results.warn("The search through singular directions found " + std::to_string(found->size())
                     + " places of the token; the first " + std::to_string(mostHits) + " are listed.");
    return std::move(results).finish();
}

std::string whyNoSearch(const ModelConfig& config, const AnalysisOptions& options)
{
    if (!options.inputs.token)
        return {}; // The row's `needs` already report the missing input.
    const int token = *options.inputs.token;
    const auto& unused = options.unusedTokens;
    if (token >= 0 && static_cast<std::size_t>(token) < unused.size()
        && unused[static_cast<std::size_t>(token)])
        return "Id " + std::to_string(token)
            + " is not a token in use: the tokenizer has no token for it, or the token filter removes it.";
    return whyNoToken(config, token);
}

AnalysisCost directionSearchCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel, r = std::min(config.dModel, config.dHead), V = config.dVocab;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double asked = std::min(V, 2048.0);
    return {heads * (2 * (24 * d * r * r + 20 * r * r * r) + 8 * asked * d * r) + 6 * V * d,
            24 * asked * d + 8 * V};
}

} // namespace

Analysis directionSearchAnalysis()
{
    using Kind = Picture::Kind;
    InputNeeds needs;
    needs.token = true;
    return {
        .id = "direction_search",
        .number = "E6",
        .title = "Search through singular directions",
        .formula =
            "all u_k, v_k of W_V W_O and W_Q W_Kᵀ of any head whose 20 strongest tokens, at either end, contain the token",
        .citation = "Millidge & Black 2022, the query locator",
        .needsTokens = true,
        .whyNot = whyNoSearch,
        .cost = directionSearchCost,
        .run = runDirectionSearch,
        .arrays = directionSearchArrays(),
        .needs = needs,
        .pictures =
            {pictureOf(
                 directionSearchFolder, Kind::Table, "Directions that hold the token",
                 {"hit_layer", "hit_head", "direction", "rank", "end", "score", "score_null", "sigma",
                  "block_size"},
                 "By rank. Directions that share a block are meaningful only together; see the degeneracy of the spectra."),
             Picture{.kind = Kind::HeadGrid,
                     .title = "Number of directions with the token",
                     .arrays = {std::string(directionSearchFolder) + "hits"},
                     .signedColors = false,
                     .note = "Counts both ends of all directions of OV and QK, read and written."}},
        .followsFilter = true};
}

} // namespace headwise
