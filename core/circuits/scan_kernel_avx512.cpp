#include "core/circuits/scan_kernel_tile.h"

#include <immintrin.h>

// Compiled with AVX-512F and AVX-512BW.
namespace headwise {

namespace {

struct Avx512 : ScanVector<16> {
    static constexpr int lanes = 16;

    static Sums products(Pairs a, Pairs b)
    {
        return reinterpret_cast<Sums>(
            _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
    }
};

} // namespace

extern const ScanKernel scanByAvx512;
constinit const ScanKernel scanByAvx512{"AVX-512", ScanTile<Avx512, 4, 4>::ends,
                                        ScanTile<Avx512, 4, 4>::entries};

} // namespace headwise
