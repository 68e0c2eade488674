#include "core/circuits/scan/scan_kernel_x86.h"

// Compiled with AVX-512F and AVX-512BW.
namespace headwise {

extern const ScanKernel scanByAvx512;
constinit const ScanKernel scanByAvx512{"AVX-512", false, ScanTile<PairsOfX86<16>, 4, 4>::ends,
                                        ScanTile<PairsOfX86<16>, 4, 4>::entries};

} // namespace headwise
