#pragma once

#include "core/circuits/circuits.h"
#include "core/model/model_card.h"
#include "core/results/result_set.h"

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// One statement about a model, with the numbers that support it.
struct Finding {
    std::string kind;          ///< Name of its rule: "previous_token".
    std::vector<HeadId> heads; ///< Heads it is about, the most important first; empty: the model as a whole.
    double value = std::numeric_limits<double>::quiet_NaN(); ///< The number the rule judged.
    double nullMean =
        std::numeric_limits<double>::quiet_NaN(); ///< Mean of that number for random weights; NaN: unknown.
    double z = std::numeric_limits<double>::quiet_NaN(); ///< Deviations above that mean; NaN: unknown.
    std::string text;    ///< One sentence: "L0H1 attends to the previous token (score 0.93, z 513)."
    std::string view;    ///< The view that shows it, as `headwise export --view` takes it.
    double strength = 0; ///< Rank order among all findings: the largest first. Comparable between rules.

    bool operator==(const Finding&) const = default;
};

/// Everything a rule may read.
struct FindingEvidence {
    const ModelCard& model;
    const ResultSet& results;
    const std::vector<std::string>& tokens; ///< [d_vocab] as shown; empty without a tokenizer.
};

/// One kind of finding.
struct FindingRule {
    std::string_view kind;                  ///< "previous_token"
    std::string_view title;                 ///< "Previous-token heads"
    std::string_view rule;                  ///< When it fires, with its threshold, in one or two sentences.
    std::vector<std::string_view> analyses; ///< Ids of the analyses it reads.
    std::vector<Finding> (*find)(const FindingEvidence& evidence);
    std::string_view positional = {}; ///< Positions of the models it is about, as in ModelCard; empty: all.
};

/// Returns whether the rule is about models of these positions.
bool isAbout(const FindingRule& rule, const ModelCard& model);

/// All rules, in the order of the catalogue.
std::span<const FindingRule> findingRules();

/// Findings of the current results.
struct Findings {
    std::vector<Finding> found;                ///< The strongest first.
    std::vector<const FindingRule*> missing;   ///< Rules that some analysis has not answered yet.
    std::vector<std::string_view> absent = {}; ///< Ids of those analyses.
};

/// Applies every rule. Pure and quick: reads each array a few times.
Findings findingsOf(const FindingEvidence& evidence);

/// Whether some rule has the arrays it reads, whatever it says of them.
bool canAnswer(const FindingEvidence& evidence);

/// Ids of all analyses that some rule reads, in the order of the catalogue.
std::vector<std::string_view> findingAnalyses();

} // namespace headwise
