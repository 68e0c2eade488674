#include "core/circuits/axis_clusters.h"

#include "core/circuits/clustering.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace headwise {

namespace {

constexpr Eigen::Index mostClusters = 64;
constexpr int rounds = 4;

/// Picks unit rows that lie far from one another. The first is the lowest; each next one is least similar to those before
/// it.
Matrix<double> farCentres(const Matrix<double>& rows)
{
    const Eigen::Index count = std::min(mostClusters, rows.rows());
    Matrix<double> centres(count, rows.cols());
    Eigen::VectorXd nearest =
        Eigen::VectorXd::Constant(rows.rows(), -std::numeric_limits<double>::infinity());
    Eigen::Index next = 0;
    for (Eigen::Index i = 0; i < count; ++i) {
        centres.row(i) = rows.row(next);
        nearest = nearest.cwiseMax(rows * centres.row(i).transpose());
        nearest.minCoeff(&next);
    }
    return centres;
}

struct Nearest {
    Eigen::Index centre = 0;
    double cosine = 0;
};

std::vector<Nearest> assigned(const Matrix<double>& rows, const Matrix<double>& centres)
{
    const Matrix<double> cosines = rows * centres.transpose();
    std::vector<Nearest> all(static_cast<std::size_t>(rows.rows()));
    for (Eigen::Index row = 0; row < rows.rows(); ++row) {
        Nearest& one = all[static_cast<std::size_t>(row)];
        one.cosine = cosines.row(row).maxCoeff(&one.centre);
    }
    return all;
}

/// Moves each centre to the direction of the sum of the rows nearest to it. A centre without rows stays.
void recentre(Matrix<double>& centres, const Matrix<double>& rows, const std::vector<Nearest>& nearest)
{
    Matrix<double> sums = Matrix<double>::Zero(centres.rows(), centres.cols());
    for (Eigen::Index row = 0; row < rows.rows(); ++row)
        sums.row(nearest[static_cast<std::size_t>(row)].centre) += rows.row(row);
    for (Eigen::Index i = 0; i < centres.rows(); ++i)
        if (const double norm = sums.row(i).norm(); norm > 0)
            centres.row(i) = sums.row(i) / norm;
}

/// Returns the position of each centre in the order of the others.
std::vector<int> placesOf(const Matrix<double>& centres)
{
    const Matrix<double> cosines = centres * centres.transpose();
    const Matrix<double> symmetric = (cosines + cosines.transpose()) / 2; // symmetric to the last bit
    const std::vector<int> leaves =
        averageLinkage(symmetric.cwiseMin(1).cwiseMax(-1).array().acos().matrix()).leaves;
    std::vector<int> places(leaves.size());
    for (std::size_t i = 0; i < leaves.size(); ++i)
        places[static_cast<std::size_t>(leaves[i])] = static_cast<int>(i);
    return places;
}

} // namespace

std::vector<int> clusterOrder(Matrix<double> points)
{
    std::vector<int> directed, others;
    for (Eigen::Index row = 0; row < points.rows(); ++row)
        (points.row(row).squaredNorm() > 0 ? directed : others).push_back(static_cast<int>(row));
    if (directed.empty())
        return others;
    Matrix<double> rows = points(directed, Eigen::all);
    rows.rowwise().normalize();
    Matrix<double> centres = farCentres(rows);
    std::vector<Nearest> nearest = assigned(rows, centres);
    for (int round = 0; round < rounds; ++round) {
        recentre(centres, rows, nearest);
        nearest = assigned(rows, centres);
    }
    const std::vector<int> places = placesOf(centres);
    std::vector<std::size_t> order(directed.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const int first = places[static_cast<std::size_t>(nearest[a].centre)];
        const int second = places[static_cast<std::size_t>(nearest[b].centre)];
        return first != second ? first < second : nearest[a].cosine > nearest[b].cosine;
    });
    std::vector<int> out;
    out.reserve(directed.size() + others.size());
    for (const std::size_t place : order)
        out.push_back(directed[place]);
    out.insert(out.end(), others.begin(), others.end());
    return out;
}

} // namespace headwise
