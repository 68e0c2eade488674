#include "core/checkpoint/tensor_picture.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace headwise {
namespace {

constexpr std::int64_t tensorPictureChunkNumbers = 1 << 14;

/// NaN compares false with everything, so it stays once met; infinity is the largest magnitude.
float stronger(float a, float b)
{
    return std::abs(b) > std::abs(a) || b != b ? b : a;
}

/// Reads one row of cells. `row` is contiguous because the picture is column-major.
void readRowOfCells(const WeightMap& file, int tensor, const TensorPicture& picture, std::int64_t cellRow,
                    std::vector<float>& row)
{
    const std::int64_t firstRow = cellRow * picture.rowsPerCell;
    const std::int64_t endRow = std::min(picture.rows, firstRow + picture.rowsPerCell);
    std::vector<float> numbers(
        static_cast<std::size_t>(std::min(tensorPictureChunkNumbers, picture.columns)));
    std::fill(row.begin(), row.end(), 0.0F);
    for (std::int64_t r = firstRow; r < endRow; ++r)
        for (std::int64_t c = 0; c < picture.columns; c += tensorPictureChunkNumbers) {
            const std::int64_t some = std::min(tensorPictureChunkNumbers, picture.columns - c);
            file.readNumbers(tensor, r * picture.columns + c, some, numbers.data());
            for (std::int64_t i = 0; i < some; ++i) {
                float& cell = row[static_cast<std::size_t>((c + i) / picture.columnsPerCell)];
                cell = stronger(cell, numbers[static_cast<std::size_t>(i)]);
            }
        }
}

} // namespace

Result<TensorPicture> tensorPicture(const WeightMap& file, int tensor, std::int64_t limit, const Task& task)
{
    const StoredTensor& stored = file.tensors()[static_cast<std::size_t>(tensor)];
    if (!file.holdsNumbers(tensor))
        return file.notNumbers(tensor);
    TensorPicture picture;
    const std::int64_t count = elementCount(stored);
    picture.columns = stored.shape.empty() ? 1 : stored.shape.back();
    picture.rows = picture.columns == 0 ? 0 : count / picture.columns;
    if (count == 0)
        return picture;
    picture.rowsPerCell = (picture.rows + limit - 1) / limit;
    picture.columnsPerCell = (picture.columns + limit - 1) / limit;
    picture.cells.resize((picture.rows + picture.rowsPerCell - 1) / picture.rowsPerCell,
                         (picture.columns + picture.columnsPerCell - 1) / picture.columnsPerCell);
    // Each turn of a thread is long enough to pay off and short enough to cancel.
    const std::int64_t perRow = picture.rowsPerCell * picture.columns;
    const std::int64_t rowsPerTurn = std::clamp<std::int64_t>((1 << 18) / perRow, 1, picture.cells.rows());
    const auto turns = static_cast<int>((picture.cells.rows() + rowsPerTurn - 1) / rowsPerTurn);
    const Result<Done> read = parallelFor(turns, task, "parts", [&](int turn) -> Result<Done> {
        std::vector<float> row(static_cast<std::size_t>(picture.cells.cols()));
        const std::int64_t end = std::min<std::int64_t>(picture.cells.rows(), (turn + 1) * rowsPerTurn);
        for (std::int64_t r = turn * rowsPerTurn; r < end; ++r) {
            if (task.cancelled())
                return stopped();
            readRowOfCells(file, tensor, picture, r, row);
            picture.cells.row(r) = RowVector<float>::Map(row.data(), picture.cells.cols());
        }
        return Done{};
    });
    if (!read)
        return read.error();
    if (!file.isIntact(tensor))
        return Error{ErrorCode::Io,
                     "File '" + file.fileOf(tensor).string()
                         + "' was shortened while it was read; open it again."};
    return picture;
}

} // namespace headwise
