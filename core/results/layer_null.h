#pragma once

#include "core/results/result_set.h"

#include <optional>

namespace headwise {

/// Attributes of an array [n_layers, n_heads] whose layer 0 has a null of its own: it reads other tokens than the later layers.
inline constexpr const char* layer0NullMean = "layer0_null_mean";
inline constexpr const char* layer0NullDeviation = "layer0_null_deviation";

/// Attributes of an array whose null comes from random draws: their number, and the standard errors that this number
/// leaves in null_mean and null_deviation.
inline constexpr const char* nullDraws = "null_draws";
inline constexpr const char* nullMeanError = "null_mean_error";
inline constexpr const char* nullDeviationError = "null_deviation_error";

enum class NullMean { Drawn, Known };

/// Sets these attributes of an array that has its null. \param mean Known: it does not depend on the draws, its error is 0
void setNullDraws(ResultArray& array, int draws, NullMean mean = NullMean::Drawn);

/// Returns one of the attributes above; none if the array does not have it as a number.
std::optional<double> nullNumber(const ResultArray& array, const char* name);

/// Random baseline of one layer: mean and standard deviation of heads of random weights, where known.
struct LayerNull {
    std::optional<double> mean, deviation;

    double zScore(double value) const; ///< NaN where it is not known.
};

/// Returns null_mean and null_deviation, or those of layer 0 where it has its own.
LayerNull layerNull(const ResultArray& array, int layer);

} // namespace headwise
