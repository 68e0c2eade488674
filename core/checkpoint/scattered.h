#pragma once

#include "core/checkpoint/safetensors.h"

#include <cstddef>

namespace headwise {

/// The elements [first, first + count) of a tensor in row-major order, wherever its axes put them.
///
/// \param data   the tensor's bytes; every element its axes reach must lie in them
/// \param out    `count` numbers
/// Cost: a division per run along the last axis, not per number.
template <typename Scalar>
void readScattered(const StoredTensor& tensor, const std::byte* data, std::int64_t first, std::int64_t count,
                   Scalar* out);

/// Axes that only say that the numbers are packed are dropped; the others are kept.
std::vector<StoredAxis> unlessPacked(std::vector<StoredAxis> axes);

} // namespace headwise
