#pragma once

#include "core/analysis/catalogue.h"

#include <QString>

class QTableView;
class QWidget;

namespace headwise::ui {

// Explanations shown by Shift+F1, taken from the catalogue and from the arrays themselves.

QString explanationOf(const Analysis& analysis); ///< Title, formula and source.
QString explanationOf(
    const ResultArray& array); ///< Title, definition, unit, null, and the formula and source of its analysis.
QString explanationOfPage(
    const QString& name); ///< The question it answers, and its analyses; empty for an unknown name.
/// Returns one sentence on what a page shows and how to read it, at most 20 words long; empty for an unknown name.
QString sentenceOfPage(const QString& name);

/// Makes each header of `table` explain itself: its title, and the explanation from its model or page.
void explainHeader(QTableView* table);

/// Returns the explanation of the picture or page at `widget` or around it.
QString explanationAround(const QWidget* widget);

} // namespace headwise::ui
