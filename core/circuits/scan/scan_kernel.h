#pragma once

#include <cstddef>
#include <span>

namespace headwise {

/// Places for the ends of a tile of products, [64] each, rounded to float32; null: not asked for.
struct TileEnds {
    float* largest;       ///< Row by row, over the columns; never null.
    float* smallest;      ///< Likewise.
    float* columnLargest; ///< Column by column, over the rows.
};

/// Places for the products of one line with those of a tile, [64] each.
struct TileEntries {
    int sign;              ///< 1 or −1, by which products are multiplied.
    int least;             ///< Products from here on are marked.
    int* products;         ///< Below 2^30.
    signed char* reaching; ///< −1 where a product is at least `least`, otherwise 0.
};

/// Products of 64 rows with 64 columns of which only the ends are kept. A product with a short inner side that is looked at once costs more
/// to write and to read again than to compute, so the ends are taken while the sums are in registers.
///
/// Numbers are whole, of which a processor multiplies more at once than of float32: twice as many of 16 bits, four times as many bytes. Sums
/// are exact: every one must stay below 2^31, the start and the sums on the way included.
///
/// A tile holds 64 lines, [steps, 64] words of 32 bits. A word is two numbers of 16 bits or four bytes, the first one in its lowest bits.
/// Bytes of rows have no sign and those of columns have one, as processors multiply them.
struct ScanKernel {
    static constexpr int lines = 64;

    const char* name; ///< The instructions: "AVX2".
    bool isOfBytes;   ///< `ends` takes bytes; otherwise numbers of 16 bits, as `entries` always does.
    /// starts: [64], added to all products of each column.
    void (*ends)(const int* rows, const int* columns, std::ptrdiff_t steps, const int* starts,
                 const TileEnds& out);
    /// line: [steps], the words of a line whose products with the lines of `tile` are wanted.
    void (*entries)(const int* tile, const int* line, std::ptrdiff_t steps, const TileEntries& out);
};

/// Returns those that this processor can run, the fastest first. The last two run everywhere, the one of bytes behind the other because there
/// it is no faster.
std::span<const ScanKernel> scanKernels();

} // namespace headwise
