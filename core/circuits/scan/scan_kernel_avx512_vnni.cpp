#include "core/circuits/scan/scan_kernel_tile.h"

#include <immintrin.h>

// Compiled with AVX-512F and AVX-512VNNI, whose instructions multiply and add in one.
namespace headwise {

namespace {

struct Avx512Vnni : ScanVector<16> {
    static Sums add(Sums sums, Sums column, Sums row)
    {
        return reinterpret_cast<Sums>(_mm512_dpwssd_epi32(reinterpret_cast<__m512i>(sums),
                                                          reinterpret_cast<__m512i>(column),
                                                          reinterpret_cast<__m512i>(row)));
    }
};

struct BytesOfAvx512Vnni : ScanVector<16> {
    static Sums add(Sums sums, Sums column, Sums row)
    {
        return reinterpret_cast<Sums>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums),
                                                          reinterpret_cast<__m512i>(column),
                                                          reinterpret_cast<__m512i>(row)));
    }
};

} // namespace

extern const ScanKernel scanByAvx512Vnni;
constinit const ScanKernel scanByAvx512Vnni{"AVX-512 VNNI", false, ScanTile<Avx512Vnni, 4, 4>::ends,
                                            ScanTile<Avx512Vnni, 4, 4>::entries};

extern const ScanKernel scanBytesByAvx512Vnni;
constinit const ScanKernel scanBytesByAvx512Vnni{"AVX-512 VNNI, bytes", true,
                                                 ScanTile<BytesOfAvx512Vnni, 4, 4>::ends,
                                                 ScanTile<Avx512Vnni, 4, 4>::entries};

} // namespace headwise
