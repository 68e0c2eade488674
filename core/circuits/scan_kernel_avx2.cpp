#include "core/circuits/scan_kernel_tile.h"

#include <immintrin.h>

// Compiled with AVX2.
namespace headwise {

namespace {

struct Avx2 : ScanVector<8> {
    static constexpr int lanes = 8;

    static Sums products(Pairs a, Pairs b)
    {
        return reinterpret_cast<Sums>(
            _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
    }
};

} // namespace

extern const ScanKernel scanByAvx2;
constinit const ScanKernel scanByAvx2{"AVX2", ScanTile<Avx2, 2, 4>::ends, ScanTile<Avx2, 2, 4>::entries};

} // namespace headwise
