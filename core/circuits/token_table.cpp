#include "core/circuits/token_table.h"

#include "core/base/parallel.h"
#include "core/circuits/head_at_offset.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace headwise {

namespace {

std::optional<Error> wrongLine(const Circuits& circuits, const CircuitOfHead& of, TableSide side, int token)
{
    const ModelConfig& config = circuits.config();
    if (!isFull(of.kind))
        return Error{ErrorCode::InvalidArgument, "Rows of tokens exist in full QK and full OV only."};
    if (auto error = wrongCircuit(circuits, of))
        return error;
    const bool isOutput = of.kind == CircuitKind::FullOv && side == TableSide::Column;
    const int count = isOutput ? config.dVocabOut : config.dVocab;
    if (token < 0 || token >= count) {
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format("There is no token {}: the ids of this model are 0 to {}.", token, count - 1)};
    }
    return std::nullopt;
}

/// A line before its last product. The entry of a token is (x · v + constant) · factor, where v is the token's embedding,
/// or its column of W_U in a row of full OV.
struct LineDirection {
    RowVector<double> x; // [d]
    double constant = 0;
    double factor = 1;
};

/// \param token [d] the vector of the line's own token: its embedding, or its column of W_U in a column of full OV
LineDirection lineDirection(const Circuits& circuits, const CircuitOfHead& of, TableSide side,
                            const RowVector<double>& token)
{
    const HeadWeights<double> weights = headAtOffset<double>(circuits, of);
    const bool isRow = side == TableSide::Row;
    LineDirection line;
    if (of.kind == CircuitKind::FullQk) {
        RowVector<double> inside = token * (isRow ? weights.W_Q : weights.W_K);
        if (of.terms.biases) {
            inside += isRow ? weights.b_Q : weights.b_K;
            line.constant = inside.dot(isRow ? weights.b_K : weights.b_Q);
        }
        line.x = inside * (isRow ? weights.W_K : weights.W_Q).transpose();
        if (of.terms.scale)
            line.factor = circuits.config().attentionScaleOf(of.head.layer);
    } else if (isRow) {
        RowVector<double> inside = token * weights.W_V;
        if (of.terms.biases)
            inside += weights.b_V;
        line.x = inside * weights.W_O;
    } else {
        const RowVector<double> inside = token * weights.W_O.transpose();
        line.x = inside * weights.W_V.transpose();
        if (of.terms.biases)
            line.constant = weights.b_V.dot(inside);
    }
    return line;
}

RowVector<double> entries(const LineDirection& line, RowVector<double> products)
{
    return (products.array() + line.constant) * line.factor;
}

/// True if the entries of a line belong to output tokens.
bool isOfOutputs(const CircuitOfHead& of, TableSide side)
{
    return of.kind == CircuitKind::FullOv && side == TableSide::Row;
}

} // namespace

TokenEnds ends(const RowVector<double>& values, int k, const std::vector<bool>& unused)
{
    std::vector<int> ids;
    for (int id = 0; id < values.size(); ++id) {
        if (static_cast<std::size_t>(id) >= unused.size() || !unused[static_cast<std::size_t>(id)])
            ids.push_back(id);
    }
    const auto count = static_cast<std::ptrdiff_t>(
        std::min<std::size_t>(ids.size(), static_cast<std::size_t>(std::max(k, 0))));
    const auto listed = [&](auto isBefore) {
        std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), isBefore);
        std::vector<TokenEntry> entries;
        for (std::ptrdiff_t i = 0; i < count; ++i)
            entries.push_back({ids[static_cast<std::size_t>(i)], values(ids[static_cast<std::size_t>(i)])});
        return entries;
    };
    TokenEnds out;
    out.top =
        listed([&](int a, int b) { return values(a) > values(b) || (values(a) == values(b) && a < b); });
    out.bottom =
        listed([&](int a, int b) { return values(a) < values(b) || (values(a) == values(b) && a < b); });
    return out;
}

