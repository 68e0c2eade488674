#pragma once

#include "core/base/task.h"
#include "core/circuits/factored_matrix.h"
#include "core/model/head_id.h"
#include "core/model/processing.h"

#include <memory>
#include <optional>
#include <string_view>

namespace headwise {

/// Which token vectors stand on the token sides of full circuits (DESIGN §2, E).
enum class Embedding {
    Raw, ///< W_E of the weights in use: exactly what enters the residual stream.
    Effective, ///< W_E plus layer 0 with attention locked to self, no positions; for heads of layer ≥ 1, layer 0 uses raw.
    Mlp0,    ///< MLP0(LN2(W_E)) alone.
    Unembed, ///< W_Uᵀ.
};

std::string_view embeddingName(Embedding embedding); ///< "raw", "effective", "mlp0", "unembed"
std::optional<Embedding> parseEmbedding(std::string_view name);

enum class CircuitKind { Qk, Ov, FullQk, FullOv };

std::string_view circuitName(CircuitKind kind); ///< As in the session file: "qk", "ov", "full_qk", "full_ov".

/// The token side of every full circuit of a model: the matrices E and W_U and their Gram products, computed once.
///
/// Source of the Gram trick: DESIGN §2, facts: every spectrum of a full circuit is [r, r] work per head afterwards.
struct TokenSide {
    Embedding embedding = Embedding::Raw;
    Matrix<float> E;       ///< [V, d], for heads of layer ≥ 1
    Matrix<float> layer0E; ///< [V, d], for layer 0 where it differs from E (effective); empty otherwise
    Matrix<float> W_U;     ///< [d, V]
    Matrix<double> EtE, layer0EtE; ///< [d, d] EᵀE
    Matrix<double> UUt;            ///< [d, d] W_U W_Uᵀ
    Matrix<double> UE, layer0UE;   ///< [d, d] W_U E; empty where the two vocabularies differ

    const Matrix<float>& embeddingOf(int layer) const
    {
        return layer == 0 && layer0E.size() > 0 ? layer0E : E;
    }
};

/// The circuits of every head of one processed model: a cheap handle, each circuit read and built when asked for.
class Circuits {
public:
    explicit Circuits(std::shared_ptr<const ProcessedWeights> weights);

    const ProcessedWeights& weights() const { return *m_weights; }
    const ModelConfig& config() const { return m_weights->config(); }
    bool contains(HeadId head) const;

    FactoredMatrix<double> qk(HeadId head) const; ///< W_Q · W_Kᵀ, [d, d]
    FactoredMatrix<double> ov(HeadId head) const; ///< W_V · W_O, [d, d]

    /// E W_Q · (E W_K)ᵀ and E W_V · W_O W_U, [V, V]; Scalar float or double.
    template <typename Scalar>
    FactoredMatrix<Scalar> fullQk(HeadId head, const TokenSide& tokens) const;
    template <typename Scalar>
    FactoredMatrix<Scalar> fullOv(HeadId head, const TokenSide& tokens) const;

private:
    std::shared_ptr<const ProcessedWeights> m_weights;
};

/// Reads E and W_U once and forms their Gram products, in blocks, in double.
/// Errors: InvalidArgument if the embedding makes no sense for this model (mlp0 without MLPs), Cancelled, OutOfMemory.
Result<std::shared_ptr<const TokenSide>> tokenSide(const Circuits& circuits, Embedding embedding,
                                                   const Task& task);

} // namespace headwise
