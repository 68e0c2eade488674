#include "core/circuits/subspace.h"

#include "core/base/decompositions.h"
#include "core/circuits/random_matrix.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace headwise {

Result<Subspace> columnSpace(const Matrix<double>& W)
{
    const auto svd = thinSvd(W);
    if (!svd)
        return svd.error();
    Subspace space{svd->U, 0};
    const double smallest = static_cast<double>(W.rows())
        * static_cast<double>(std::numeric_limits<float>::epsilon()) * (svd->S.size() > 0 ? svd->S(0) : 0.0);
    while (space.rank < svd->S.size() && svd->S(space.rank) > smallest)
        ++space.rank;
    space.basis.rightCols(space.basis.cols() - space.rank).setZero();
    return space;
}

Result<std::vector<double>> principalAngles(const Matrix<double>& product)
{
    const auto cosines = singularValues(product);
    if (!cosines)
        return cosines.error();
    std::vector<double> degrees;
    for (const double cosine : *cosines)
        degrees.push_back(std::acos(std::min(1.0, cosine)) * 180 / std::numbers::pi);
    return degrees;
}

Result<PrincipalAngles> anglesBetween(const Subspace& a, const Subspace& b, const Task& task)
{
    const Eigen::Index d = a.basis.rows();
    if (d != b.basis.rows())
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format(
                "One subspace lies in {} dimensions and the other in {}; angles need subspaces of the same space.",
                d, b.basis.rows())};
    if (a.rank == 0 || b.rank == 0)
        return PrincipalAngles{};
    auto angles = principalAngles(a.basis.leftCols(a.rank).transpose() * b.basis.leftCols(b.rank));
    if (!angles)
        return angles.error();
    PrincipalAngles found{std::move(angles).value(), {}};
    found.ofChance.assign(found.angles.size(), 0.0);
    for (int i = 0; i < chanceDraws; ++i) {
        if (task.cancelled())
            return stopped();
        const auto overlap = randomOverlap(d, a.rank, b.rank, static_cast<std::uint64_t>(i));
        const auto draw = overlap ? principalAngles(*overlap) : overlap.error();
        if (!draw)
            return draw.error();
        for (std::size_t k = 0; k < draw->size(); ++k)
            found.ofChance[k] += (*draw)[k] / chanceDraws;
    }
    return found;
}

Moments mixtureOf(std::span<const Moments> parts)
{
    const auto count = static_cast<double>(parts.size());
    double sum = 0;
    for (const Moments& part : parts)
        sum += part.mean;
    const double mean = sum / count; // 0/0: NaN
    double squares = 0;
    for (const Moments& part : parts)
        squares += part.deviation * part.deviation + (part.mean - mean) * (part.mean - mean);
    return {mean, std::sqrt(squares / count)};
}

Moments overlapMoments(double aa, double bb, Eigen::Index d)
{
    const double n = static_cast<double>(d);
    if (d < 2)
        return {1 / n, std::numeric_limits<double>::quiet_NaN()};
    // Covariances of Q_ij² with itself, with another entry of its row or column, and with an entry of neither.
    const double itself = 2 * (n - 1) / (n * n * (n + 2));
    const double sameLine = -2 / (n * n * (n + 2));
    const double neither = 2 / (n * n * (n - 1) * (n + 2));
    const double variance =
        aa * bb * itself + (aa * (1 - bb) + bb * (1 - aa)) * sameLine + (1 - aa) * (1 - bb) * neither;
    return {1 / n, std::sqrt(std::max(0.0, variance))};
}

Result<Matrix<double>> randomOverlap(Eigen::Index d, Eigen::Index rows, Eigen::Index cols, std::uint64_t seed)
{
    const auto qr = thinQr(gaussianMatrix(d, cols, seed));
    if (!qr)
        return qr.error();
    return Matrix<double>(qr->Q.topRows(rows));
}

} // namespace headwise
