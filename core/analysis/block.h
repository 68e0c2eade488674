#pragma once

#include "core/circuits/circuits.h"

#include <vector>

namespace headwise {

/// Most entries a block may have: a 4096 × 4096 picture, 64 MiB.
inline constexpr Eigen::Index largestBlock = Eigen::Index(4096) * 4096;

/// A rectangle of a circuit as a dense matrix, for a heatmap.
/// \param rowIds, colIds indices (token ids in full circuits) in the order in which they are shown; may repeat
/// Errors: InvalidArgument if there is none, one is outside, or there are more than `largestBlock` entries.
Result<Matrix<float>> denseBlock(const FactoredMatrix<float>& circuit, const std::vector<int>& rowIds,
                                 const std::vector<int>& colIds);

/// The same straight from the token matrices: the tokens asked for are multiplied and nothing else, so that the first picture
/// of a head does not wait for its [V, r] factors. For qk and ov the indices are residual directions and `tokens` may be null.
/// Errors: as above, and for a head outside the model.
/// Cost: 2 (rows + cols) d r + 2 rows cols r flops.
Result<Matrix<float>> circuitBlock(const Circuits& circuits, const TokenSide* tokens, CircuitKind kind,
                                   HeadId head, const std::vector<int>& rowIds,
                                   const std::vector<int>& colIds);

/// The whole of qk or ov, [d, d].
/// Errors: as above.
Result<Matrix<float>> wholeCircuit(const Circuits& circuits, CircuitKind kind, HeadId head);

} // namespace headwise
