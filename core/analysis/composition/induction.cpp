#include "core/analysis/analyses.h"
#include "core/analysis/composition/induction_ranking.h"
#include "core/analysis/per_pair.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise {

namespace {

constexpr std::size_t candidates = 50;
constexpr const char* inductionFolder = "analyses/induction/";
constexpr const char* matchingFormula =
    "Re Σλ / Σ|λ|, λ = eigenvalues of E W_QK (W_OV)ᵀ Eᵀ, W_QK of the later, W_OV of the earlier head, E of the later head on both sides";
constexpr const char* guess =
    "of heads of layers ≥ 1 previous_token is a guess from raw positions (rotary: the mean row of E), which layer 0 alone reads";

using InductionPair = std::pair<HeadId, HeadId>;

/// All arrays that the analysis shows.
struct Found {
    const AnalysisContext& context;
    const InductionParts& parts;
    const InductionNull& null;
    const InductionRanking& ranking;

    std::size_t index(HeadId head) const
    {
        return static_cast<std::size_t>(head.layer) * context.circuits.config().nHeads + head.head;
    }
};

void setNull(ResultArray& array, const Sample& null)
{
    if (null.size() < 2)
        return;
    array.nullMean = null.mean();
    array.nullDeviation = null.deviation();
}

/// Sets the null of a product of four independent uniform numbers.
void setProductNull(ResultArray& array)
{
    array.nullMean = 1.0 / 16;
    array.nullDeviation = std::sqrt(1.0 / 81 - 1.0 / 256);
    array.range = {0.0, 1.0};
}

std::vector<std::string> namesOf(const std::vector<HeadId>& heads)
{
    std::vector<std::string> names;
    names.reserve(heads.size());
    for (const HeadId head : heads)
        names.push_back(dottedHead(head));
    return names;
}

void addPairArrays(ResultSet& results, const Found& all)
{
    const Precision precision = all.context.options.precision;
    const std::string path = inductionFolder;
    ResultArray combined = all.ranking.combined.array(
        precision, path + "combined", "Induction circuit",
        "product of four percentiles among this model's heads and pairs: previous_token of the earlier head, K-composition, matching, copying of the later head; ½ for what is not known, 1 for the first of heads marked as previous-token heads; "
            + std::string(guess));
    const auto& marked = all.context.options.inputs.previousTokenHeads;
    if (!marked.empty())
        combined.attributes["previous_token_heads"] = namesOf(marked);
    setProductNull(combined);
    ResultArray composition = all.parts.composition.array(precision, path + "k_composition", "K-composition",
                                                          "‖W_OV¹ W_QK²ᵀ‖_F / (‖W_OV¹‖_F ‖W_QK²‖_F)");
    setNull(composition, all.null.composition);
    composition.range = {0.0, 1.0};
    ResultArray matching =
        all.parts.matching.array(precision, path + "matching", "K-composed matching", matchingFormula);
    setNull(matching, all.null.matching);
    matching.range = {-1.0, 1.0};
    ResultArray product = all.ranking.nullProduct.array(
        precision, path + "null_product", "Product of percentiles of chance",
        fmt::format(
            "product of where the four numbers stand among those of {} random pairs whose residual directions are put into another order wherever two parts meet; (below + ½) / (n + 1) each, ½ for what is not known; {}",
            inductionNullDraws, guess));
    setProductNull(product);
    if (all.ranking.maximum.size() > 0)
        product.attributes["null_99"] = all.ranking.maximum.values()[inductionMaximumDraws * 99 / 100];
    ResultArray percentile = all.ranking.nullPercentile.array(
        precision, path + "null_percentile", "Percentile of chance",
        fmt::format(
            "share of {} draws in which the largest null_product of all pairs, if every percentile were uniform, is smaller: above 0.99 a pair stands out even as the best of all pairs",
            inductionMaximumDraws));
    percentile.range = {0.0, 1.0};
    for (ResultArray* array : {&combined, &matching, &composition, &product, &percentile})
        results.arrays.push_back(std::move(*array));
    ResultArray maximum = realArray(precision, path + "null_maximum", {all.ranking.maximum.size()},
                                    all.ranking.maximum.values(), {Axis::Draw});
    maximum.title = "Largest product of chance";
    maximum.definition = "largest null_product of all pairs if every percentile were uniform, ascending";
    results.arrays.push_back(std::move(maximum));
}

void addHeadArrays(ResultSet& results, const Found& all)
{
    const ModelConfig& config = all.context.circuits.config();
    PerHead earlier(config), later(config), matching(config), previousToken(config), copying(config);
    for (const HeadId head : selectedHeads(config, all.context.options)) {
        previousToken.set(head, all.parts.previousToken[all.index(head)]);
        copying.set(head, all.parts.copying[all.index(head)]);
    }
    for (const auto& [before, after] : all.ranking.pairs) { // the best first
        const double score = all.ranking.combined.at(before, after);
        if (std::isnan(earlier.row(before)[0]))
            earlier.set(before, score);
        if (std::isnan(later.row(after)[0])) {
            later.set(after, score);
            matching.set(after, all.parts.matching.at(before, after));
        }
    }
    const auto add = [&](const PerHead& numbers, const char* name, const char* title, std::string formula) {
        results.arrays.push_back(numbers.array(
            all.context.options.precision, std::string(inductionFolder) + name, title, std::move(formula)));
        results.arrays.back().range = {0.0, 1.0};
        return &results.arrays.back();
    };
    add(later, "as_induction_head", "As induction head", "max over earlier heads of combined");
    add(earlier, "as_previous_token_head", "As previous-token head", "max over later heads of combined");
    const std::string null =
        fmt::format("; null: {} heads of the model, their residual directions put into another order",
                    inductionNullDraws);
    setNull(*add(previousToken, "previous_token", "Previous token",
                 "scores/previous_token: " + std::string(guess) + null),
            all.null.previousToken);
    ResultArray* array =
        add(matching, "best_matching", "Matching with the best earlier head", matchingFormula);
    setNull(*array, all.null.matching);
    array->range = {-1.0, 1.0};
    array = add(copying, "copying", "Copying", "Re Σλ / Σ|λ|, λ = eigenvalues of E W_V W_O W_U" + null);
    setNull(*array, all.null.copying);
    array->range = {-1.0, 1.0};
}

void addCandidates(ResultSet& results, const Found& all)
{
    const std::size_t count = std::min(candidates, all.ranking.pairs.size());
    std::vector<std::string> labels;
    const auto addWhole = [&](const char* name, const char* title, auto part) {
        std::vector<std::int32_t> values;
        for (std::size_t i = 0; i < count; ++i)
            values.push_back(part(all.ranking.pairs[i]));
        results.arrays.push_back(wholeArray(std::string(inductionFolder) + "candidate_" + name, {count},
                                            std::move(values), {Axis::Rank}));
        results.arrays.back().title = title;
        results.arrays.back().definition = "of the pairs with the largest combined, falling";
    };
    const auto add = [&](const char* name, const char* title, auto part) {
        std::vector<double> values;
        for (std::size_t i = 0; i < count; ++i)
            values.push_back(part(all.ranking.pairs[i]));
        results.arrays.push_back(realArray(all.context.options.precision,
                                           std::string(inductionFolder) + "candidate_" + name, {count},
                                           std::move(values), {Axis::Rank}));
        results.arrays.back().title = title;
        results.arrays.back().definition =
            std::string(name) + " of the pairs with the largest combined, falling";
        return &results.arrays.back();
    };
    addWhole("earlier_layer", "Earlier layer", [](const InductionPair& pair) { return pair.first.layer; });
    addWhole("earlier_head", "Earlier head", [](const InductionPair& pair) { return pair.first.head; });
    addWhole("later_layer", "Later layer", [](const InductionPair& pair) { return pair.second.layer; });
    addWhole("later_head", "Later head", [](const InductionPair& pair) { return pair.second.head; });
    ResultArray* previousToken = add("previous_token", "Previous token", [&](const InductionPair& pair) {
        return all.parts.previousToken[all.index(pair.first)];
    });
    previousToken->range = {0.0, 1.0};
    previousToken->definition += std::string("; ") + guess;
    add("k_composition", "K-composition", [&](const InductionPair& pair) {
        return all.parts.composition.at(pair.first, pair.second);
    })->range = {0.0, 1.0};
    add("matching", "Matching", [&](const InductionPair& pair) {
        return all.parts.matching.at(pair.first, pair.second);
    })->range = {-1.0, 1.0};
    add("copying", "Copying", [&](const InductionPair& pair) {
        return all.parts.copying[all.index(pair.second)];
    })->range = {-1.0, 1.0};
    add("null_percentile", "Percentile of chance",
        [&](const InductionPair& pair) { return all.ranking.nullPercentile.at(pair.first, pair.second); });
    add("combined", "Product of percentiles",
        [&](const InductionPair& pair) { return all.ranking.combined.at(pair.first, pair.second); });
    for (std::size_t i = 0; i < count; ++i)
        labels.push_back(dottedHead(all.ranking.pairs[i].first) + " "
                         + dottedHead(all.ranking.pairs[i].second));
    results.arrays.back().attributes["pairs"] = std::move(labels);
}

Result<ResultSet> runInduction(const AnalysisContext& context, const Task& task)
{
    const auto parts = inductionParts(context, task);
    if (!parts)
        return parts.error();
    const auto null = inductionNull(context, task);
    if (!null)
        return null.error();
    const auto ranking = rankInduction(context, *parts, *null, task);
    if (!ranking)
        return ranking.error();
    const Found all{context, *parts, *null, *ranking};
    ResultSet results;
    results.warnings = parts->warnings;
    for (const HeadId head : context.options.inputs.previousTokenHeads) {
        if (head.layer + 1 == context.circuits.config().nLayers)
            results.warnings.push_back(
                headLabel(head) + " was marked as a previous-token head, but no layer comes after it.");
    }
    addPairArrays(results, all);
    addHeadArrays(results, all);
    addCandidates(results, all);
    return results;
}

std::string inductionNeedsTwoLayers(const ModelConfig& config, const AnalysisOptions&)
{
    return config.nLayers > 1 ? "" : "An induction circuit needs two layers, and this model has one.";
}

AnalysisCost inductionCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double n = std::min(config.nCtx, 1024);
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double pairs = heads * heads * (1 - 1.0 / config.nLayers) / 2;
    const double positions =
        config.positional == Positional::Learned ? 4 * n * d * r + n * n * (2 * r + 20) : 20 * n * r;
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    return {pairs * (4 * d * r * r + 30 * r * r * r)
                + (heads + inductionNullDraws) * (4 * d * d * r + positions),
            5 * all * all * 8 + std::min(256.0 * 1024 * 1024, heads * 16 * d * r)};
}

