#include "core/analysis/residual_basis.h"

#include "core/base/decompositions.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace headwise {

namespace {

constexpr std::array<std::string_view, 2> metricNames{"identity", "embedding"};
constexpr Eigen::Index residualBasisTokensPerBlock = 1024;

bool isUnusedInBasis(const std::vector<bool>& unused, Eigen::Index token)
{
    const auto index = static_cast<std::size_t>(token);
    return index < unused.size() && unused[index];
}

/// Count, sum and squares of the rows in use, from which the covariance is computed.
struct Moments1And2 {
    Eigen::Index count = 0;
    RowVector<double> sum;  // [d]
    Matrix<double> squares; // [d, d] Σ eᵀ e
};

/// Computes the moments from the existing Gram matrix of all rows. Subtracts the unused rows block by block.
Moments1And2 momentsOf(const TokenSide& tokens, const std::vector<bool>& unused)
{
    const Eigen::Index d = tokens.EtE.rows();
    Moments1And2 out{0, RowVector<double>::Zero(d), tokens.EtE};
    for (Eigen::Index first = 0; first < tokens.E.count(); first += residualBasisTokensPerBlock) {
        const Eigen::Index rows = std::min(residualBasisTokensPerBlock, tokens.E.count() - first);
        Matrix<double> block = *tokens.E.block<double>(first, rows);
        out.sum += block.colwise().sum();
        Eigen::Index left = 0; // unused rows of this block, moved to its top
        for (Eigen::Index row = 0; row < rows; ++row) {
            if (isUnusedInBasis(unused, first + row))
                block.row(left++) = block.row(row).eval();
        }
        out.count += rows - left;
        out.sum -= block.topRows(left).colwise().sum();
        out.squares.noalias() -= block.topRows(left).transpose() * block.topRows(left);
    }
    return out;
}

/// left · right in double, given out as floats and, where the token side has it exactly, as it is.
/// Returns a token matrix in another basis: E T, or T⁻¹ W_U. \param change T or T⁻¹, symmetric
Result<TokenMatrix> changed(const TokenMatrix& from, const Matrix<double>& change, const Task& task,
                            std::string_view step)
{
    using Vectors = TokenMatrix::Vectors;
    const auto read = [&from, &change](Eigen::Index first, Eigen::Index count) -> Matrix<double> {
        if (from.vectors() == Vectors::Rows)
            return *from.block<double>(first, count) * change;
        return change * *from.block<double>(first, count);
    };
    const Eigen::Index count = from.count();
    if (from.isExact())
        return TokenMatrix(from.vectors(), count, TokenMatrix::Read<double>(read)).held(task, step);
    const auto rounded = [&read](Eigen::Index first, Eigen::Index size) -> Matrix<float> {
        return read(first, size).cast<float>();
    };
    return TokenMatrix(from.vectors(), count, TokenMatrix::Read<float>(rounded)).held(task, step);
}

} // namespace

std::string_view metricName(ResidualMetric metric)
{
    return metricNames[static_cast<std::size_t>(metric)];
}

std::optional<ResidualMetric> parseMetric(std::string_view name)
{
    const auto found = std::find(metricNames.begin(), metricNames.end(), name);
    if (found == metricNames.end())
        return std::nullopt;
    return static_cast<ResidualMetric>(found - metricNames.begin());
}

bool isInEmbeddingBasis(const Analysis& analysis, const AnalysisOptions& options)
{
    return analysis.followsMetric && options.inputs.metric == ResidualMetric::Embedding;
}

bool needsTokenSide(const Analysis& analysis, const AnalysisOptions& options)
{
    return analysis.needsTokens || isInEmbeddingBasis(analysis, options);
}

