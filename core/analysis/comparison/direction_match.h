#pragma once

#include "core/base/matrix.h"

#include <vector>

namespace headwise {

/// Returns how well each old singular direction matches each new one, in [0, 1]. Degenerate directions are matched as a block.
/// The directions of a block (`degenerateBlocks`) are an arbitrary basis of its span.
/// The match therefore does not change under rotations inside a block.
/// For new i in block I and old j it is the largest ‖U_Jᵀ U_I‖_F/√|I| over runs J of neighbouring old blocks that contain j.
/// Runs are the shortest ones with |J| ≥ |I|; a run at the end may be shorter. For two single directions it is |u_jᵀ u_i|.
///
/// Runs are needed because several old blocks may have merged into a new one: gaps near the limit can close by chance.
/// \param cosines [new, old], U_newᵀ U_old of orthonormal columns
/// \param newBlocks, oldBlocks block of each direction, rising from 0 without gaps
Matrix<double> directionMatches(const Matrix<double>& cosines, const std::vector<int>& newBlocks,
                                const std::vector<int>& oldBlocks);

} // namespace headwise
