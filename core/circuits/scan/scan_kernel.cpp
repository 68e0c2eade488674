#include "core/circuits/scan/scan_kernel.h"

#include "core/circuits/scan/scan_kernel_tile.h"

#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace headwise {

#if defined(__x86_64__)
extern const ScanKernel scanByAvx2;
extern const ScanKernel scanByAvxVnni;
extern const ScanKernel scanBytesByAvxVnni;
extern const ScanKernel scanByAvx512;
extern const ScanKernel scanByAvx512Vnni;
extern const ScanKernel scanBytesByAvx512Vnni;
#endif

namespace {

struct EveryProcessor : ScanVector<4> {
    static Sums add(Sums sums, Sums row, Sums column)
    {
        return sums + (row << 16 >> 16) * (column << 16 >> 16) + (row >> 16) * (column >> 16);
    }
};

struct BytesOfEveryProcessor : ScanVector<4> {
    static Sums add(Sums sums, Sums row, Sums column)
    {
        for (int shift = 0; shift < 32; shift += 8)
            sums += (row >> shift & 255) * (column << (24 - shift) >> 24);
        return sums;
    }
};

#if defined(__x86_64__)
/// Compilers before Clang 15 have no name for it.
bool supportsAvxVnni()
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
}
#endif

std::vector<ScanKernel> runnableKernels()
{
    std::vector<ScanKernel> kernels;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool hasAvx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    if (hasAvx512 && __builtin_cpu_supports("avx512vnni"))
        kernels.insert(kernels.end(), {scanBytesByAvx512Vnni, scanByAvx512Vnni});
    if (hasAvx512)
        kernels.push_back(scanByAvx512);
    if (supportsAvxVnni())
        kernels.insert(kernels.end(), {scanBytesByAvxVnni, scanByAvxVnni});
    if (__builtin_cpu_supports("avx2"))
        kernels.push_back(scanByAvx2);
#endif
    using Tile = ScanTile<EveryProcessor, 4, 2>;
    kernels.push_back({"every processor's", false, Tile::ends, Tile::entries});
    kernels.push_back(
        {"every processor's, bytes", true, ScanTile<BytesOfEveryProcessor, 4, 2>::ends, Tile::entries});
    return kernels;
}

} // namespace

std::span<const ScanKernel> scanKernels()
{
    static const std::vector<ScanKernel> kernels = runnableKernels();
    return kernels;
}

} // namespace headwise
