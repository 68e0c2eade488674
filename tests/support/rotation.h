#pragma once

#include "core/base/matrix.h"
#include "core/model/config.h"

#include <cmath>

namespace headwise::test {

/// R(Δ), [r, r], from its definition in either layout: q R(Δ) rotates pair i by Δ · base^(−2i/dim); the rest of the head
/// is unchanged.
inline Matrix<double> rotation(const Rotary& rotary, Eigen::Index r, double offset)
{
    Matrix<double> R = Matrix<double>::Identity(r, r);
    for (int i = 0; i < rotary.dim / 2; ++i) {
        const double angle = offset * std::pow(rotary.base, -2.0 * i / rotary.dim);
        const int a = rotary.adjacentPairs ? 2 * i : i;
        const int b = rotary.adjacentPairs ? 2 * i + 1 : i + rotary.dim / 2;
        R(a, a) = R(b, b) = std::cos(angle);
        R(a, b) = std::sin(angle);
        R(b, a) = -std::sin(angle);
    }
    return R;
}

} // namespace headwise::test
