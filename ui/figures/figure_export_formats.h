#pragma once

#include "ui/figures/figure_export.h"

// The parts of figure_export, for its own files: one function per family of formats.

namespace headwise::ui {

constexpr double pointsPerInch = 72;
constexpr double millimetresPerInch = 25.4;

/// Errors: InvalidArgument, a size that makes no picture or has too many pixels.
Result<Done> checkFigure(const FigureSettings& settings);
QString figureCreator(); ///< "Headwise 0.5.0"
QSizeF sizeInPoints(const FigureSettings& settings);
/// One unit of `painter` being a point: the background as chosen, then the figure.
void paintPage(const FigureSource& source, QPainter& painter, const FigureSettings& settings);
/// "model: demo; head: L1H2", for places that hold one line.
QString provenanceLine(const FigureSource& source);
QByteArray provenanceJson(const FigureSource& source);

QByteArray svgOf(const FigureSource& source, const FigureSettings& settings);
QByteArray pdfOf(const FigureSource& source, const FigureSettings& settings);
/// With `texts` as tEXt chunks, as iTXt what is not Latin-1; neither is packed, so that any tool finds them.
QByteArray pngOf(const QImage& image, const Provenance& texts);
/// Errors: InvalidArgument (too long to be set in type).
Result<QByteArray> dataOf(const FigureSource& source, const FigureSettings& settings);
/// The same for the clipboard, with the line ends of text.
Result<QString> dataText(const FigureSource& source, FigureFormat format);

} // namespace headwise::ui
