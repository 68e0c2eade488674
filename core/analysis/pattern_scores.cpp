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

double slopeDistance(double slope, int n, int copyLength, int window)
{
    assert(copyLength >= 1 && copyLength <= n);
    double weights = 0, weighted = 0, sum = 0;
    for (int q = 0; q < n; ++q) {
        if (window <= 0 || q < window) { // this query sees one key more, q tokens back
            const double weight = std::exp(-slope * q);
            weights += weight;
            weighted += weight * q;
        }
        if (q >= n - copyLength)
            sum += weighted / weights;
    }
    return sum / copyLength;
}

} // namespace headwise
