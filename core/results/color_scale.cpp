#include "core/results/color_scale.h"

#include "core/results/color_maps.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise {

namespace {

// Symlog turns from linear to logarithmic at this part of the larger limit.
constexpr double linearPart = 0.01;

double symlogUnit(const ColorScale& scale)
{
    return linearPart * std::max(std::abs(double{scale.low}), std::abs(double{scale.high}));
}

constexpr int rankSteps = 256; // one for each colour

/// 0 … 1 between the limits; equal values have the rank of the last of them.
double rankOf(double value, const ColorScale& scale)
{
    const std::vector<float>& knots = scale.rankKnots;
    if (knots.empty())
        return (value - scale.low) / (double{scale.high} - scale.low);
    if (value < knots.front())
        return 0;
    const auto above = std::upper_bound(knots.begin(), knots.end(), static_cast<float>(value));
    if (above == knots.end())
        return 1;
    const double from = *(above - 1);
    return (static_cast<double>(above - 1 - knots.begin()) + (value - from) / (*above - from)) / rankSteps;
}

double valueOfRank(double rank, const ColorScale& scale)
{
    const std::vector<float>& knots = scale.rankKnots;
    if (knots.empty())
        return std::lerp(double{scale.low}, double{scale.high}, rank);
    const double at = std::clamp(rank, 0.0, 1.0) * rankSteps;
    const auto step = std::min<std::size_t>(static_cast<std::size_t>(at), rankSteps - 1);
    return std::lerp(double{knots[step]}, double{knots[step + 1]}, at - static_cast<double>(step));
}

/// The knots from 0 to `high`, or from `low`: each `1 / steps` of `sample` lies between two of them.
std::vector<float> quantiles(std::vector<float> sample, float low, float high, int steps)
{
    std::ranges::sort(sample);
    std::vector<float> knots{low};
    for (int i = 1; i < steps; ++i)
        knots.push_back(
            sample.empty()
                ? static_cast<float>(std::lerp(double{low}, double{high}, double(i) / steps))
                : sample[static_cast<std::size_t>(i) * sample.size() / static_cast<std::size_t>(steps)]);
    knots.push_back(high);
    return knots;
}

/// Returns ColorScale::rankKnots for the values between the limits. If the limits are symmetric about zero, it ranks the
/// magnitudes of both sides together: zero stays neutral, and equal magnitudes are equally strong.
std::vector<float> rankKnots(std::vector<float> sample, const ColorScale& scale)
{
    if (scale.low != -scale.high) {
        std::erase_if(sample, [&](float value) { return value < scale.low || value > scale.high; });
        return quantiles(std::move(sample), scale.low, scale.high, rankSteps);
    }
    for (float& value : sample)
        value = std::abs(value);
    std::erase_if(sample, [&](float value) { return value == 0 || value > scale.high; });
    const std::vector<float> half = quantiles(std::move(sample), 0, scale.high, rankSteps / 2);
    std::vector<float> knots(half.rbegin(), half.rend() - 1);
    for (float& value : knots)
        value = -value;
    knots.insert(knots.end(), half.begin(), half.end());
    return knots;
}

double transformed(double value, const ColorScale& scale)
{
    switch (scale.transform) {
    case ColorTransform::Linear: return value;
    case ColorTransform::Sqrt: return std::copysign(std::sqrt(std::abs(value)), value);
    case ColorTransform::Symlog: return std::asinh(value / symlogUnit(scale));
    case ColorTransform::Rank: return rankOf(value, scale);
    }
    return value;
}

double restored(double x, const ColorScale& scale)
{
    switch (scale.transform) {
    case ColorTransform::Linear: return x;
    case ColorTransform::Sqrt: return std::copysign(x * x, x);
    case ColorTransform::Symlog: return symlogUnit(scale) * std::sinh(x);
    case ColorTransform::Rank: return valueOfRank(x, scale);
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

std::int64_t countBeyond(const ColorScale& scale, const Eigen::MatrixXf& matrix)
{
    constexpr float most = std::numeric_limits<float>::max();
    const float slack = ColorScale::roundingShare * (scale.high - scale.low);
    const float low = scale.low - slack;
    const float high = scale.high + slack;
    std::int64_t count = 0;
    for (Eigen::Index i = 0; i < matrix.size(); ++i) { // without branches, which would take longer
        const float value = matrix.data()[i];
        const bool isAbove = (value > high) & (value <= most);
        const bool isBelow = (value < low) & (value >= -most);
        count += int(isAbove) + int(isBelow);
    }
    return count;
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
    const bool keeps = scale.fit == ColorFit::Fixed && scale.transform != ColorTransform::Rank;
    return keeps ? scale : fitted(std::move(scale), statisticsOf(matrix));
}

namespace {

ColorScale withLimits(ColorScale scale, const ValueStatistics& values)
{
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

} // namespace

ColorScale fitted(ColorScale scale, const ValueStatistics& values)
{
    if (scale.fit != ColorFit::Fixed)
        scale = withLimits(std::move(scale), values);
    scale.rankKnots =
        scale.transform == ColorTransform::Rank ? rankKnots(values.sample, scale) : std::vector<float>();
    return scale;
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

} // namespace headwise
