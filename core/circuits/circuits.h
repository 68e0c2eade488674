#pragma once

#include "core/base/task.h"
#include "core/circuits/factored_matrix.h"
#include "core/circuits/token_matrix.h"
#include "core/model/head_id.h"
#include "core/model/processing.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// The token vectors E on the token sides of full circuits (CONTRACTS.md §4).
enum class Embedding {
    Raw, ///< W_E of the weights in use: the vector that enters the residual stream.
    /// W_E plus layer 0 with attention locked to self and no positions. Used from layer 1 on; layer 0 uses raw.
    Effective,
    Mlp0,    ///< MLP0(LN2(W_E)) alone.
    Unembed, ///< W_Uᵀ.
};

std::string_view embeddingName(Embedding embedding); ///< "raw", "effective", "mlp0", "unembed"
std::optional<Embedding> parseEmbedding(std::string_view name);

enum class CircuitKind { Qk, Ov, FullQk, FullOv };
inline constexpr std::array<CircuitKind, 4> circuitKinds{CircuitKind::Qk, CircuitKind::Ov,
                                                         CircuitKind::FullQk, CircuitKind::FullOv};

std::string_view circuitTitle(CircuitKind kind); ///< For people: "QK", "OV", "full QK", "full OV".
std::string_view circuitName(CircuitKind kind); ///< As in the session file: "qk", "ov", "full_qk", "full_ov".
std::string_view circuitFormula(CircuitKind kind); ///< "W_Q W_Kᵀ", …
constexpr bool isFull(CircuitKind kind)
{
    return kind == CircuitKind::FullQk || kind == CircuitKind::FullOv;
}

/// Precision in which numbers are stored and returned. Sums, Gram products and decompositions are always in double.
enum class Precision { F32, F64 };

/// The token side of a model's full circuits: the matrices E and W_U and their Gram products, computed once. A copy shares the matrices.
///
/// With the Gram products, every spectrum of a full circuit is [r, r] work per head (CONTRACTS.md §9).
struct TokenSide {
    Embedding embedding = Embedding::Raw;
    TokenMatrix E;       ///< [V, d], for heads of layer ≥ 1; exact with Precision::F64, as the others
    TokenMatrix layer0E; ///< [V, d], for layer 0 if it differs from E (effective); empty otherwise
    TokenMatrix W_U;     ///< [d, V out]

    Matrix<double> EtE, layer0EtE; ///< [d, d] Eᵀ E
    Matrix<double> UUt;            ///< [d, d] W_U W_Uᵀ
    Matrix<double> UE, layer0UE;   ///< [d, d] W_U E; empty if the two vocabularies differ

    bool isLayer0Special(int layer) const { return layer == 0 && !layer0E.isEmpty(); }
    const TokenMatrix& embeddingOf(int layer) const { return isLayer0Special(layer) ? layer0E : E; }
    const Matrix<double>& embeddingGramOf(int layer) const
    {
        return isLayer0Special(layer) ? layer0EtE : EtE;
    }
    const Matrix<double>& unembedEmbedOf(int layer) const { return isLayer0Special(layer) ? layer0UE : UE; }
    /// Full OV has eigenvalues only if it is square.
    bool isSquare() const { return E.count() == W_U.count(); }
};

/// The circuits of every head of one processed model. A cheap handle; a circuit is read and built on request.
class Circuits {
public:
    explicit Circuits(std::shared_ptr<const ProcessedWeights> weights);

    const ProcessedWeights& weights() const { return *m_weights; }
    const ModelConfig& config() const { return m_weights->config(); }
    bool contains(HeadId head) const;

    FactoredMatrix<double> qk(HeadId head) const; ///< W_Q · W_Kᵀ, [d, d]
    FactoredMatrix<double> ov(HeadId head) const; ///< W_V · W_O, [d, d]

    /// E W_Q · (E W_K)ᵀ, [V, V], and E W_V · W_O W_U, [V, V out]. Scalar is float or double; double uses the unrounded
    /// token side if there is one.
    template <typename Scalar>
    FactoredMatrix<Scalar> fullQk(HeadId head, const TokenSide& tokens) const;
    template <typename Scalar>
    FactoredMatrix<Scalar> fullOv(HeadId head, const TokenSide& tokens) const;

    /// Returns any of the four. \param tokens may be null for qk and ov.
    template <typename Scalar>
    FactoredMatrix<Scalar> circuit(CircuitKind kind, HeadId head, const TokenSide* tokens) const;

private:
    std::shared_ptr<const ProcessedWeights> m_weights;
};

/// Explains why the embedding does not exist for a model (mlp0 without MLPs) or depends on what no file states; empty if it does
/// and does not.
std::string whyNotEmbedding(const ModelConfig& config, Embedding embedding);

/// Returns the vectors of an embedding as the heads of one layer read them, computed from the file a few at a time.
/// \param embedding must exist for the model (`whyNotEmbedding`)
TokenMatrix tokenVectors(const ProcessedWeights& weights, Embedding embedding, int layer,
                         Precision precision = Precision::F32);
/// Returns W_U likewise.
TokenMatrix outputVectors(const ProcessedWeights& weights, Precision precision = Precision::F32);

/// Tells whether a token side holds the matrices that it could read from the file wherever they are used: those of at most 1 GB.
bool holdsTokens(const ModelConfig& config, Embedding embedding, Precision precision);

/// Selects the parts of a TokenSide to compute. Rows, columns and pictures need only the matrices; spectra and eigenvalues need the
/// Gram products. GramsAlone holds no matrix that can be read from the file, however small it is.
enum class TokenParts { MatricesAlone, WithGrams, GramsAlone };

/// Reads E and W_U, holds them if `holdsTokens`, and computes their Gram products in double, in blocks. What layer 0 adds to E is held
/// in any case. The task's peers share the sums over the vocabulary.
/// Errors: InvalidArgument as `whyNotEmbedding`, Cancelled, OutOfMemory.
/// Cost: 4 V d² flops in double, V d² where the embeddings are tied; with effective or mlp0 also the layer-0 MLP on every token.
Result<std::shared_ptr<const TokenSide>> tokenSide(const Circuits& circuits, Embedding embedding,
                                                   const Task& task, Precision precision = Precision::F32,
                                                   TokenParts parts = TokenParts::WithGrams);

/// Returns a token side with its Gram products and the statistics of its embeddings besides.
/// Errors: Cancelled, OutOfMemory.
Result<std::shared_ptr<const TokenSide>> withGrams(const TokenSide& read, const Circuits& circuits,
                                                   const Task& task);

} // namespace headwise
