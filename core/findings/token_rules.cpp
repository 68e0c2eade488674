#include "core/findings/rule_numbers.h"
#include "core/findings/rules.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <map>

namespace headwise {
namespace {

/// Attention that a copy of the tokens must add to what the control has.
constexpr double leastAddedAttention = 0.3;
/// How many times the strength of the best skip-trigram of independent Gaussian entries.
constexpr double leastTimesGaussian = 3;
/// Heads whose strongest token is the same: at least this many, and this share of all.
constexpr std::size_t fewestDominated = 4;
constexpr double leastDominatedShare = 0.125;
/// Chance that any token is the strongest of so many random heads.
constexpr double mostChance = 0.001;

/// Heads that attend to a token of the first copy more than in the control.
std::vector<Finding> findRepeated(const FindingEvidence& evidence, const char* kind, const std::string& path,
                                  const char* words)
{
    std::vector<Finding> found;
    for (const JudgedHead& judged : judgedHeads(evidence, path)) {
        if (!(judged.value >= leastAddedAttention))
            continue;
        found.push_back(
            {.kind = kind,
             .heads = {judged.head},
             .value = judged.value,
             .nullMean = 0,
             .text = fmt::format(
                 "{} attends to {} ({} of its attention on repeated random tokens, above a control).",
                 headLabel(judged.head), words, shortNumber(judged.value)),
             .view = path,
             .strength = shareOfRange(judged.value, 0)});
    }
    return strongestFindings(std::move(found));
}

/// The ranked lists of the analysis skip_trigrams; empty pointers where one is absent or odd.
struct SkipTrigramArrays {
    const ResultArray *strengths = nullptr, *sources = nullptr, *destinations = nullptr, *outputs = nullptr;

    explicit SkipTrigramArrays(const FindingEvidence& evidence)
    {
        const ModelCard& model = evidence.model;
        const auto list = [&](const char* name) {
            const ResultArray* array = checkedArray(evidence, std::string("analyses/skip_trigrams/") + name,
                                                    {model.nLayers, model.nHeads, anySize});
            return array && array->shape[2] > 0 ? array : nullptr;
        };
        strengths = list("ranked_source_values");
        sources = list("ranked_source_ids");
        destinations = list("ranked_destination_ids");
        outputs = list("ranked_output_ids");
    }

