#include "core/analysis/shared/mean_tokens.h"

#include "core/analysis/selected_heads.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

constexpr Eigen::Index meanTokensPerBlock = 1024;

} // namespace

MeanDivided::MeanDivided(const ProcessedWeights& weights, const DivisorSpread& spread)
    : m_weights(weights)
    , m_norm(weights.ln1<double>(0))
    , m_divisors(spread.tokenMean)
    , m_meanSquare(spread.tokenSquares.cwiseQuotient(m_divisors.cwiseAbs2()).mean())
{
}

Result<MeanDivided> MeanDivided::create(const ProcessedWeights& weights, const AnalysisOptions& options,
                                        const Task& task)
{
    const auto spread =
        divisorSpread(weights, options.unusedTokens, options.precision, withoutProgress(task));
    return spread ? MeanDivided(weights, *spread) : Result<MeanDivided>(spread.error());
}

RowVector<double> MeanDivided::row(int token) const
{
    return rows(token, 1);
}

double MeanDivided::randomScore(int token, const FoldedHead& head) const
{
    const Matrix<double> Q = head.W_Q.transpose() * head.W_Q, K = head.W_K.transpose() * head.W_K;
    return row(token).norm() * std::sqrt(m_meanSquare * Q.cwiseProduct(K).sum())
        / static_cast<double>(head.W_Q.rows());
}

Matrix<double> MeanDivided::rows(Eigen::Index first, Eigen::Index count) const
{
    const Eigen::VectorXd inverse = m_divisors.segment(first, count).cwiseInverse();
    return inverse.asDiagonal() * seenRows(m_norm, m_weights.W_E<double>(first, count));
}

Result<Matrix<double>> MeanDivided::times(const Matrix<double>& right, const Task& task) const
{
    Matrix<double> out(m_divisors.size(), right.cols());
    const auto blocks = static_cast<int>((out.rows() + meanTokensPerBlock - 1) / meanTokensPerBlock);
    const auto done = parallelFor(blocks, withoutProgress(task), "", [&](int block) -> Result<Done> {
        const Eigen::Index first = block * meanTokensPerBlock;
        const Eigen::Index count = std::min(meanTokensPerBlock, out.rows() - first);
        out.middleRows(first, count).noalias() = rows(first, count) * right;
        return Done{};
    });
    if (!done)
        return done.error();
    return out;
}

std::string whyNotOneScore(const ModelConfig& config)
{
    if (config.positional == Positional::Rotary)
        return "Under rotary positions this depends on the offset; see the analysis 'rotary'.";
    if (config.positional == Positional::Learned)
        if (std::string reason = whyNotTokenPlusPosition(config); !reason.empty())
            return reason;
    if (config.qkNorm != NormKind::None || config.latentAttention || config.qkvLimit > 0)
        return "This model normalises or clips queries and keys, so its scores have no such part.";
    return {};
}

} // namespace headwise
