#include "core/results/layer_null.h"

#include <cmath>
#include <limits>

namespace headwise {

std::optional<double> nullNumber(const ResultArray& array, const char* name)
{
    const auto found = array.attributes.find(name);
    const double* value = found == array.attributes.end() ? nullptr : std::get_if<double>(&found->second);
    return value ? std::optional(*value) : std::nullopt;
}

void setNullDraws(ResultArray& array, int draws, NullMean mean)
{
    const double deviation = array.nullDeviation.value_or(std::numeric_limits<double>::quiet_NaN());
    array.attributes[nullDraws] = static_cast<double>(draws);
    array.attributes[nullMeanError] = mean == NullMean::Known ? 0.0 : deviation / std::sqrt(double(draws));
    array.attributes[nullDeviationError] = deviation / std::sqrt(2.0 * (draws - 1));
}

double LayerNull::zScore(double value) const
{
    return mean && deviation && *deviation > 0 ? (value - *mean) / *deviation
                                               : std::numeric_limits<double>::quiet_NaN();
}

LayerNull layerNull(const ResultArray& array, int layer)
{
    const LayerNull first{nullNumber(array, layer0NullMean), nullNumber(array, layer0NullDeviation)};
    return layer == 0 && first.mean ? first : LayerNull{array.nullMean, array.nullDeviation};
}

} // namespace headwise
