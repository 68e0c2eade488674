#pragma once

#include <cstddef>
#include <span>

namespace headwise {

/// Places for the ends of a tile of products, rounded to float32.
struct TileEnds {
    float* largest;        ///< Row by row, `stride` apart, over the columns.
    float* smallest;       ///< Likewise.
    std::ptrdiff_t stride; ///< At least 1.
    float* columnLargest;  ///< [64], column by column, over the rows.
};

/// Products of 64 rows with 64 columns of which only the ends are kept. A product with a short inner side that is looked at once costs more
/// to write and to read again than to compute, so the ends are taken while the sums are in registers.
///
/// Numbers are whole, of which a processor multiplies more at once than of float32: twice as many of 16 bits, four times as many bytes. Sums
/// are exact: every one must stay below 2^31, the start and the sums on the way included.
///
/// A tile holds 64 lines, [steps, 64] words of 32 bits. A word is two numbers of 16 bits or four bytes, the first one in its lowest bits.
/// Bytes of rows have a sign and those of columns have none, as processors multiply them.
struct ScanKernel {
    static constexpr int lines = 64;

    const char* name; ///< The instructions: "AVX2".
    bool isOfBytes;   ///< `ends` takes bytes; otherwise numbers of 16 bits, as `entries` always does.
    /// starts: [64], added to all products of each row.
    void (*ends)(const int* rows, const int* columns, std::ptrdiff_t steps, const int* starts,
                 const TileEnds& out);
    /// line: the first word of a line in its tile, entries: [64], its products with the lines of `tile`.
    void (*entries)(const int* tile, const int* line, std::ptrdiff_t steps, int* entries);
};

/// Returns those that this processor can run, the fastest first. The last two run everywhere, the one of bytes behind the other because there
/// it is no faster.
std::span<const ScanKernel> scanKernels();

} // namespace headwise
