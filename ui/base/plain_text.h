#pragma once

#include <QString>

class QApplication;
class QLabel;

namespace headwise::ui {

// Names, titles and tokens come from strangers' files. No widget may treat them as markup, which would open the files it
// names.

/// Makes every label, tooltip and message box show its text literally unless it asks for markup. Call it once for the
/// application; further calls are harmless.
void showTextAsItIs(QApplication& application);

/// Returns markup restricted to tags that open no file: bold, colours, links, line breaks. Other tags become plain text,
/// in case a file name was not escaped.
QString harmlessMarkup(const QString& html);

/// Sets markup of our own, in which quoted file content is already escaped.
void setMarkup(QLabel* label, const QString& html);
void setPlain(QLabel* label, const QString& words);

} // namespace headwise::ui
