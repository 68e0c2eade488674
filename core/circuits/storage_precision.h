#pragma once

#include "core/model/weights.h"

namespace headwise {

/// How far a stored number may lie from the one that was trained, as a part of its size: half a unit in the last place.
///
/// For formats in blocks it is half a step over the root mean square of a block of normal numbers, about.
double roundingOf(DType dtype);

/// The same of one tensor of a model; 0 if it is absent. \param head as ModelWeights::add
double roundingOf(const ModelWeights& weights, TensorKind kind, int layer, int head);

} // namespace headwise
