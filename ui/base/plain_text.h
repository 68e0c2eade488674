#pragma once

#include <QString>

class QApplication;
class QLabel;

namespace headwise::ui {

// Names, titles and tokens come from files of strangers. No widget takes them for markup, which would open the
// files it names.

/// Makes every label, tooltip and message box of the program that does not ask for markup show its text as it is. Once for
/// the application; again is harmless.
void showTextAsItIs(QApplication& application);

/// Markup with tags that open no file: bold, coloured, links, lines. Other tags become letters, should a name of a file not have been
/// escaped.
QString harmlessMarkup(const QString& html);

/// Markup of ours; what it quotes of a file is escaped.
void setMarkup(QLabel* label, const QString& html);
void setPlain(QLabel* label, const QString& words);

} // namespace headwise::ui
