#include "core/circuits/scan_kernel.h"

#include "core/circuits/scan_kernel_tile.h"

#include <vector>

namespace headwise {

#if defined(__x86_64__)
extern const ScanKernel scanByAvx2;
extern const ScanKernel scanByAvx512;
#endif

namespace {

std::vector<ScanKernel> runnableKernels()
{
    std::vector<ScanKernel> kernels;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        kernels.push_back(scanByAvx512);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        kernels.push_back(scanByAvx2);
#endif
    kernels.push_back({"every processor's", ScanTile<4, 2>::ends, ScanTile<4, 2>::entries});
    return kernels;
}

} // namespace

std::span<const ScanKernel> scanKernels()
{
    static const std::vector<ScanKernel> kernels = runnableKernels();
    return kernels;
}

} // namespace headwise
