#include "core/series/series_findings.h"

#include <algorithm>
#include <cctype>

namespace headwise {
namespace {

/// A sentence of its own: "between steps …" as "Between steps … .".
std::string asSentence(std::string text)
{
    if (!text.empty())
        text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return text + ".";
}

} // namespace

Findings findingsOf(const Series& series)
{
    Findings findings;
    for (const SeriesChange& change : series.changes) {
        Finding finding;
        finding.kind = trainingFinding;
        finding.heads = {change.head};
        finding.value = change.valueAfter;
        const auto score = std::ranges::find(series.scores, change.score, &SeriesScore::name);
        if (score != series.scores.end() && score->null)
            finding.nullMean = *score->null;
        finding.text = asSentence(change.text);
        finding.view = "scores/" + change.score;
        finding.strength = static_cast<double>(series.changes.size() - findings.found.size());
        findings.found.push_back(std::move(finding));
    }
    return findings;
}

} // namespace headwise
