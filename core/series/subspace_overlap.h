#pragma once

// Private to core/series.

#include "core/circuits/circuits.h"
#include "core/results/result_set.h"

#include <vector>

namespace headwise {

inline constexpr int mostFollowedVectors = 8; // of each head and side

/// Follows every head's singular vectors from one checkpoint to the next, as subspaces, because a vector's index and sign mean
/// nothing: scores/qk_subspace_overlap and scores/ov_subspace_overlap, [n_layers, n_heads].
///
/// The overlap is ‖U_kᵀ U'_k‖² / k, the mean squared cosine of the principal angles, averaged over the two sides of the circuit.
/// k is the effective rank before, rounded, at most the numerical rank of either. NaN for a zero circuit.
///
/// Also the squared cosines between single vectors before and after, the leading `mostFollowedVectors` of each side, by which
/// vectorTracks() follows them: vector_overlaps/SIDE, [n_layers, n_heads, n, n]. NaN past the numerical rank.
/// Errors: InvalidArgument if the sizes differ; Corrupt if a weight is not finite; Cancelled.
/// Cost: two decompositions [d, r] of each head and circuit. One head of each model at a time and thread.
/// Source: Björck & Golub 1973.
Result<std::vector<ResultArray>> subspaceOverlaps(const Circuits& before, const Circuits& after,
                                                  const Task& task);

/// Returns the arrays of a member except those of subspaceOverlaps.
std::vector<ResultArray> withoutOverlaps(std::vector<ResultArray> arrays);

} // namespace headwise
