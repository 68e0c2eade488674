#pragma once

#include "core/findings/findings.h"

#include <string>
#include <string_view>

namespace headwise {

/// Returns one line for each finding, the strongest first. Says so where nothing was found.
std::string findingsText(const Findings& findings);

/// Returns a list of {kind, heads: ["0.1", …], value, null, z, text, view}; NaN is null.
std::string findingsJson(const Findings& findings);

/// Returns a heading with the model's name, a list, and a last line for what is missing.
std::string findingsMarkdown(const Findings& findings, std::string_view model);

/// "copying,induction": the analyses that would answer the missing rules, as --analyses takes them; empty: none.
std::string missingAnalyses(const Findings& findings);

/// "Not looked for: copying heads, induction candidates."; empty where nothing is missing.
std::string missingSentence(const Findings& findings);

} // namespace headwise