Result<ResidualBasis> embeddingBasis(const TokenSide& tokens, const std::vector<bool>& unusedTokens)
{
    const Moments1And2 moments = momentsOf(tokens, unusedTokens);
    if (moments.count < 2)
        return Error{
            ErrorCode::InvalidArgument,
            "The embedding has no covariance: fewer than two tokens are in use. Use the identity metric, or leave fewer tokens out."};
    const auto count = static_cast<double>(moments.count);
    const RowVector<double> center = moments.sum / count;
    const Matrix<double> covariance = moments.squares / count - center.transpose() * center;
    if (!covariance.allFinite())
        return Error{ErrorCode::Corrupt,
                     "The embedding has no covariance: it holds NaN or infinity. Use the identity metric."};
    const auto eigen = symmetricEigen(covariance);
    if (!eigen)
        return eigen.error();
    // Relative variance that rounding leaves in a direction without variance. For floats: the square of their ε.
    const double single = std::numeric_limits<float>::epsilon();
    const double epsilon = tokens.E.isExact() ? std::numeric_limits<double>::epsilon() : single * single;
    const Eigen::Index d = covariance.rows();
    const double square = moments.squares.trace() / count; // of a row's length, the center's in it
    const double floor = static_cast<double>(d)
        * std::max(epsilon * eigen->values(d - 1), std::numeric_limits<double>::epsilon() * square);
    const Eigen::Array<bool, Eigen::Dynamic, 1> varies = eigen->values.array() > floor;
    if (!varies.any())
        return Error{
            ErrorCode::InvalidArgument,
            "The embedding has no covariance: all tokens in use have the same row. Use the identity metric."};
    const double mean = varies.select(eigen->values.array(), 0.0).sum() / static_cast<double>(varies.count());
    const Eigen::VectorXd root = varies.select((eigen->values.array().max(floor) / mean).sqrt(), 1.0);
    return ResidualBasis{
        eigen->vectors * root.cwiseInverse().asDiagonal() * eigen->vectors.transpose(),
        eigen->vectors * root.asDiagonal() * eigen->vectors.transpose(),
    };
}

Result<std::shared_ptr<const TokenSide>> inBasis(const TokenSide& tokens, const ResidualBasis& basis,
                                                 const Task& task)
{
    const Matrix<double>&T = basis.T, &inverse = basis.inverse; // symmetric, both
    auto E = changed(tokens.E, T, task, "embedding in its own basis");
    if (!E)
        return E.error();
    auto layer0E = changed(tokens.layer0E, T, task, "embedding in its own basis");
    if (!layer0E)
        return layer0E.error();
    auto W_U = changed(tokens.W_U, inverse, task, "unembedding in its basis");
    if (!W_U)
        return W_U.error();
    auto side = std::make_shared<TokenSide>();
    side->embedding = tokens.embedding;
    side->E = *std::move(E);
    side->layer0E = *std::move(layer0E);
    side->W_U = *std::move(W_U);
    side->EtE = T.transpose() * tokens.EtE * T;
    side->UUt = inverse * tokens.UUt * inverse.transpose();
    if (tokens.UE.size() > 0)
        side->UE = inverse * tokens.UE * T;
    if (tokens.layer0EtE.size() > 0)
        side->layer0EtE = T.transpose() * tokens.layer0EtE * T;
    if (tokens.layer0UE.size() > 0)
        side->layer0UE = inverse * tokens.layer0UE * T;
    return std::shared_ptr<const TokenSide>(std::move(side));
}

Result<AnalysisContext> inEmbeddingBasis(const AnalysisContext& context, TokensInBasis tokens,
                                         const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    if (config.attentionWidth() != config.dModel)
        return Error{
            ErrorCode::InvalidArgument,
            "The heads of this model do not write to the stream they read, so it has no embedding metric. Use the identity metric."};
    auto basis = embeddingBasis(*context.tokens, context.options.unusedTokens);
    if (!basis)
        return basis.error();
    const auto shared = std::make_shared<const ResidualBasis>(std::move(basis).value());
    AnalysisContext out{
        Circuits(std::make_shared<const ProcessedWeights>(context.circuits.weights().inBasis(shared))),
        nullptr, context.options};
    if (tokens == TokensInBasis::LeftOut)
        return out;
    auto side = inBasis(*context.tokens, *shared, task);
    if (!side)
        return side.error();
    out.tokens = *side;
    return out;
}

void markMetric(ResultSet& results, Embedding embedding)
{
    for (ResultArray& array : results.arrays) {
        array.attributes["metric"] = std::string("embedding covariance");
        array.attributes["embedding"] = std::string(embeddingName(embedding));
        array.definition +=
            "; the weights in the basis T = √(mean λ) Σ^(−1/2), where the embedding covariance Σ of the rows in use, of eigenvalues λ, is a multiple of 1; directions without variance stay as they are and do not count in the mean: λ ≤ d_model max(ε λ_max, 2^-52 mean ‖e‖²), ε = 2^-46, in f64 2^-52";
    }
}

bool isInEmbeddingMetric(const ResultArray& array)
{
    return array.attributes.contains("metric");
}

} // namespace headwise
