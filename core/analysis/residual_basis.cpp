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
    for (Eigen::Index first = 0; first < tokens.E.rows(); first += residualBasisTokensPerBlock) {
        const Eigen::Index rows = std::min(residualBasisTokensPerBlock, tokens.E.rows() - first);
        Matrix<double> block = tokens.E64.size() > 0 ? Matrix<double>(tokens.E64.middleRows(first, rows))
                                                     : tokens.E.middleRows(first, rows).cast<double>();
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
struct Product {
    Matrix<float> rounded;
    Matrix<double> exact;
};

/// rows · T, block by block. \param rounded [n, d] \param exact the same before rounding, or empty
Result<Product> rowsTimes(const Matrix<float>& rounded, const Matrix<double>& exact, const Matrix<double>& T,
                          const Task& task)
{
    Product out;
    out.rounded.resize(rounded.rows(), rounded.cols());
    out.exact.resize(exact.rows(), exact.cols());
    const auto blocks =
        static_cast<int>((rounded.rows() + residualBasisTokensPerBlock - 1) / residualBasisTokensPerBlock);
    const auto done = parallelFor(blocks, task, "embedding in its own basis", [&](int i) -> Result<Done> {
        const Eigen::Index first = i * residualBasisTokensPerBlock;
        const Eigen::Index rows = std::min(residualBasisTokensPerBlock, rounded.rows() - first);
        const Matrix<double> block = exact.size() > 0
            ? Matrix<double>(exact.middleRows(first, rows) * T)
            : Matrix<double>(rounded.middleRows(first, rows).cast<double>() * T);
        out.rounded.middleRows(first, rows) = block.cast<float>();
        if (exact.size() > 0)
            out.exact.middleRows(first, rows) = block;
        return Done{};
    });
    if (!done)
        return done.error();
    return out;
}

/// T⁻¹ · columns, likewise. \param rounded [d, n]
Result<Product> timesColumns(const Matrix<double>& inverse, const Matrix<float>& rounded,
                             const Matrix<double>& exact, const Task& task)
{
    Product out;
    out.rounded.resize(rounded.rows(), rounded.cols());
    out.exact.resize(exact.rows(), exact.cols());
    const auto blocks =
        static_cast<int>((rounded.cols() + residualBasisTokensPerBlock - 1) / residualBasisTokensPerBlock);
    const auto done = parallelFor(blocks, task, "unembedding in its basis", [&](int i) -> Result<Done> {
        const Eigen::Index first = i * residualBasisTokensPerBlock;
        const Eigen::Index cols = std::min(residualBasisTokensPerBlock, rounded.cols() - first);
        const Matrix<double> block = exact.size() > 0
            ? Matrix<double>(inverse * exact.middleCols(first, cols))
            : Matrix<double>(inverse * rounded.middleCols(first, cols).cast<double>());
        out.rounded.middleCols(first, cols) = block.cast<float>();
        if (exact.size() > 0)
            out.exact.middleCols(first, cols) = block;
        return Done{};
    });
    if (!done)
        return done.error();
    return out;
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
    const double epsilon = tokens.E64.size() > 0 ? std::numeric_limits<double>::epsilon() : single * single;
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
    auto E = rowsTimes(tokens.E, tokens.E64, T, task);
    if (!E)
        return E.error();
    auto layer0E = rowsTimes(tokens.layer0E, tokens.layer0E64, T, task);
    if (!layer0E)
        return layer0E.error();
    auto W_U = timesColumns(inverse, tokens.W_U, tokens.W_U64, task);
    if (!W_U)
        return W_U.error();
    Product embedding = std::move(E).value(), layer0 = std::move(layer0E).value();
    Product unembedding = std::move(W_U).value();
    auto side = std::make_shared<TokenSide>(
        tokens.embedding,
        std::make_shared<const TokenSide::Matrices>(TokenSide::Matrices{
            std::move(embedding.rounded), std::move(layer0.rounded), std::move(unembedding.rounded),
            std::move(embedding.exact), std::move(layer0.exact), std::move(unembedding.exact)}));
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
