#pragma once

#include "ui/figures/figure_export.h"

class QJsonObject;

// The internal functions of figure_export: one per family of formats.

namespace headwise::ui {

constexpr double pointsPerInch = 72;
constexpr double millimetresPerInch = 25.4;
constexpr double pageMargin = 2; ///< Points between the figure and each edge of its page.

QJsonObject figureSettingsJson(const FigureSettings& settings);
/// Reads the object of figureSettingsJson(). Parts it does not understand keep their defaults.
FigureSettings figureSettingsOf(const QJsonObject& object);
/// Checks an object that somebody else wrote: its names, kinds and ranges.
/// Errors: Corrupt, with the first fault as part of a sentence.
Result<Done> checkFigureSettings(const QJsonObject& object);
/// Errors: InvalidArgument for an impossible size or too many pixels.
Result<Done> checkFigure(const FigureSettings& settings);
QString figureCreator(); ///< "Headwise 0.5.0"
QSizeF sizeInPoints(const FigureSettings& settings);
/// Paints the chosen background and the figure, with one unit of `painter` being a point.
void paintPage(const FigureSource& source, QPainter& painter, const FigureSettings& settings);
/// Returns "model: demo; head: L1H2", for places with room for one line.
QString provenanceLine(const FigureSource& source);
/// All metadata, with the settings.
QByteArray provenanceJson(const FigureSource& source, const FigureSettings& settings);

QByteArray svgOf(const FigureSource& source, const FigureSettings& settings);
QByteArray pdfOf(const FigureSource& source, const FigureSettings& settings);
/// Writes `texts` as tEXt chunks, or as iTXt if they are not Latin-1. Neither is compressed, so that any tool finds them.
QByteArray pngOf(const QImage& image, const Provenance& texts);
/// Errors: InvalidArgument (too long to typeset).
Result<QByteArray> dataOf(const FigureSource& source, const FigureSettings& settings);
/// The same for the clipboard, with plain line ends.
Result<QString> dataText(const FigureSource& source, FigureFormat format);

} // namespace headwise::ui
