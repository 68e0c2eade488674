#include "core/findings/findings.h"

#include "core/analysis/catalogue.h"
#include "core/findings/rule_numbers.h"
#include "core/findings/rules.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headwise {
namespace {

/// Analysis of some rule: an array that it always gives, and whether it could apply to a model of which only the card is
/// known.
struct FindingAnalysis {
    std::string_view id, array;
    bool (*couldApply)(const FindingEvidence& evidence);
};

bool toEvery(const FindingEvidence&)
{
    return true;
}

bool toTwoLayers(const FindingEvidence& evidence)
{
    return evidence.model.nLayers > 1;
}

bool toLearnedPositions(const FindingEvidence& evidence)
{
    return evidence.model.positional == "learned";
}

bool toRotaryPositions(const FindingEvidence& evidence)
{
    return evidence.model.positional == "rotary";
}

bool toPositions(const FindingEvidence& evidence)
{
    return toLearnedPositions(evidence) || toRotaryPositions(evidence);
}

bool toLearnedPositionsAndLayerNorm(const FindingEvidence& evidence)
{
    return toLearnedPositions(evidence) && evidence.model.normalization.starts_with("LN");
}

bool toTokens(const FindingEvidence& evidence)
{
    return !evidence.tokens.empty();
}

bool toTokensBehindMlps(const FindingEvidence& evidence)
{
    return !evidence.tokens.empty() && evidence.model.dMlp > 0;
}

/// Whether two copies of three tokens fit; a context of 0 is unknown.
bool toRepeatedTokens(const FindingEvidence& evidence)
{
    return evidence.model.nCtx == 0 || evidence.model.nCtx >= 6;
}

/// Whether the analysis sweeps all heads, as in skip_trigrams.cpp.
bool toSmallVocabularies(const FindingEvidence& evidence)
{
    const ModelCard& model = evidence.model;
    const double V = model.dVocab;
    return static_cast<double>(headCount(model)) * 4 * V * V * model.dHead <= 2e13;
}

constexpr std::array findingAnalysisRows{
    FindingAnalysis{"spectra", "spectra/ov/effective_rank", toEvery},
    FindingAnalysis{"copying", "scores/copying", toEvery},
    FindingAnalysis{"previous_token", "scores/previous_token", toPositions},
    FindingAnalysis{"composition", "composition/k", toEvery},
    FindingAnalysis{"skip_trigrams", "analyses/skip_trigrams/ranked_source_values", toSmallVocabularies},
    FindingAnalysis{"name_copying", "analyses/name_copying/names", toTokensBehindMlps},
    FindingAnalysis{"relations", "analyses/relations/by_head", toTokens},
    FindingAnalysis{"salient_tokens", "analyses/salient_tokens/ids", toEvery},
    FindingAnalysis{"position_kernel", "analyses/position_kernel/mean_score", toLearnedPositions},
    FindingAnalysis{"rotary", "analyses/rotary/mean_token_score", toRotaryPositions},
    FindingAnalysis{"six_terms", "analyses/six_terms/size", toLearnedPositionsAndLayerNorm},
    FindingAnalysis{"induction", "analyses/induction/combined", toTwoLayers},
    FindingAnalysis{"composition_nulls", "analyses/composition_nulls/k_z", toTwoLayers},
    FindingAnalysis{"ranks", "analyses/ranks/ov_numerical_rank", toEvery},
    FindingAnalysis{"similarity", "analyses/similarity/cosine_ov", toEvery},
    FindingAnalysis{"pattern_scores", "analyses/pattern_scores/induction", toRepeatedTokens}};

const FindingAnalysis* rowOf(std::string_view id)
{
    const auto row = std::find_if(findingAnalysisRows.begin(), findingAnalysisRows.end(),
                                  [&](const FindingAnalysis& one) { return one.id == id; });
    return row == findingAnalysisRows.end() ? nullptr : &*row;
}

enum class RuleAnswer { There, Missing, NotOfThisModel };

RuleAnswer answerOf(const FindingRule& rule, const FindingEvidence& evidence)
{
    if (!isAbout(rule, evidence.model))
        return RuleAnswer::NotOfThisModel;
    bool isThere = true, applies = true;
    for (const std::string_view id : rule.analyses) {
        const FindingAnalysis* analysis = rowOf(id);
        if (!analysis)
            continue;
        const bool has = evidence.results.find(analysis->array) != nullptr;
        isThere = isThere && has;
        applies = applies && (has || analysis->couldApply(evidence));
    }
    return isThere ? RuleAnswer::There : applies ? RuleAnswer::Missing : RuleAnswer::NotOfThisModel;
}

/// Puts the strongest first. NaN would break the order, so that it counts as 0.
void sortByStrength(std::vector<Finding>& found)
{
    for (Finding& finding : found)
        if (!std::isfinite(finding.strength))
            finding.strength = 0;
    std::stable_sort(found.begin(), found.end(),
                     [](const Finding& a, const Finding& b) { return a.strength > b.strength; });
}

} // namespace

bool isAbout(const FindingRule& rule, const ModelCard& model)
{
    return rule.positional.empty() || rule.positional == model.positional;
}

std::span<const FindingRule> findingRules()
{
    static const std::vector<FindingRule> rules{previousTokenRule(),
                                                offsetRule(),
                                                firstTokenRule(),
                                                nearbyRule(),
                                                slopeRule(),
                                                positionalRule(),
                                                contentRule(),
                                                inductionRule(),
                                                inductionAttentionRule(),
                                                repeatedTokenRule(),
                                                copyingRule(),
                                                suppressionRule(),
                                                nameMoverRule(),
                                                negativeNameMoverRule(),
                                                relationRule(),
                                                skipTrigramRule(),
                                                dominantTokenRule(),
                                                compositionRule(),
                                                nearDuplicateRule(),
                                                lowRankRule(),
                                                deadDirectionsRule()};
    return rules;
}

Findings findingsOf(const FindingEvidence& evidence)
{
    Findings findings;
    for (const FindingRule& rule : findingRules()) {
        const RuleAnswer answer = answerOf(rule, evidence);
        if (answer == RuleAnswer::Missing) {
            findings.missing.push_back(&rule);
            for (const std::string_view id : rule.analyses)
                if (const FindingAnalysis* analysis = rowOf(id);
                    analysis && !evidence.results.find(analysis->array))
                    findings.absent.push_back(id);
        }
        if (answer != RuleAnswer::There)
            continue;
        std::vector<Finding> found = rule.find(evidence);
        std::move(found.begin(), found.end(), std::back_inserter(findings.found));
    }
    sortByStrength(findings.found);
    return findings;
}

bool canAnswer(const FindingEvidence& evidence)
{
    return std::ranges::any_of(findingRules(), [&](const FindingRule& rule) {
        return answerOf(rule, evidence) == RuleAnswer::There;
    });
}

std::vector<std::string_view> findingAnalyses()
{
    std::vector<std::string_view> ids;
    for (const Analysis& analysis : catalogue()) {
        const bool isRead = std::ranges::any_of(findingRules(), [&](const FindingRule& rule) {
            return std::ranges::find(rule.analyses, analysis.id) != rule.analyses.end();
        });
        if (isRead)
            ids.push_back(analysis.id);
    }
    return ids;
}

} // namespace headwise
