#pragma once

#include "core/circuits/scan/scan_kernel.h"

#include <utility>

/// \file
/// The products of ScanKernel for one width of vectors. Each width is compiled in a file of its own, for processors that have it. Code that
/// other files share, of the standard library for example, must not be compiled there: the linker could take it for all processors.

namespace headwise {

/// A vector of `count` sums, or of as many words of numbers.
template <int count>
struct ScanVector {
    static constexpr int lanes = count;
    using Sums [[gnu::vector_size(count * sizeof(int))]] = int;
    using Floats [[gnu::vector_size(count * sizeof(float))]] = float;
    using Marks [[gnu::vector_size(count)]] = signed char;
};

/// \tparam Vector a ScanVector with `add(sums, row, column)`, which multiplies the numbers of words and adds the products of each word to its
/// sum. Bytes of the first have no sign.
/// \tparam height columns whose sums are held side by side
/// \tparam width vectors of rows that are summed for each of these columns
template <typename Vector, int height, int width>
struct ScanTile {
    static constexpr int lanes = Vector::lanes;
    static constexpr int lines = ScanKernel::lines;
    static_assert(lines % (lanes * width) == 0 && lines % height == 0);

    using Sums = typename ScanVector<lanes>::Sums;

    static void ends(const int* rows, const int* columns, std::ptrdiff_t steps, const int* starts,
                     const TileEnds& out)
    {
        constexpr int lowest = -__INT_MAX__ - 1;
        Sums ofColumns[lines];
        for (int panel = 0; panel < lines; panel += lanes * width) {
            Sums high[width], low[width];
            for (int vector = 0; vector < width; ++vector) {
                high[vector] = lowest - Sums{};
                low[vector] = __INT_MAX__ - Sums{};
            }
            for (int first = 0; first < lines; first += height) {
                Sums sums[height][width];
                for (int i = 0; i < height; ++i) {
                    for (int vector = 0; vector < width; ++vector)
                        sums[i][vector] = starts[first + i] - Sums{};
                }
                add(rows + panel, columns + first, steps, sums);
                for (int i = 0; i < height; ++i) {
                    for (int vector = 0; vector < width; ++vector)
                        high[vector] = larger(high[vector], sums[i][vector]);
                }
                if (out.smallest) {
                    for (int i = 0; i < height; ++i) {
                        for (int vector = 0; vector < width; ++vector)
                            low[vector] = smaller(low[vector], sums[i][vector]);
                    }
                }
                if (out.columnLargest) {
                    for (int i = 0; i < height; ++i) {
                        Sums most = panel == 0 ? sums[i][0] : larger(ofColumns[first + i], sums[i][0]);
                        for (int vector = 1; vector < width; ++vector)
                            most = larger(most, sums[i][vector]);
                        ofColumns[first + i] = most;
                    }
                }
            }
            for (int vector = 0; vector < width; ++vector) {
                const std::ptrdiff_t at = panel + std::ptrdiff_t(lanes) * vector;
                store(high[vector], out.largest + at);
                if (out.smallest)
                    store(low[vector], out.smallest + at);
            }
        }
        if (out.columnLargest) {
            for (int first = 0; first < lines; first += lanes)
                store(largestOfEach<lanes>(ofColumns + first), out.columnLargest + first);
        }
    }

    static void entries(const int* tile, const int* line, std::ptrdiff_t steps, const TileEntries& out)
    {
        constexpr int chains = 8; // of sums, so that none waits for the one before
        constexpr int atOnce = lines / lanes < chains ? lines / lanes : chains;
        constexpr int apart = chains / atOnce; // steps whose sums are kept apart
        for (int panel = 0; panel < lines; panel += lanes * atOnce) {
            Sums sums[apart][atOnce] = {};
            const auto step = [&](std::ptrdiff_t k, Sums(&to)[atOnce]) {
                const int* column = tile + k * lines + panel;
                const Sums factor = line[k] - Sums{};
                for (int vector = 0; vector < atOnce; ++vector)
                    to[vector] =
                        Vector::add(to[vector], load(column + std::ptrdiff_t(lanes) * vector), factor);
            };
            std::ptrdiff_t done = 0;
            for (; done + apart <= steps; done += apart) {
                for (int one = 0; one < apart; ++one)
                    step(done + one, sums[one]);
            }
            for (; done < steps; ++done)
                step(done, sums[0]);
            for (int vector = 0; vector < atOnce; ++vector) {
                Sums sum = sums[0][vector];
                for (int other = 1; other < apart; ++other)
                    sum += sums[other][vector];
                const Sums products = out.sign > 0 ? sum : -sum;
                const auto reaching =
                    __builtin_convertvector(products >= out.least, typename ScanVector<lanes>::Marks);
                const std::ptrdiff_t at = panel + std::ptrdiff_t(lanes) * vector;
                __builtin_memcpy(out.products + at, &products, sizeof products);
                __builtin_memcpy(out.reaching + at, &reaching, sizeof reaching);
            }
        }
    }

private:
    static void add(const int* row, const int* column, std::ptrdiff_t steps, Sums (&sums)[height][width])
    {
        for (std::ptrdiff_t k = 0; k < steps; ++k, row += lines, column += lines) {
            Sums words[width];
            for (int vector = 0; vector < width; ++vector)
                words[vector] = load(row + std::ptrdiff_t(lanes) * vector);
            for (int i = 0; i < height; ++i) {
                const Sums factor = column[i] - Sums{}; // one word in every lane
                for (int vector = 0; vector < width; ++vector)
                    sums[i][vector] = Vector::add(sums[i][vector], words[vector], factor);
            }
        }
    }

    static Sums load(const int* from)
    {
        Sums numbers;
        __builtin_memcpy(&numbers, from, sizeof numbers);
        return numbers;
    }
    static void store(Sums sums, float* to)
    {
        const auto rounded = __builtin_convertvector(sums, typename ScanVector<lanes>::Floats);
        __builtin_memcpy(to, &rounded, sizeof rounded);
    }
    static Sums larger(Sums a, Sums b) { return a > b ? a : b; }
    static Sums smaller(Sums a, Sums b) { return a < b ? a : b; }

    /// Returns the largest numbers of `count` vectors, of one after the other: lanes / count of each, with its largest.
    template <int count>
    static Sums largestOfEach(const Sums* vectors)
    {
        if constexpr (count == 1) {
            return *vectors;
        } else {
            const Sums first = largestOfEach<count / 2>(vectors),
                       second = largestOfEach<count / 2>(vectors + count / 2);
            return largerNeighbours(first, second, std::make_integer_sequence<int, lanes>());
        }
    }
    /// Returns the larger of every two neighbours, those of `first` before those of `second`.
    template <int... lane>
    static Sums largerNeighbours(Sums first, Sums second, std::integer_sequence<int, lane...>)
    {
        return larger(__builtin_shufflevector(first, second, 2 * lane...),
                      __builtin_shufflevector(first, second, (2 * lane + 1)...));
    }
};

} // namespace headwise
