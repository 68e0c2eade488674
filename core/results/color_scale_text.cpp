#include "core/results/color_scale.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

// A colour scale as one line of text, for a session.

namespace headwise {

namespace {

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
constexpr std::array transformNames{
    TransformName{ColorTransform::Linear, "linear"}, TransformName{ColorTransform::Sqrt, "sqrt"},
    TransformName{ColorTransform::Symlog, "symlog"}, TransformName{ColorTransform::Rank, "rank"}};

std::string exact(float value)
{
    std::array<char, 32> digits{};
    const auto [end, code] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    return {digits.data(), end};
}

std::optional<float> colorScaleTextNumber(std::string_view word)
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
        const std::optional<float> parsed = colorScaleTextNumber(value);
        return parsed && ((key == "low" ? scale.low : scale.high) = *parsed, true);
    }
    if (key == "transform") {
        const auto* found = std::ranges::find(transformNames, value, &TransformName::name);
        return found != transformNames.end() && (scale.transform = found->transform, true);
    }
    if (key == "percentile") {
        const std::optional<float> parsed = colorScaleTextNumber(value);
        return parsed && *parsed > 50 && *parsed <= 100 && (scale.percentile = *parsed, true);
    }
    scale.inverted = value == "yes";
    return key == "inverted" && (value == "yes" || value == "no");
}

} // namespace

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
