#pragma once

#include "core/base/matrix.h"

#include <vector>

namespace headwise {

/// The rows of `points`, so that those of like direction stand together.
///
/// Spherical k-means with up to 64 clusters, from centres that lie farthest from one another and four rounds; the clusters stand
/// as average linkage of their centres' angles has them, and the rows of one by falling cosine with its centre. Rows without a
/// direction come last; ties to the lower index. The same on every machine: nothing in it is random.
/// \param points [n, k], finite; their lengths count for nothing
/// \returns [n], the row that stands in each place
/// Cost: 2 · 69 n k · min(n, 64) flops at most. Source: Gonzalez 1985; Dhillon & Modha 2001.
std::vector<int> clusterOrder(Matrix<double> points);

} // namespace headwise
