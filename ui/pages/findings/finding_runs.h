#pragma once

#include "core/findings/findings.h"

#include <QStringList>

#include <vector>

namespace headwise {
struct Analysis;
}

namespace headwise::ui {

class Workspace;

/// Rules that some analysis has not answered yet, by their titles.
struct MissingFindings {
    QStringList underWay;                  ///< Their analyses run, wait, or will be asked for.
    QStringList left;                      ///< Nobody has asked for their analyses.
    std::vector<const Analysis*> analyses; ///< Analyses that `left` needs.
};

/// \param planned analyses that will be asked for
MissingFindings missingFindings(const Workspace& workspace, const Findings& findings,
                                const std::vector<const Analysis*>& planned);

/// Titles of the rules about such models whose analyses are all there.
QStringList checkedKinds(const ModelCard& model, const ResultSet& results);

/// Returns the analyses that the rules read and that run unasked beside the default ones: the cheapest first, a few seconds
/// in all, as far as the memory allows.
std::vector<const Analysis*> cheapAnalyses(const Workspace& workspace);

} // namespace headwise::ui
