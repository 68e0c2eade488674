#pragma once

#include "core/base/matrix.h"
#include "core/base/result.h"

#include <vector>

namespace headwise {

/// Two clusters become one. Numbers below n are the points, n + i is the cluster of step i.
struct ClusterStep {
    int first = 0, second = 0; ///< The one that holds the lower point first.
    double height = 0;         ///< How far apart they are, as the linkage has it.
};

struct Clustering {
    std::vector<ClusterStep> steps; ///< n − 1, by rising height.
    std::vector<int> leaves;        ///< [n], the points so that every cluster lies together.
};

/// Average linkage (UPGMA). \param distances [n, n], symmetric, without NaN
/// Source: Sokal & Michener 1958. Cost: O(n³) at worst, n² in memory.
Clustering averageLinkage(Matrix<double> distances);

/// Ward's linkage: the two clusters whose union adds the least to the sum of squared distances from the centres of clusters,
/// were the distances those of points. Heights are √2 times the root of what is added: the distance, of two points.
/// Source: Ward 1963; Murtagh & Legendre 2014 (Ward2). Cost: as above.
Clustering wardLinkage(const Matrix<double>& distances);

/// Which of `count` clusters each point is in: the steps but the last count − 1. Numbered by their lowest points.
std::vector<int> clustersOf(const Clustering& clustering, int count);

/// Classical scaling: points in a plane whose distances are close to those given.
struct PlaneMap {
    Matrix<double> points;       ///< [n, 2]; the entry of largest magnitude of a column is positive
    double shareOfDistances = 0; ///< Of the positive eigenvalues of −½ J D² J; NaN if there is none.
};

/// Errors: Corrupt if a distance is not finite. Source: Torgerson 1952.
Result<PlaneMap> planeMap(const Matrix<double>& distances);

} // namespace headwise
