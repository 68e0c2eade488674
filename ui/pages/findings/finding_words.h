#pragma once

#include "core/findings/findings.h"

#include <QString>

namespace headwise::ui {

/// Page that shows the picture of a finding.
struct FindingPlace {
    QString page;     ///< "spectrum"; "analyses": the page of `analysis`.
    QString analysis; ///< Id of the catalogue; empty elsewhere.

    bool operator==(const FindingPlace&) const = default;
};

/// Returns the page for the finding's view, else for the first analysis that its rule reads.
FindingPlace placeOf(const Finding& finding);

/// Returns the rule that made the finding; null if this version has none of that kind.
const FindingRule* ruleOf(const Finding& finding);

/// "Previous-token heads · value 0.931 · null 0.0361 · z 513"; numbers that are unknown are left out.
QString evidenceText(const Finding& finding);

/// One line of a Markdown list, in which names and tokens from files have no meaning.
QString markdownText(const Finding& finding);

/// Returns the words with a backslash before each character that Markdown would interpret.
QString markdownEscaped(const QString& words);

} // namespace headwise::ui
