#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// Vector instructions of a processor for which OpenBLAS has kernels.
struct VectorUnits {
    bool avx2 = false;   ///< With FMA.
    bool avx512 = false; ///< F, DQ, BW, VL and CD.
};

/// Returns the name of faster kernels than OpenBLAS chose, for its variable OPENBLAS_CORETYPE; none if the choice is
/// right. OpenBLAS takes a processor newer than itself for one of 2004, and then multiplies at a quarter of its speed, or for one
/// without AVX-512, and then at half of it.
std::optional<std::string> fasterKernels(std::string_view chosen, const VectorUnits& units);

/// Name of the kernels that OpenBLAS uses: "Haswell".
std::string blasKernels();
/// Whether kernels of that name use AVX-512.
bool isForAvx512(std::string_view kernels);
/// Threads that OpenBLAS starts for one product: 1, because parallelFor starts them.
int blasThreads();

/// Starts the program again with faster kernels, if there are any and the user has not chosen some. OpenBLAS makes its
/// choice before `main`, so a restart is the only way. Returns only if nothing is to be done or the restart fails.
/// \param argv as `main` has it
void restartWithFasterKernels(char** argv);

} // namespace headwise
