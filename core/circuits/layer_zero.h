#pragma once

#include "core/circuits/circuits.h"
#include "core/model/families/layer_parts.h"

#include <memory>

namespace headwise {

/// How far into layer 0 tokens go: to the end, or to where its MLP reads them.
enum class LayerZeroEnd { Layer, BeforeMlp };

/// Everything of layer 0 that the effective and mlp0 embeddings need, read once.
template <typename Scalar>
class LayerZero {
public:
    LayerZero(const ProcessedWeights& weights, Embedding embedding, LayerZeroEnd end = LayerZeroEnd::Layer);

    /// E of these rows of W_E, [n, d]; of BeforeMlp what MLP 0 reads, before its norm.
    Matrix<Scalar> apply(const Matrix<Scalar>& x) const;

private:
    /// Attention locked to the token itself: value and output of all heads as one affine map.
    struct LockedAttention {
        Matrix<Scalar> map;       // [d, d] Σ_h W_V W_O
        RowVector<Scalar> offset; // [d] Σ_h b_V W_O + b_O
    };
    static LockedAttention lockedAttention(const ProcessedWeights& weights);

    const ProcessedWeights& m_weights;
    Embedding m_embedding;
    LayerZeroEnd m_end;
    LockedAttention m_attention; // effective alone
    Norm<Scalar> m_ln1;
    std::unique_ptr<const LayerTail<Scalar>> m_tail; // null for raw
};

} // namespace headwise
