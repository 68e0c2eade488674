#pragma once

#include "ui/figures/figure_export.h"

#include <QFont>

namespace headwise::ui {

/// The program's font, or that of `style`, at its size; lengths of text do not depend on the resolution.
QFont figureFont(const FigureStyle& style);
/// tokenFont() likewise. It keeps its own family, the one with every script.
QFont figureTokenFont(const FigureStyle& style);

/// The figure's title at the top of a page `width` points wide, in as many lines as it needs; smaller where that would
/// be more than three. Nothing without a title or if `style` wants none.
/// \returns the height that belongs to it, with the gap below
double paintFigureTitle(QPainter& painter, const FigureSource& source, double width,
                        const FigureStyle& style);

} // namespace headwise::ui
