#include "core/circuits/scan_kernel_tile.h"

// Compiled with AVX-512F: 24 of 32 registers hold sums.
namespace headwise {

extern const ScanKernel scanByAvx512;
constinit const ScanKernel scanByAvx512{"AVX-512", ScanTile<16, 4>::ends, ScanTile<16, 4>::entries};

} // namespace headwise
