#pragma once

#include "core/base/matrix.h"
#include "core/base/result.h"

#include <vector>

namespace headwise {

/// A merge of two clusters. Numbers below n are the points, n + i is the cluster of step i.
struct ClusterStep {
    int first = 0, second = 0; ///< The one with the lower point comes first.
    double height = 0;         ///< Their distance under the linkage.
};

struct Clustering {
    std::vector<ClusterStep> steps; ///< n − 1 merges, by rising height.
    std::vector<int> leaves;        ///< [n], the points in an order that keeps every cluster together.
};

/// Average linkage (UPGMA). \param distances [n, n], symmetric, without NaN
/// Source: Sokal & Michener 1958. Cost: O(n³) at worst, n² in memory.
Clustering averageLinkage(Matrix<double> distances);

/// Ward's linkage: merges the two clusters whose union adds the least to the sum of squared distances from the cluster
/// centres, as if the distances were those of points. A height is √2 times the root of that increase, which for two
/// points is their distance.
/// Source: Ward 1963; Murtagh & Legendre 2014 (Ward2). Cost: as above.
Clustering wardLinkage(const Matrix<double>& distances);

/// Returns each point's cluster when the last count − 1 merges are left out. Clusters are numbered by their lowest
/// points.
std::vector<int> clustersOf(const Clustering& clustering, int count);

/// Classical scaling: points in a plane whose distances are close to those given.
struct PlaneMap {
    Matrix<double> points;       ///< [n, 2]; the entry of largest magnitude of a column is positive
    double shareOfDistances = 0; ///< Share of the positive eigenvalues of −½ J D² J; NaN if there are none.
};

/// Errors: Corrupt if a distance is not finite. Source: Torgerson 1952.
Result<PlaneMap> planeMap(const Matrix<double>& distances);

} // namespace headwise
