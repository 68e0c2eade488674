#include "core/circuits/scan_kernel.h"

#include "core/circuits/scan_kernel_tile.h"

#include <vector>

namespace headwise {

#if defined(__x86_64__)
extern const ScanKernel scanByAvx2;
extern const ScanKernel scanByAvx512;
#endif

namespace {

struct EveryProcessor : ScanVector<4> {
    static constexpr int lanes = 4;

    static Sums products(Pairs a, Pairs b)
    {
        const auto x = reinterpret_cast<Sums>(a);
        const auto y = reinterpret_cast<Sums>(b);
        return (x << 16 >> 16) * (y << 16 >> 16) + (x >> 16) * (y >> 16);
    }
};

std::vector<ScanKernel> runnableKernels()
{
    std::vector<ScanKernel> kernels;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
        kernels.push_back(scanByAvx512);
    if (__builtin_cpu_supports("avx2"))
        kernels.push_back(scanByAvx2);
#endif
    kernels.push_back(
        {"every processor's", ScanTile<EveryProcessor, 2, 4>::ends, ScanTile<EveryProcessor, 2, 4>::entries});
    return kernels;
}

} // namespace

std::span<const ScanKernel> scanKernels()
{
    static const std::vector<ScanKernel> kernels = runnableKernels();
    return kernels;
}

} // namespace headwise
