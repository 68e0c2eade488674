#pragma once

#include "core/analysis/catalogue.h"
#include "ui/base/color_choice.h"

#include <algorithm>
#include <cmath>

namespace headwise::ui {

/// Returns a scale from zero, or symmetric about it. An array with a known range gets that range, unless the values fill so little
/// of it that all would look alike (a composition of at most 0.15 of 1).
/// \param values a matrix or the statistics of several
template <typename Values>
ColorScale scaleOf(const Picture& picture, const ResultArray& array, const Values& values)
{
    constexpr double leastFilled = 0.25;
    const bool isNeverNegative = array.range && array.range->first >= 0; // so that zero is no centre
    const bool centred = picture.signedColors && !isNeverNegative;
    ColorScale scale = fitted(firstScale(centred), values);
    if (!array.range)
        return scale;
    const auto [low, high] = *array.range;
    const double reach = std::max(std::abs(low), std::abs(high));
    const bool isFilled = std::max(-scale.low, scale.high) >= leastFilled * reach;
    if (!isFilled && !(centred && low == -high))
        return scale;
    scale.low = static_cast<float>(centred ? -reach : low);
    scale.high = static_cast<float>(centred ? reach : high);
    scale.fit = ColorFit::Fixed;
    return scale;
}

} // namespace headwise::ui
