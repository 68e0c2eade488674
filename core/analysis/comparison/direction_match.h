#pragma once

#include "core/base/matrix.h"

#include <vector>

namespace headwise {

/// How well each old singular direction, with those that the data do not tell it from, matches each new one, in [0, 1]. Where a block
/// (`degenerateBlocks`) has several directions they are any basis of its span, so that only what no rotation inside it changes is
/// compared: for new i in block I and old j, the largest ‖U_Jᵀ U_I‖_F/√|I| over runs J of neighbouring old blocks with j among
/// them, as short as can be with |J| ≥ |I| (what is left where the last blocks have fewer). |u_jᵀ u_i| where both stand alone.
///
/// Runs, because a block of new directions may be what several old blocks have become: gaps of the size of the limit close by chance.
/// \param cosines [new, old], U_newᵀ U_old of orthonormal columns
/// \param newBlocks, oldBlocks of each, rising from 0 without gaps
Matrix<double> directionMatches(const Matrix<double>& cosines, const std::vector<int>& newBlocks,
                                const std::vector<int>& oldBlocks);

} // namespace headwise
