#include "core/analysis/analyses.h"
#include "core/analysis/composition/induction_ranking.h"
#include "core/analysis/head_pairs.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

namespace headwise {

namespace {

constexpr std::size_t candidates = 50;
constexpr const char* inductionFolder = "analyses/induction/";
constexpr const char* matchingFormula =
    "Re Σλ / Σ|λ|, λ = eigenvalues of E W_QK (W_OV)ᵀ Eᵀ, W_QK of the later, W_OV of the earlier head, E of the later head on both sides";
constexpr const char* guess =
    "of heads of layers ≥ 1 previous_token is a guess from raw positions (rotary: the mean row of E), which only layer 0 reads";

/// Names and titles of the layers and heads of the candidates.
constexpr std::array<std::pair<const char*, const char*>, 4> candidateEnds{
    {{"candidate_earlier_layer", "Earlier layer"},
     {"candidate_earlier_head", "Earlier head"},
     {"candidate_later_layer", "Later layer"},
     {"candidate_later_head", "Later head"}}};

using InductionPair = std::pair<HeadId, HeadId>;

/// Numbers that the arrays show.
struct Found {
    const AnalysisContext& context;
    const InductionParts& parts;
    const InductionNull& null;
    const InductionRanking& ranking;
};

/// Specs of the analysis' arrays.
class InductionSpecs {
public:
    using Range = std::optional<std::pair<double, double>>;

    std::vector<ArraySpec> all() &&
    {
        addPairs();
        addNulls();
        addHeads();
        addCandidates();
        return std::move(m_all);
    }

private:
    void add(const std::string& name, std::vector<ArrayAxis> axes, const char* title, std::string definition,
             Range range)
    {
        m_all.push_back({.path = inductionFolder + name,
                         .axes = std::move(axes),
                         .title = title,
                         .definition = std::move(definition),
                         .range = range});
    }

    void addPairs()
    {
        add("combined", pairAxes(), "Induction circuit",
            "product of four numbers: max(0, (x − x₀) / (1 − x₀)) of x = previous_token of the earlier head and of x = k_composition, x₀ the null_mean of their arrays; max(0, same_token); max(0, copying) of the later head; 1 for a number that no head has, 0 for a head without it, 1 for the previous_token of marked heads; "
                + std::string(guess),
            upToOne);
        add("matching", pairAxes(), "K-composed matching", matchingFormula, plusMinusOne);
        add("same_token", pairAxes(), "Same-token score",
            "tr M |tr M| / (n ‖M‖²_F), M = E W_QK (W_OV)ᵀ Eᵀ as in matching, n = min(d_head, d_model, d_vocab): 1 if M is a multiple of a projection of rank n, at most 1/n if M has one direction",
            plusMinusOne);
        add("k_composition", pairAxes(), "K-composition", "‖W_OV¹ W_QK²ᵀ‖_F / (‖W_OV¹‖_F ‖W_QK²‖_F)",
            upToOne);
    }

    void addNulls()
    {
        add("role_percentile", pairAxes(), "Percentile of re-paired roles",
            fmt::format(
                "number of draws in which the largest combined of all pairs is smaller, divided by {} + 1; a draw permutes the heads within each layer four times, for previous_token, for copying and for both ends of same_token, and keeps k_composition: above 0.99 the four numbers do not meet in this pair by chance; it says nothing about how much the head attends",
                inductionRoleDraws),
            upToOne);
        add("role_maximum", {Axis::Draw}, "Largest score of re-paired roles",
            "largest combined of all pairs in each draw of role_percentile, ascending", {});
        add("alignment_product", pairAxes(), "Product of percentiles of shuffled directions",
            fmt::format(
                "product of where previous_token, k_composition, matching and copying stand among those of {} random pairs whose residual directions are permuted wherever two parts meet; (below + ½) / (n + 1) each, ½ for what is not known; {}",
                inductionNullDraws, guess),
            upToOne);
        add("alignment_percentile", pairAxes(), "Percentile of shuffled directions",
            fmt::format(
                "share of {} draws in which the largest alignment_product of all pairs, if every percentile were uniform, is smaller: tests that the parts share residual directions, as most trained heads do, not that the pair does induction",
                inductionMaximumDraws),
            upToOne);
        add("alignment_maximum", {Axis::Draw}, "Largest product of shuffled directions",
            "largest alignment_product of all pairs if every percentile were uniform, ascending", {});
    }

    void addHeads()
    {
        const std::string null = fmt::format(
            "; null: {} heads of the model, their residual directions permuted", inductionNullDraws);
        add("as_induction_head", headAxes(), "As induction head", "max over earlier heads of combined",
            upToOne);
        add("as_previous_token_head", headAxes(), "As previous-token head",
            "max over later heads of combined", upToOne);
        add("previous_token", headAxes(), "Previous token",
            "scores/previous_token: " + std::string(guess) + null, upToOne);
        add("best_matching", headAxes(), "Matching with the best earlier head",
            "matching of the pair with the largest combined of the later head", plusMinusOne);
        add("copying", headAxes(), "Copying", "Re Σλ / Σ|λ|, λ = eigenvalues of E W_V W_O W_U" + null,
            plusMinusOne);
    }

