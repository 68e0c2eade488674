#include "core/circuits/circuits.h"

#include <cassert>
#include <utility>

namespace headwise {

namespace {

constexpr std::array<std::string_view, 4> embeddingNames{"raw", "effective", "mlp0", "unembed"};
constexpr Eigen::Index circuitsTokensPerBlock = 2048;

template <typename Scalar>
FactoredMatrix<Scalar> factored(Matrix<Scalar> left, Matrix<Scalar> right)
{
    auto matrix = FactoredMatrix<Scalar>::create(std::move(left), std::move(right));
    assert(matrix); // the loader has checked every shape
    return std::move(matrix).value();
}

} // namespace

std::string_view embeddingName(Embedding embedding)
{
    return embeddingNames[static_cast<std::size_t>(embedding)];
}

std::optional<Embedding> parseEmbedding(std::string_view name)
{
    for (std::size_t i = 0; i < embeddingNames.size(); ++i) {
        if (embeddingNames[i] == name)
            return static_cast<Embedding>(i);
    }
    return std::nullopt;
}

std::string_view circuitName(CircuitKind kind)
{
    static constexpr std::array<std::string_view, 4> names{"qk", "ov", "full_qk", "full_ov"};
    return names[static_cast<std::size_t>(kind)];
}

std::string_view circuitTitle(CircuitKind kind)
{
    static constexpr std::array<std::string_view, 4> titles{"QK", "OV", "full QK", "full OV"};
    return titles[static_cast<std::size_t>(kind)];
}

std::string_view circuitFormula(CircuitKind kind)
{
    static constexpr std::array<std::string_view, 4> formulas{"W_Q W_Kᵀ", "W_V W_O", "E W_Q W_Kᵀ Eᵀ",
                                                              "E W_V W_O W_U"};
    return formulas[static_cast<std::size_t>(kind)];
}

template <typename Scalar>
Matrix<Scalar> embedded(const TokenSide& tokens, int layer, const Matrix<Scalar>& W)
{
    if (tokens.source) { // of the raw embedding
        Matrix<Scalar> out(tokens.tokenCount(), W.cols());
        for (Eigen::Index first = 0; first < out.rows(); first += circuitsTokensPerBlock) {
            const Eigen::Index count = std::min(circuitsTokensPerBlock, out.rows() - first);
            out.middleRows(first, count).noalias() = tokens.source->weights.W_E<Scalar>(first, count) * W;
        }
        return out;
    }
    const Matrix<float>& E = tokens.embeddingOf(layer);
    if constexpr (std::is_same_v<Scalar, float>) {
        return E * W;
    } else {
        const Matrix<double>& exact = tokens.isLayer0Special(layer) ? tokens.layer0E64 : tokens.E64;
        if (exact.size() > 0)
            return exact * W;
        Matrix<double> out(E.rows(),
                           W.cols()); // block by block, without a second copy of the whole token side
        for (Eigen::Index first = 0; first < E.rows(); first += circuitsTokensPerBlock) {
            const Eigen::Index count = std::min(circuitsTokensPerBlock, E.rows() - first);
            out.middleRows(first, count).noalias() = E.middleRows(first, count).cast<double>() * W;
        }
        return out;
    }
}

template <typename Scalar>
Matrix<Scalar> unembedded(const Matrix<Scalar>& W, const TokenSide& tokens)
{
    if (tokens.source) {
        Matrix<Scalar> out(W.rows(), tokens.outputCount());
        for (Eigen::Index first = 0; first < out.cols(); first += circuitsTokensPerBlock) {
            const Eigen::Index count = std::min(circuitsTokensPerBlock, out.cols() - first);
            out.middleCols(first, count).noalias() = W * tokens.source->weights.W_U<Scalar>(first, count);
        }
        return out;
    }
    if constexpr (std::is_same_v<Scalar, float>) {
        return W * tokens.W_U;
    } else {
        if (tokens.W_U64.size() > 0)
            return W * tokens.W_U64;
        Matrix<double> out(W.rows(), tokens.W_U.cols());
        for (Eigen::Index first = 0; first < out.cols(); first += circuitsTokensPerBlock) {
            const Eigen::Index count = std::min(circuitsTokensPerBlock, out.cols() - first);
            out.middleCols(first, count).noalias() = W * tokens.W_U.middleCols(first, count).cast<double>();
        }
        return out;
    }
}

Circuits::Circuits(std::shared_ptr<const ProcessedWeights> weights)
    : m_weights(std::move(weights))
{
    assert(m_weights);
}

bool Circuits::contains(HeadId head) const
{
    return head.layer >= 0 && head.layer < config().nLayers && head.head >= 0 && head.head < config().nHeads;
}

FactoredMatrix<double> Circuits::qk(HeadId head) const
{
    return circuit<double>(CircuitKind::Qk, head, nullptr);
}

FactoredMatrix<double> Circuits::ov(HeadId head) const
{
    return circuit<double>(CircuitKind::Ov, head, nullptr);
}

template <typename Scalar>
FactoredMatrix<Scalar> Circuits::fullQk(HeadId head, const TokenSide& tokens) const
{
    assert(contains(head));
    const HeadWeights<Scalar> weights = m_weights->head<Scalar>(head, HeadParts::QueriesAndKeys);
    return factored<Scalar>(embedded(tokens, head.layer, weights.W_Q),
                            embedded(tokens, head.layer, weights.W_K).transpose());
}

template <typename Scalar>
FactoredMatrix<Scalar> Circuits::fullOv(HeadId head, const TokenSide& tokens) const
{
    assert(contains(head));
    const HeadWeights<Scalar> weights = m_weights->head<Scalar>(head, HeadParts::ValuesAndOutput);
    return factored<Scalar>(embedded(tokens, head.layer, weights.W_V), unembedded(weights.W_O, tokens));
}

template <typename Scalar>
FactoredMatrix<Scalar> Circuits::circuit(CircuitKind kind, HeadId head, const TokenSide* tokens) const
{
    assert(contains(head) && (tokens || !isFull(kind)));
    if (kind == CircuitKind::FullQk)
        return fullQk<Scalar>(head, *tokens);
    if (kind == CircuitKind::FullOv)
        return fullOv<Scalar>(head, *tokens);
    const bool isQk = kind == CircuitKind::Qk;
    HeadWeights<Scalar> weights =
        m_weights->head<Scalar>(head, isQk ? HeadParts::QueriesAndKeys : HeadParts::ValuesAndOutput);
    if (isQk)
        return factored<Scalar>(std::move(weights.W_Q), weights.W_K.transpose());
    return factored<Scalar>(std::move(weights.W_V), std::move(weights.W_O));
}

template Matrix<float> embedded(const TokenSide&, int, const Matrix<float>&);
template Matrix<double> embedded(const TokenSide&, int, const Matrix<double>&);
template Matrix<float> unembedded(const Matrix<float>&, const TokenSide&);
template Matrix<double> unembedded(const Matrix<double>&, const TokenSide&);
template FactoredMatrix<float> Circuits::fullQk(HeadId, const TokenSide&) const;
template FactoredMatrix<double> Circuits::fullQk(HeadId, const TokenSide&) const;
template FactoredMatrix<float> Circuits::fullOv(HeadId, const TokenSide&) const;
template FactoredMatrix<double> Circuits::fullOv(HeadId, const TokenSide&) const;
template FactoredMatrix<float> Circuits::circuit(CircuitKind, HeadId, const TokenSide*) const;
template FactoredMatrix<double> Circuits::circuit(CircuitKind, HeadId, const TokenSide*) const;

} // namespace headwise
