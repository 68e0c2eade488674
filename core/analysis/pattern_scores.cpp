#include "core/analysis/pattern_scores.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace headwise {

template <typename Scalar>
PatternScores patternScores(const Matrix<Scalar>& pattern, int copyLength)
{
    const Eigen::Index n = pattern.rows();
    assert(copyLength >= 1 && 2 * copyLength <= n);
    PatternScores sums;
    for (Eigen::Index q = n - copyLength; q < n; ++q) {
        const auto at = [&](Eigen::Index key) { return static_cast<double>(pattern(q, key)); };
        sums.induction += at(q - copyLength + 1);
        sums.duplicate += at(q - copyLength);
        sums.previous += at(q - 1);
        sums.first += at(0);
        sums.current += at(q);
        for (Eigen::Index j = 0; j < n; ++j) {
            const double share = at(j);
            sums.distance += share * static_cast<double>(std::abs(q - j));
            if (share != 0) // NaN stays NaN
                sums.entropy -= share * std::log(share);
        }
    }
    for (double* sum : {&sums.induction, &sums.duplicate, &sums.previous, &sums.first, &sums.current,
                        &sums.entropy, &sums.distance})
        *sum /= copyLength;
    return sums;
}

template PatternScores patternScores(const Matrix<float>&, int);
template PatternScores patternScores(const Matrix<double>&, int);

Matrix<double> uniformPattern(int n, int window, Sight sight)
{
    Matrix<double> pattern = Matrix<double>::Zero(n, n);
    for (int q = 0; q < n; ++q) {
        const int first = window > 0 ? std::max(0, q + 1 - window) : 0;
        const int end = sight == Sight::Everything ? n : q + 1;
        pattern.row(q).segment(first, end - first).setConstant(1.0 / (end - first));
    }
    return pattern;
}

Matrix<double> previousTokenPattern(int n)
{
    Matrix<double> wanted = Matrix<double>::Zero(n, n);
    wanted.diagonal(-1).setOnes();
    return wanted;
}

Matrix<double> duplicateTokenPattern(std::span<const int> ids)
{
    const auto n = static_cast<Eigen::Index>(ids.size());
    Matrix<double> wanted = Matrix<double>::Zero(n, n);
    for (Eigen::Index q = 0; q < n; ++q)
        for (Eigen::Index j = 0; j < q; ++j)
            wanted(q, j) = ids[static_cast<std::size_t>(j)] == ids[static_cast<std::size_t>(q)] ? 1 : 0;
    return wanted;
}

Matrix<double> inductionPattern(std::span<const int> ids)
{
    const Matrix<double> duplicates = duplicateTokenPattern(ids);
    Matrix<double> wanted = Matrix<double>::Zero(duplicates.rows(), duplicates.cols());
    if (wanted.cols() > 1)
        wanted.rightCols(wanted.cols() - 1) = duplicates.leftCols(wanted.cols() - 1);
    return wanted;
}

namespace {

void drop(IgnoredKeys ignored, Matrix<double>& entries)
{
    if (ignored.first)
        entries.col(0).setZero();
    if (ignored.current)
        entries.diagonal().setZero();
}

} // namespace

double shareOnPattern(Matrix<double> pattern, const Matrix<double>& wanted, IgnoredKeys ignored)
{
    drop(ignored, pattern);
    return pattern.cwiseProduct(wanted).sum() / pattern.sum();
}

double closenessToPattern(const Matrix<double>& pattern, const Matrix<double>& wanted, IgnoredKeys ignored)
{
    Matrix<double> difference = (pattern - wanted).cwiseAbs();
    drop(ignored, difference);
    return 1 - difference.sum() / static_cast<double>(pattern.rows());
}

} // namespace headwise
