#pragma once

#include "core/circuits/circuits.h"
#include "core/model/families/layer_parts.h"

#include <memory>

namespace headwise {

/// How far into layer 0 the tokens are computed: to its end, or to the input of its MLP.
enum class LayerZeroEnd { Layer, BeforeMlp };

/// The parts of layer 0 that the effective and mlp0 embeddings need, read once.
template <typename Scalar>
class LayerZero {
public:
    LayerZero(const ProcessedWeights& weights, Embedding embedding, LayerZeroEnd end = LayerZeroEnd::Layer);

    /// Returns E for these rows of W_E, [n, d]; with BeforeMlp the input of MLP 0, before its norm.
    Matrix<Scalar> apply(const Matrix<Scalar>& x) const;

private:
    /// Attention locked to the token itself: the value and output maps of all heads as one affine map.
    struct LockedAttention {
        Matrix<Scalar> map;       // [d, d] Σ_h W_V W_O
        RowVector<Scalar> offset; // [d] Σ_h b_V W_O + b_O
    };
    static LockedAttention lockedAttention(const ProcessedWeights& weights);

    const ProcessedWeights& m_weights;
    Embedding m_embedding;
    LayerZeroEnd m_end;
    LockedAttention m_attention; // only for effective
    Norm<Scalar> m_ln1;
    std::unique_ptr<const LayerTail<Scalar>> m_tail; // null for raw
};

} // namespace headwise
