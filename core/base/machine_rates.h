#pragma once

#include "core/base/task.h"

namespace headwise {

/// Returns the speed of one core at products of float32 matrices, in flop/s, a multiplication and an addition counted as two.
///
/// The first call measures it in about 25 ms: the best of several products of 512 × 512. Later calls return the same number, so
/// that every estimate of one process agrees. Every core has such an OpenBLAS of its own (parallelFor).
double coreSgemmRate();

/// Measures how fast all cores together read memory, in bytes/s: the best of three passes over arrays beyond every cache, about
/// 0.1 s. 0 if there is not enough memory to measure it.
/// Memory: 32 MiB a core, at least 128 and at most 512.
double memoryReadRate(const Task& task);

} // namespace headwise
