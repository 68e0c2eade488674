#include "core/circuits/gaussian_order.h"

#include <cmath>

namespace headwise {

double upperQuantile(double upper)
{
    if (upper > 0.5)
        return -upperQuantile(1 - upper);
    // Newton's method on ln Q(x), Q the upper tail. The function is concave, so every step from the left stays on the
    // left.
    double x = 0;
    for (int step = 0; step < 60; ++step) {
        const double tail = 0.5 * std::erfc(x / std::sqrt(2.0));
        const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0));
        const double change = std::log(tail / upper) * tail / density;
        x += change;
        if (std::abs(change) < 1e-13 * (1 + x))
            break;
    }
    return x;
}

double expectedPlace(double rank, double n)
{
    return upperQuantile((rank + 0.5) / n);
}

} // namespace headwise
