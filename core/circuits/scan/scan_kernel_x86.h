#pragma once

#include "core/circuits/scan/scan_kernel_tile.h"

#include <immintrin.h>

/// \file
/// Vectors of ScanTile for x86: 8 sums with AVX2, 16 with AVX-512. Each is used in the one file that is compiled with its instructions.

namespace headwise {

/// Numbers of 16 bits, by AVX2 or AVX-512BW.
template <int count>
struct PairsOfX86 : ScanVector<count> {
    using Sums = typename ScanVector<count>::Sums;

    static Sums add(Sums sums, Sums row, Sums column)
    {
        if constexpr (count == 16)
            return sums
                + reinterpret_cast<Sums>(
                       _mm512_madd_epi16(reinterpret_cast<__m512i>(row), reinterpret_cast<__m512i>(column)));
        else
            return sums
                + reinterpret_cast<Sums>(
                       _mm256_madd_epi16(reinterpret_cast<__m256i>(row), reinterpret_cast<__m256i>(column)));
    }
};

/// Numbers of 16 bits, by AVX-VNNI or AVX-512 VNNI, which multiply and add in one instruction.
template <int count>
struct PairsOfVnni : ScanVector<count> {
    using Sums = typename ScanVector<count>::Sums;

    static Sums add(Sums sums, Sums row, Sums column)
    {
        if constexpr (count == 16)
            return reinterpret_cast<Sums>(_mm512_dpwssd_epi32(reinterpret_cast<__m512i>(sums),
                                                              reinterpret_cast<__m512i>(row),
                                                              reinterpret_cast<__m512i>(column)));
        else
            return reinterpret_cast<Sums>(_mm256_dpwssd_avx_epi32(reinterpret_cast<__m256i>(sums),
                                                                  reinterpret_cast<__m256i>(row),
                                                                  reinterpret_cast<__m256i>(column)));
    }
};

/// Bytes, likewise.
template <int count>
struct BytesOfVnni : ScanVector<count> {
    using Sums = typename ScanVector<count>::Sums;

    static Sums add(Sums sums, Sums row, Sums column)
    {
        if constexpr (count == 16)
            return reinterpret_cast<Sums>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums),
                                                              reinterpret_cast<__m512i>(row),
                                                              reinterpret_cast<__m512i>(column)));
        else
            return reinterpret_cast<Sums>(_mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sums),
                                                                  reinterpret_cast<__m256i>(row),
                                                                  reinterpret_cast<__m256i>(column)));
    }
};

} // namespace headwise
