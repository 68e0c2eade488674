#include "core/analysis/block.h"

#include <spdlog/fmt/fmt.h>

#include <numeric>
#include <optional>

namespace headwise {

namespace {

std::optional<Error> wrongIds(const std::vector<int>& ids, Eigen::Index count, std::string_view what)
{
    if (ids.empty())
        return Error{ErrorCode::InvalidArgument, fmt::format("A picture needs at least one {}.", what)};
    for (const int id : ids) {
        if (id < 0 || id >= count) {
            return Error{ErrorCode::InvalidArgument,
                         fmt::format("There is no {} {}: they go from 0 to {}.", what, id, count - 1)};
        }
    }
    return std::nullopt;
}

std::optional<Error> wrongBlock(const std::vector<int>& rowIds, Eigen::Index rows,
                                const std::vector<int>& colIds, Eigen::Index cols)
{
    if (auto error = wrongIds(rowIds, rows, "row"))
        return error;
    if (auto error = wrongIds(colIds, cols, "column"))
        return error;
    const auto entries = static_cast<double>(rowIds.size()) * static_cast<double>(colIds.size());
    if (entries > static_cast<double>(largestBlock)) {
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("A picture of {} × {} entries is more than the {} one may have; choose "
                                 "fewer rows or columns.",
                                 rowIds.size(), colIds.size(), largestBlock)};
    }
    return std::nullopt;
}

std::optional<Error> wrongHead(const Circuits& circuits, HeadId head)
{
    if (circuits.contains(head))
        return std::nullopt;
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("There is no head {}: this model has layers 0 to {} with heads 0 to {}.",
                             dottedHead(head), circuits.config().nLayers - 1, circuits.config().nHeads - 1)};
}

} // namespace

Result<Matrix<float>> denseBlock(const FactoredMatrix<float>& circuit, const std::vector<int>& rowIds,
                                 const std::vector<int>& colIds)
{
    if (const auto error = wrongBlock(rowIds, circuit.rows(), colIds, circuit.cols()))
        return *error;
    return circuit.at(rowIds, colIds);
}

Result<Matrix<float>> circuitBlock(const Circuits& circuits, const TokenSide* tokens, CircuitKind kind,
                                   HeadId head, const std::vector<int>& rowIds,
                                   const std::vector<int>& colIds)
{
    if (const auto error = wrongHead(circuits, head))
        return *error;
    const Eigen::Index d = circuits.config().dModel;
    const Eigen::Index rows = isFull(kind) ? tokens->E.rows() : d;
    const Eigen::Index cols = kind == CircuitKind::FullOv ? tokens->W_U.cols() : rows;
    if (const auto error = wrongBlock(rowIds, rows, colIds, cols))
        return *error;
    const HeadWeights<float> weights = circuits.weights().head<float>(head);
    const bool isQk = kind == CircuitKind::Qk || kind == CircuitKind::FullQk;
    const Matrix<float>& in = isQk ? weights.W_Q : weights.W_V;
    const Matrix<float> out = isQk ? Matrix<float>(weights.W_K.transpose()) : weights.W_O; // [r, d]
    if (!isFull(kind)) {
        const Matrix<float> left = in(rowIds, Eigen::all);
        const Matrix<float> right = out(Eigen::all, colIds);
        return Matrix<float>(left * right);
    }
    const Matrix<float>& E = tokens->embeddingOf(head.layer);
    const Matrix<float> sources = E(rowIds, Eigen::all);
    const Matrix<float> targets = isQk ? Matrix<float>(E(colIds, Eigen::all).transpose())
                                       : Matrix<float>(tokens->W_U(Eigen::all, colIds));
    const Matrix<float> left = sources * in;
    const Matrix<float> right = out * targets;
    return Matrix<float>(left * right);
}

Result<Matrix<float>> wholeCircuit(const Circuits& circuits, CircuitKind kind, HeadId head)
{
    if (isFull(kind))
        return Error{ErrorCode::InvalidArgument,
                     "A full circuit is shown for chosen tokens, never as a whole."};
    std::vector<int> all(static_cast<std::size_t>(circuits.config().dModel));
    std::iota(all.begin(), all.end(), 0);
    return circuitBlock(circuits, nullptr, kind, head, all, all);
}

} // namespace headwise
