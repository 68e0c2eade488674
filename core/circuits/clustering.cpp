#include "core/circuits/clustering.h"

#include "core/base/decompositions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headwise {

namespace {

/// The remaining clusters, each in the row of its lowest point.
struct Alive {
    std::vector<Eigen::Index> rows; // ascending
    std::vector<int> names;         // [n], numbered as in ClusterStep
    std::vector<double> sizes;      // [n], numbers of points
};

/// A cluster other than the two that are merged.
struct Third {
    double fromFirst, fromSecond, size;
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

/// \param joined distance of the merged cluster to a third, from the clusters' sizes, their distances to it and to each
/// other
template <typename Joined>
Clustering linkage(Matrix<double> distances, Joined joined)
{
    const auto n = static_cast<int>(distances.rows());
    Alive alive;
    std::vector<std::vector<int>> points; // for every remaining row, in leaf order
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
            const Third third{distances(a, other), distances(b, other),
                              alive.sizes[static_cast<std::size_t>(other)]};
            distances(a, other) = distances(other, a) =
                joined(alive.sizes[first], alive.sizes[second], distances(a, b), third);
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

} // namespace

Clustering averageLinkage(Matrix<double> distances)
{
    return linkage(std::move(distances), [](double a, double b, double, const Third& third) {
        return (a * third.fromFirst + b * third.fromSecond) / (a + b);
    });
}

Clustering wardLinkage(const Matrix<double>& distances)
{
    Clustering found =
        linkage(distances.cwiseAbs2().eval(), [](double a, double b, double between, const Third& third) {
            return ((a + third.size) * third.fromFirst + (b + third.size) * third.fromSecond
                    - third.size * between)
                / (a + b + third.size);
        });
    for (ClusterStep& step : found.steps)
        step.height = std::sqrt(std::max(0.0, step.height));
    return found;
}

std::vector<int> clustersOf(const Clustering& clustering, int count)
{
    const auto points = static_cast<int>(clustering.leaves.size());
    const int steps = std::clamp(points - count, 0, static_cast<int>(clustering.steps.size()));
    std::vector<int> parent(static_cast<std::size_t>(points + steps), -1);
    for (int step = 0; step < steps; ++step) {
        const ClusterStep& joined = clustering.steps[static_cast<std::size_t>(step)];
        parent[static_cast<std::size_t>(joined.first)] = points + step;
        parent[static_cast<std::size_t>(joined.second)] = points + step;
    }
    std::vector<int> numbers(parent.size(), -1), found;
    int next = 0;
    for (int point = 0; point < points; ++point) {
        auto root = static_cast<std::size_t>(point);
        while (parent[root] >= 0)
            root = static_cast<std::size_t>(parent[root]);
        if (numbers[root] < 0)
            numbers[root] = next++;
        found.push_back(numbers[root]);
    }
    return found;
}

Result<PlaneMap> planeMap(const Matrix<double>& distances)
{
    const Eigen::Index n = distances.rows();
    Matrix<double> inner = distances.cwiseProduct(distances);
    inner.rowwise() -= inner.colwise().mean().eval();
    inner.colwise() -= inner.rowwise().mean().eval();
    inner = (-0.25 * (inner + inner.transpose())).eval();
    // After a shift that makes it positive semidefinite, singular vectors are eigenvectors, the largest eigenvalue first.
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
