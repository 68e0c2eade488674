#pragma once

#include "core/base/matrix.h"
#include "core/base/result.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Opaque colour, 0xAARRGGBB: the byte layout of QImage::Format_RGB32.
using Rgb = std::uint32_t;

enum class ColorMap {
    Signed,        ///< Blue, white, red: zero is white. For signed quantities.
    SignedDark,    ///< The same with a dark centre, for a dark window.
    Viridis,       ///< For quantities that are never negative.
    Cividis,       ///< The same, identical to readers with and without red-green blindness.
    Attention,     ///< White to blue, for probabilities.
    AttentionDark, ///< The same from a dark ground.
    Gray,          ///< Black to white, equal steps of lightness.
    HighContrast,  ///< Inferno: black through red to pale yellow.
};
inline constexpr std::array allColorMaps{ColorMap::Signed,  ColorMap::SignedDark,  ColorMap::Viridis,
                                         ColorMap::Cividis, ColorMap::Attention,   ColorMap::AttentionDark,
                                         ColorMap::Gray,    ColorMap::HighContrast};

/// How the limits follow the data.
enum class ColorFit {
    Full,        ///< All finite values: symmetric about zero for signed maps, from zero for the others.
    Robust,      ///< The same after values beyond three standard deviations are trimmed.
    DataRange,   ///< From the smallest to the largest finite value.
    Percentiles, ///< `percentile` percent of the magnitudes on signed maps; of the values, as many cut off at either end, else.
    Fixed,       ///< Limits that the user chose or locked; they ignore the data.
};

/// How a value is placed between the limits.
enum class ColorTransform {
    Linear,
    Sqrt, ///< √|x| with the sign of x.
    Symlog, ///< asinh(100 x / m), m the larger magnitude of the two limits: linear near zero, logarithmic beyond.
    Rank, ///< The share of the values that are smaller; where the limits are symmetric about zero, of the magnitudes, with the sign of x.
};

/// How numbers become colours in a heatmap. Plain settings: they never change the data, two equal
/// scales give equal pixels, and the whole struct is saved with a session.
struct ColorScale {
    ColorMap map = ColorMap::Signed;
    float low = -1; ///< Values at or below it get the first colour.
    float high = 1; ///< Values at or above it get the last colour. low < high.
    ColorFit fit = ColorFit::Full;
    ColorTransform transform = ColorTransform::Linear;
    float percentile = 99; ///< For ColorFit::Percentiles: above 50, at most 100.
    bool inverted = false; ///< The first colour becomes the last.
    /// For ColorTransform::Rank: the values where each 256th of the scale begins, and its end; rising. fitted() finds them and
    /// text() leaves them out. Empty: not fitted yet; such a scale is drawn as Linear.
    std::vector<float> rankKnots = {};

    /// Tell whether a value is beyond a limit by more than rounding, as a cosine of 1.0000001 is not.
    bool isAbove(float value) const { return value > high + roundingShare * (high - low); }
    bool isBelow(float value) const { return value < low - roundingShare * (high - low); }

    static constexpr float roundingShare = 1e-5F;

    bool operator==(const ColorScale&) const = default;
};

/// A value that is not finite is a finding, not a number: it gets a colour no map contains.
inline constexpr Rgb nanColor = 0xFF00FF00;

bool isSigned(ColorMap map);
ColorMap darkTwin(ColorMap map); ///< The map to draw in a dark window; the map itself if it has no twin.

/// Statistics that determine the limits of a scale: of the finite values of one matrix or, added up, of several.
struct ValueStatistics {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    double sum = 0;
    double squares = 0;
    double count = 0;
    std::vector<float> sample; ///< Evenly spread values for percentiles, at most 65 536 of one matrix.

    void add(const ValueStatistics& other);
};
ValueStatistics statisticsOf(const Eigen::MatrixXf& matrix);

/// Counts the finite values above or below the limits by more than rounding.
std::int64_t countBeyond(const ColorScale& scale, const Eigen::MatrixXf& matrix);

/// `scale` with the limits its fit asks for, given the finite values of `matrix`, and with their ranks where it asks for
/// those. ColorFit::Fixed keeps the limits.
/// An empty, constant or entirely non-finite matrix gives a valid scale of width > 0.
ColorScale fitted(ColorScale scale, const Eigen::MatrixXf& matrix);
ColorScale fitted(ColorScale scale, const ValueStatistics& values);

/// Where `value` lies between the limits, 0 … 1, clamped. NaN for a value that is not finite.
float position(float value, const ColorScale& scale);
/// The value at a position: the inverse of position() inside the limits.
float valueAt(float position, const ColorScale& scale);

/// A scale made ready for many values: `Colorizer(scale)(value)` is `colorOf(value, scale)`. Inline, as it runs once
/// for every pixel of a picture.
class Colorizer {
public:
    explicit Colorizer(const ColorScale& scale);

    Rgb operator()(float value) const
    {
        if (!std::isfinite(value))
            return nanColor;
        if (!m_edges.empty())
            return m_table[static_cast<std::size_t>(std::upper_bound(m_edges.begin(), m_edges.end(), value)
                                                    - m_edges.begin())];
        const double x = value;
        // Truncated, not rounded: then x and −x are mirror images and zero is the first entry above the middle.
        return m_table[static_cast<std::size_t>(std::clamp((x - m_low) * m_factor, 0.0, 255.0))];
    }

private:
    std::array<Rgb, 256> m_table;
    std::vector<float>
        m_edges; // [255] between the entries, rising; empty: linear. A search is faster than asinh.
    double m_low;
    double m_factor; // Table entries per unit of a value.
};

/// The colour of one value. Total: defined for every float, NaN and infinities included.
Rgb colorOf(float value, const ColorScale& scale);

/// One colour per entry, row-major (top row first), size rows · cols.
std::vector<Rgb> toPixels(const Eigen::MatrixXf& matrix, const ColorScale& scale);

/// "signed", "viridis", … as text() writes them.
std::string_view mapName(ColorMap map);
/// "map=signed low=-1 high=1 fit=full transform=linear inverted=no", with percentile=99 where the fit asks for it: one line, exact, for a session.
std::string text(const ColorScale& scale);
/// Errors: Corrupt, naming the word, if `line` is not what text() writes or low < high does not hold.
Result<ColorScale> parseColorScale(std::string_view line);

} // namespace headwise
