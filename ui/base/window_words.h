#pragma once

#include <QString>

namespace headwise::ui {

/// Rewrites a sentence of core for the window. Core names the options of the command line; here the fields and buttons that do
/// the same take their place. Quoted words stay, since they may come from a file.
QString windowWords(const QString& sentence);

} // namespace headwise::ui
