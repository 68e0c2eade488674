#include "core/circuits/scan/scan_kernel_x86.h"

// Compiled with AVX-512F and AVX-512VNNI.
namespace headwise {

extern const ScanKernel scanByAvx512Vnni;
constinit const ScanKernel scanByAvx512Vnni{"AVX-512 VNNI", false, ScanTile<PairsOfVnni<16>, 4, 4>::ends,
                                            ScanTile<PairsOfVnni<16>, 4, 4>::entries};

extern const ScanKernel scanBytesByAvx512Vnni;
constinit const ScanKernel scanBytesByAvx512Vnni{"AVX-512 VNNI, bytes", true,
                                                 ScanTile<BytesOfVnni<16>, 4, 4>::ends,
                                                 ScanTile<PairsOfVnni<16>, 4, 4>::entries};

} // namespace headwise
