#pragma once

#include "ui/figures/figure_export.h"

#include <QFont>

namespace headwise::ui {

inline constexpr double leastType = 6; ///< Points: labels are thinned before they become smaller.
/// Returns the smallest size that type of `wanted` points may shrink to.
double smallestType(double wanted);

/// Returns the font of `style`, or the program's, at the style's size. Text widths do not depend on the resolution.
QFont figureFont(const FigureStyle& style);
/// The same for tokenFont(), which keeps its family because that has every script.
QFont figureTokenFont(const FigureStyle& style);

/// Breaks a text into lines of at most `width`, between words if possible.
QStringList wrappedLines(const QString& words, const QFont& font, double width, const QPaintDevice* device);

/// Paints the figure's title at the top of a page `width` points wide, on up to three lines, smaller if it needs more.
/// Paints nothing without a title or if `style` hides it.
/// \returns the height used, with the gap below
double paintFigureTitle(QPainter& painter, const FigureSource& source, double width,
                        const FigureStyle& style);
/// Paints a muted note at the bottom of a page, on as many lines as it needs.
/// \returns the height used, with the gap above; 0 without a note
double paintFigureNote(QPainter& painter, const QString& note, const QSizeF& size, const FigureStyle& style);

} // namespace headwise::ui
