#include "core/circuits/scan/scan_kernel_x86.h"

// Compiled with AVX2 and AVX-VNNI.
namespace headwise {

extern const ScanKernel scanByAvxVnni;
constinit const ScanKernel scanByAvxVnni{"AVX-VNNI", false, ScanTile<PairsOfVnni<8>, 4, 2>::ends,
                                         ScanTile<PairsOfVnni<8>, 4, 2>::entries};

extern const ScanKernel scanBytesByAvxVnni;
constinit const ScanKernel scanBytesByAvxVnni{"AVX-VNNI, bytes", true, ScanTile<BytesOfVnni<8>, 4, 2>::ends,
                                              ScanTile<PairsOfVnni<8>, 4, 2>::entries};

} // namespace headwise
