#pragma once

#include <QString>

#include <vector>

namespace headwise::ui {

class Workspace;

/// Returns the tokens that a page shows as rows and columns: those of `text`, each once, or a sample of whole words if it
/// has none.
std::vector<int> tokensToShow(const Workspace& workspace, const QString& text, int sampleSize);

} // namespace headwise::ui
