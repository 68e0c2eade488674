#include "core/files/library_versions.h"

#include "core/base/matrix.h"

#include <hdf5.h>

extern "C" char* openblas_get_config();
extern "C" char* openblas_get_corename();

namespace headwise {

std::vector<std::pair<std::string, std::string>> libraryVersions()
{
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    const auto dotted = [](auto... parts) {
        std::string text;
        ((text += (text.empty() ? "" : ".") + std::to_string(parts)), ...);
        return text;
    };
    return {{"Eigen", dotted(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
            {"OpenBLAS", openblas_get_config()},
            {"SIMD kernel", openblas_get_corename()},
            {"HDF5", dotted(major, minor, release)}};
}

} // namespace headwise
