#include "core/checkpoint/packed_weight.h"

#include "core/base/matrix.h"
#include "core/checkpoint/number_formats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace headwise {
namespace {

template <typename Number>
Number partAt(const PackedPart& part, std::int64_t i)
{
    Number number;
    std::memcpy(&number, part.bytes.data() + static_cast<std::size_t>(i) * sizeof number, sizeof number);
    return number;
}

int partByte(const PackedPart& part, std::int64_t i)
{
    return std::to_integer<int>(part.bytes[static_cast<std::size_t>(i)]);
}

/// A scale stored as F32, F16 or BF16.
float partFloat(const PackedPart& part, std::int64_t i)
{
    switch (part.dtype) {
    case DType::F16:
        return Eigen::half_impl::half_to_float(
            Eigen::half_impl::raw_uint16_to_half(partAt<std::uint16_t>(part, i)));
    case DType::BF16: return std::bit_cast<float>(std::uint32_t{partAt<std::uint16_t>(part, i)} << 16);
    default: return partAt<float>(part, i);
    }
}

/// Number i of `bits` bits in a row of 32-bit words, the lowest bits first; 3-bit numbers cross words.
/// \param stride the distance between two words of the row
int packedBits(const PackedPart& words, std::int64_t begin, std::int64_t stride, std::int64_t i, int bits)
{
    const std::int64_t bit = i * bits, word = bit / 32, shift = bit % 32;
    std::uint64_t both = partAt<std::uint32_t>(words, begin + word * stride);
    if (shift + bits > 32)
        both |= std::uint64_t{partAt<std::uint32_t>(words, begin + (word + 1) * stride)} << 32;
    return static_cast<int>(both >> shift & ((1U << bits) - 1));
}

void readScaledF8(const PackedWeight& weight, std::int64_t first, std::span<float> out)
{
    const auto count = static_cast<std::ptrdiff_t>(out.size());
    readRectangle(StoredRectangle{.dtype = weight.numbers.dtype,
                                  .begin = weight.numbers.bytes.data() + first,
                                  .rowStride = 1,
                                  .colStride = 0,
                                  .rows = count,
                                  .cols = 1},
                  out.data());
    const std::int64_t across = (weight.cols + weight.blockCols - 1) / weight.blockCols;
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        const std::int64_t row = (first + i) / weight.cols, col = (first + i) % weight.cols;
        out[static_cast<std::size_t>(i)] *=
            partFloat(weight.scales, row / weight.blockRows * across + col / weight.blockCols);
    }
}

float int8Row(const PackedWeight& weight, std::int64_t index)
{
    constexpr float inverse = 7.874015718698502e-3F; // 1/127
    const auto number = static_cast<float>(partAt<std::int8_t>(weight.numbers, index));
    return number * partFloat(weight.scales, index / weight.cols) * inverse;
}

float fourBit(const PackedWeight& weight, std::int64_t index)
{
    const int both = partByte(weight.numbers, index / 2);
    const float number = partFloat(weight.table, index % 2 == 0 ? both >> 4 : both & 15);
    const std::int64_t block = index / weight.blockCols;
    if (weight.outerScales.bytes.empty())
        return number * partFloat(weight.scales, block);
    const float inner = partFloat(weight.outerTable, partByte(weight.scales, block))
        * partFloat(weight.outerScales, block / weight.outerBlock);
    return number * (inner + weight.outerOffset);
}

/// The numbers of 8 outputs lie in a word of AWQ in the order 0 2 4 6 1 3 5 7.
std::int64_t awqPlace(std::int64_t output)
{
    static constexpr std::array<std::int64_t, 8> places{0, 4, 1, 5, 2, 6, 3, 7};
    return output / 8 * 8 + places[static_cast<std::size_t>(output % 8)];
}

float grouped(const PackedWeight& weight, std::int64_t index)
{
    const std::int64_t output = index / weight.cols, input = index % weight.cols;
    const bool isAwq = weight.format == DType::AWQ;
    const std::int64_t groups = weight.scales.shape[0], words = weight.zeros.shape[1];
    const std::int64_t group =
        weight.groups.bytes.empty() ? input / weight.blockCols : partAt<std::int32_t>(weight.groups, input);
    if (group < 0 || group >= groups)
        return std::numeric_limits<float>::quiet_NaN();
    const std::int64_t place = isAwq ? awqPlace(output) : output;
    const int number = isAwq ? packedBits(weight.numbers, input * words, 1, place, weight.bits)
                             : packedBits(weight.numbers, output, weight.rows, input, weight.bits);
    const int stored = packedBits(weight.zeros, group * words, 1, place, weight.bits);
    const int zero = (stored + weight.zeroShift) & ((1 << weight.bits) - 1);
    return static_cast<float>(number - zero) * partFloat(weight.scales, group * weight.rows + output);
}

float microscaled(const PackedWeight& weight, std::int64_t index)
{
    static constexpr std::array<float, 16> values{0,    0.5F,  1,  1.5F,  2,  3,  4,  6,
                                                  -0.F, -0.5F, -1, -1.5F, -2, -3, -4, -6};
    constexpr std::int64_t together = 32;
    const std::int64_t outputs = weight.numbers.shape[1], groups = weight.numbers.shape[2];
    const std::int64_t inputs = groups * together, row = index / outputs;
    const std::int64_t line = row / inputs * outputs + index % outputs, input = row % inputs;
    const std::int64_t group = line * groups + input / together;
    const int both = partByte(weight.numbers, (group * together + input % together) / 2);
    const int scale = partByte(weight.scales, group);
    if (scale == 255)
        return std::numeric_limits<float>::quiet_NaN();
    const int number = input % 2 == 0 ? both & 15 : both >> 4;
    return std::ldexp(values[static_cast<std::size_t>(number)], scale - 127);
}

float packedNumber(const PackedWeight& weight, std::int64_t index)
{
    switch (weight.format) {
    case DType::MXFP4: return microscaled(weight, index);
    case DType::INT8_ROWS: return int8Row(weight, index);
    case DType::BNB_4BIT: return fourBit(weight, index);
    default: return grouped(weight, index);
    }
}

} // namespace

bool isPacked(DType dtype)
{
    switch (dtype) {
    case DType::F8_SCALED:
    case DType::INT8_ROWS:
    case DType::BNB_4BIT:
    case DType::GPTQ:
    case DType::AWQ:
    case DType::MXFP4: return true;
    default: return false;
    }
}

template <typename Scalar>
void readPacked(const PackedWeight& weight, std::int64_t first, std::int64_t count, Scalar* out)
{
    if (weight.format != DType::F8_SCALED) {
        for (std::int64_t i = 0; i < count; ++i)
            out[i] = static_cast<Scalar>(packedNumber(weight, first + i));
        return;
    }
    std::array<float, 1024> run;
    for (std::int64_t done = 0; done < count;) {
        const std::int64_t size = std::min<std::int64_t>(count - done, std::ssize(run));
        readScaledF8(weight, first + done, std::span(run).first(static_cast<std::size_t>(size)));
        std::copy_n(run.begin(), size, out + done);
        done += size;
    }
}

template void readPacked(const PackedWeight&, std::int64_t, std::int64_t, float*);
template void readPacked(const PackedWeight&, std::int64_t, std::int64_t, double*);

} // namespace headwise
