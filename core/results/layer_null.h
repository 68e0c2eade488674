#pragma once

#include "core/results/result_set.h"

#include <optional>

namespace headwise {

/// Attributes of an array [n_layers, n_heads] whose layer 0 has a null of its own: it reads other tokens than the later layers.
inline constexpr const char* layer0NullMean = "layer0_null_mean";
inline constexpr const char* layer0NullDeviation = "layer0_null_deviation";

/// Random baseline of one layer: mean and standard deviation of heads of random weights, where known.
struct LayerNull {
    std::optional<double> mean, deviation;

    double zScore(double value) const; ///< NaN where it is not known.
};

/// Returns null_mean and null_deviation, or those of layer 0 where it has its own.
LayerNull layerNull(const ResultArray& array, int layer);

} // namespace headwise
