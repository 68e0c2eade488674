#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// Vector instructions of a processor for which OpenBLAS has kernels.
struct VectorUnits {
    bool avx2 = false;   ///< With FMA.
    bool avx512 = false; ///< F, DQ, BW and VL.
};

/// The name of faster OpenBLAS kernels than those it chose, for its variable OPENBLAS_CORETYPE; none where they fit. A processor
/// newer than the library is taken for one of 2004, and multiplies at a quarter of its speed.
std::optional<std::string> fasterKernels(std::string_view chosen, const VectorUnits& units);

/// Starts the program anew with faster kernels, where there are some and the user has not chosen any: OpenBLAS chooses before
/// `main`. Does not return then; returns where nothing is to be done or it cannot be done.
/// \param argv as `main` has it
void restartWithFasterKernels(char** argv);

} // namespace headwise
