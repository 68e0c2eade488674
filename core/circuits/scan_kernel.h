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
/// Numbers are whole, 16 bits each, of which a processor multiplies twice as many at once as of float32, and sums are exact. Of any two lines
/// the product of the norms must stay below 2^31, so that no sum overflows.
///
/// A tile holds 64 lines, [pairs, 64, 2]: the first two numbers of every line, then the next two.
struct ScanKernel {
    static constexpr int lines = 64;

    const char* name; ///< The instructions: "AVX2".
    void (*ends)(const short* rows, const short* columns, std::ptrdiff_t pairs, const TileEnds& out);
    /// line: [pairs, 2], entries: [64], its products with the lines of the tile.
    void (*entries)(const short* tile, const short* line, std::ptrdiff_t pairs, int* entries);
};

/// Returns those that this processor can run, the fastest first; the last one runs everywhere.
std::span<const ScanKernel> scanKernels();

} // namespace headwise
