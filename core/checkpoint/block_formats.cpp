#include "core/checkpoint/block_formats.h"

#include <Eigen/Core>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

namespace headwise {
namespace {

constexpr std::int64_t longest = 256;
using Block = std::array<float, longest>;

int byteAt(const std::byte* block, std::size_t i)
{
    return std::to_integer<int>(block[i]);
}

int signedAt(const std::byte* block, std::size_t i)
{
    return static_cast<std::int8_t>(byteAt(block, i));
}

float halfAt(const std::byte* block, std::size_t i)
{
    std::uint16_t bits;
    std::memcpy(&bits, block + i, sizeof bits);
    return Eigen::half_impl::half_to_float(Eigen::half_impl::raw_uint16_to_half(bits));
}

/// d f16, 16 bytes of two 4-bit numbers: the first half of the block in the low nibbles.
void readQ4_0(const std::byte* block, Block& out)
{
    const float d = halfAt(block, 0);
    for (std::size_t i = 0; i < 16; ++i) {
        out[i] = static_cast<float>((byteAt(block, 2 + i) & 15) - 8) * d;
        out[i + 16] = static_cast<float>((byteAt(block, 2 + i) >> 4) - 8) * d;
    }
}

/// d f16, 32 signed bytes.
void readQ8_0(const std::byte* block, Block& out)
{
    const float d = halfAt(block, 0);
    for (std::size_t i = 0; i < 32; ++i)
        out[i] = static_cast<float>(signedAt(block, 2 + i)) * d;
}

/// d f16, dmin f16, 12 bytes of eight scales and eight minima of 6 bits, 128 bytes of 4-bit numbers.
void readQ4_K(const std::byte* block, Block& out)
{
    const float d = halfAt(block, 0), dmin = halfAt(block, 2);
    const std::byte *s = block + 4, *q = block + 16;
    for (std::size_t g = 0; g < 8; ++g) {
        const int scale = g < 4 ? byteAt(s, g) & 63 : (byteAt(s, g + 4) & 15) | (byteAt(s, g - 4) >> 6 << 4);
        const int minimum =
            g < 4 ? byteAt(s, g + 4) & 63 : (byteAt(s, g + 4) >> 4) | (byteAt(s, g) >> 6 << 4);
        const float step = d * static_cast<float>(scale), lowest = dmin * static_cast<float>(minimum);
        for (std::size_t i = 0; i < 32; ++i) {
            const int pair = byteAt(q, 32 * (g / 2) + i);
            out[32 * g + i] = step * static_cast<float>(g % 2 == 0 ? pair & 15 : pair >> 4) - lowest;
        }
    }
}

/// 128 bytes of low nibbles, 64 of upper two bits, 16 signed scales, d f16.
void readQ6_K(const std::byte* block, Block& out)
{
    const float d = halfAt(block, 208);
    for (std::size_t e = 0; e < 256; ++e) {
        const std::size_t half = e / 128, g = e % 128 / 32, i = e % 32;
        const int pair = byteAt(block, 64 * half + 32 * (g & 1) + i);
        const int low = g < 2 ? pair & 15 : pair >> 4;
        const int high = byteAt(block, 128 + 32 * half + i) >> (2 * g) & 3;
        out[e] = d * static_cast<float>(signedAt(block, 192 + e / 16))
            * static_cast<float>((low | high << 4) - 32);
    }
}

} // namespace

BlockSize blockSize(DType dtype)
{
    switch (dtype) {
    case DType::Q4_0: return {32, 18};
    case DType::Q8_0: return {32, 34};
    case DType::Q4_K: return {256, 144};
    case DType::Q6_K: return {256, 210};
    default: return {};
    }
}

template <typename Scalar>
void readBlocks(DType dtype, const std::byte* blocks, std::int64_t first, std::int64_t count, Scalar* out)
{
    const BlockSize size = blockSize(dtype);
    assert(size.numbers > 0);
    if (size.numbers == 0)
        return;
    Block numbers;
    for (std::int64_t done = 0; done < count;) {
        const std::int64_t within = (first + done) % size.numbers;
        const std::byte* block =
            blocks + static_cast<std::size_t>((first + done) / size.numbers) * size.bytes;
        switch (dtype) {
        case DType::Q4_0: readQ4_0(block, numbers); break;
        case DType::Q8_0: readQ8_0(block, numbers); break;
        case DType::Q4_K: readQ4_K(block, numbers); break;
        case DType::Q6_K: readQ6_K(block, numbers); break;
        default: assert(false);
        }
        const std::int64_t run = std::min(count - done, size.numbers - within);
        std::copy_n(numbers.data() + within, run, out + done);
        done += run;
    }
}

template void readBlocks(DType, const std::byte*, std::int64_t, std::int64_t, float*);
template void readBlocks(DType, const std::byte*, std::int64_t, std::int64_t, double*);

} // namespace headwise
