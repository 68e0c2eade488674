#pragma once

#include "core/base/matrix.h"
#include "core/base/result.h"
#include "core/base/task.h"
#include "core/results/result_set.h"

#include <filesystem>
#include <string>
#include <vector>

namespace headwise {

/// Sizes that an attention file must match.
struct PatternSizes {
    int layers = 0, heads = 0;
    int positions = 0; ///< n, the number of prompt tokens
    int layer = 0;     ///< Layer of a file with only one layer. Default: 0.
};

struct PatternFile {
    /// [layer][head]: [n, n], row = query. NaN for layers missing from the file.
    std::vector<std::vector<Eigen::MatrixXf>> patterns;
    std::string source; ///< "attention.npy", "run.h5/attention"
};

/// Reads attention that another program computed, from a NumPy array or the first HDF5 dataset with a matching shape.
/// The shape is [layers, heads, n, n], or [heads, n, n] or [1, heads, n, n] for one layer.
/// Errors: NotFound, Io, Corrupt as for these formats; Unsupported (another shape, complex numbers, neither format); Corrupt if a
/// number is not finite or not between 0 and 1, naming the place; Cancelled.
/// Cost: reads every numeric HDF5 dataset before the matching one.
Result<PatternFile> readPatternFile(const std::filesystem::path& path, const PatternSizes& sizes,
                                    const Task& task);

inline constexpr const char* importedPath = "imported/attention"; ///< Path in a session.

/// Returns the array that a session stores: [layers, heads, n, n] with the attributes "file" (the source) and "labels".
/// \param tokens [n], the prompt's tokens as shown
ResultArray patternArray(const PatternFile& imported, std::vector<std::string> tokens);

/// Reads the patterns back from such an array.
/// Errors: Corrupt if the array has another shape.
Result<PatternFile> patternsIn(const ResultArray& array, const PatternSizes& sizes);

} // namespace headwise
