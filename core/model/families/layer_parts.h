#pragma once

#include "core/model/processing.h"

namespace headwise {

// Pieces of a layer applied to rows of the residual stream: of a prompt in the forward pass, of the vocabulary in the
// effective and mlp0 embeddings. Absent weights are empty.

/// LN(x) with what is left of the norm's parameters, row by row; sums in double.
template <typename Scalar>
Matrix<Scalar> normalized(const Norm<Scalar>& norm, const Matrix<Scalar>& x);

/// activation(x), element by element (solu_ln without its norm: row by row).
template <typename Scalar>
void activate(Activation activation, Matrix<Scalar>& x);

/// x with b added to every row; an empty b is zeros.
template <typename Scalar>
void addRow(Matrix<Scalar>& x, const RowVector<Scalar>& b);

/// MLP(x) of one layer, x already normalised; of a mixture, each row by its own experts.
/// \param x [n, d] \returns [n, d]
template <typename Scalar>
Matrix<Scalar> mlpOutput(const MlpWeights<Scalar>& weights, const ModelConfig& config,
                         const Matrix<Scalar>& x);

/// The rest of a layer after its attention, wherever its norms stand: both additions to the residual stream, and the MLP.
template <typename Scalar>
struct LayerTail {
    Norm<Scalar> ln2, ln1Post, ln2Post;
    MlpWeights<Scalar> mlp;

    LayerTail(const ProcessedWeights& weights, int layer);
    LayerTail(const ProcessedWeights& weights, int layer, MlpWeights<Scalar> read); ///< Its MLP is read.

    /// \param x         [n, d], the residual stream before the layer
    /// \param normed    [n, d], ln1(x)
    /// \param attention [n, attentionWidth], what the heads and b_O give
    /// \returns [n, d], the residual stream after it
    Matrix<Scalar> apply(const ModelConfig& config, const Matrix<Scalar>& x, const Matrix<Scalar>& normed,
                         const Matrix<Scalar>& attention) const;
    /// Returns the input of the MLP's norm: the stream before the layer in parallel blocks, else after its attention. Parameters as
    /// of apply.
    Matrix<Scalar> beforeMlp(const ModelConfig& config, const Matrix<Scalar>& x, const Matrix<Scalar>& normed,
                             const Matrix<Scalar>& attention) const;

private:
    static Matrix<Scalar> added(const ModelConfig& config, const Matrix<Scalar>& to, const Norm<Scalar>& post,
                                const Matrix<Scalar>& written);
};

} // namespace headwise
