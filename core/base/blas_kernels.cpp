#include "core/base/blas_kernels.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <unistd.h>

extern "C" char* openblas_get_corename();  // NOLINT(readability-identifier-naming)
extern "C" int openblas_get_num_threads(); // NOLINT(readability-identifier-naming)

namespace headwise {

namespace {

constexpr const char* choice = "OPENBLAS_CORETYPE"; // OpenBLAS' own variable, documented in its README

VectorUnits unitsHere()
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return {__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
            __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
                && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
                && __builtin_cpu_supports("avx512cd")};
#else
    return {};
#endif
}

} // namespace

std::optional<std::string> fasterKernels(std::string_view chosen, const VectorUnits& units)
{
    const bool isOld = chosen == "Prescott" || chosen == "Core2" || chosen == "Generic";
    const bool isWithoutAvx512 = chosen == "Haswell" || chosen == "Zen"; // Zen 4 and 5 to OpenBLAS 0.3.21
    if (units.avx512 && (isOld || isWithoutAvx512))
        return "SkylakeX";
    if (units.avx2 && isOld)
        return "Haswell";
    return std::nullopt;
}

std::string blasKernels()
{
    return openblas_get_corename();
}

bool isForAvx512(std::string_view kernels)
{
    return kernels == "SkylakeX" || kernels == "Cooperlake" || kernels == "SapphireRapids";
}

int blasThreads()
{
    return openblas_get_num_threads();
}

void restartWithFasterKernels(char** argv)
{
    if (std::getenv(choice))
        return;
    const auto faster = fasterKernels(openblas_get_corename(), unitsHere());
    std::error_code error; // the path of the file itself, so that the process keeps its name
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error || !faster || setenv(choice, faster->c_str(), 0) != 0)
        return;
    execv(program.c_str(), argv);
    unsetenv(choice); // exec failed: this process goes on with the kernels it has
}

} // namespace headwise
