#include "core/circuits/circuits.h"

#include <cassert>
#include <utility>

namespace headwise {

namespace {

constexpr std::array<std::string_view, 4> embeddingNames{"raw", "effective", "mlp0", "unembed"};

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
    const TokenMatrix& E = tokens.embeddingOf(head.layer);
    return factored<Scalar>(rowsTimes(E, weights.W_Q), rowsTimes(E, weights.W_K).transpose());
}

template <typename Scalar>
FactoredMatrix<Scalar> Circuits::fullOv(HeadId head, const TokenSide& tokens) const
{
    assert(contains(head));
    const HeadWeights<Scalar> weights = m_weights->head<Scalar>(head, HeadParts::ValuesAndOutput);
    return factored<Scalar>(rowsTimes(tokens.embeddingOf(head.layer), weights.W_V),
                            timesColumns(weights.W_O, tokens.W_U));
}

template <typename Scalar>
FactoredMatrix<Scalar> Circuits::circuit(CircuitKind kind, HeadId head, const TokenSide* tokens) const
{
    assert(contains(head) && (tokens || !isFull(kind)));
    if (tokens && isFull(kind))
        return kind == CircuitKind::FullQk ? fullQk<Scalar>(head, *tokens) : fullOv<Scalar>(head, *tokens);
    const bool isQk = kind == CircuitKind::Qk;
    HeadWeights<Scalar> weights =
        m_weights->head<Scalar>(head, isQk ? HeadParts::QueriesAndKeys : HeadParts::ValuesAndOutput);
    if (isQk)
        return factored<Scalar>(std::move(weights.W_Q), weights.W_K.transpose());
    return factored<Scalar>(std::move(weights.W_V), std::move(weights.W_O));
}

template FactoredMatrix<float> Circuits::fullQk(HeadId, const TokenSide&) const;
template FactoredMatrix<double> Circuits::fullQk(HeadId, const TokenSide&) const;
template FactoredMatrix<float> Circuits::fullOv(HeadId, const TokenSide&) const;
template FactoredMatrix<double> Circuits::fullOv(HeadId, const TokenSide&) const;
template FactoredMatrix<float> Circuits::circuit(CircuitKind, HeadId, const TokenSide*) const;
template FactoredMatrix<double> Circuits::circuit(CircuitKind, HeadId, const TokenSide*) const;

} // namespace headwise
