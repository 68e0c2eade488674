#include "ui/pages/findings/finding_words.h"

#include "core/analysis/catalogue.h"
#include "core/series/series_findings.h"
#include "core/session/views.h"
#include "ui/base/text.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <array>
#include <cmath>

namespace headwise::ui {

namespace {

/// Analyses whose pictures have a page of their own.
struct PageOfAnalysis {
    std::string_view analysis;
    QLatin1StringView page;
};
constexpr std::array<PageOfAnalysis, 12> pagesOfAnalyses{{
    {"copying", QLatin1StringView("spectrum")}, // the eigenvalues that the score sums up
    {"matching", QLatin1StringView("spectrum")},
    {"spectra", QLatin1StringView("spectrum")},
    {"eigenvalues", QLatin1StringView("spectrum")},
    {"previous_token", QLatin1StringView("position")},
    {"position_kernel", QLatin1StringView("position")},
    {"rotary", QLatin1StringView("position")},
    {"composition", QLatin1StringView("composition")},
    {"tables", QLatin1StringView("tokens")},
    {"six_terms", QLatin1StringView("scores")},
    {"relations", QLatin1StringView("relations")},
    {"salient_tokens", QLatin1StringView("overview")},
}};

QString findingTr(const char* words)
{
    return QCoreApplication::translate("Findings", words);
}

/// Returns the analysis that makes what the view shows; null if the catalogue has none.
const Analysis* analysisOfView(const std::string& view)
{
    std::string path = view;
    std::string name = view;
    std::replace(name.begin(), name.end(), '_', '-');
    for (const ViewDescription& described : views()) {
        std::string known = described.name;
        std::replace(known.begin(), known.end(), '_', '-');
        if (known == name)
            path = described.needs.substr(1); // "/scores/copying"
    }
    const auto makes = [&path](const Analysis& analysis) {
        return std::ranges::any_of(analysis.arrays, [&path](const ArraySpec& array) {
            return array.path == path || array.path.starts_with(path + "/");
        });
    };
    const auto all = catalogue();
    const auto found = path.empty() ? all.end() : std::ranges::find_if(all, makes);
    return found == all.end() ? nullptr : &*found;
}

} // namespace

const FindingRule* ruleOf(const Finding& finding)
{
    const auto rules = findingRules();
    const auto found = std::ranges::find(rules, std::string_view(finding.kind), &FindingRule::kind);
    return found == rules.end() ? nullptr : &*found;
}

FindingPlace placeOf(const Finding& finding)
{
    if (finding.kind == trainingFinding)
        return {QStringLiteral("training"), {}};
    if (finding.view.starts_with("norm-") || finding.view.starts_with("norm_"))
        return {QStringLiteral("all_heads"), {}};
    const Analysis* analysis = analysisOfView(finding.view);
    if (const FindingRule* rule = ruleOf(finding); !analysis && rule && !rule->analyses.empty())
        analysis = findAnalysis(rule->analyses.front());
    if (!analysis)
        return {QStringLiteral("overview"), {}};
    const auto own = std::ranges::find(pagesOfAnalyses, analysis->id, &PageOfAnalysis::analysis);
    if (own != pagesOfAnalyses.end())
        return {QString(own->page), {}};
    return {QStringLiteral("analyses"), text(analysis->id)};
}

QString evidenceText(const Finding& finding)
{
    QStringList parts;
    if (const FindingRule* rule = ruleOf(finding))
        parts << text(rule->title);
    const auto add = [&parts](const QString& words, double value) {
        if (std::isfinite(value))
            parts << words.arg(number(value));
    };
    add(findingTr("value %1"), finding.value);
    add(findingTr("null %1"), finding.nullMean);
    add(findingTr("z %1"), finding.z);
    return parts.join(QStringLiteral("  ·  "));
}

QString markdownEscaped(const QString& words)
{
    static const QString marks = QStringLiteral("\\`*_{}[]<>#|~&!");
    QString escaped;
    for (const QChar character : words) {
        if (marks.contains(character))
            escaped += u'\\';
        escaped += character;
    }
    return escaped;
}

QString markdownText(const Finding& finding)
{
    const QString sentence = markdownEscaped(text(finding.text)), evidence = evidenceText(finding);
    return evidence.isEmpty()
        ? QStringLiteral("- %1").arg(sentence)
        : QStringLiteral("- %1 (%2)")
              .arg(sentence,
                   markdownEscaped(evidence).replace(QStringLiteral("  ·  "), QStringLiteral("; ")));
}

} // namespace headwise::ui
