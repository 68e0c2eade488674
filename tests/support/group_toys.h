#pragma once

#include "tests/support/changed_toy.h"
#include "tests/support/dense_algebra.h"

#include <QDebug>

#include <algorithm>
#include <cmath>

/// Helpers for tests of groups and of neurons.
namespace headwise::test {

inline AnalysisOptions exactOptions()
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    return options;
}

inline std::vector<double> found(const ResultSet& results, const std::string& path)
{
    return numbers(results, "analyses/" + path);
}

inline bool close(double a, double b, double tolerance = 1e-9)
{
    const bool same =
        std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b)) || (std::isnan(a) && std::isnan(b));
    if (!same)
        qWarning("%.12g, expected %.12g", a, b);
    return same;
}

/// The projector onto the columns of a matrix, from its normal equations.
inline Matrix<double> projector(const Matrix<double>& m)
{
    return m * inverseOf(m.transpose() * m) * m.transpose();
}

inline ToyOptions grouped()
{
    ToyOptions options = bareAttention();
    options.dModel = 13;
    options.nHeads = 6;
    options.nKvHeads = 2;
    return options;
}

} // namespace headwise::test
