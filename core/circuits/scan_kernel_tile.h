#pragma once

#include "core/circuits/scan_kernel.h"

/// \file
/// The products of ScanKernel for one width of vectors. Each width is compiled in a file of its own, for processors that have it. Code that
/// other files share, of the standard library for example, must not be compiled there: the linker could take it for all processors.

namespace headwise {

/// \tparam lanes float32 numbers in one vector
/// \tparam width vectors that are summed side by side for each of the rows: as many sums as there are registers
template <int lanes, int width>
struct ScanTile {
    template <int count>
    struct Vector {
        using Type [[gnu::vector_size(count * sizeof(float))]] = float;
    };
    using Lanes = typename Vector<lanes>::Type;

    static constexpr int columns = ScanKernel::columns;
    static constexpr int rows = ScanKernel::rows;
    static_assert(columns % (lanes * width) == 0);

    static void ends(const float* tile, const float* row, std::ptrdiff_t inner, float* largest,
                     float* smallest)
    {
        alignas(64) float high[rows][lanes];
        alignas(64) float low[rows][lanes];
        for (int panel = 0; panel < columns; panel += lanes * width) {
            Lanes sums[rows][width] = {};
            const float* column = tile + panel;
            const float* factor = row;
            for (std::ptrdiff_t k = 0; k < inner; ++k, column += columns, factor += rows) {
                Lanes numbers[width];
                for (std::ptrdiff_t vector = 0; vector < width; ++vector)
                    numbers[vector] = load<lanes>(column + vector * lanes);
                for (int i = 0; i < rows; ++i) {
                    for (std::ptrdiff_t vector = 0; vector < width; ++vector)
                        sums[i][vector] += numbers[vector] * factor[i];
                }
            }
            for (int i = 0; i < rows; ++i) {
                Lanes above = panel == 0 ? sums[i][0] : load<lanes>(high[i]);
                Lanes below = panel == 0 ? sums[i][0] : load<lanes>(low[i]);
                for (std::ptrdiff_t vector = 0; vector < width; ++vector) {
                    above = sums[i][vector] > above ? sums[i][vector] : above;
                    below = sums[i][vector] < below ? sums[i][vector] : below;
                }
                __builtin_memcpy(high[i], &above, sizeof above);
                __builtin_memcpy(low[i], &below, sizeof below);
            }
        }
        for (int i = 0; i < rows; ++i) {
            largest[i] = end<lanes, true>(high[i]);
            smallest[i] = end<lanes, false>(low[i]);
        }
    }

    static void entries(const float* tile, const float* row, std::ptrdiff_t inner, float* out)
    {
        constexpr int atOnce = columns / lanes < 8 ? columns / lanes : 8;
        for (int panel = 0; panel < columns; panel += lanes * atOnce) {
            Lanes sums[atOnce] = {};
            const float* column = tile + panel;
            for (std::ptrdiff_t k = 0; k < inner; ++k, column += columns) {
                for (std::ptrdiff_t vector = 0; vector < atOnce; ++vector)
                    sums[vector] += load<lanes>(column + vector * lanes) * row[k];
            }
            __builtin_memcpy(out + panel, sums, sizeof sums);
        }
    }

private:
    template <int count>
    static typename Vector<count>::Type load(const float* from)
    {
        typename Vector<count>::Type numbers;
        __builtin_memcpy(&numbers, from, sizeof numbers);
        return numbers;
    }

    /// Returns the largest or the smallest of `count` numbers, half against half.
    template <int count, bool isLargest>
    static float end(const float* numbers)
    {
        if constexpr (count == 2) {
            return (numbers[0] > numbers[1]) == isLargest ? numbers[0] : numbers[1];
        } else {
            using Half = typename Vector<count / 2>::Type;
            const Half first = load<count / 2>(numbers);
            const Half second = load<count / 2>(numbers + count / 2);
            const Half better =
                isLargest ? (first > second ? first : second) : (first < second ? first : second);
            float rest[count / 2];
            __builtin_memcpy(rest, &better, sizeof better);
            return end<count / 2, isLargest>(rest);
        }
    }
};

} // namespace headwise