std::vector<Picture> inductionPictures()
{
    const std::string path = inductionFolder;
    const auto candidate = [&](const char* name) { return path + "candidate_" + name; };
    using Kind = Picture::Kind;
    return {
        {.kind = Kind::Table,
         .title = "Candidates",
         .arrays = {candidate("earlier_layer"), candidate("earlier_head"), candidate("later_layer"),
                    candidate("later_head"), candidate("previous_token"), candidate("k_composition"),
                    candidate("matching"), candidate("copying"), candidate("combined"),
                    candidate("null_percentile")},
         .note =
             "The best pairs first; above 0.99 of chance a pair stands out even as the best of all. Where the earlier head is not of layer 0, its previous-token score is a guess from raw positions, and counts all the same."},
        {.kind = Kind::Bars,
         .title = "The four numbers of the candidates",
         .arrays = {candidate("previous_token"), candidate("k_composition"), candidate("matching"),
                    candidate("copying")},
         .note = "Previous token: beyond layer 0 a guess from raw positions."},
        {.kind = Kind::HeadPlane,
         .title = "Matching and copying",
         .arrays = {path + "best_matching", path + "copying", path + "as_induction_head"},
         .note = "Induction heads stand in the upper right corner."},
        {.kind = Kind::HeadPlane,
         .title = "From the weights and on random tokens",
         .arrays = {path + "as_induction_head", "analyses/pattern_scores/induction"},
         .note = "Heads in the upper right corner do on random tokens what their weights promise."},
        {.kind = Kind::HeadPairs,
         .title = "K-composition",
         .arrays = {path + "k_composition"},
         .signedColors = false,
         .note = {}},
        {.kind = Kind::Diagram, .title = "The strongest pairs", .arrays = {path + "combined"}, .note = {}},
        {.kind = Kind::HeadGrid,
         .title = "Heads by their best pair",
         .arrays = {path + "as_induction_head", path + "as_previous_token_head"},
         .signedColors = false,
         .note =
             "Previous-token scores of earlier heads beyond layer 0 are guesses from raw positions, and count all the same."}};
}

} // namespace

Analysis inductionAnalysis()
{
    return {
        .id = "induction",
        .number = "D7",
        .title = "Induction circuits",
        .formula =
            "percentiles of previous_token¹, K-composition, positivity of E W_QK² W_OV¹ᵀ Eᵀ and copying², multiplied",
        .citation = "Elhage et al. 2021, \"Induction Heads\"; Olsson et al. 2022, arXiv 2209.11895",
        .needsTokens = true,
        .whyNot = inductionNeedsTwoLayers,
        .cost = inductionCost,
        .run = runInduction,
        .pictures = inductionPictures()};
}

} // namespace headwise
