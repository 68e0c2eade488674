#include "core/circuits/head_at_offset.h"

#include "core/model/families/attention_parts.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <utility>

namespace headwise {

namespace {

bool isTurned(const CircuitOfHead& of)
{
    return of.terms.offset != 0 && (of.kind == CircuitKind::Qk || of.kind == CircuitKind::FullQk);
}

/// Multiplies every row by R(offset). \param rows [n, r]
template <typename Scalar>
void turn(Matrix<Scalar>& rows, const Rotation& rotation, int offset)
{
    for (Eigen::Index i = 0; i < rows.rows(); ++i)
        rows.row(i) = rotation.turned(rows.row(i).template cast<double>(), offset).template cast<Scalar>();
}

Rotation rotationOf(const ModelConfig& config, int layer)
{
    Rotary rotary = config.rotaryOf(layer);
    rotary.scaling.attentionFactor = 1;
    return Rotation(rotary);
}

} // namespace

std::optional<Error> wrongCircuit(const Circuits& circuits, const CircuitOfHead& of)
{
    const ModelConfig& config = circuits.config();
    if (!circuits.contains(of.head)) {
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("There is no head {}: this model has layers 0 to {} with heads 0 to {}.",
                                 dottedHead(of.head), config.nLayers - 1, config.nHeads - 1)};
    }
    if (!isTurned(of))
        return std::nullopt;
    constexpr std::array needed{ConfigField::Positions, ConfigField::RotaryBase};
    if (std::string why = whyUnknown(config, needed, "A circuit at an offset"); !why.empty())
        return Error{ErrorCode::InvalidArgument, std::move(why)};
    if (config.positional != Positional::Rotary)
        return Error{ErrorCode::InvalidArgument,
                     "Circuits at an offset need rotary positions, which this model does not have."};
    if (of.terms.offset < 0 || (config.isKnown(ConfigField::Context) && of.terms.offset >= config.nCtx)) {
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("There is no offset {}: in this model's context they are 0 to {}.",
                                 of.terms.offset, config.nCtx - 1)};
    }
    return std::nullopt;
}

template <typename Scalar>
HeadWeights<Scalar> headAtOffset(const Circuits& circuits, const CircuitOfHead& of)
{
    HeadWeights<Scalar> weights = circuits.weights().head<Scalar>(of.head);
    if (!isTurned(of))
        return weights;
    const Rotation rotation = rotationOf(circuits.config(), of.head.layer);
    turn(weights.W_Q, rotation, of.terms.offset);
    weights.b_Q =
        rotation.turned(weights.b_Q.template cast<double>(), of.terms.offset).template cast<Scalar>();
    return weights;
}

template HeadWeights<float> headAtOffset(const Circuits&, const CircuitOfHead&);
template HeadWeights<double> headAtOffset(const Circuits&, const CircuitOfHead&);

Result<FactoredMatrix<double>> circuitAtOffset(const Circuits& circuits, const CircuitOfHead& of,
                                               const TokenSide* tokens)
{
    if (auto error = wrongCircuit(circuits, of))
        return *std::move(error);
    FactoredMatrix<double> circuit = circuits.circuit<double>(of.kind, of.head, tokens);
    if (!isTurned(of))
        return circuit;
    Matrix<double> left = circuit.left(); // [rows, r]: R(Δ) follows W_Q
    turn(left, rotationOf(circuits.config(), of.head.layer), of.terms.offset);
    return FactoredMatrix<double>::create(std::move(left), circuit.right());
}

} // namespace headwise
