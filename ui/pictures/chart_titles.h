#pragma once

#include "ui/charts/spectrum_chart.h"
#include "ui/document/array_part.h"

#include <span>

namespace headwise::ui {

/// Words that all titles begin or else end with, with their common unit: "Singular values" of QK and of OV. Without either:
/// both titles, or "value" of more than two.
QString commonTitle(const std::vector<const ResultArray*>& arrays);
/// "full QK" for "spectra/full_qk/singular_values"; empty for an array of another kind.
QString circuitTitle(const ResultArray& array);
QString axisTitle(const ResultArray& array); ///< "score (logits)"
/// The same with the array's null, for a colour bar, which cannot draw it as a line: "score (logits), null 0.31".
QString valueTitle(const ResultArray& array);

/// Look of complex numbers: real against imaginary part, or by angle and logarithm of the modulus.
ChartLook complexLook(const std::vector<ArrayPart>& all, bool polar);

/// A bracket over every degenerate block of singular values, for a chart of σ / `unit` over 1, 2, 3, …
/// \param sigma descending
std::vector<ChartBracket> degenerateBrackets(std::span<const double> sigma, int dModel, double unit = 1);

} // namespace headwise::ui
