#include "core/findings/rule_numbers.h"
#include "core/findings/rules.h"
#include "core/results/layer_null.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace headwise {
namespace {

/// Least attention that counts as a habit, and by how much it exceeds uniform attention.
constexpr double leastMass = 0.4, leastMassBeyondNull = 0.3;
constexpr double leastFirst = 0.5;
/// Nearby keys: this many, at least this many times their uniform share.
constexpr std::size_t nearbyKeys = 8, fewestOffsets = 64;
constexpr double leastNearby = 0.5, leastTimesEven = 4;
/// How many times nearer than the slope alone a head attends, and by how many tokens.
constexpr double leastTimesNearer = 2, leastTokensNearer = 4;
/// How often a term of the score must be as large as for random directions, and its least share of the score.
constexpr double leastTimesNull = 5, leastTermShare = 0.5;

/// The heads of scores/previous_token; their nulls may stand in arrays by layer.
std::vector<JudgedHead> previousTokenHeads(const FindingEvidence& evidence)
{
    std::vector<JudgedHead> heads = judgedHeads(evidence, "scores/previous_token");
    const ResultArray* means =
        checkedArray(evidence, "analyses/previous_token/null_mean", {evidence.model.nLayers});
    const ResultArray* deviations =
        checkedArray(evidence, "analyses/previous_token/null_deviation", {evidence.model.nLayers});
    if (!means || !deviations)
        return heads;
    for (JudgedHead& judged : heads) {
        const auto layer = static_cast<std::size_t>(judged.head.layer);
        const double deviation = numberIn(*deviations, layer);
        judged.nullMean = numberIn(*means, layer);
        judged.z = deviation > 0 ? (judged.value - judged.nullMean) / deviation
                                 : std::numeric_limits<double>::quiet_NaN();
    }
    return heads;
}

/// Returns the deviation of the previous-token scores of random heads; NaN where it is not known. Their attention to any other
/// offset spreads alike.
double offsetDeviation(const FindingEvidence& evidence, int layer)
{
    const ResultArray* deviations =
        checkedArray(evidence, "analyses/previous_token/null_deviation", {evidence.model.nLayers});
    if (deviations)
        return numberIn(*deviations, static_cast<std::size_t>(layer));
    const ResultArray* scores = perHeadArray(evidence, "scores/previous_token");
    return scores ? layerNull(*scores, layer).deviation.value_or(std::numeric_limits<double>::quiet_NaN())
                  : std::numeric_limits<double>::quiet_NaN();
}

std::vector<Finding> findPreviousToken(const FindingEvidence& evidence)
{
    const std::vector<JudgedHead> heads = previousTokenHeads(evidence);
    const double z = thresholdZ(heads.size());
    std::vector<Finding> found;
    for (const JudgedHead& judged : heads) {
        if (!(judged.z >= z && judged.value >= leastMass))
            continue;
        found.push_back(
            {.kind = "previous_token",
             .heads = {judged.head},
             .value = judged.value,
             .nullMean = judged.nullMean,
             .z = judged.z,
             .text = headLabel(judged.head) + " attends to the previous token " + scoreAndZ(judged) + ".",
             .view = "previous_token",
             .strength = shareOfRange(judged.value, judged.nullMean)});
    }
    return strongestFindings(std::move(found));
}

/// One of the masses of the analysis position_kernel.
struct OffsetMass {
    const char* path;
    const char* words;
    std::size_t column; // in mass_null
};
constexpr std::array offsetMasses{
    OffsetMass{"analyses/position_kernel/current_token", "the current token", 0},
    OffsetMass{"analyses/position_kernel/second_previous_token", "the token two places back", 2}};
constexpr int massColumns = 4;

std::vector<Finding> findOffset(const FindingEvidence& evidence)
{
    const ResultArray* nulls =
        checkedArray(evidence, "analyses/position_kernel/mass_null", {evidence.model.nLayers, massColumns});
    const double leastOffsetZ = thresholdZ(headCount(evidence.model) * offsetMasses.size());
    std::vector<Finding> found;
    for (const OffsetMass& mass : offsetMasses) {
        for (const JudgedHead& judged : judgedHeads(evidence, mass.path)) {
            const auto row = static_cast<std::size_t>(judged.head.layer) * massColumns;
            const double null =
                std::isnan(judged.nullMean) && nulls ? numberIn(*nulls, row + mass.column) : judged.nullMean;
            const double deviation = offsetDeviation(evidence, judged.head.layer);
            const double z = (judged.value - null) / deviation;
            if (!(judged.value >= leastMass && judged.value - null >= leastMassBeyondNull && deviation > 0
                  && z >= leastOffsetZ))
                continue;
            found.push_back(
                {.kind = "offset",
                 .heads = {judged.head},
                 .value = judged.value,
                 .nullMean = null,
                 .z = z,
                 .text = fmt::format(
                     "{} attends to {} by position alone ({} of its attention, {} if uniform, z {}).",
                     headLabel(judged.head), mass.words, shortNumber(judged.value), shortNumber(null),
                     shortNumber(z)),
                 .view = mass.path,
                 .strength = shareOfRange(judged.value, null)});
        }
    }
    return strongestFindings(std::move(found));
}

/// Returns the column of analyses/pattern_scores/null_scores with this label; none if there is none.
std::optional<std::size_t> patternColumn(const ResultArray& nulls, std::string_view label)
{
    const auto labels = nulls.attributes.find("labels");
    const auto* names =
        labels == nulls.attributes.end() ? nullptr : std::get_if<std::vector<std::string>>(&labels->second);
    if (!names)
        return std::nullopt;
    const auto at = std::find(names->begin(), names->end(), label) - names->begin();
    return static_cast<std::size_t>(at) < nulls.shape[1] ? std::optional(static_cast<std::size_t>(at))
                                                         : std::nullopt;
}

std::vector<Finding> findFirstToken(const FindingEvidence& evidence)
{
    const std::string path = "analyses/pattern_scores/first";
    const ResultArray* nulls =
        checkedArray(evidence, "analyses/pattern_scores/null_scores", {evidence.model.nLayers, anySize});
    const auto column = nulls ? patternColumn(*nulls, "first") : std::nullopt;
    std::vector<Finding> found;
    for (const JudgedHead& judged : judgedHeads(evidence, path)) {
        double null = judged.nullMean;
        if (std::isnan(null) && column)
            null = numberIn(*nulls, static_cast<std::size_t>(judged.head.layer) * nulls->shape[1] + *column);
        if (!(judged.value >= leastFirst && judged.value - null >= leastMassBeyondNull))
            continue;
        found.push_back(
            {.kind = "first_token",
             .heads = {judged.head},
             .value = judged.value,
             .nullMean = null,
             .text = fmt::format(
                 "{} attends mostly to the first token ({} of its attention on random tokens, {} if uniform).",
                 headLabel(judged.head), shortNumber(judged.value), shortNumber(null)),
             .view = path,
             .strength = shareOfRange(judged.value, null)});
    }
    return strongestFindings(std::move(found));
}

/// Shares of a softmax over the offsets.
struct OffsetShares {
    double nearby = 0, largest = 0, even = 1; ///< even: what the nearby offsets have if all are alike.
};

/// \param scores by offset; NaN beyond a window
OffsetShares sharesOf(std::vector<double> scores)
{
    std::erase_if(scores, [](double score) { return !std::isfinite(score); });
    if (scores.size() < fewestOffsets)
        return {};
    const double highest = *std::max_element(scores.begin(), scores.end());
    for (double& score : scores)
        score = std::exp(score - highest);
    const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
    const double near = std::accumulate(scores.begin(), scores.begin() + nearbyKeys, 0.0);
    return {near / sum, 1 / sum, static_cast<double>(nearbyKeys) / static_cast<double>(scores.size())};
}

std::vector<Finding> findNearby(const FindingEvidence& evidence)
{
    const ModelCard& model = evidence.model;
    const std::string path = "analyses/rotary/mean_token_score";
    const ResultArray* array = checkedArray(evidence, path, {model.nLayers, model.nHeads, anySize});
    // Learned positions differ from one position to the next; findNearerThanSlope() judges ALiBi.
    // Beside a sink, nobody knows which part of the attention the keys share.
    if (!array || model.positional != "rotary" || array->attributes.contains("has_sinks"))
        return {};
    std::vector<Finding> found;
    for (const HeadId head : headsOf(model)) {
        const OffsetShares shares = sharesOf(listOf(*array, head));
        // A head that keeps to one offset is told by other rules.
        if (!(shares.nearby >= leastNearby && shares.nearby >= leastTimesEven * shares.even
              && shares.largest < leastNearby))
            continue;
        found.push_back(
            {.kind = "nearby",
             .heads = {head},
             .value = shares.nearby,
             .nullMean = shares.even,
             .text = fmt::format(
                 "{} attends nearby: its rotary positions alone put {} of the attention on the last {} tokens ({} if uniform).",
                 headLabel(head), shortNumber(shares.nearby), nearbyKeys, shortNumber(shares.even)),
             .view = path,
             .strength = shareOfRange(shares.nearby, shares.even)});
    }
    return strongestFindings(std::move(found));
}

/// The slopes are those of random weights too, which follow them: the null is what the slope alone gives.
std::vector<Finding> findNearerThanSlope(const FindingEvidence& evidence)
{
    const std::string path = "analyses/pattern_scores/distance";
    const ResultArray* nulls = perHeadArray(evidence, "analyses/pattern_scores/slope_distance");
    if (!nulls)
        return {};
    std::vector<Finding> found;
    for (const JudgedHead& judged : judgedHeads(evidence, path)) {
        const double null = numberOf(*nulls, judged.head);
        if (!(judged.value >= 0 && judged.value * leastTimesNearer <= null
              && null - judged.value >= leastTokensNearer))
            continue;
        found.push_back(
            {.kind = "nearer_than_slope",
             .heads = {judged.head},
             .value = judged.value,
             .nullMean = null,
             .text = fmt::format(
                 "{} attends nearby: {} tokens back on average on random tokens; its ALiBi slope alone gives {}.",
                 headLabel(judged.head), shortNumber(judged.value), shortNumber(null)),
             .view = path,
             .strength = shareOfRange(judged.value, null, 0)});
    }
    return strongestFindings(std::move(found));
}

/// Place of a term in analyses/six_terms/size, and its words.
struct ScoreTerm {
    const char* kind;
    std::size_t place;
    const char* words;
};
constexpr ScoreTerm positionTerm{"positional_head", 3, "by position: the scores between positions"};
constexpr ScoreTerm contentTerm{"content_head", 0, "by content: the scores between tokens"};
constexpr int sizeTerms = 7;
/// The last of the seven terms is the same for every key.
constexpr std::size_t softmaxTerms = 6;

std::vector<Finding> findTerm(const FindingEvidence& evidence, const ScoreTerm& term)
{
    const ModelCard& model = evidence.model;
    const std::string path = "analyses/six_terms/size";
    const ResultArray* sizes = checkedArray(evidence, path, {model.nLayers, model.nHeads, sizeTerms});
    const ResultArray* nulls =
        checkedArray(evidence, "analyses/six_terms/size_null", {model.nLayers, model.nHeads, sizeTerms});
    if (!sizes || !nulls)
        return {};
    std::vector<Finding> found;
    for (const HeadId head : headsOf(model)) {
        double all = 0;
        for (std::size_t i = 0; i < softmaxTerms; ++i)
            all += std::pow(numberOf(*sizes, head, i), 2);
        const double size = numberOf(*sizes, head, term.place), null = numberOf(*nulls, head, term.place);
        const double share = size * size / all;
        if (!(null > 0 && size >= leastTimesNull * null && share >= leastTermShare))
            continue;
        found.push_back(
            {.kind = term.kind,
             .heads = {head},
             .value = size,
             .nullMean = null,
             .text = fmt::format(
                 "{} attends {} are {} times as large as for random directions and make {} of the whole.",
                 headLabel(head), term.words, shortNumber(size / null), shortNumber(share)),
             .view = path,
             .strength = share * (1 - null / size)});
    }
    return strongestFindings(std::move(found));
}

} // namespace

