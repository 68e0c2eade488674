#include "core/circuits/block.h"

#include "core/base/parallel.h"
#include "core/circuits/head_at_offset.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
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
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format("A picture of {} × {} entries exceeds the limit of {}; choose fewer rows or columns.",
                        rowIds.size(), colIds.size(), largestBlock)};
    }
    return std::nullopt;
}

bool isQk(CircuitKind kind)
{
    return kind == CircuitKind::Qk || kind == CircuitKind::FullQk;
}

/// The factors of a head's circuit, and the biases added on either side.
struct HeadSides {
    Matrix<float> in;         // [d, r] W_Q or W_V
    Matrix<float> out;        // [r, d] W_Kᵀ or W_O
    RowVector<float> inBias;  // [r] b_Q or b_V
    RowVector<float> outBias; // [r] b_K; unused for OV

    HeadSides(const HeadWeights<float>& weights, CircuitKind kind)
        : in(isQk(kind) ? weights.W_Q : weights.W_V)
        , out(isQk(kind) ? Matrix<float>(weights.W_K.transpose()) : weights.W_O)
        , inBias(isQk(kind) ? weights.b_Q : weights.b_V)
        , outBias(weights.b_K)
    {
    }
};

} // namespace

Result<Matrix<float>> circuitBlock(const Circuits& circuits, const TokenSide* tokens, const CircuitOfHead& of,
                                   const std::vector<int>& rowIds, const std::vector<int>& colIds)
{
    if (const auto error = wrongCircuit(circuits, of))
        return *error;
    const Eigen::Index d = circuits.config().dModel;
    const Eigen::Index rows = isFull(of.kind) ? tokens->E.count() : d;
    const Eigen::Index cols = of.kind == CircuitKind::FullOv ? tokens->W_U.count() : rows;
    if (const auto error = wrongBlock(rowIds, rows, colIds, cols))
        return *error;
    const HeadSides sides(headAtOffset<float>(circuits, of), of.kind);
    Matrix<float> left;  // [rows, r]
    Matrix<float> right; // [r, cols]
    if (isFull(of.kind)) {
        const TokenMatrix& E = tokens->embeddingOf(of.head.layer);
        const Matrix<float> sources = E.of<float>(rowIds);
        const Matrix<float> targets =
            isQk(of.kind) ? Matrix<float>(E.of<float>(colIds).transpose()) : tokens->W_U.of<float>(colIds);
        left = sources * sides.in;
        right = sides.out * targets;
        if (of.terms.biases)
            left.rowwise() += sides.inBias;
        if (of.terms.biases && isQk(of.kind))
            right.colwise() += Eigen::VectorXf(sides.outBias.transpose());
    } else {
        left = sides.in(rowIds, Eigen::all);
        right = sides.out(Eigen::all, colIds);
    }
    Matrix<float> block = left * right;
    if (of.terms.scale && isQk(of.kind))
        block *= static_cast<float>(circuits.config().attentionScaleOf(of.head.layer));
    return block;
}

Result<Matrix<float>> directPathBlock(const Circuits& circuits, const TokenSide& tokens, bool withBias,
                                      const std::vector<int>& rowIds, const std::vector<int>& colIds)
{
    if (auto error = wrongBlock(rowIds, tokens.E.count(), colIds, tokens.W_U.count()))
        return *error;
    const Matrix<float> read = tokens.E.of<float>(rowIds);
    const Matrix<float> written = tokens.W_U.of<float>(colIds);
    Matrix<float> block = read * written;
    if (withBias)
        block.rowwise() += RowVector<float>(
            circuits.weights().b_U<float>(0, circuits.config().dVocabOut)(Eigen::all, colIds));
    return block;
}

Result<RowVector<double>> directPathLine(const Circuits& circuits, const TokenSide& tokens, bool withBias,
                                         TableSide side, int token)
{
    const bool isRow = side == TableSide::Row;
    const Eigen::Index count = isRow ? tokens.E.count() : tokens.W_U.count();
    if (token < 0 || token >= count)
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format("There is no token {}: the ids of this model are 0 to {}.", token, count - 1)};
    const RowVector<double> vector = (isRow ? tokens.E : tokens.W_U).vector(token);
    auto products = dotTokens(isRow ? tokens.W_U : tokens.E, vector, Task{}, "");
    if (!products)
        return products.error();
    RowVector<double> line = *std::move(products);
    const ProcessedWeights& weights = circuits.weights();
    if (withBias && isRow)
        line += weights.b_U<double>(0, line.size());
    else if (withBias)
        line.array() += weights.b_U<double>(token, 1)(0);
    return line;
}

