#include "core/results/layer_null.h"

#include <limits>

namespace headwise {

namespace {

std::optional<double> layerNullNumber(const ResultArray& array, const char* name)
{
    const auto found = array.attributes.find(name);
    const double* value = found == array.attributes.end() ? nullptr : std::get_if<double>(&found->second);
    return value ? std::optional(*value) : std::nullopt;
}

} // namespace

double LayerNull::zScore(double value) const
{
    return mean && deviation && *deviation > 0 ? (value - *mean) / *deviation
                                               : std::numeric_limits<double>::quiet_NaN();
}

LayerNull layerNull(const ResultArray& array, int layer)
{
    const LayerNull first{layerNullNumber(array, layer0NullMean),
                          layerNullNumber(array, layer0NullDeviation)};
    return layer == 0 && first.mean ? first : LayerNull{array.nullMean, array.nullDeviation};
}

} // namespace headwise