FindingRule previousTokenRule()
{
    return {
        "previous_token",
        "Previous-token heads",
        "At least 0.4 of the attention that positions alone give goes to the previous token, 5 deviations "
        "of random heads or more above their mean, with a 1 % false-alarm rate over all heads.",
        {"previous_token"},
        findPreviousToken};
}

FindingRule offsetRule()
{
    return {
        "offset",
        "Heads of another fixed offset",
        "At least 0.4 of the attention that positions alone give goes to the current token or to the one two "
        "places back, 0.3 and 5 deviations of random heads or more above uniform attention, with a 1 % false-alarm rate over all heads.",
        {"previous_token", "position_kernel"},
        findOffset};
}

FindingRule firstTokenRule()
{
    return {"first_token",
            "Heads that attend mostly to the first token",
            "On random tokens at least half of the attention goes to the first one, 0.3 or more above even "
            "attention.",
            {"pattern_scores"},
            findFirstToken};
}

FindingRule nearbyRule()
{
    return {
        "nearby",
        "Heads that attend nearby",
        "Rotary positions and the mean token alone put at least half of the attention on the last 8 of 64 or "
        "more tokens, 4 times the uniform share or more, and less than half on one offset.",
        {"rotary"},
        findNearby,
        "rotary"};
}

FindingRule slopeRule()
{
    return {
        "nearer_than_slope",
        "Heads nearer than their ALiBi slope",
        "On random tokens the attention is on average at most half as far back as the head's ALiBi slope alone "
        "gives, and at least 4 tokens nearer. Random weights follow the slope.",
        {"pattern_scores"},
        findNearerThanSlope,
        "alibi"};
}

FindingRule positionalRule()
{
    return {
        "positional_head",
        "Positional heads",
        "In layer 0 the scores between positions are at least 5 times as large as for random directions of "
        "the same norm, and make half of the squared score or more.",
        {"six_terms"},
        [](const FindingEvidence& evidence) { return findTerm(evidence, positionTerm); }};
}

FindingRule contentRule()
{
    return {
        "content_head",
        "Content heads",
        "In layer 0 the scores between tokens are at least 5 times as large as for random directions of the "
        "same norm, and make half of the squared score or more.",
        {"six_terms"},
        [](const FindingEvidence& evidence) { return findTerm(evidence, contentTerm); }};
}

} // namespace headwise
