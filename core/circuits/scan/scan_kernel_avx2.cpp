#include "core/circuits/scan/scan_kernel_x86.h"

// Compiled with AVX2.
namespace headwise {

extern const ScanKernel scanByAvx2;
constinit const ScanKernel scanByAvx2{"AVX2", false, ScanTile<PairsOfX86<8>, 4, 2>::ends,
                                      ScanTile<PairsOfX86<8>, 4, 2>::entries};

} // namespace headwise
