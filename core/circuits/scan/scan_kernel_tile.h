#pragma once

#include "core/circuits/scan/scan_kernel.h"

/// \file
/// The products of ScanKernel for one width of vectors. Each width is compiled in a file of its own, for processors that have it. Code that
/// other files share, of the standard library for example, must not be compiled there: the linker could take it for all processors.

namespace headwise {

/// A vector of `count` sums, or of as many words of numbers.
template <int count>
struct ScanVector {
    static constexpr int lanes = count;
    using Sums [[gnu::vector_size(count * sizeof(int))]] = int;
};

/// \tparam Vector a ScanVector with `add(sums, column, row)`, which multiplies the numbers of words and adds the products of each word to its
/// sum
/// \tparam height rows whose sums are held side by side
/// \tparam width vectors that are summed for each of these rows
template <typename Vector, int height, int width>
struct ScanTile {
    static constexpr int lanes = Vector::lanes;
    static constexpr int lines = ScanKernel::lines;
    static_assert(lines % (lanes * width) == 0 && lines % height == 0);

    template <int count>
    using SumsOf = typename ScanVector<count>::Sums;
    using Sums = SumsOf<lanes>;

    static void ends(const int* rows, const int* columns, std::ptrdiff_t steps, const int* starts,
                     const TileEnds& out)
    {
        alignas(64) int high[lines][lanes];
        alignas(64) int low[lines][lanes];
        for (int panel = 0; panel < lines; panel += lanes * width) {
            Sums highest[width];
            for (int first = 0; first < lines; first += height) {
                Sums sums[height][width];
                for (int i = 0; i < height; ++i) {
                    for (int vector = 0; vector < width; ++vector)
                        sums[i][vector] = starts[first + i] - Sums{};
                }
                add(rows + first, columns + panel, steps, sums);
                for (int i = 0; i < height; ++i) {
                    Sums above = panel == 0 ? sums[i][0] : load<lanes>(high[first + i]);
                    Sums below = panel == 0 ? sums[i][0] : load<lanes>(low[first + i]);
                    for (int vector = 0; vector < width; ++vector) {
                        above = larger(above, sums[i][vector]);
                        below = smaller(below, sums[i][vector]);
                        highest[vector] =
                            first + i == 0 ? sums[i][vector] : larger(highest[vector], sums[i][vector]);
                    }
                    __builtin_memcpy(high[first + i], &above, sizeof above);
                    __builtin_memcpy(low[first + i], &below, sizeof below);
                }
            }
            for (int vector = 0; vector < width; ++vector) {
                for (int lane = 0; lane < lanes; ++lane)
                    out.columnLargest[panel + vector * lanes + lane] =
                        static_cast<float>(highest[vector][lane]);
            }
        }
        for (int i = 0; i < lines; ++i) {
            out.largest[i * out.stride] = static_cast<float>(end<lanes, true>(high[i]));
            out.smallest[i * out.stride] = static_cast<float>(end<lanes, false>(low[i]));
        }
    }

    static void entries(const int* tile, const int* line, std::ptrdiff_t steps, int* out)
    {
        constexpr int atOnce = lines / lanes < 8 ? lines / lanes : 8;
        for (int panel = 0; panel < lines; panel += lanes * atOnce) {
            Sums sums[atOnce] = {};
            const int* column = tile + panel;
            for (std::ptrdiff_t k = 0; k < steps; ++k, column += lines) {
                const Sums factor = line[k * lines] - Sums{};
                for (int vector = 0; vector < atOnce; ++vector)
                    sums[vector] = Vector::add(sums[vector],
                                               load<lanes>(column + std::ptrdiff_t(lanes) * vector), factor);
            }
            __builtin_memcpy(out + panel, sums, sizeof sums);
        }
    }

private:
    static void add(const int* row, const int* column, std::ptrdiff_t steps, Sums (&sums)[height][width])
    {
        for (std::ptrdiff_t k = 0; k < steps; ++k, row += lines, column += lines) {
            Sums words[width];
            for (int vector = 0; vector < width; ++vector)
                words[vector] = load<lanes>(column + std::ptrdiff_t(lanes) * vector);
            for (int i = 0; i < height; ++i) {
                const Sums factor = row[i] - Sums{}; // one word in every lane
                for (int vector = 0; vector < width; ++vector)
                    sums[i][vector] = Vector::add(sums[i][vector], words[vector], factor);
            }
        }
    }

    template <int count>
    static SumsOf<count> load(const int* from)
    {
        SumsOf<count> numbers;
        __builtin_memcpy(&numbers, from, sizeof numbers);
        return numbers;
    }
    template <typename Numbers>
    static Numbers larger(Numbers a, Numbers b)
    {
        return a > b ? a : b;
    }
    template <typename Numbers>
    static Numbers smaller(Numbers a, Numbers b)
    {
        return a < b ? a : b;
    }

    /// Returns the largest or the smallest of `count` numbers, half against half.
    template <int count, bool isLargest>
    static int end(const int* numbers)
    {
        if constexpr (count == 2) {
            return (numbers[0] > numbers[1]) == isLargest ? numbers[0] : numbers[1];
        } else {
            const auto first = load<count / 2>(numbers);
            const auto second = load<count / 2>(numbers + count / 2);
            const auto better = isLargest ? larger(first, second) : smaller(first, second);
            int rest[count / 2];
            __builtin_memcpy(rest, &better, sizeof better);
            return end<count / 2, isLargest>(rest);
        }
    }
};

} // namespace headwise
