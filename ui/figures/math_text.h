#pragma once

#include <QFont>
#include <QPointF>
#include <QString>

#include <vector>

class QPaintDevice;
class QPainter;

namespace headwise::ui {

/// A piece of a text at one height.
struct MathRun {
    QString text;
    int level = 0; ///< 1: superscript, −1: subscript.

    bool operator==(const MathRun&) const = default;
};

/// Splits a text into its scripts: T^{pp}, T^pp, σ_i, W_V W_O, d_model and log10 have one; file names and words such as
/// attn_out have none. Without a script it is one run.
std::vector<MathRun> mathRuns(const QString& text);
/// Width of the text with its scripts, in the units of `device`.
double mathWidth(const QString& text, const QFont& font, const QPaintDevice* device);
/// Draws the text with its scripts at a baseline, in the painter's font. It stays text in SVG and PDF.
void drawMath(QPainter& painter, const QPointF& at, const QString& text);

} // namespace headwise::ui
