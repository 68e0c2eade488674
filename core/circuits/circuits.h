#pragma once

#include "core/base/task.h"
#include "core/circuits/factored_matrix.h"
#include "core/model/head_id.h"
#include "core/model/processing.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// Token vectors on the token sides of full circuits (DESIGN §2, E).
enum class Embedding {
    Raw, ///< W_E of the weights in use: exactly what enters the residual stream.
    Effective, ///< W_E plus layer 0 with attention locked to self, no positions; for heads of layer ≥ 1, layer 0 uses raw.
    Mlp0,    ///< MLP0(LN2(W_E)) alone.
    Unembed, ///< W_Uᵀ.
};

std::string_view embeddingName(Embedding embedding); ///< "raw", "effective", "mlp0", "unembed"
std::optional<Embedding> parseEmbedding(std::string_view name);

enum class CircuitKind { Qk, Ov, FullQk, FullOv };
inline constexpr std::array<CircuitKind, 4> circuitKinds{CircuitKind::Qk, CircuitKind::Ov,
                                                         CircuitKind::FullQk, CircuitKind::FullOv};

std::string_view circuitName(CircuitKind kind); ///< As in the session file: "qk", "ov", "full_qk", "full_ov".
std::string_view circuitFormula(CircuitKind kind); ///< "W_Q W_Kᵀ", …
constexpr bool isFull(CircuitKind kind)
{
    return kind == CircuitKind::FullQk || kind == CircuitKind::FullOv;
}

/// Precision in which numbers are kept and returned; sums, Gram products and decompositions are in double either way.
enum class Precision { F32, F64 };

/// The token side of every full circuit of a model: the matrices E and W_U and their Gram products, computed once.
///
/// Source of the Gram trick: DESIGN §2, facts: every spectrum of a full circuit is [r, r] work per head afterwards.
struct TokenSide {
    Embedding embedding = Embedding::Raw;
    Matrix<float> E;       ///< [V, d], for heads of layer ≥ 1
    Matrix<float> layer0E; ///< [V, d], for layer 0 where it differs from E (effective); empty otherwise
    Matrix<float> W_U;     ///< [d, V out]
    Matrix<double> E64, layer0E64,
        W_U64;                     ///< The same before rounding; empty unless Precision::F64 was asked.
    Matrix<double> EtE, layer0EtE; ///< [d, d] Eᵀ E
    Matrix<double> UUt;            ///< [d, d] W_U W_Uᵀ
    Matrix<double> UE, layer0UE;   ///< [d, d] W_U E; empty where the two vocabularies differ

    bool isLayer0Special(int layer) const { return layer == 0 && layer0E.size() > 0; }
    const Matrix<float>& embeddingOf(int layer) const { return isLayer0Special(layer) ? layer0E : E; }
    const Matrix<double>& embeddingGramOf(int layer) const
    {
        return isLayer0Special(layer) ? layer0EtE : EtE;
    }
    const Matrix<double>& unembedEmbedOf(int layer) const { return isLayer0Special(layer) ? layer0UE : UE; }
    bool isSquare() const { return E.rows() == W_U.cols(); } ///< Whether full OV has eigenvalues.
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

    /// E W_Q · (E W_K)ᵀ, [V, V], and E W_V · W_O W_U, [V, V out]; Scalar float or double (from the unrounded token side
    /// where there is one).
    template <typename Scalar>
    FactoredMatrix<Scalar> fullQk(HeadId head, const TokenSide& tokens) const;
    template <typename Scalar>
    FactoredMatrix<Scalar> fullOv(HeadId head, const TokenSide& tokens) const;

    /// Any of the four. \param tokens may be null for qk and ov.
    template <typename Scalar>
    FactoredMatrix<Scalar> circuit(CircuitKind kind, HeadId head, const TokenSide* tokens) const;

private:
    std::shared_ptr<const ProcessedWeights> m_weights;
};

/// Why this embedding makes no sense for a model (mlp0 without MLPs); empty if it does.
std::string whyNotEmbedding(const ModelConfig& config, Embedding embedding);

/// The vectors of an embedding as heads of one layer see them, read a few at a time.
class TokenVectors {
public:
    /// \param embedding one that the model has (`whyNotEmbedding`)
    TokenVectors(const ProcessedWeights& weights, Embedding embedding, int layer);
    ~TokenVectors();
    TokenVectors(const TokenVectors&) = delete;
    TokenVectors& operator=(const TokenVectors&) = delete;

    Matrix<float> rows(Eigen::Index firstToken, Eigen::Index count) const; ///< [count, d]

private:
    struct Reader;
    std::unique_ptr<const Reader> m_reader;
};

/// Rows, columns and pictures need the matrices alone; spectra and eigenvalues their Gram products too.
enum class TokenParts { MatricesAlone, WithGrams };

/// Reads E and W_U once and forms their Gram products, in blocks, in double.
/// Errors: InvalidArgument as `whyNotEmbedding`, Cancelled, OutOfMemory.
/// Cost: 4 V d² flops in double; with effective or mlp0 the layer-0 MLP on every token besides.
Result<std::shared_ptr<const TokenSide>> tokenSide(const Circuits& circuits, Embedding embedding,
                                                   const Task& task, Precision precision = Precision::F32,
                                                   TokenParts parts = TokenParts::WithGrams);

} // namespace headwise
