#pragma once

#include "tests/support/reference_forward.h"

#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace headwise::test {

using Shape = std::vector<std::size_t>;

/// Fills tensors in the order of the calls. std::normal_distribution differs between standard libraries, so the normal
/// deviates are made here (Box–Muller).
class TensorWriter {
public:
    explicit TensorWriter(unsigned seed, bool float64)
        : m_engine(seed)
        , m_float64(float64)
    {
    }

    void matrix(const std::string& name, const Shape& shape, std::size_t inputs)
    {
        fill(name, shape, 0, 1.2 / std::sqrt(static_cast<double>(inputs)));
    }
    void embedding(const std::string& name, const Shape& shape) { fill(name, shape, 0, 1); }
    void bias(const std::string& name, const Shape& shape) { fill(name, shape, 0, 0.5); }
    void normWeight(const std::string& name, std::size_t size, double mean = 1)
    {
        fill(name, {size}, mean, 0.3);
    }
    /// [1, 1, n, n]: 1 where query i sees key j ≤ i. As many random numbers are drawn as for other tensors of this shape.
    void causalMask(const std::string& name, std::size_t n)
    {
        bias(name, {1, 1, n, n});
        for (std::size_t at = 0; at < n * n; ++at)
            tensors[name].values[at] = at % n <= at / n ? 1 : 0;
    }

    std::map<std::string, StoredTensor> tensors;

private:
    double uniform() { return (static_cast<double>(m_engine() >> 11) + 0.5) * 0x1p-53; }
    double normal()
    {
        const double radius = std::sqrt(-2 * std::log(uniform()));
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }
    void fill(const std::string& name, const Shape& shape, double mean, double spread)
    {
        StoredTensor tensor{shape, {}};
        std::size_t count = 1;
        for (const std::size_t size : shape)
            count *= size;
        for (std::size_t i = 0; i < count; ++i) {
            const double value = mean + spread * normal();
            tensor.values.push_back(m_float64 ? value : static_cast<double>(static_cast<float>(value)));
        }
        tensors[name] = std::move(tensor);
    }

    std::mt19937_64 m_engine;
    bool m_float64;
};

} // namespace headwise::test
