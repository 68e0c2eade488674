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

constexpr Eigen::Index tokenTableTokensPerBlock = 512;

/// Returns tokens · xᵀ in double, in strips whose sums stay in the cache; E stays in its own precision.
/// \param x [d] \returns [V]
RowVector<double> dotRows(const Matrix<float>& E, const Matrix<double>& exact, const RowVector<double>& x)
{
    if (exact.size() > 0)
        return (exact * x.transpose()).transpose();
    constexpr Eigen::Index tokensPerStrip = 2048;
    Eigen::VectorXd out = Eigen::VectorXd::Zero(E.rows());
    for (Eigen::Index first = 0; first < E.rows(); first += tokensPerStrip) {
        auto sums = out.segment(first, std::min(tokensPerStrip, E.rows() - first));
        const auto term = [&](Eigen::Index k) {
            return E.col(k).segment(first, sums.size()).cast<double>() * x(k);
        };
        Eigen::Index k = 0;
        // four at once, so that the sums are read and written a quarter as often
        for (; k + 4 <= E.cols(); k += 4)
            sums += term(k) + term(k + 1) + term(k + 2) + term(k + 3);
        for (; k < E.cols(); ++k)
            sums += term(k);
    }
    return out.transpose();
}

/// Returns x · W_U in double; the cast part of W_U stays in the cache. \param x [d]
RowVector<double> dotColumns(const RowVector<double>& x, const Matrix<float>& W_U,
                             const Matrix<double>& exact)
{
    if (exact.size() > 0)
        return x * exact;
    const Eigen::VectorXd direction = x.transpose();
    RowVector<double> out(W_U.cols());
    Eigen::VectorXd column(W_U.rows());
    for (Eigen::Index token = 0; token < W_U.cols(); ++token) {
        column = W_U.col(token).cast<double>();
        out(token) = column.dot(direction);
    }
    return out;
}

/// The token vectors that the heads of one layer read.
struct TokenRows {
    const Matrix<float>& E;      // [V, d]
    const Matrix<double>& exact; // [V, d] or empty

    TokenRows(const TokenSide& tokens, int layer)
        : E(tokens.embeddingOf(layer))
        , exact(tokens.isLayer0Special(layer) ? tokens.layer0E64 : tokens.E64)
    {
    }

    RowVector<double> of(int token) const
    {
        return exact.size() > 0 ? RowVector<double>(exact.row(token))
                                : RowVector<double>(E.row(token).cast<double>());
    }
};

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
    const TokenRows rows(tokens, of.head.layer);
    const auto column = [&]() -> RowVector<double> {
        return tokens.W_U64.size() > 0 ? RowVector<double>(tokens.W_U64.col(token).transpose())
                                       : RowVector<double>(tokens.W_U.col(token).cast<double>().transpose());
    };
    const bool isOutput = of.kind == CircuitKind::FullOv && side == TableSide::Column;
    const LineDirection line = lineDirection(circuits, of, side, isOutput ? column() : rows.of(token));
    return entries(line,
                   isOfOutputs(of, side) ? dotColumns(line.x, tokens.W_U, tokens.W_U64)
                                         : dotRows(rows.E, rows.exact, line.x));
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
    const TokenVectors vectors(weights, embedding, of.head.layer);
    const LineDirection line =
        lineDirection(circuits, of, TableSide::Row, vectors.rows(token, 1).cast<double>());
    const bool ofOutputs = isOfOutputs(of, TableSide::Row);
    RowVector<double> products(ofOutputs ? weights.config().dVocabOut : weights.config().dVocab);
    const auto blocks =
        static_cast<int>((products.size() + tokenTableTokensPerBlock - 1) / tokenTableTokensPerBlock);
    const auto readBlock = [&](int index) -> Result<Done> {
        const Eigen::Index first = Eigen::Index{index} * tokenTableTokensPerBlock;
        const Eigen::Index count = std::min(tokenTableTokensPerBlock, products.size() - first);
        products.segment(first, count) = ofOutputs ? dotColumns(line.x, weights.W_U<float>(first, count), {})
                                                   : dotRows(vectors.rows(first, count), {}, line.x);
        return Done{};
    };
    const auto done = parallelFor(blocks, task, ofOutputs ? "unembedding" : "embedding", readBlock);
    if (!done)
        return done.error();
    return entries(line, std::move(products));
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