    bool areThere() const { return strengths && sources && destinations && outputs; }
};

/// Returns a number of an array of ids as an id; −1 where it is none.
int idFrom(double number)
{
    return number >= 0 && number < 2e9 ? static_cast<int>(number) : -1;
}

std::vector<Finding> findSkipTrigrams(const FindingEvidence& evidence)
{
    const SkipTrigramArrays arrays(evidence);
    const ResultArray* nulls = checkedArray(evidence, "analyses/skip_trigrams/ranked_null", {anySize});
    const double null = nulls ? numberIn(*nulls, 0) : 0;
    if (!arrays.areThere() || !(null > 0))
        return {};
    std::vector<Finding> found;
    for (const HeadId head : headsOf(evidence.model)) {
        const double strength = numberOf(*arrays.strengths, head);
        const int source = idFrom(numberOf(*arrays.sources, head)),
                  destination = idFrom(numberOf(*arrays.destinations, head)),
                  output = idFrom(numberOf(*arrays.outputs, head));
        if (!(strength >= leastTimesGaussian * null) || source < 0 || destination < 0 || output < 0)
            continue;
        found.push_back(
            {.kind = "skip_trigram",
             .heads = {head},
             .value = strength,
             .nullMean = null,
             .text = fmt::format(
                 "{} attends from {} back to {} and raises {} (strength {}, {} at best by chance).",
                 headLabel(head), tokenName(evidence, destination), tokenName(evidence, source),
                 tokenName(evidence, output), shortNumber(strength), shortNumber(null)),
             .view = "analyses/skip_trigrams/ranked_source_values",
             .strength = 1 - null / strength});
    }
    return strongestFindings(std::move(found));
}

/// Returns the chance that `count` or more of `heads` independent heads have the same given token of `tokens`.
double chanceOfCount(std::size_t count, std::size_t heads, double tokens)
{
    const auto n = static_cast<double>(heads);
    double chance = 0;
    for (std::size_t k = count; k <= heads; ++k) {
        const auto hits = static_cast<double>(k);
        const double choices = std::lgamma(n + 1) - std::lgamma(hits + 1) - std::lgamma(n - hits + 1);
        const double term =
            std::exp(choices - hits * std::log(tokens) + (n - hits) * std::log1p(-1 / tokens));
        chance += term;
        if (term < 1e-3 * chance) // the rest falls faster still
            break;
    }
    return chance;
}

std::vector<Finding> findDominantTokens(const FindingEvidence& evidence)
{
    const ModelCard& model = evidence.model;
    const ResultArray* ids =
        checkedArray(evidence, "analyses/salient_tokens/ids", {model.nLayers, model.nHeads, anySize});
    if (!ids || ids->shape[2] == 0 || model.dVocab < 2)
        return {};
    std::map<int, std::vector<HeadId>> headsOfToken;
    std::size_t heads = 0;
    for (const HeadId head : headsOf(model)) {
        const int id = idFrom(numberOf(*ids, head));
        if (id < 0)
            continue;
        headsOfToken[id].push_back(head);
        ++heads;
    }
    const double n = static_cast<double>(heads), tokens = model.dVocab;
    std::vector<Finding> found;
    for (const auto& entry : headsOfToken) {
        const std::size_t count = entry.second.size();
        const double share = static_cast<double>(count) / n;
        if (count < fewestDominated || share < leastDominatedShare
            || chanceOfCount(count, heads, tokens) * tokens > mostChance)
            continue;
        const double mean = n / tokens;
        found.push_back(
            {.kind = "dominant_token",
             .heads = entry.second,
             .value = static_cast<double>(count),
             .nullMean = mean,
             .z = (static_cast<double>(count) - mean) / std::sqrt(mean * (1 - 1 / tokens)),
             .text = fmt::format(
                 "The token {} (#{}) moves {} of {} heads most per unit of embedding norm ({} by chance): perhaps a dead or glitch token.",
                 tokenName(evidence, entry.first), entry.first, count, heads, shortNumber(mean)),
             .view = "analyses/salient_tokens/largest_by_null",
             .strength = share});
    }
    return strongestFindings(std::move(found));
}

} // namespace

FindingRule repeatedTokenRule()
{
    return {
        "duplicate_token",
        "Duplicate-token candidates",
        "On random tokens that repeat, the attention to the earlier copy of the current token is 0.3 or more "
        "above a control without the copy.",
        {"pattern_scores"},
        [](const FindingEvidence& evidence) {
            return findRepeated(evidence, "duplicate_token", "analyses/pattern_scores/duplicate",
                                "the earlier copy of the current token");
        }};
}

FindingRule inductionAttentionRule()
{
    return {
        "induction_attention",
        "Heads that attend by induction",
        "On random tokens that repeat, the attention to the token after the earlier copy is 0.3 or more above "
        "a control without the copy.",
        {"pattern_scores"},
        [](const FindingEvidence& evidence) {
            return findRepeated(evidence, "induction_attention", "analyses/pattern_scores/induction",
                                "the token after the earlier copy of the current one");
        }};
}

FindingRule skipTrigramRule()
{
    return {"skip_trigram",
            "Skip-trigram champions",
            "The head's strongest skip-trigram is at least 3 times as strong as the strongest of independent "
            "Gaussian entries.",
            {"skip_trigrams"},
            findSkipTrigrams};
}

FindingRule dominantTokenRule()
{
    return {
        "dominant_token",
        "Tokens that dominate heads",
        "One token has the largest output per unit of embedding norm in at least 4 heads and an eighth of all. That happens in fewer than one of 1000 models with random heads.",
        {"salient_tokens"},
        findDominantTokens};
}

} // namespace headwise
