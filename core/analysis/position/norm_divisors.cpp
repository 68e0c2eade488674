#include "core/analysis/position/norm_divisors.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise {

namespace {

constexpr Eigen::Index tokensPerBlock = 512;

/// What one block of tokens adds to the numbers of every position.
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

/// Covariances times d, [positions, tokens].
template <typename Scalar>
Matrix<double> products(const Matrix<Scalar>& positions, const Matrix<double>& tokens)
{
    const Matrix<Scalar> right = tokens.template cast<Scalar>().transpose();
    const Matrix<Scalar> out = positions * right;
    return out.template cast<double>();
}

/// \param crossed [positions, tokens], p eᵀ, which becomes σ
void toDivisors(const Norm<double>& norm, const Matrix<double>& positions, const Matrix<double>& tokens,
                Matrix<double>& crossed)
{
    if (norm.kind == NormKind::None) {
        crossed.setOnes();
        return;
    }
    const double width = static_cast<double>(tokens.cols());
    crossed *= 2 / width;
    crossed.colwise() += positions.rowwise().squaredNorm() / width;
    crossed.rowwise() += (tokens.rowwise().squaredNorm() / width).transpose();
    crossed = (crossed.array().max(0.0) + norm.eps).sqrt();
}

template <typename Scalar>
Result<DivisorSpread> spread(const ProcessedWeights& weights, const std::vector<bool>& unused,
                             const Task& task)
{
    const ModelConfig& config = weights.config();
    const Norm<double> norm = weights.ln1<double>(0);
    const Matrix<double> positions = seenPositions(weights, 0, addedPositions(config));
    const Matrix<Scalar> left = positions.cast<Scalar>();
    const Eigen::Index n = positions.rows();
    const Eigen::Index V = config.dVocab;
    const auto blocks = static_cast<int>((V + tokensPerBlock - 1) / tokensPerBlock);
    std::vector<BlockSums> sums(static_cast<std::size_t>(blocks), BlockSums(n));
    DivisorSpread found;
    found.tokenMean = found.tokenMin = found.tokenMax = Eigen::VectorXd(V);
    const auto done = parallelFor(blocks, task, "norms of tokens", [&](int block) -> Result<Done> {
        const Eigen::Index first = block * tokensPerBlock;
        const Matrix<double> tokens =
            seenRows(norm, weights.W_E<double>(first, std::min(tokensPerBlock, V - first)));
        Matrix<double> sigma = products<Scalar>(left, tokens);
        toDivisors(norm, positions, tokens, sigma);
        for (Eigen::Index t = 0; t < tokens.rows(); ++t) {
            found.tokenMean(first + t) = sigma.col(t).mean();
            found.tokenMin(first + t) = sigma.col(t).minCoeff();
            found.tokenMax(first + t) = sigma.col(t).maxCoeff();
            const auto id = static_cast<std::size_t>(first + t);
            if (id >= unused.size() || !unused[id])
                sums[static_cast<std::size_t>(block)].add(sigma.col(t).array());
        }
        return Done{};
    });
    if (!done)
        return done.error();
    BlockSums total(n);
    for (const BlockSums& one : sums) // in order: the same whatever the number of threads
        total.add(one);
    const double count = static_cast<double>(total.used);
    found.positionMean = total.sum / count;
    found.positionMin = total.min;
    found.positionMax = total.max;
    found.inverseMean = total.inverse / count;
    found.inverseDeviation =
        (total.inverseSquares / count - found.inverseMean.array().square()).max(0.0).sqrt();
    return found;
}

} // namespace

std::string whyNotTokenPlusPosition(const ModelConfig& config)
{
    if (config.positional != Positional::Learned)
        return "It needs learned positions that are added to the tokens.";
    if (config.positionsInQueriesAndKeys)
        return "Positions are added to what queries and keys read here, behind the norm, not to the tokens.";
    if (config.embeddingNormSeesPositions)
        return "A norm of the sum of tokens and positions stands before layer 0, so that its parts cannot be "
               "told apart.";
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
    Matrix<double> sigma = products<double>(positions, tokens);
    toDivisors(norm, positions, tokens, sigma);
    return sigma;
}

Result<DivisorSpread> divisorSpread(const ProcessedWeights& weights, const std::vector<bool>& unused,
                                    Precision precision, const Task& task)
{
    return precision == Precision::F64 ? spread<double>(weights, unused, task)
                                       : spread<float>(weights, unused, task);
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
