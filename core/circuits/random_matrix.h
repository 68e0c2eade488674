#pragma once

#include "core/base/matrix.h"

#include <cstdint>

namespace headwise {

/// Returns independent normal numbers of mean 0 and deviation 1 for the nulls of analyses, the same on every machine.
/// Source: Box & Muller 1958, on std::mt19937_64. The standard fixes its numbers, but not those of
/// std::normal_distribution.
Matrix<double> gaussianMatrix(Eigen::Index rows, Eigen::Index cols, std::uint64_t seed);

} // namespace headwise
