#pragma once

#include "core/base/matrix.h"

#include <cstdint>

namespace headwise {

/// Independent normal numbers of mean 0 and deviation 1, the same on every machine: for the nulls of analyses.
/// Source: Box & Muller 1958, over std::mt19937_64, whose numbers the standard fixes; std::normal_distribution's it does not.
Matrix<double> gaussianMatrix(Eigen::Index rows, Eigen::Index cols, std::uint64_t seed);

} // namespace headwise
