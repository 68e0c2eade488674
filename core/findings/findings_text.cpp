#include "core/findings/findings_text.h"

#include "core/files/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

namespace headwise {
namespace {

constexpr std::string_view nothingStandsOut = "Nothing here stands out from random weights.";
constexpr std::string_view nothingSoFar = "Nothing computed so far stands out from random weights.";

std::string_view nothingFound(const Findings& findings)
{
    return findings.missing.empty() ? nothingStandsOut : nothingSoFar;
}

/// Lower case where the first word is no name: "Name-moving candidates" in the middle of a sentence.
std::string inSentence(std::string_view title)
{
    std::string text(title);
    if (!text.empty())
        text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
    return text;
}

/// Escapes what Markdown would take for markup; tokens may be anything.
std::string escaped(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        if (c == '\n' || c == '\r') {
            out += ' ';
            continue;
        }
        if (std::string_view("\\`*_[]<>#|").find(c) != std::string_view::npos)
            out += '\\';
        out += c;
    }
    return out;
}

} // namespace

std::string findingsText(const Findings& findings)
{
    if (findings.found.empty())
        return std::string(nothingFound(findings)) + "\n";
    std::string text;
    for (const Finding& finding : findings.found)
        text += finding.text + "\n";
    return text;
}

std::string findingsJson(const Findings& findings)
{
    auto list = nlohmann::ordered_json::array();
    for (const Finding& finding : findings.found) {
        auto heads = nlohmann::ordered_json::array();
        for (const HeadId head : finding.heads)
            heads.push_back(dottedHead(head));
        list.push_back({{"kind", finding.kind},
                        {"heads", std::move(heads)},
                        {"value", finding.value},
                        {"null", finding.nullMean},
                        {"z", finding.z},
                        {"text", finding.text},
                        {"view", finding.view}});
    }
    return jsonText(list, 2);
}

std::string findingsMarkdown(const Findings& findings, std::string_view model)
{
    std::string text = "# Findings about " + escaped(model) + "\n\n";
    if (findings.found.empty())
        text += std::string(nothingFound(findings)) + "\n";
    for (const Finding& finding : findings.found)
        text += "- " + escaped(finding.text) + "\n";
    if (const std::string missing = missingSentence(findings); !missing.empty())
        text += "\n" + escaped(missing) + "\n";
    return text;
}

std::string missingAnalyses(const Findings& findings)
{
    std::string names;
    for (const std::string_view id : findingAnalyses()) {
        if (std::ranges::find(findings.absent, id) != findings.absent.end())
            names += (names.empty() ? "" : ",") + std::string(id);
    }
    return names;
}

std::string missingSentence(const Findings& findings)
{
    std::string titles;
    for (const FindingRule* rule : findings.missing)
        titles += (titles.empty() ? "" : ", ") + inSentence(rule->title);
    return titles.empty() ? std::string() : "Not looked for: " + titles + ".";
}

} // namespace headwise
