#pragma once

#include <QString>

#include <vector>

namespace headwise::ui {

class Workspace;

/// The tokens a page shows as rows and columns: those of `text`, each once, or a sample of whole words where it names none.
std::vector<int> tokensToShow(const Workspace& workspace, const QString& text, int sampleSize);

} // namespace headwise::ui
