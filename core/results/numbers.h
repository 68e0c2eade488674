#pragma once

#include "core/model/config.h"
#include "core/model/head_id.h"

#include <algorithm>
#include <cassert>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace headwise {

/// Numbers of an array, row-major, while an analysis computes them. Until they are set, whole numbers are −1 and others NaN.
template <typename T>
class Numbers {
public:
    explicit Numbers(std::vector<std::size_t> shape)
        : m_shape(std::move(shape))
        , m_values(std::accumulate(m_shape.begin(), m_shape.end(), std::size_t{1}, std::multiplies<>()),
                   unset())
    {
    }

    /// [n_layers, n_heads], followed by `rest`, any integers.
    template <typename... Sizes>
    static Numbers perHead(const ModelConfig& config, Sizes... rest)
    {
        return Numbers({static_cast<std::size_t>(config.nLayers), static_cast<std::size_t>(config.nHeads),
                        static_cast<std::size_t>(rest)...});
    }

    /// [n_layers, n_heads, n_layers, n_heads].
    static Numbers perPair(const ModelConfig& config)
    {
        return perHead(config, config.nLayers, config.nHeads);
    }

    const std::vector<std::size_t>& shape() const { return m_shape; }
    const std::vector<T>& values() const { return m_values; }
    std::vector<T>& values() { return m_values; }

    /// All numbers of a head: what follows the first two dimensions.
    std::span<T> of(HeadId head) { return block(indexOf(head), 2); }
    std::span<const T> of(HeadId head) const { return block(indexOf(head), 2); }
    /// A list: the last dimension at `index`, a row-major index over the others.
    std::span<T> list(std::size_t index) { return block(index, m_shape.size() - 1); }

    void set(HeadId head, T value) { of(head)[0] = value; }
    /// Pads with zeros to the numbers of a head.
    void set(HeadId head, std::span<const T> values)
    {
        const std::span<T> out = of(head);
        assert(values.size() <= out.size());
        std::fill(std::copy(values.begin(), values.end(), out.begin()), out.end(), T{});
    }

    T at(HeadId head) const { return of(head)[0]; }
    T at(HeadId first, HeadId second) const { return of(first)[indexOf(second)]; }
    void set(HeadId first, HeadId second, T value) { of(first)[indexOf(second)] = value; }

    static T unset()
    {
        constexpr double nan = std::numeric_limits<double>::quiet_NaN();
        if constexpr (std::is_integral_v<T>)
            return T{-1};
        else if constexpr (std::is_floating_point_v<T>)
            return T{nan};
        else
            return T{nan, nan};
    }

private:
    std::size_t indexOf(HeadId head) const
    {
        return static_cast<std::size_t>(head.layer) * m_shape[1] + static_cast<std::size_t>(head.head);
    }
    std::size_t sizeAfter(std::size_t dimensions) const
    {
        return std::accumulate(m_shape.begin() + static_cast<std::ptrdiff_t>(dimensions), m_shape.end(),
                               std::size_t{1}, std::multiplies<>());
    }
    std::span<T> block(std::size_t index, std::size_t dimensions)
    {
        const std::size_t size = sizeAfter(dimensions);
        return std::span(m_values).subspan(index * size, size);
    }
    std::span<const T> block(std::size_t index, std::size_t dimensions) const
    {
        const std::size_t size = sizeAfter(dimensions);
        return std::span(m_values).subspan(index * size, size);
    }

    std::vector<std::size_t> m_shape;
    std::vector<T> m_values;
};

using RealNumbers = Numbers<double>;
using WholeNumbers = Numbers<std::int32_t>;
using ComplexNumbers = Numbers<std::complex<double>>;

} // namespace headwise
