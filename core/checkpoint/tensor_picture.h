#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"
#include "core/checkpoint/weight_map.h"

namespace headwise {

/// A stored tensor as a matrix to look at: one row per index of all axes but the last, one column per index of the
/// last; a vector is one row, a single number one cell.
struct TensorPicture {
    /// Each cell is the entry of largest magnitude, with its sign, of the `rowsPerCell` × `columnsPerCell` entries it
    /// stands for (fewer in the last row and column); NaN if one of them is not a number, infinite if one is.
    Matrix<float> cells;
    std::int64_t rows = 0, columns = 0; ///< Shape of the tensor.
    std::int64_t rowsPerCell = 1, columnsPerCell = 1;
};

/// \param limit of the picture's rows and columns, each
/// \returns a picture without cells for a tensor without elements
/// Errors: Unsupported, naming tensor and dtype, where the dtype holds no numbers this version decodes; Io; Cancelled.
/// Cost: reads all of the tensor, in blocks.
Result<TensorPicture> tensorPicture(const WeightMap& file, int tensor, std::int64_t limit, const Task& task);

} // namespace headwise
