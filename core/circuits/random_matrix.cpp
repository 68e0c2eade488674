#include "core/circuits/random_matrix.h"

#include <cmath>
#include <numbers>
#include <random>

namespace headwise {

Matrix<double> gaussianMatrix(Eigen::Index rows, Eigen::Index cols, std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    const auto uniform = [&] { // in (0, 1)
        return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
    };
    Matrix<double> out(rows, cols);
    for (Eigen::Index i = 0; i < out.size(); i += 2) {
        const double radius = std::sqrt(-2 * std::log(uniform()));
        const double angle = 2 * std::numbers::pi * uniform();
        out.data()[i] = radius * std::cos(angle);
        if (i + 1 < out.size())
            out.data()[i + 1] = radius * std::sin(angle);
    }
    return out;
}

} // namespace headwise
