#pragma once

#include "core/circuits/scan_kernel.h"

/// \file
/// The products of ScanKernel for one width of vectors. Each width is compiled in a file of its own, for processors that have it. Code that
/// other files share, of the standard library for example, must not be compiled there: the linker could take it for all processors.

namespace headwise {

/// A vector of `count` sums, and of as many pairs of numbers.
template <int count>
struct ScanVector {
    using Sums [[gnu::vector_size(count * sizeof(int))]] = int;
    using Pairs [[gnu::vector_size(count * sizeof(int))]] = short;
};

/// \tparam Vector `lanes` sums in one vector, and `products(pairs, pairs)`, which multiplies the numbers of pairs and adds the two products
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
    using Pairs = typename ScanVector<lanes>::Pairs;

    static void ends(const short* rows, const short* columns, std::ptrdiff_t pairs, const TileEnds& out)
    {
        alignas(64) int high[lines][lanes];
        alignas(64) int low[lines][lanes];
        for (int panel = 0; panel < lines; panel += lanes * width) {
            Sums highest[width];
            for (int first = 0; first < lines; first += height) {
                Sums sums[height][width] = {};
                add(rows + std::ptrdiff_t(2) * first, columns + std::ptrdiff_t(2) * panel, pairs, sums);
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

    static void entries(const short* tile, const short* line, std::ptrdiff_t pairs, int* out)
    {
        constexpr int atOnce = lines / lanes < 8 ? lines / lanes : 8;
        for (int panel = 0; panel < lines; panel += lanes * atOnce) {
            Sums sums[atOnce] = {};
            const short* column = tile + std::ptrdiff_t(2) * panel;
            for (std::ptrdiff_t k = 0; k < pairs; ++k, column += std::ptrdiff_t(2) * lines) {
                const Pairs factor = repeated(line + 2 * k);
                for (int vector = 0; vector < atOnce; ++vector)
                    sums[vector] +=
                        Vector::products(pairsAt(column + std::ptrdiff_t(2) * lanes * vector), factor);
            }
            __builtin_memcpy(out + panel, sums, sizeof sums);
        }
    }

private:
    static void add(const short* row, const short* column, std::ptrdiff_t pairs, Sums (&sums)[height][width])
    {
        for (std::ptrdiff_t k = 0; k < pairs;
             ++k, row += std::ptrdiff_t(2) * lines, column += std::ptrdiff_t(2) * lines) {
            Pairs numbers[width];
            for (int vector = 0; vector < width; ++vector)
                numbers[vector] = pairsAt(column + std::ptrdiff_t(2) * lanes * vector);
            for (int i = 0; i < height; ++i) {
                const Pairs factor = repeated(row + std::ptrdiff_t(2) * i);
                for (int vector = 0; vector < width; ++vector)
                    sums[i][vector] += Vector::products(numbers[vector], factor);
            }
        }
    }

    static Pairs pairsAt(const short* from)
    {
        Pairs numbers;
        __builtin_memcpy(&numbers, from, sizeof numbers);
        return numbers;
    }
    /// Returns one pair in every lane.
    static Pairs repeated(const short* pair)
    {
        int both;
        __builtin_memcpy(&both, pair, sizeof both);
        const Sums all = both - Sums{};
        Pairs out;
        __builtin_memcpy(&out, &all, sizeof out);
        return out;
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