Result<FactoredMatrix<float>> circuitFactors(const Circuits& circuits, const TokenSide& tokens,
                                             const CircuitOfHead& of, const Task& task)
{
    if (const auto error = wrongCircuit(circuits, of))
        return *error;
    const HeadSides sides(headAtOffset<float>(circuits, of), of.kind);
    const TokenMatrix& E = tokens.embeddingOf(of.head.layer);
    const Eigen::Index targets = isQk(of.kind) ? E.count() : tokens.W_U.count();
    Matrix<float> left(E.count(), sides.in.cols());
    Matrix<float> right(sides.out.rows(), targets);
    constexpr Eigen::Index some = 2048; // tokens at a time
    const auto blocks = static_cast<int>((std::max(E.count(), targets) + some - 1) / some);
    const auto done = parallelFor(2 * blocks, task, "tokens", [&](int i) -> Result<Done> {
        const Eigen::Index first = i / 2 * some;
        const Eigen::Index count = std::min(some, (i % 2 == 0 ? E.count() : targets) - first);
        if (count <= 0)
            return Done{};
        if (i % 2 == 0)
            left.middleRows(first, count).noalias() = *E.block<float>(first, count) * sides.in;
        else if (isQk(of.kind))
            right.middleCols(first, count).noalias() = sides.out * E.block<float>(first, count)->transpose();
        else
            right.middleCols(first, count).noalias() = sides.out * *tokens.W_U.block<float>(first, count);
        return Done{};
    });
    if (!done)
        return done.error();
    if (of.terms.biases)
        left.rowwise() += sides.inBias;
    if (of.terms.biases && isQk(of.kind))
        right.colwise() += Eigen::VectorXf(sides.outBias.transpose());
    if (of.terms.scale && isQk(of.kind))
        left *= static_cast<float>(circuits.config().attentionScaleOf(of.head.layer));
    return FactoredMatrix<float>::create(std::move(left), std::move(right));
}

Result<Matrix<float>> wholeCircuit(const Circuits& circuits, const CircuitOfHead& of)
{
    if (isFull(of.kind))
        return Error{ErrorCode::InvalidArgument, "A full circuit can only be shown for chosen tokens."};
    std::vector<int> all(static_cast<std::size_t>(circuits.config().dModel));
    std::iota(all.begin(), all.end(), 0);
    auto block = circuitBlock(circuits, nullptr, {of.kind, of.head, {false, of.terms.scale, of.terms.offset}},
                              all, all);
    if (!block || !of.terms.biases)
        return block;
    // [W; b] on each side with a bias: one more row, and for QK one more column.
    const HeadSides sides(headAtOffset<float>(circuits, of), of.kind);
    const float scale = of.terms.scale && isQk(of.kind)
        ? static_cast<float>(circuits.config().attentionScaleOf(of.head.layer))
        : 1.F;
    const Eigen::Index d = block->rows();
    Matrix<float> augmented(d + 1, isQk(of.kind) ? d + 1 : d);
    augmented.topLeftCorner(d, d) = *block;
    augmented.row(d).head(d) = scale * (sides.inBias * sides.out);
    if (isQk(of.kind)) {
        augmented.col(d).head(d) = scale * (sides.in * sides.outBias.transpose());
        augmented(d, d) = scale * sides.inBias.dot(sides.outBias);
    }
    return augmented;
}

Matrix<float> inRowForm(const Matrix<float>& block, RowForm form)
{
    if (form == RowForm::Raw)
        return block;
    Matrix<float> out(block.rows(), block.cols());
    for (Eigen::Index i = 0; i < block.rows(); ++i) {
        const Eigen::ArrayXd row = block.row(i).transpose().cast<double>();
        if (form == RowForm::Softmax) {
            const Eigen::ArrayXd weights = (row - row.maxCoeff()).exp();
            out.row(i) = (weights / weights.sum()).cast<float>().matrix().transpose();
            continue;
        }
        const Eigen::ArrayXd centred = row - row.mean();
        const double deviation = form == RowForm::ZScores ? std::sqrt(centred.square().mean()) : 1;
        out.row(i) = (centred / deviation).cast<float>().matrix().transpose(); // 0/0: NaN
    }
    return out;
}

std::vector<int> byNorm(const Matrix<float>& block, bool ofColumns)
{
    const Eigen::VectorXf norms = ofColumns ? Eigen::VectorXf(block.colwise().norm().transpose())
                                            : Eigen::VectorXf(block.rowwise().norm());
    std::vector<int> order(static_cast<std::size_t>(norms.size()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return norms(a) > norms(b); });
    return order;
}

} // namespace headwise
