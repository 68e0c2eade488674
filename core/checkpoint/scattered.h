#pragma once

#include "core/checkpoint/safetensors.h"

#include <cstddef>

namespace headwise {

/// Reads the elements [first, first + count) of a tensor in row-major order, wherever its axes put them.
///
/// \param data   the tensor's bytes; every element that its axes reach must lie inside
/// \param out    `count` numbers
/// Cost: one division per run along the last axis, not per number.
template <typename Scalar>
void readScattered(const StoredTensor& tensor, const std::byte* data, std::int64_t first, std::int64_t count,
                   Scalar* out);

/// Drops axes that describe packed numbers and keeps all others.
std::vector<StoredAxis> unlessPacked(std::vector<StoredAxis> axes);

} // namespace headwise
