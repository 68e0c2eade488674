#include "core/analysis/shared/norm_divisors.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index normDivisorsTokensPerBlock = 256;

/// Sums over one block of tokens, for every position.
struct BlockSums {
    Eigen::ArrayXd sum, min, max, inverse, inverseSquares; // [n]
    Eigen::Index used = 0;

    explicit BlockSums(Eigen::Index n)
        : sum(Eigen::ArrayXd::Zero(n))
        , min(Eigen::ArrayXd::Constant(n, std::numeric_limits<double>::infinity()))
        , max(Eigen::ArrayXd::Zero(n))
        , inverse(Eigen::ArrayXd::Zero(n))
        , inverseSquares(Eigen::ArrayXd::Zero(n))
    {
    }

    void add(const Eigen::ArrayXd& sigma)
    {
        const Eigen::ArrayXd inverses = sigma.inverse();
        sum += sigma;
        min = min.min(sigma);
        max = max.max(sigma);
        inverse += inverses;
        inverseSquares += inverses.square();
        ++used;
    }

    void add(const BlockSums& other)
    {
        sum += other.sum;
        min = min.min(other.min);
        max = max.max(other.max);
        inverse += other.inverse;
        inverseSquares += other.inverseSquares;
        used += other.used;
    }
};

/// Positions for which σ with tokens is computed. Products are in `Scalar`.
template <typename Scalar>
class DividedPositions {
public:
    /// \param positions `seenRows`
    DividedPositions(const Norm<double>& norm, const Matrix<double>& positions)
        : m_kind(norm.kind)
        , m_eps(norm.eps)
        , m_rows(positions.cast<Scalar>())
        , m_variances(positions.rowwise().squaredNorm() / static_cast<double>(positions.cols()))
    {
    }

    Eigen::Index count() const { return m_rows.rows(); }

    /// Calls body(t, σ of token t with every position, [n]) while the column is in the cache. \param tokens `seenRows`
    template <typename Body>
    void forEachToken(const Matrix<double>& tokens, const Body& body) const
    {
        Eigen::ArrayXd sigma = Eigen::ArrayXd::Ones(count());
        Matrix<Scalar> crossed;
        if (m_kind != NormKind::None)
            crossed.noalias() = m_rows * Matrix<Scalar>(tokens.cast<Scalar>()).transpose();
        const double width = static_cast<double>(tokens.cols());
        for (Eigen::Index t = 0; t < tokens.rows(); ++t) {
            if (m_kind != NormKind::None) {
                const double variance = tokens.row(t).squaredNorm() / width;
                sigma =
                    crossed.col(t).array().template cast<double>() * (2 / width) + (m_variances + variance);
                sigma = (sigma.max(0.0) + m_eps).sqrt();
            }
            body(t, sigma);
        }
    }

private:
    NormKind m_kind;
    double m_eps;
    Matrix<Scalar> m_rows;      // [n, d]
    Eigen::ArrayXd m_variances; // [n]
};

bool isUsed(const std::vector<bool>& unused, Eigen::Index token)
{
    const auto id = static_cast<std::size_t>(token);
    return id >= unused.size() || !unused[id];
}

DivisorSpread overTokens(const std::vector<BlockSums>& sums)
{
    BlockSums total(sums.front().sum.size());
    for (const BlockSums& one : sums) // in order: the same whatever the number of threads
        total.add(one);
    const double count = static_cast<double>(total.used);
    DivisorSpread found;
    found.positionMean = total.sum / count;
    found.positionMin = total.min;
    found.positionMax = total.max;
    found.inverseMean = total.inverse / count;
    found.inverseDeviation =
        (total.inverseSquares / count - found.inverseMean.array().square()).max(0.0).sqrt();
    return found;
}

template <typename Scalar>
Result<DivisorSpread> spread(const ProcessedWeights& weights, const std::vector<bool>& unused,
                             const Task& task)
{
    const ModelConfig& config = weights.config();
    const Norm<double> norm = weights.ln1<double>(0);
    const DividedPositions<Scalar> positions(norm, seenPositions(weights, 0, addedPositions(config)));
    const Eigen::Index V = config.dVocab;
    const auto blocks = static_cast<int>((V + normDivisorsTokensPerBlock - 1) / normDivisorsTokensPerBlock);
    std::vector<BlockSums> sums(static_cast<std::size_t>(blocks), BlockSums(positions.count()));
    Eigen::VectorXd mean(V), min(V), max(V), squares(V);
    const auto done = parallelFor(blocks, task, "norms of tokens", [&](int block) -> Result<Done> {
        const Eigen::Index first = block * normDivisorsTokensPerBlock;
        const Matrix<double> tokens =
            seenRows(norm, weights.W_E<double>(first, std::min(normDivisorsTokensPerBlock, V - first)));
        squares.segment(first, tokens.rows()) = tokens.rowwise().squaredNorm();
        positions.forEachToken(tokens, [&](Eigen::Index t, const Eigen::ArrayXd& sigma) {
            mean(first + t) = sigma.mean();
            min(first + t) = sigma.minCoeff();
            max(first + t) = sigma.maxCoeff();
            if (isUsed(unused, first + t))
                sums[static_cast<std::size_t>(block)].add(sigma);
        });
        return Done{};
    });
    if (!done)
        return done.error();
    DivisorSpread found = overTokens(sums);
    found.tokenMean = std::move(mean);
    found.tokenMin = std::move(min);
    found.tokenMax = std::move(max);
    found.tokenSquares = std::move(squares);
    return found;
}

