#pragma once

#include "core/base/matrix.h"
#include "core/base/result.h"
#include "core/base/task.h"
#include "core/results/result_set.h"

#include <Eigen/Core>

#include <filesystem>
#include <string>
#include <vector>

namespace headwise {

/// Of which attention is read.
struct PatternSizes {
    int layers = 0, heads = 0;
    int positions = 0; ///< n, of the prompt's tokens
    int layer = 0;     ///< That a file of one layer is about.
};

struct PatternFile {
    /// [layer][head]: [n, n], rows queries; NaN of layers that the file does not have.
    std::vector<std::vector<Eigen::MatrixXf>> patterns;
    std::string source; ///< "attention.npy", "run.h5/attention"
};

/// Attention that another program computed: the array of a NumPy file, or of an HDF5 file the first dataset of a fitting shape,
/// [layers, heads, n, n], or [heads, n, n] or [1, heads, n, n] of one layer.
/// Errors: NotFound, Io, Corrupt as of the formats; Unsupported (another shape, complex numbers, neither format); Corrupt if a
/// number is not finite or not between 0 and 1, naming the place; Cancelled.
/// Cost: of HDF5 every dataset of numbers before the fitting one is read.
Result<PatternFile> readPatternFile(const std::filesystem::path& path, const PatternSizes& sizes,
                                    const Task& task);

inline constexpr const char* importedPath = "imported/attention"; ///< Of what a session keeps of it.

/// As a session keeps it: [layers, heads, n, n] with the attributes "file", the source, and "labels".
/// \param tokens  n, the prompt's as they are shown
ResultArray patternArray(const PatternFile& imported, std::vector<std::string> tokens);

/// The same back.
/// Errors: Corrupt if the array has another shape.
Result<PatternFile> patternsIn(const ResultArray& array, const PatternSizes& sizes);

} // namespace headwise
