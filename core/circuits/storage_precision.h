#pragma once

#include "core/model/weights.h"

namespace headwise {

/// Relative rounding error of a stored number: half a unit in the last place.
///
/// For block formats, about half a step over the root mean square of a block of normal numbers.
double roundingOf(DType dtype);

/// The same for one tensor of a model; 0 if it is absent. \param head as ModelWeights::add
double roundingOf(const ModelWeights& weights, TensorKind kind, int layer, int head);

} // namespace headwise