/// Returns `count` evenly spaced tokens in use, rising.
std::vector<Eigen::Index> normDivisorsSampledTokens(Eigen::Index vocabulary, const std::vector<bool>& unused,
                                                    Eigen::Index count)
{
    std::vector<Eigen::Index> used;
    for (Eigen::Index token = 0; token < vocabulary; ++token)
        if (isUsed(unused, token))
            used.push_back(token);
    std::vector<Eigen::Index> sample;
    const auto all = static_cast<Eigen::Index>(used.size());
    for (Eigen::Index i = 0; i < std::min(count, all); ++i)
        sample.push_back(used[static_cast<std::size_t>(i * all / std::min(count, all))]);
    return sample;
}

} // namespace

std::string whyNotTokenPlusPosition(const ModelConfig& config)
{
    if (std::string none = whyNoVocabulary(config); !none.empty())
        return none;
    if (config.positional != Positional::Learned)
        return "It needs learned positions that are added to the tokens.";
    if (config.positionsInQueriesAndKeys)
        return "This model adds positions to the query and key inputs, after the norm, not to the tokens.";
    if (config.embeddingNormSeesPositions)
        return "A norm of the sum of tokens and positions precedes layer 0, so its parts cannot be separated.";
    return {};
}

Matrix<double> seenRows(const Norm<double>& norm, Matrix<double> rows)
{
    if (norm.kind == NormKind::LayerNorm)
        rows.colwise() -= Eigen::VectorXd(rows.rowwise().mean());
    return rows;
}

Matrix<double> seenPositions(const ProcessedWeights& weights, Eigen::Index first, Eigen::Index count)
{
    if (weights.config().positional != Positional::Learned)
        return Matrix<double>::Zero(1, weights.config().dModel);
    return seenRows(weights.ln1<double>(0), weights.W_pos<double>(first, count));
}

Eigen::Index addedPositions(const ModelConfig& config)
{
    return config.positional == Positional::Learned ? config.nCtx : 1;
}

Matrix<double> divisors(const Norm<double>& norm, const Matrix<double>& positions,
                        const Matrix<double>& tokens)
{
    Matrix<double> sigma(positions.rows(), tokens.rows());
    DividedPositions<double>(norm, positions)
        .forEachToken(tokens, [&](Eigen::Index t, const Eigen::ArrayXd& of) { sigma.col(t) = of; });
    return sigma;
}

Result<DivisorSpread> divisorSpread(const ProcessedWeights& weights, const std::vector<bool>& unused,
                                    Precision precision, const Task& task)
{
    return precision == Precision::F64 ? spread<double>(weights, unused, task)
                                       : spread<float>(weights, unused, task);
}

Result<DivisorSpread> sampledDivisorSpread(const ProcessedWeights& weights, const std::vector<bool>& unused,
                                           Eigen::Index count, const Task& task)
{
    const ModelConfig& config = weights.config();
    const Norm<double> norm = weights.ln1<double>(0);
    const DividedPositions<float> positions(norm, seenPositions(weights, 0, addedPositions(config)));
    const std::vector<Eigen::Index> sample = normDivisorsSampledTokens(config.dVocab, unused, count);
    const auto size = static_cast<Eigen::Index>(sample.size());
    const auto blocks =
        static_cast<int>((size + normDivisorsTokensPerBlock - 1) / normDivisorsTokensPerBlock);
    std::vector<BlockSums> sums(static_cast<std::size_t>(std::max(1, blocks)), BlockSums(positions.count()));
    const auto done = parallelFor(blocks, task, "norms of tokens", [&](int block) -> Result<Done> {
        const Eigen::Index first = block * normDivisorsTokensPerBlock;
        Matrix<double> tokens(std::min(normDivisorsTokensPerBlock, size - first), config.dModel);
        for (Eigen::Index t = 0; t < tokens.rows(); ++t)
            tokens.row(t) = weights.W_E<double>(sample[static_cast<std::size_t>(first + t)], 1);
        positions.forEachToken(seenRows(norm, std::move(tokens)),
                               [&](Eigen::Index, const Eigen::ArrayXd& sigma) {
                                   sums[static_cast<std::size_t>(block)].add(sigma);
                               });
        return Done{};
    });
    if (!done)
        return done.error();
    return overTokens(sums);
}

FoldedHead foldedHead(const ProcessedWeights& weights, HeadId head)
{
    HeadWeights<double> h = weights.head<double>(head);
    const Norm<double> norm = weights.ln1<double>(head.layer);
    if (norm.b.size() > 0) {
        h.b_Q += norm.b * h.W_Q;
        h.b_K += norm.b * h.W_K;
    }
    if (norm.w.size() > 0) {
        h.W_Q = (norm.w.asDiagonal() * h.W_Q).eval();
        h.W_K = (norm.w.asDiagonal() * h.W_K).eval();
    }
    return {std::move(h.W_Q), std::move(h.W_K), std::move(h.b_Q), std::move(h.b_K)};
}

} // namespace headwise
