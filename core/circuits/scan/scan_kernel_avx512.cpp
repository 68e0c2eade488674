#include "core/circuits/scan/scan_kernel_tile.h"

#include <immintrin.h>

// Compiled with AVX-512F and AVX-512BW.
namespace headwise {

namespace {

struct Avx512 : ScanVector<16> {
    static Sums add(Sums sums, Sums column, Sums row)
    {
        return sums
            + reinterpret_cast<Sums>(
                   _mm512_madd_epi16(reinterpret_cast<__m512i>(column), reinterpret_cast<__m512i>(row)));
    }
};

} // namespace

extern const ScanKernel scanByAvx512;
constinit const ScanKernel scanByAvx512{"AVX-512", false, ScanTile<Avx512, 4, 4>::ends,
                                        ScanTile<Avx512, 4, 4>::entries};

} // namespace headwise
