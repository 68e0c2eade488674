#include "core/model/config.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

namespace headwise {

namespace {

double llama3Frequency(double plain, const RotaryScaling& s)
{
    const double turns = s.originalContext * plain / (2 * std::numbers::pi); // in the original context
    if (turns < s.lowFactor)
        return plain / s.factor;
    if (turns > s.highFactor)
        return plain;
    const double smooth = (turns - s.lowFactor) / (s.highFactor - s.lowFactor);
    return (1 - smooth) * plain / s.factor + smooth * plain;
}

/// 0 for the pairs that keep their frequency, 1 for those that are divided by the factor. \param i pair
double yarnRamp(const Rotary& rotary, int i)
{
    const RotaryScaling& s = rotary.scaling;
    const auto pairOf = [&](double turns) {
        return rotary.dim * std::log(s.originalContext / (turns * 2 * std::numbers::pi))
            / (2 * std::log(rotary.base));
    };
    const double first = pairOf(s.betaFast), last = pairOf(s.betaSlow);
    const double low = std::max(s.wholePairs ? std::floor(first) : first, 0.0);
    double high = std::min(s.wholePairs ? std::ceil(last) : last, rotary.dim - 1.0);
    if (high == low)
        high += 0.001;
    return std::clamp((i - low) / (high - low), 0.0, 1.0);
}

} // namespace

std::vector<double> rotaryFrequencies(const Rotary& rotary)
{
    const RotaryScaling& s = rotary.scaling;
    std::vector<double> frequencies;
    for (int i = 0; i < rotary.dim / 2; ++i) {
        const double plain = std::pow(rotary.base, -2.0 * i / rotary.dim);
        double scaled = plain;
        switch (s.kind) {
        case RotaryScaling::Kind::None: break;
        case RotaryScaling::Kind::Linear: scaled = plain / s.factor; break;
        case RotaryScaling::Kind::Llama3: scaled = llama3Frequency(plain, s); break;
        case RotaryScaling::Kind::Yarn: {
            const double ramp = yarnRamp(rotary, i);
            scaled = plain / s.factor * ramp + plain * (1 - ramp);
            break;
        }
        case RotaryScaling::Kind::Divisors: scaled = plain / s.divisors[static_cast<std::size_t>(i)]; break;
        }
        frequencies.push_back(scaled);
    }
    return frequencies;
}

std::vector<double> alibiSlopes(int heads)
{
    int power = 1;
    while (2 * power <= heads)
        power *= 2;
    std::vector<double> slopes;
    for (int i = 1; i <= power; ++i)
        slopes.push_back(std::exp2(-8.0 * i / power));
    // Every other slope of the next power of two.
    for (int j = 0; j < heads - power; ++j)
        slopes.push_back(std::exp2(-4.0 * (2 * j + 1) / power));
    return slopes;
}

int relativeBucket(const RelativeBias& bias, bool bidirectional, int offset)
{
    const int buckets = bidirectional ? bias.buckets / 2 : bias.buckets;
    const int first = bidirectional && offset < 0 ? buckets : 0;
    const int distance = bidirectional ? std::abs(offset) : std::max(offset, 0);
    const int exact = buckets / 2;
    if (distance < exact)
        return first + distance;
    // In float32 as in the source: a distance at the edge of a bucket would fall into another one in double.
    const float ratio = std::log(static_cast<float>(distance) / static_cast<float>(exact))
        / static_cast<float>(std::log(static_cast<double>(bias.maxDistance) / exact));
    return first
        + std::min(exact + static_cast<int>(ratio * static_cast<float>(buckets - exact)), buckets - 1);
}

} // namespace headwise
