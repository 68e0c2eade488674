#include "ui/pages/findings/finding_runs.h"

#include "core/base/memory.h"
#include "core/runs/estimate.h"
#include "core/runs/plan.h"
#include "ui/base/text.h"
#include "ui/document/array_part.h"
#include "ui/document/workspace.h"

#include <algorithm>
#include <limits>

namespace headwise::ui {

namespace {

constexpr double unaskedFlops = 2e11; // of all together: a few seconds

/// Whether the model lets the analysis run; true without its files, which could be located.
bool isPossible(const Analysis& analysis, const Workspace& workspace)
{
    const auto circuits = workspace.model()->circuits();
    return !circuits
        || whyLeftOut(analysis, circuits->config(), workspace.runs()->analysisOptions(analysis)).empty();
}

bool isAmong(const std::vector<const Analysis*>& analyses, const Analysis* analysis)
{
    return std::ranges::find(analyses, analysis) != analyses.end();
}

/// Returns the analyses of the rule that have no results.
std::vector<const Analysis*> lackingOf(const FindingRule& rule, const ResultSet& results)
{
    std::vector<const Analysis*> lacking;
    for (const std::string_view id : rule.analyses)
        if (const Analysis* analysis = findAnalysis(id); analysis && !isComputed(*analysis, results))
            lacking.push_back(analysis);
    return lacking;
}

} // namespace

MissingFindings missingFindings(const Workspace& workspace, const Findings& findings,
                                const std::vector<const Analysis*>& planned)
{
    MissingFindings missing;
    for (const FindingRule* rule : findings.missing) {
        const std::vector<const Analysis*> lacking = lackingOf(*rule, *workspace.model()->results());
        const bool isForThisModel = std::ranges::all_of(
            lacking, [&](const Analysis* analysis) { return isPossible(*analysis, workspace); });
        if (lacking.empty() || !isForThisModel)
            continue;
        const bool isUnderWay = std::ranges::all_of(lacking, [&](const Analysis* analysis) {
            return workspace.runs()->isUnderWay(analysis->id) || isAmong(planned, analysis);
        });
        (isUnderWay ? missing.underWay : missing.left) << text(rule->title);
        for (const Analysis* analysis : lacking)
            if (!isUnderWay && !isAmong(missing.analyses, analysis))
                missing.analyses.push_back(analysis);
    }
    return missing;
}

QStringList checkedKinds(const ModelCard& model, const ResultSet& results)
{
    QStringList kinds;
    for (const FindingRule& rule : findingRules())
        if (isAbout(rule, model) && lackingOf(rule, results).empty())
            kinds << text(rule.title);
    return kinds;
}

std::vector<const Analysis*> cheapAnalyses(const Workspace& workspace)
{
    const auto circuits = workspace.model()->circuits();
    if (!circuits)
        return {};
    const Runs& runs = *workspace.runs();
    const ModelConfig& config = circuits->config();
    const auto costOf = [&](const Analysis* analysis) {
        return runCost(*analysis, config, runs.analysisOptions(*analysis));
    };
    const std::vector<const Analysis*> defaults = defaultAnalyses(config, runs.analysisOptions());
    std::vector<const Analysis*> wanted;
    for (const std::string_view id : findingAnalyses()) {
        const Analysis* analysis = findAnalysis(id);
        if (analysis && !isAmong(defaults, analysis) && !isComputed(*analysis, *workspace.model()->results())
            && runs.headChoice(*analysis).which == HeadChoice::Which::All && isPossible(*analysis, workspace))
            wanted.push_back(analysis);
    }
    std::ranges::stable_sort(wanted, {}, [&](const Analysis* analysis) { return costOf(analysis).work(); });
    const double available = availableMemory().value_or(std::numeric_limits<double>::infinity());
    double work = 0;
    std::erase_if(wanted, [&](const Analysis* analysis) {
        const AnalysisCost cost = costOf(analysis);
        const bool isTooMuch = work + cost.work() > unaskedFlops || cost.bytes > available;
        work += isTooMuch ? 0 : cost.work();
        return isTooMuch;
    });
    return wanted;
}

} // namespace headwise::ui
