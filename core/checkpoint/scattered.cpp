#include "core/checkpoint/scattered.h"

#include "core/checkpoint/block_formats.h"
#include "core/checkpoint/number_formats.h"

#include <algorithm>

namespace headwise {

template <typename Scalar>
void readScattered(const StoredTensor& tensor, const std::byte* data, std::int64_t first, std::int64_t count,
                   Scalar* out)
{
    const std::size_t width = static_cast<std::size_t>(dtypeBits(tensor.dtype)) / 8;
    const bool isBlocked = blockSize(tensor.dtype).numbers > 0; // then the last axis has the stride 1
    const StoredAxis last = tensor.axes.empty() ? StoredAxis{elementCount(tensor), 1} : tensor.axes.back();
    for (std::int64_t done = 0; done < count;) {
        const std::int64_t index = first + done;
        const std::int64_t along = index % last.size;
        std::int64_t place = along * last.stride, rest = index / last.size;
        for (std::size_t axis = tensor.axes.size(); axis-- > 1;) {
            const StoredAxis& outer = tensor.axes[axis - 1];
            place += rest % outer.size * outer.stride;
            rest /= outer.size;
        }
        const std::int64_t run = std::min(count - done, last.size - along);
        if (isBlocked)
            readBlocks(tensor.dtype, data, place, run, out + done);
        else
            readRectangle(StoredRectangle{.dtype = tensor.dtype,
                                          .begin = data + static_cast<std::size_t>(place) * width,
                                          .rowStride = last.stride,
                                          .colStride = 0,
                                          .rows = run,
                                          .cols = 1},
                          out + done);
        done += run;
    }
}

template void readScattered(const StoredTensor&, const std::byte*, std::int64_t, std::int64_t, float*);
template void readScattered(const StoredTensor&, const std::byte*, std::int64_t, std::int64_t, double*);

std::vector<StoredAxis> unlessPacked(std::vector<StoredAxis> axes)
{
    std::int64_t expected = 1;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
        if (axis->size == 0)
            return {};
        if (axis->size > 1 && axis->stride != expected)
            return axes;
        expected *= axis->size;
    }
    return {};
}

} // namespace headwise
