#pragma once

#include "core/base/matrix.h"
#include "core/base/task.h"
#include "core/checkpoint/weight_map.h"

namespace headwise {

/// A stored tensor as a matrix to look at: one column per index of the last axis, one row per index of all others. A
/// vector is one row, a single number one cell.
struct TensorPicture {
    /// Each cell shows, of the `rowsPerCell` × `columnsPerCell` entries it covers (fewer in the last row and column), the
    /// entry of largest magnitude, with its sign. It is NaN if one of them is NaN, infinite if one is infinite.
    Matrix<float> cells;
    std::int64_t rows = 0, columns = 0; ///< Shape of the tensor.
    std::int64_t rowsPerCell = 1, columnsPerCell = 1;
};

/// \param limit maximum number of rows and of columns in the picture
/// \returns a picture without cells for a tensor without elements
/// Errors: Unsupported, naming tensor and dtype, if this version cannot decode the dtype; Io; Cancelled.
/// Cost: reads the whole tensor, in blocks.
Result<TensorPicture> tensorPicture(const WeightMap& file, int tensor, std::int64_t limit, const Task& task);

} // namespace headwise
