#pragma once

#include <cstddef>
#include <span>

namespace headwise {

/// Products of a tile of 64 columns of which only the ends are kept. A product with a short inner side that is looked at once costs more to
/// write and to read again than to compute, so the ends are taken while the sums are in registers.
///
/// tile: [64, inner], rows: [6, inner], both column after column. Sums run over the inner side in order, in float32.
struct ScanKernel {
    static constexpr int columns = 64;
    static constexpr int rows = 6;

    const char* name; ///< The instructions: "AVX2".
    /// largest, smallest: [6], of each row over the columns of the tile.
    void (*ends)(const float* tile, const float* rows, std::ptrdiff_t inner, float* largest, float* smallest);
    /// row: [inner], entries: [64].
    void (*entries)(const float* tile, const float* row, std::ptrdiff_t inner, float* entries);
};

/// Returns those that this processor can run, the fastest first; the last one runs everywhere.
std::span<const ScanKernel> scanKernels();

} // namespace headwise