    void addCandidates()
    {
        const std::string ofPairs = "of the pairs with the largest combined, falling";
        for (const auto& [name, title] : candidateEnds)
            m_all.push_back({.path = inductionFolder + std::string(name),
                             .axes = {Axis::Rank},
                             .title = title,
                             .definition = ofPairs,
                             .type = NumberType::Whole});
        const auto addCandidate = [&](const std::string& name, const char* title, const Range& range) {
            add("candidate_" + name, {Axis::Rank}, title, name + " " + ofPairs, range);
        };
        addCandidate("previous_token", "Previous token", upToOne);
        m_all.back().definition += std::string("; ") + guess;
        addCandidate("k_composition", "K-composition", upToOne);
        addCandidate("matching", "Matching", plusMinusOne);
        addCandidate("same_token", "Same-token score", plusMinusOne);
        addCandidate("copying", "Copying", plusMinusOne);
        addCandidate("role_percentile", "Percentile of re-paired roles", {});
        addCandidate("combined", "Product of the four", {});
    }

    static constexpr std::pair upToOne{0.0, 1.0}, plusMinusOne{-1.0, 1.0};
    std::vector<ArraySpec> m_all;
};

std::vector<ArraySpec> inductionArrays()
{
    return InductionSpecs().all();
}

void setNull(ResultArray& array, const Sample& null)
{
    if (null.size() < 2)
        return;
    array.nullMean = null.mean();
    array.nullDeviation = null.deviation();
}

std::vector<std::string> namesOf(const std::vector<HeadId>& heads)
{
    std::vector<std::string> names;
    names.reserve(heads.size());
    for (const HeadId head : heads)
        names.push_back(dottedHead(head));
    return names;
}

void addPairArrays(Results& results, const Found& all)
{
    const std::string path = inductionFolder;
    ResultArray& combined = results.put(path + "combined", all.ranking.combined);
    const auto& marked = all.context.options.inputs.previousTokenHeads;
    if (!marked.empty())
        combined.attributes["previous_token_heads"] = namesOf(marked);
    const auto putMaxima = [&](const std::string& name, const Sample& maxima, ResultArray& product) {
        if (maxima.size() > 0)
            product.attributes["null_99"] = maxima.values()[maxima.size() * 99 / 100];
        results.put(path + name, maxima.values());
    };
    putMaxima("role_maximum", all.ranking.roleMaximum, combined);
    results.put(path + "role_percentile", all.ranking.rolePercentile);
    setNull(results.put(path + "matching", all.parts.matching), all.null.matching);
    results.put(path + "same_token", all.parts.sameToken);
    setNull(results.put(path + "k_composition", all.parts.composition), all.null.composition);
    putMaxima("alignment_maximum", all.ranking.alignmentMaximum,
              results.put(path + "alignment_product", all.ranking.alignmentProduct));
    results.put(path + "alignment_percentile", all.ranking.alignmentPercentile);
}

void addHeadArrays(Results& results, const Found& all)
{
    const ModelConfig& config = all.context.circuits.config();
    RealNumbers earlier = RealNumbers::perHead(config), later = earlier, matching = earlier,
                previousToken = earlier, copying = earlier;
    for (const HeadId head : selectedHeads(config, all.context.options)) {
        previousToken.set(head, all.parts.previousToken.at(head));
        copying.set(head, all.parts.copying.at(head));
    }
    for (const auto& [before, after] : all.ranking.pairs) { // the best first
        const double score = all.ranking.combined.at(before, after);
        if (std::isnan(earlier.at(before)))
            earlier.set(before, score);
        if (std::isnan(later.at(after))) {
            later.set(after, score);
            matching.set(after, all.parts.matching.at(before, after));
        }
    }
    const std::string path = inductionFolder;
    results.put(path + "as_induction_head", std::move(later));
    results.put(path + "as_previous_token_head", std::move(earlier));
    setNull(results.put(path + "previous_token", std::move(previousToken)), all.null.previousToken);
    setNull(results.put(path + "best_matching", std::move(matching)), all.null.matching);
    setNull(results.put(path + "copying", std::move(copying)), all.null.copying);
}

void addCandidates(Results& results, const Found& all)
{
    const std::span best(all.ranking.pairs.data(), std::min(candidates, all.ranking.pairs.size()));
    std::array<std::vector<std::int32_t>, 4> candidateHeads; // as candidateEnds
    std::vector<double> previousToken, composition, matching, sameToken, copying, percentile, combined;
    std::vector<std::string> labels;
    for (const auto& [earlier, later] : best) {
        candidateHeads[0].push_back(earlier.layer);
        candidateHeads[1].push_back(earlier.head);
        candidateHeads[2].push_back(later.layer);
        candidateHeads[3].push_back(later.head);
        previousToken.push_back(all.parts.previousToken.at(earlier));
        composition.push_back(all.parts.composition.at(earlier, later));
        matching.push_back(all.parts.matching.at(earlier, later));
        sameToken.push_back(all.parts.sameToken.at(earlier, later));
        copying.push_back(all.parts.copying.at(later));
        percentile.push_back(all.ranking.rolePercentile.at(earlier, later));
        combined.push_back(all.ranking.combined.at(earlier, later));
        labels.push_back(dottedHead(earlier) + " " + dottedHead(later));
    }
    const std::string path = inductionFolder;
    for (std::size_t i = 0; i < candidateEnds.size(); ++i)
        results.put(path + candidateEnds[i].first, std::move(candidateHeads[i]));
    results.put(path + "candidate_previous_token", std::move(previousToken));
    results.put(path + "candidate_k_composition", std::move(composition));
    results.put(path + "candidate_matching", std::move(matching));
    results.put(path + "candidate_same_token", std::move(sameToken));
    results.put(path + "candidate_copying", std::move(copying));
    results.put(path + "candidate_role_percentile", std::move(percentile));
    results.put(path + "candidate_combined", std::move(combined)).attributes["pairs"] = std::move(labels);
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
    Results results = resultsOf(context, inductionArrays());
    results.warn(parts->warnings);
    for (const HeadId head : context.options.inputs.previousTokenHeads) {
        if (head.layer + 1 == context.circuits.config().nLayers)
            results.warn(headLabel(head)
                         + " was marked as a previous-token head, but no later layer exists.");
    }
    addPairArrays(results, all);
    addHeadArrays(results, all);
    addCandidates(results, all);
    return std::move(results).finish();
}

std::string inductionNeedsTwoLayers(const ModelConfig& config, const AnalysisOptions&)
{
    return config.nLayers > 1 ? whyNoCausalMask(config)
                              : "An induction circuit needs two layers; this model has one.";
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
                + (heads + inductionNullDraws) * (6 * d * d * r + positions)
                + inductionRoleDraws * 20 * heads,
            8 * all * all * 8 + std::min(256.0 * 1024 * 1024, heads * 16 * d * r)};
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
                    candidate("matching"), candidate("same_token"), candidate("copying"),
                    candidate("combined"), candidate("role_percentile")},
         .note =
             "Best pairs first. Above 0.99 of re-paired roles, previous token, K-composition, same token and copying do not meet in this pair by chance. Attention on random tokens shows whether the head does induction. For earlier heads beyond layer 0, the previous-token score is a guess from raw positions, but still counts."},
        {.kind = Kind::Bars,
         .title = "The four numbers of the candidates",
         .arrays = {candidate("previous_token"), candidate("k_composition"), candidate("same_token"),
                    candidate("copying")},
         .note = "Previous token: beyond layer 0 a guess from raw positions."},
        {.kind = Kind::HeadPlane,
         .title = "Matching and copying",
         .arrays = {path + "best_matching", path + "copying", path + "as_induction_head"},
         .note = "Induction heads are at the upper right."},
        {.kind = Kind::HeadPlane,
         .title = "Induction from the weights and on random tokens",
         .arrays = {path + "as_induction_head", "analyses/pattern_scores/induction"},
         .note =
             "Heads at the upper right do on random tokens what their weights predict; heads at the lower right do not."},
        {.kind = Kind::HeadPairs,
         .title = "K-composition",
         .arrays = {path + "k_composition"},
         .signedColors = false},
        {.kind = Kind::Diagram, .title = "Strongest induction circuits", .arrays = {path + "combined"}},
        {.kind = Kind::HeadGrid,
         .title = "Heads by their best pair",
         .arrays = {path + "as_induction_head", path + "as_previous_token_head"},
         .signedColors = false,
         .note =
             "Beyond layer 0, previous-token scores of earlier heads are guesses from raw positions, but still count."}};
}

} // namespace

Analysis inductionAnalysis()
{
    return {.id = "induction",
            .number = "D7",
            .title = "Induction circuits",
            .formula =
                "product of previous_token¹, K-composition, same_token of E W_QK² W_OV¹ᵀ Eᵀ, and copying²",
            .citation = "Elhage et al. 2021, \"Induction Heads\"; Olsson et al. 2022, arXiv 2209.11895",
            .needsTokens = true,
            .whyNot = inductionNeedsTwoLayers,
            .cost = inductionCost,
            .run = runInduction,
            .arrays = inductionArrays(),
            .needs = {.config = {ConfigField::Positions, ConfigField::RotaryBase, ConfigField::NormEps,
                                 ConfigField::Context}},
            .pictures = inductionPictures(),
            .uses = {.previousTokenHeads = true},
            .verifiedBy = "pattern_scores"};
}

} // namespace headwise
