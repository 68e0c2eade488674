#pragma once

#include "core/results/color_scale.h"

namespace headwise {

/// Who looks at a picture: with all three cones, or without those for medium, long or short waves.
enum class ColorVision { Normal, Deuteranopia, Protanopia, Tritanopia };

/// The opaque colour that a person with normal vision sees where one with `vision` looks at `color`, both sRGB.
///
/// Source: Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE
/// TVCG 15 (2009), severity 1.0; the matrices act on linear RGB. Results outside the gamut are clamped.
Rgb simulated(Rgb color, ColorVision vision);

} // namespace headwise
