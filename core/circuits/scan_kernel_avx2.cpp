#include "core/circuits/scan_kernel_tile.h"

// Compiled with AVX2 and FMA: 12 of 16 registers hold sums.
namespace headwise {

extern const ScanKernel scanByAvx2;
constinit const ScanKernel scanByAvx2{"AVX2", ScanTile<8, 2>::ends, ScanTile<8, 2>::entries};

} // namespace headwise
