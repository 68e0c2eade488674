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

/// A header of `table` says its title and what its model or its page says of it.
void explainHeader(QTableView* table);

/// The picture or page at `widget`, or around it, that says what it is.
QString explanationAround(const QWidget* widget);

} // namespace headwise::ui
