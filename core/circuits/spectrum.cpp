#include "core/circuits/spectrum.h"

#include "core/base/matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise {

RankMeasures rankMeasures(std::span<const double> sigma)
{
    double sum = 0;
    double squares = 0;
    double fourths = 0;
    for (const double s : sigma) {
        sum += s;
        squares += s * s;
        fourths += s * s * s * s;
    }
    RankMeasures measures;
    measures.frobeniusNorm = std::sqrt(squares);
    if (!(sum > 0)) {
        measures.effectiveRank = measures.stableRank = measures.participationRatio = measures.k90 =
            notComputed;
        return measures;
    }
    double entropy = 0;
    double energy = 0;
    for (const double s : sigma) {
        const double p = s / sum;
        entropy -= p > 0 ? p * std::log(p) : 0;
        measures.k90 += energy < 0.9 * squares ? 1 : 0;
        energy += s * s;
    }
    measures.effectiveRank = std::exp(entropy);
    measures.stableRank = squares / (sigma[0] * sigma[0]);
    measures.participationRatio = squares * squares / fourths;
    return measures;
}

double positivity(std::span<const std::complex<double>> eigenvalues)
{
    double real = 0;
    double modulus = 0;
    for (const std::complex<double>& lambda : eigenvalues) {
        real += lambda.real();
        modulus += std::abs(lambda);
    }
    return modulus > 0 ? std::clamp(real / modulus, -1.0, 1.0) : std::numeric_limits<double>::quiet_NaN();
}

} // namespace headwise
