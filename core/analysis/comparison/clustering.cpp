#include "core/analysis/comparison/clustering.h"

#include "core/base/decompositions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headwise {

namespace {

/// Clusters that are left, each in the row of its lowest point.
struct Alive {
    std::vector<Eigen::Index> rows; // ascending
    std::vector<int> names;         // [n]: as in ClusterStep
    std::vector<double> sizes;      // [n]: points
};

std::pair<Eigen::Index, Eigen::Index> nearest(const Matrix<double>& distances, const Alive& alive)
{
    std::pair<Eigen::Index, Eigen::Index> best{0, 0};
    double smallest = std::numeric_limits<double>::infinity();
    for (std::size_t j = 1; j < alive.rows.size(); ++j) {
        for (std::size_t i = 0; i < j; ++i) {
            const double distance = distances(alive.rows[i], alive.rows[j]);
            if (distance < smallest) {
                smallest = distance;
                best = {alive.rows[i], alive.rows[j]};
            }
        }
    }
    return best;
}

} // namespace

Clustering averageLinkage(Matrix<double> distances)
{
    const auto n = static_cast<int>(distances.rows());
    Alive alive;
    std::vector<std::vector<int>> points; // of every row that is alive, in leaf order
    alive.rows.reserve(static_cast<std::size_t>(n));
    alive.names.reserve(static_cast<std::size_t>(n));
    alive.sizes.reserve(static_cast<std::size_t>(n));
    points.reserve(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
        alive.rows.push_back(i);
        alive.names.push_back(i);
        alive.sizes.push_back(1);
        points.push_back({i});
    }
    Clustering found;
    for (int step = 0; step + 1 < n; ++step) {
        const auto [a, b] = nearest(distances, alive);
        const auto first = static_cast<std::size_t>(a);
        const auto second = static_cast<std::size_t>(b);
        found.steps.push_back({alive.names[first], alive.names[second], distances(a, b)});
        const double size = alive.sizes[first] + alive.sizes[second];
        for (const Eigen::Index other : alive.rows) {
            if (other == a || other == b)
                continue;
            distances(a, other) = distances(other, a) =
                (alive.sizes[first] * distances(a, other) + alive.sizes[second] * distances(b, other)) / size;
        }
        alive.sizes[first] = size;
        alive.names[first] = n + step;
        points[first].insert(points[first].end(), points[second].begin(), points[second].end());
        std::erase(alive.rows, b);
    }
    if (n > 0)
        found.leaves = points[0];
    return found;
}

Result<PlaneMap> planeMap(const Matrix<double>& distances)
{
    const Eigen::Index n = distances.rows();
    Matrix<double> inner = distances.cwiseProduct(distances);
    inner.rowwise() -= inner.colwise().mean().eval();
    inner.colwise() -= inner.rowwise().mean().eval();
    inner = (-0.25 * (inner + inner.transpose())).eval();
    // Shifted until it is positive semidefinite, singular vectors are eigenvectors, the largest eigenvalue first.
    const double shift = n > 0 ? inner.cwiseAbs().rowwise().sum().maxCoeff() : 0.0;
    const auto svd = thinSvd(inner + shift * Matrix<double>::Identity(n, n));
    if (!svd)
        return svd.error();
    PlaneMap map{Matrix<double>::Zero(n, 2), std::numeric_limits<double>::quiet_NaN()};
    double positive = 0;
    double shown = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
        const double eigenvalue = svd->S(i) - shift;
        if (eigenvalue <= 1e-12 * shift)
            break;
        positive += eigenvalue;
        if (i >= 2)
            continue;
        shown += eigenvalue;
        Eigen::Index largest = 0;
        svd->U.col(i).cwiseAbs().maxCoeff(&largest);
        const double sign = svd->U(largest, i) < 0 ? -1 : 1;
        map.points.col(i) = sign * std::sqrt(eigenvalue) * svd->U.col(i);
    }
    if (positive > 0)
        map.shareOfDistances = shown / positive;
    return map;
}

} // namespace headwise
