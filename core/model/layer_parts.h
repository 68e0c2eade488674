#pragma once

#include "core/model/processing.h"

namespace headwise {

// Pieces of a layer applied to rows of the residual stream: of a prompt in the forward pass, of the vocabulary in the
// effective and mlp0 embeddings. Absent weights are empty.

/// LN(x) with what is left of the norm's parameters, row by row; sums in double.
template <typename Scalar>
Matrix<Scalar> normalized(const Norm<Scalar>& norm, const Matrix<Scalar>& x);

/// MLP(x) of one layer, x already normalised. \param x [n, d] \returns [n, d]
template <typename Scalar>
Matrix<Scalar> mlpOutput(const MlpWeights<Scalar>& weights, const ModelConfig& config,
                         const Matrix<Scalar>& x);

} // namespace headwise
