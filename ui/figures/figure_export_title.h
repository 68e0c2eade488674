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

/// The title of an axis in the room it has: smaller where it is longer, then without what follows its first comma, at last
/// elided.
struct FittedTitle {
    QString text;
    QFont font;
    double width = 0;

    FittedTitle(const QString& title, const QFont& wanted, double room, const QPaintDevice* device);

    /// Returns where it begins to stand whole between two places, as near to the middle as it can.
    double first(double middle, double from, double to) const;
};

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
