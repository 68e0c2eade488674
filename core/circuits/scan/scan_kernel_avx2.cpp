#include "core/circuits/scan/scan_kernel_tile.h"

#include <immintrin.h>

// Compiled with AVX2.
namespace headwise {

namespace {

struct Avx2 : ScanVector<8> {
    static Sums add(Sums sums, Sums column, Sums row)
    {
        return sums
            + reinterpret_cast<Sums>(
                   _mm256_madd_epi16(reinterpret_cast<__m256i>(column), reinterpret_cast<__m256i>(row)));
    }
};

} // namespace

extern const ScanKernel scanByAvx2;
constinit const ScanKernel scanByAvx2{"AVX2", false, ScanTile<Avx2, 2, 4>::ends,
                                      ScanTile<Avx2, 2, 4>::entries};

} // namespace headwise
