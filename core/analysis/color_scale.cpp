#include "core/analysis/color_scale.h"

#include "core/analysis/color_maps.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

namespace headwise {

namespace {

// Symlog turns from linear to logarithmic at this part of the larger limit.
constexpr double linearPart = 0.01;

double symlogUnit(const ColorScale& scale)
{
    return linearPart * std::max(std::abs(double{scale.low}), std::abs(double{scale.high}));
}

double transformed(double value, const ColorScale& scale)
{
    switch (scale.transform) {
    case ColorTransform::Linear: return value;
    case ColorTransform::Sqrt: return std::copysign(std::sqrt(std::abs(value)), value);
    case ColorTransform::Symlog: return std::asinh(value / symlogUnit(scale));
    }
    return value;
}

double restored(double x, const ColorScale& scale)
{
    switch (scale.transform) {
    case ColorTransform::Linear: return x;
    case ColorTransform::Sqrt: return std::copysign(x * x, x);
    case ColorTransform::Symlog: return symlogUnit(scale) * std::sinh(x);
    }
    return x;
}

/// The value below which `part` of the sample lies, 0 … 1.
double quantile(std::vector<float>& sample, double part)
{
    const auto place =
        std::min(sample.size() - 1, static_cast<std::size_t>(part * static_cast<double>(sample.size())));
    const auto nth = sample.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(sample.begin(), nth, sample.end());
    return *nth;
}

std::pair<double, double> percentileLimits(std::vector<float> sample, const ColorScale& scale)
{
    const double part = std::clamp(double{scale.percentile}, 50.0, 100.0) / 100;
    if (!isSigned(scale.map)) {
        const double low = quantile(sample, 1 - part);
        return {low, quantile(sample, part)};
    }
    for (float& value : sample)
        value = std::abs(value);
    const double most = quantile(sample, part);
    return {-most, most};
}

// Trimming is about zero for signed maps, where the sign is the message, and about the mean for the others.
std::pair<double, double> limitsOf(const ValueStatistics& m, const ColorScale& scale)
{
    const ColorMap map = scale.map;
    const ColorFit fit = scale.fit;
    if (fit == ColorFit::Percentiles && !m.sample.empty())
        return percentileLimits(m.sample, scale);
    if (fit == ColorFit::DataRange)
        return {m.low, m.high};
    const double mean = m.sum / m.count;
    if (isSigned(map)) {
        double largest = std::max(-m.low, m.high);
        if (fit == ColorFit::Robust)
            largest = std::min(largest, 3 * std::sqrt(m.squares / m.count));
        return {-largest, largest};
    }
    double low = std::min(m.low, 0.0);
    double high = std::max(m.high, 0.0);
    if (fit == ColorFit::Robust) {
        const double spread = 3 * std::sqrt(std::max(0.0, m.squares / m.count - mean * mean));
        low = std::max(low, std::min(0.0, mean - spread));
        high = std::min(high, std::max(0.0, mean + spread));
    }
    return {low, high};
}

double lightness(Rgb color)
{
    return (2.0 * ((color >> 16U) & 0xFFU) + 5.0 * ((color >> 8U) & 0xFFU) + (color & 0xFFU)) / 8;
}

/// On from the end of a map in the direction that it comes from `before`; a green that no such map has, where there is no
/// way on from black or white.
Rgb beyond(Rgb end, Rgb before)
{
    const double here = lightness(end);
    if (here < 24 || here > 240)
        return 0xFF009E73;
    const bool darker = here < lightness(before);
    const auto moved = [&](unsigned shift) {
        const double channel = (end >> shift) & 0xFFU;
        return static_cast<Rgb>(darker ? 0.35 * channel : channel + 0.65 * (255 - channel)) << shift;
    };
    return 0xFF000000U | moved(16) | moved(8) | moved(0);
}

struct FitName {
    ColorFit fit;
    std::string_view name;
};
constexpr std::array fitNames{FitName{ColorFit::Full, "full"}, FitName{ColorFit::Robust, "robust"},
                              FitName{ColorFit::DataRange, "data"},
                              FitName{ColorFit::Percentiles, "percentiles"},
                              FitName{ColorFit::Fixed, "fixed"}};

struct TransformName {
    ColorTransform transform;
    std::string_view name;
};
constexpr std::array transformNames{TransformName{ColorTransform::Linear, "linear"},
                                    TransformName{ColorTransform::Sqrt, "sqrt"},
                                    TransformName{ColorTransform::Symlog, "symlog"}};

std::string exact(float value)
{
    std::array<char, 32> digits{};
    const auto [end, code] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    return {digits.data(), end};
}

std::optional<float> number(std::string_view word)
{
    float value = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (code != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
        return std::nullopt;
    return value;
}

// False if the key is unknown or the value is not one it can have.
bool assign(ColorScale& scale, std::string_view key, std::string_view value)
{
    if (key == "map") {
        const auto* found = std::ranges::find(allColorMaps, value, mapName);
        return found != allColorMaps.end() && (scale.map = *found, true);
    }
    if (key == "fit") {
        const auto* found = std::ranges::find(fitNames, value, &FitName::name);
        return found != fitNames.end() && (scale.fit = found->fit, true);
    }
    if (key == "low" || key == "high") {
        const std::optional<float> parsed = number(value);
        return parsed && ((key == "low" ? scale.low : scale.high) = *parsed, true);
    }
    if (key == "transform") {
        const auto* found = std::ranges::find(transformNames, value, &TransformName::name);
        return found != transformNames.end() && (scale.transform = found->transform, true);
    }
    if (key == "percentile") {
        const std::optional<float> parsed = number(value);
        return parsed && *parsed > 50 && *parsed <= 100 && (scale.percentile = *parsed, true);
    }
    scale.inverted = value == "yes";
    return key == "inverted" && (value == "yes" || value == "no");
}

} // namespace

bool isSigned(ColorMap map)
{
    return map == ColorMap::Signed || map == ColorMap::SignedDark;
}

ColorMap darkTwin(ColorMap map)
{
    switch (map) {
    case ColorMap::Signed: return ColorMap::SignedDark;
    case ColorMap::Attention: return ColorMap::AttentionDark;
    default: return map;
    }
}

void ValueStatistics::add(const ValueStatistics& other)
{
    low = std::min(low, other.low);
    high = std::max(high, other.high);
    sum += other.sum;
    squares += other.squares;
    count += other.count;
    sample.insert(sample.end(), other.sample.begin(), other.sample.end());
}

ValueStatistics statisticsOf(const Eigen::MatrixXf& matrix)
{
    ValueStatistics m;
    for (const float value : matrix.reshaped()) {
        if (!std::isfinite(value))
            continue;
        const double x = value;
        m.low = std::min(m.low, x);
        m.high = std::max(m.high, x);
        m.sum += x;
        m.squares += x * x;
        m.count += 1;
    }
    constexpr Eigen::Index most = 65536;
    const Eigen::Index step = matrix.size() / most + 1;
    for (Eigen::Index i = 0; i < matrix.size(); i += step)
        if (std::isfinite(matrix.data()[i]))
            m.sample.push_back(matrix.data()[i]);
    return m;
}

ColorScale fitted(ColorScale scale, const Eigen::MatrixXf& matrix)
{
    return scale.fit == ColorFit::Fixed ? scale : fitted(scale, statisticsOf(matrix));
}

ColorScale fitted(ColorScale scale, const ValueStatistics& values)
{
    if (scale.fit == ColorFit::Fixed)
        return scale;
    const auto [low, high] = values.count > 0 ? limitsOf(values, scale) : std::pair(0.0, 0.0);
    scale.low = static_cast<float>(low);
    scale.high = static_cast<float>(high);
    if (scale.low < scale.high)
        return scale;
    // Nothing to spread the colours over: one unit, or one part in two where a unit would be lost in rounding.
    const float room = std::max(1.0F, std::abs(scale.high) / 2);
    if (isSigned(scale.map))
        scale.low -= room;
    scale.high += room;
    return scale;
}

ColorScale fitted(ColorMap map, const Eigen::MatrixXf& matrix, ColorFit fit)
{
    return fitted(ColorScale{.map = map, .fit = fit}, matrix);
}

float position(float value, const ColorScale& scale)
{
    if (!std::isfinite(value))
        return std::numeric_limits<float>::quiet_NaN();
    const double low = transformed(scale.low, scale);
    const double high = transformed(scale.high, scale);
    return static_cast<float>(std::clamp((transformed(value, scale) - low) / (high - low), 0.0, 1.0));
}

float valueAt(float position, const ColorScale& scale)
{
    const double low = transformed(scale.low, scale);
    const double high = transformed(scale.high, scale);
    const double x = std::lerp(low, high, double{position});
    return static_cast<float>(restored(x, scale));
}

Colorizer::Colorizer(const ColorScale& scale)
    : m_table(colorTable(scale.map))
    , m_low(scale.low)
    , m_factor(256 / (double{scale.high} - m_low))
{
    if (scale.transform != ColorTransform::Linear)
        for (int i = 1; i < 256; ++i)
            m_edges.push_back(valueAt(static_cast<float>(i) / 256, scale));
    if (scale.inverted)
        std::ranges::reverse(m_table);
}

Rgb colorOf(float value, const ColorScale& scale)
{
    return Colorizer(scale)(value);
}

BeyondColors beyondColors(const ColorScale& scale)
{
    const ColorTable& table = colorTable(scale.map);
    const Rgb low = beyond(table[0], table[24]);
    const Rgb high = beyond(table[255], table[231]);
    return scale.inverted ? BeyondColors{high, low} : BeyondColors{low, high};
}

std::vector<Rgb> toPixels(const Eigen::MatrixXf& matrix, const ColorScale& scale)
{
    const Colorizer color(scale);
    std::vector<Rgb> pixels(static_cast<std::size_t>(matrix.size()));
    const Eigen::Index rows = matrix.rows();
    const Eigen::Index cols = matrix.cols();
    // The matrix is stored by columns, the picture by rows: in blocks, both stay in the cache.
    constexpr Eigen::Index block = 32;
    for (Eigen::Index left = 0; left < cols; left += block)
        for (Eigen::Index row = 0; row < rows; ++row)
            for (Eigen::Index col = left; col < std::min(left + block, cols); ++col)
                pixels[static_cast<std::size_t>(row * cols + col)] = color(matrix(row, col));
    return pixels;
}

std::string_view mapName(ColorMap map)
{
    switch (map) {
    case ColorMap::Signed: return "signed";
    case ColorMap::SignedDark: return "signed-dark";
    case ColorMap::Viridis: return "viridis";
    case ColorMap::Cividis: return "cividis";
    case ColorMap::Attention: return "attention";
    case ColorMap::AttentionDark: return "attention-dark";
    case ColorMap::Gray: return "gray";
    case ColorMap::HighContrast: return "high-contrast";
    }
    return "signed";
}

std::string text(const ColorScale& scale)
{
    const auto* fit = std::ranges::find(fitNames, scale.fit, &FitName::fit);
    std::string line = "map=";
    line.append(mapName(scale.map))
        .append(" low=")
        .append(exact(scale.low))
        .append(" high=")
        .append(exact(scale.high));
    line.append(" fit=").append(fit->name).append(" transform=");
    line.append(std::ranges::find(transformNames, scale.transform, &TransformName::transform)->name);
    if (scale.fit == ColorFit::Percentiles)
        line.append(" percentile=").append(exact(scale.percentile));
    return line.append(" inverted=").append(scale.inverted ? "yes" : "no");
}

Result<ColorScale> parseColorScale(std::string_view line)
{
    ColorScale scale;
    std::string_view rest = line;
    while (!rest.empty()) {
        const std::string_view word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos
            || !assign(scale, word.substr(0, equals), word.substr(equals + 1)))
            return Error{ErrorCode::Corrupt,
                         "The colour scale '" + std::string(line) + "' has the word '" + std::string(word)
                             + "', which no version of this program writes."};
    }
    if (!(scale.low < scale.high))
        return Error{ErrorCode::Corrupt,
                     "The colour scale '" + std::string(line)
                         + "' has no room between its limits; low must be below high."};
    return scale;
}

} // namespace headwise
