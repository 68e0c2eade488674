#include "core/analysis/comparison/direction_match.h"

#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

/// Where each block begins, and at the end how many directions there are.
std::vector<Eigen::Index> startsOf(const std::vector<int>& blocks)
{
    std::vector<Eigen::Index> starts;
    starts.reserve(blocks.size() + 1);
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (i == 0 || blocks[i] != blocks[i - 1])
            starts.push_back(static_cast<Eigen::Index>(i));
    starts.push_back(std::ssize(blocks));
    return starts;
}

/// The best run of each old direction with one block of new ones.
/// \param squares [old], ‖u_jᵀ U_I‖² \param size |I| \param starts of the old blocks
RowVector<double> bestRuns(const RowVector<double>& squares, Eigen::Index size,
                           const std::vector<Eigen::Index>& starts)
{
    RowVector<double> best = RowVector<double>::Zero(squares.size());
    std::size_t end = 0;
    for (std::size_t first = 0; first + 1 < starts.size(); ++first) {
        while (end + 1 < starts.size() && (end <= first || starts[end] - starts[first] < size))
            ++end;
        const Eigen::Index count = starts[end] - starts[first];
        const double match =
            std::min(1.0, std::sqrt(squares.segment(starts[first], count).sum() / static_cast<double>(size)));
        best.segment(starts[first], count) = best.segment(starts[first], count).cwiseMax(match);
    }
    return best;
}

} // namespace

Matrix<double> directionMatches(const Matrix<double>& cosines, const std::vector<int>& newBlocks,
                                const std::vector<int>& oldBlocks)
{
    const std::vector<Eigen::Index> starts = startsOf(newBlocks);
    const std::vector<Eigen::Index> oldStarts = startsOf(oldBlocks);
    Matrix<double> matches(cosines.rows(), cosines.cols());
    for (std::size_t block = 0; block + 1 < starts.size(); ++block) {
        const Eigen::Index size = starts[block + 1] - starts[block];
        const RowVector<double> squares = cosines.middleRows(starts[block], size).cwiseAbs2().colwise().sum();
        matches.middleRows(starts[block], size).rowwise() = bestRuns(squares, size, oldStarts);
    }
    return matches;
}

} // namespace headwise
