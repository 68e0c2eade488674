#include "core/circuits/singular_directions.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise {

namespace {

constexpr Eigen::Index singularDirectionsTokensPerBlock = 1024;

} // namespace

Result<SingularDirections> singularDirections(const Circuits& circuits, CircuitKind kind, HeadId head)
{
    const Result<Svd<double>> svd = circuits.circuit<double>(kind, head, nullptr).svd();
    if (!svd)
        return svd.error();
    const std::span<const double> sigma(svd->S.data(), static_cast<std::size_t>(svd->S.size()));
    return SingularDirections{svd->U, svd->S, svd->V, numericalRank(sigma, circuits.config().dModel)};
}

Eigen::Index numericalRank(std::span<const double> sigma, int dModel)
{
    if (sigma.empty())
        return 0;
    const double smallest = dModel * double(std::numeric_limits<float>::epsilon()) * sigma.front();
    return static_cast<Eigen::Index>(
        std::count_if(sigma.begin(), sigma.end(), [&](double s) { return s > smallest; }));
}

std::vector<int> degenerateBlocks(std::span<const double> sigma, Eigen::Index rank)
{
    std::vector<int> blocks(sigma.size(), 0);
    const auto last = static_cast<std::size_t>(rank);
    for (std::size_t k = 1; k < sigma.size(); ++k) {
        const bool bothNull = k > last || last == 0;
        const bool bothReal = k < last;
        const bool together =
            bothNull || (bothReal && sigma[k - 1] - sigma[k] < degenerateGap * sigma[k - 1]);
        blocks[k] = blocks[k - 1] + (together ? 0 : 1);
    }
    return blocks;
}

Matrix<double> tokenRows(const TokenSide& tokens, const DirectionSide& side, int layer, Eigen::Index first,
                         Eigen::Index count)
{
    if (side.usesUnembedding())
        return tokens.W_U.block<double>(first, count)->transpose();
    return *tokens.embeddingOf(layer).block<double>(first, count);
}

Eigen::Index tokenCount(const TokenSide& tokens, const DirectionSide& side, int layer)
{
    return side.usesUnembedding() ? tokens.W_U.count() : tokens.embeddingOf(layer).count();
}

Result<Done> forEachTokenBlock(const TokenSide& tokens, const DirectionSide& side, int layer,
                               const Task& task,
                               const std::function<void(Eigen::Index, const Matrix<double>&)>& body)
{
    const Eigen::Index all = tokenCount(tokens, side, layer);
    for (Eigen::Index first = 0; first < all; first += singularDirectionsTokensPerBlock) {
        if (task.cancelled())
            return stopped();
        body(first,
             tokenRows(tokens, side, layer, first, std::min(singularDirectionsTokensPerBlock, all - first)));
    }
    return Done{};
}

Result<Matrix<double>> directionScores(const TokenSide& tokens, const DirectionSide& side, int layer,
                                       const Matrix<double>& directions, const Task& task)
{
    Matrix<double> scores(tokenCount(tokens, side, layer), directions.cols());
    const auto done =
        forEachTokenBlock(tokens, side, layer, task, [&](Eigen::Index first, const Matrix<double>& rows) {
            scores.middleRows(first, rows.rows()).noalias() = rows * directions;
        });
    if (!done)
        return done.error();
    return scores;
}

Result<Matrix<double>> spanLengths(const TokenSide& tokens, const DirectionSide& side, int layer,
                                   const DirectionBlocks& of, const Task& task)
{
    const int count = of.blocks.empty() ? 0 : of.blocks.back() + 1;
    Matrix<double> squares = Matrix<double>::Zero(tokenCount(tokens, side, layer), count);
    const auto done =
        forEachTokenBlock(tokens, side, layer, task, [&](Eigen::Index first, const Matrix<double>& rows) {
            const Matrix<double> scores = rows * of.directions;
            for (Eigen::Index k = 0; k < scores.cols(); ++k)
                squares.col(of.blocks[static_cast<std::size_t>(k)]).segment(first, rows.rows()) +=
                    scores.col(k).cwiseAbs2();
        });
    if (!done)
        return done.error();
    return Matrix<double>(squares.cwiseSqrt());
}

double jointSign(const Eigen::Ref<const Eigen::VectorXd>& scores, const std::vector<bool>& unused)
{
    double largest = 0;
    for (Eigen::Index id = 0; id < scores.size(); ++id) {
        const bool skipped =
            static_cast<std::size_t>(id) < unused.size() && unused[static_cast<std::size_t>(id)];
        if (!skipped && std::abs(scores(id)) > std::abs(largest))
            largest = scores(id);
    }
    return largest < 0 ? -1 : 1;
}

} // namespace headwise
