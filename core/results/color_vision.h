#pragma once

#include "core/results/color_scale.h"

namespace headwise {

/// Colour vision of a reader: with all three kinds of cones, or without those for medium, long or short waves.
enum class ColorVision { Normal, Deuteranopia, Protanopia, Tritanopia };

/// Returns the colour that shows a person with normal vision how `color` looks to one with `vision`. Both are opaque sRGB.
///
/// Source: Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE
/// TVCG 15 (2009), severity 1.0; the matrices act on linear RGB. Results outside the gamut are clamped.
Rgb simulated(Rgb color, ColorVision vision);

} // namespace headwise
