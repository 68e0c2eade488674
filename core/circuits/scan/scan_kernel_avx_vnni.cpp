#include "core/circuits/scan/scan_kernel_tile.h"

#include <immintrin.h>

// Compiled with AVX2 and AVX-VNNI, which has the instructions of AVX-512 VNNI for shorter vectors.
namespace headwise {

namespace {

struct AvxVnni : ScanVector<8> {
    static Sums add(Sums sums, Sums column, Sums row)
    {
        return reinterpret_cast<Sums>(_mm256_dpwssd_avx_epi32(reinterpret_cast<__m256i>(sums),
                                                              reinterpret_cast<__m256i>(column),
                                                              reinterpret_cast<__m256i>(row)));
    }
};

struct BytesOfAvxVnni : ScanVector<8> {
    static Sums add(Sums sums, Sums column, Sums row)
    {
        return reinterpret_cast<Sums>(_mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sums),
                                                              reinterpret_cast<__m256i>(column),
                                                              reinterpret_cast<__m256i>(row)));
    }
};

} // namespace

extern const ScanKernel scanByAvxVnni;
constinit const ScanKernel scanByAvxVnni{"AVX-VNNI", false, ScanTile<AvxVnni, 2, 4>::ends,
                                         ScanTile<AvxVnni, 2, 4>::entries};

extern const ScanKernel scanBytesByAvxVnni;
constinit const ScanKernel scanBytesByAvxVnni{"AVX-VNNI, bytes", true, ScanTile<BytesOfAvxVnni, 2, 4>::ends,
                                              ScanTile<AvxVnni, 2, 4>::entries};

} // namespace headwise