Result<RowVector<double>> tokenLine(const Circuits& circuits, const TokenSide& tokens,
                                    const CircuitOfHead& of, TableSide side, int token)
{
    if (const auto error = wrongLine(circuits, of, side, token))
        return *error;
    const TokenMatrix& E = tokens.embeddingOf(of.head.layer);
    const bool isOutput = of.kind == CircuitKind::FullOv && side == TableSide::Column;
    const LineDirection line = lineDirection(circuits, of, side, (isOutput ? tokens.W_U : E).vector(token));
    auto products = dotTokens(isOfOutputs(of, side) ? tokens.W_U : E, line.x, Task{}, "");
    if (!products)
        return products.error();
    return entries(line, *std::move(products));
}

Result<RowVector<double>> tokenRowOnce(const Circuits& circuits, Embedding embedding, const CircuitOfHead& of,
                                       int token, const Task& task)
{
    if (const auto error = wrongLine(circuits, of, TableSide::Row, token))
        return *error;
    if (std::string none = whyNoVocabulary(circuits.config()); !none.empty())
        return Error{ErrorCode::InvalidArgument, std::move(none)};
    if (std::string reason = whyNotEmbedding(circuits.config(), embedding); !reason.empty())
        return Error{ErrorCode::InvalidArgument, std::move(reason)};
    const ProcessedWeights& weights = circuits.weights();
    const TokenMatrix E = tokenVectors(weights, embedding, of.head.layer);
    const LineDirection line = lineDirection(circuits, of, TableSide::Row, E.vector(token));
    const bool ofOutputs = isOfOutputs(of, TableSide::Row);
    auto products = dotTokens(ofOutputs ? outputVectors(weights) : E, line.x, task,
                              ofOutputs ? "unembedding" : "embedding");
    if (!products)
        return products.error();
    return entries(line, *std::move(products));
}

double LineStatistics::zScore(double value) const
{
    return deviation > 0 ? (value - mean) / deviation : std::numeric_limits<double>::quiet_NaN();
}

double LineStatistics::share(double value) const
{
    return norm > 0 ? value * value / (norm * norm) : std::numeric_limits<double>::quiet_NaN();
}

LineStatistics lineStatistics(const RowVector<double>& values, const std::vector<bool>& unused)
{
    const auto isUsed = [&](Eigen::Index id) {
        return static_cast<std::size_t>(id) >= unused.size() || !unused[static_cast<std::size_t>(id)];
    };
    LineStatistics statistics;
    double sum = 0, squares = 0, count = 0;
    for (Eigen::Index id = 0; id < values.size(); ++id) {
        if (!isUsed(id))
            continue;
        sum += values(id);
        squares += values(id) * values(id);
        ++count;
    }
    if (count == 0)
        return statistics;
    statistics.mean = sum / count;
    statistics.norm = std::sqrt(squares);
    double spread = 0; // a second pass, so that a large mean does not cancel the digits
    for (Eigen::Index id = 0; id < values.size(); ++id) {
        if (isUsed(id))
            spread += (values(id) - statistics.mean) * (values(id) - statistics.mean);
    }
    statistics.deviation = std::sqrt(spread / count);
    return statistics;
}

template <typename Scalar>
RowVector<double> lineNorms(const FactoredMatrix<Scalar>& circuit, TableSide side)
{
    const bool isRow = side == TableSide::Row;
    const Matrix<double> tokens = isRow ? Matrix<double>(circuit.left().template cast<double>())
                                        : Matrix<double>(circuit.right().transpose().template cast<double>());
    const Matrix<double> other = isRow ? Matrix<double>(circuit.right().transpose().template cast<double>())
                                       : Matrix<double>(circuit.left().template cast<double>());
    const Matrix<double> gram = other.transpose() * other; // [r, r]
    const Matrix<double> product = tokens * gram;
    return product.cwiseProduct(tokens).rowwise().sum().cwiseMax(0).cwiseSqrt().transpose();
}

template RowVector<double> lineNorms(const FactoredMatrix<float>&, TableSide);
template RowVector<double> lineNorms(const FactoredMatrix<double>&, TableSide);

} // namespace headwise
