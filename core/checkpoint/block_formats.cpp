#include "core/checkpoint/block_formats.h"

#include "core/base/matrix.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>

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

int nibbleOfPair(int pair, bool isHigh)
{
    return isHigh ? pair >> 4 : pair & 15;
}

/// Number i of 32 in 16 bytes: the first half of the block in the low nibbles.
int nibbleAt(const std::byte* q, std::size_t i)
{
    return nibbleOfPair(byteAt(q, i % 16), i >= 16);
}

int bitAt(const std::byte* bits, std::size_t i)
{
    return byteAt(bits, i / 8) >> (i % 8) & 1;
}

/// Number e of 256 of 2 bits in 64 bytes: each 32 bytes contain four rows of 32, the lowest bits first.
int pairAt(const std::byte* q, std::size_t e)
{
    return byteAt(q, 32 * (e / 128) + e % 32) >> (2 * (e % 128 / 32)) & 3;
}

/// d f16, 16 bytes of two 4-bit numbers.
void readQ4_0(const std::byte* block, Block& out)
{
    const float d = halfAt(block, 0);
    for (std::size_t i = 0; i < 32; ++i)
        out[i] = static_cast<float>(nibbleAt(block + 2, i) - 8) * d;
}

/// d f16, 32 signed bytes.
void readQ8_0(const std::byte* block, Block& out)
{
    const float d = halfAt(block, 0);
    for (std::size_t i = 0; i < 32; ++i)
        out[i] = static_cast<float>(signedAt(block, 2 + i)) * d;
}

/// d f16, m f16, 16 bytes of two 4-bit numbers.
void readQ4_1(const std::byte* block, Block& out)
{
    const float d = halfAt(block, 0), m = halfAt(block, 2);
    for (std::size_t i = 0; i < 32; ++i)
        out[i] = static_cast<float>(nibbleAt(block + 4, i)) * d + m;
}

/// d f16, 32 fifth bits, 16 bytes of two 4-bit numbers.
void readQ5_0(const std::byte* block, Block& out)
{
    const float d = halfAt(block, 0);
    for (std::size_t i = 0; i < 32; ++i)
        out[i] = static_cast<float>((nibbleAt(block + 6, i) | bitAt(block + 2, i) << 4) - 16) * d;
}

/// d f16, m f16, 32 fifth bits, 16 bytes of two 4-bit numbers.
void readQ5_1(const std::byte* block, Block& out)
{
    const float d = halfAt(block, 0), m = halfAt(block, 2);
    for (std::size_t i = 0; i < 32; ++i)
        out[i] = static_cast<float>(nibbleAt(block + 8, i) | bitAt(block + 4, i) << 4) * d + m;
}

/// 16 bytes of a 4-bit scale and a 4-bit minimum, 64 bytes of four 2-bit numbers, d f16, dmin f16.
void readQ2_K(const std::byte* block, Block& out)
{
    const float d = halfAt(block, 80), dmin = halfAt(block, 82);
    for (std::size_t e = 0; e < 256; ++e) {
        const int scales = byteAt(block, e / 16);
        const float step = d * static_cast<float>(scales & 15),
                    lowest = dmin * static_cast<float>(scales >> 4);
        out[e] = step * static_cast<float>(pairAt(block + 16, e)) - lowest;
    }
}

/// 32 bytes of third bits, 64 bytes of four 2-bit numbers, 12 bytes of sixteen 6-bit scales, d f16.
void readQ3_K(const std::byte* block, Block& out)
{
    const float d = halfAt(block, 108);
    const std::byte* s = block + 96;
    for (std::size_t e = 0; e < 256; ++e) {
        const std::size_t g = e / 16;
        const int low = g < 8 ? byteAt(s, g) & 15 : byteAt(s, g - 8) >> 4;
        const int high = byteAt(s, 8 + g % 4) >> (2 * (g / 4)) & 3;
        const float step = d * static_cast<float>((low | high << 4) - 32);
        const bool hasThird = (byteAt(block, e % 32) >> (e / 32) & 1) != 0;
        out[e] = step * static_cast<float>(pairAt(block + 32, e) - (hasThird ? 0 : 4));
    }
}

/// Scale and minimum g of the eight of each in 12 bytes, 6 bits a number.
std::pair<int, int> scaleAndMinimum(const std::byte* s, std::size_t g)
{
    if (g < 4)
        return {byteAt(s, g) & 63, byteAt(s, g + 4) & 63};
    return {(byteAt(s, g + 4) & 15) | (byteAt(s, g - 4) >> 6 << 4),
            (byteAt(s, g + 4) >> 4) | (byteAt(s, g) >> 6 << 4)};
}

/// d f16, dmin f16, 12 bytes of scales and minima, the fifth bits if there are any, 128 bytes of 4-bit numbers.
void readScaledNibbles(const std::byte* block, const std::byte* fifthBits, const std::byte* q, Block& out)
{
    const float d = halfAt(block, 0), dmin = halfAt(block, 2);
    for (std::size_t g = 0; g < 8; ++g) {
        const auto [scale, minimum] = scaleAndMinimum(block + 4, g);
        const float step = d * static_cast<float>(scale), lowest = dmin * static_cast<float>(minimum);
        for (std::size_t i = 0; i < 32; ++i) {
            const int both = byteAt(q, 32 * (g / 2) + i);
            const int fifth = fifthBits ? byteAt(fifthBits, i) >> g & 1 : 0;
            out[32 * g + i] = step * static_cast<float>(nibbleOfPair(both, g % 2 != 0) | fifth << 4) - lowest;
        }
    }
}

void readQ4_K(const std::byte* block, Block& out)
{
    readScaledNibbles(block, nullptr, block + 16, out);
}

void readQ5_K(const std::byte* block, Block& out)
{
    readScaledNibbles(block, block + 16, block + 48, out);
}

/// 128 bytes of low nibbles, 64 of upper two bits, 16 signed scales, d f16.
void readQ6_K(const std::byte* block, Block& out)
{
    const float d = halfAt(block, 208);
    for (std::size_t e = 0; e < 256; ++e) {
        const std::size_t half = e / 128, g = e % 128 / 32, i = e % 32;
        const int both = byteAt(block, 64 * half + 32 * (g & 1) + i);
        const int low = nibbleOfPair(both, g >= 2);
        const int high = byteAt(block, 128 + 32 * half + i) >> (2 * g) & 3;
        out[e] = d * static_cast<float>(signedAt(block, 192 + e / 16))
            * static_cast<float>((low | high << 4) - 32);
    }
}

/// d f32, 256 signed bytes, 32 bytes of sums that only products use.
void readQ8_K(const std::byte* block, Block& out)
{
    float d;
    std::memcpy(&d, block, sizeof d);
    for (std::size_t i = 0; i < 256; ++i)
        out[i] = d * static_cast<float>(signedAt(block, 4 + i));
}

/// Source: ggml `src/ggml-common.h`, `kvalues_iq4nl`.
constexpr std::array<float, 16> unevenValues{-127, -104, -83, -65, -49, -35, -22, -10,
                                             1,    13,   25,  38,  53,  69,  89,  113};

/// d f16, 16 bytes of two 4-bit indices.
void readIQ4_NL(const std::byte* block, Block& out)
{
    const float d = halfAt(block, 0);
    for (std::size_t i = 0; i < 32; ++i)
        out[i] = d * unevenValues[static_cast<std::size_t>(nibbleAt(block + 2, i))];
}

/// d f16, upper two bits of eight scales, their lower four bits, 128 bytes of two 4-bit indices.
void readIQ4_XS(const std::byte* block, Block& out)
{
    const float d = halfAt(block, 0);
    for (std::size_t g = 0; g < 8; ++g) {
        const int low = nibbleOfPair(byteAt(block, 4 + g / 2), g % 2 != 0);
        const int high = byteAt(block, 2 + g / 4) >> (2 * (g % 4)) & 3;
        const float step = d * static_cast<float>((low | high << 4) - 32);
        for (std::size_t i = 0; i < 32; ++i)
            out[32 * g + i] = step * unevenValues[static_cast<std::size_t>(nibbleAt(block + 8 + 16 * g, i))];
    }
}

/// A format of ggml's: its number in ggml.h (ggml_type), its block and its reader.
struct BlockFormat {
    DType dtype;
    std::uint32_t ggmlType;
    BlockSize size;
    void (*read)(const std::byte* block, Block& out);
};

constexpr std::array blockFormats{
    BlockFormat{DType::Q4_0, 2, {32, 18}, readQ4_0},
    BlockFormat{DType::Q4_1, 3, {32, 20}, readQ4_1},
    BlockFormat{DType::Q5_0, 6, {32, 22}, readQ5_0},
    BlockFormat{DType::Q5_1, 7, {32, 24}, readQ5_1},
    BlockFormat{DType::Q8_0, 8, {32, 34}, readQ8_0},
    BlockFormat{DType::Q2_K, 10, {256, 84}, readQ2_K},
    BlockFormat{DType::Q3_K, 11, {256, 110}, readQ3_K},
    BlockFormat{DType::Q4_K, 12, {256, 144}, readQ4_K},
    BlockFormat{DType::Q5_K, 13, {256, 176}, readQ5_K},
    BlockFormat{DType::Q6_K, 14, {256, 210}, readQ6_K},
    BlockFormat{DType::Q8_K, 15, {256, 292}, readQ8_K},
    BlockFormat{DType::IQ4_NL, 20, {32, 18}, readIQ4_NL},
    BlockFormat{DType::IQ4_XS, 23, {256, 136}, readIQ4_XS},
};

const BlockFormat* formatOf(DType dtype)
{
    const auto found = std::find_if(blockFormats.begin(), blockFormats.end(),
                                    [dtype](const BlockFormat& format) { return format.dtype == dtype; });
    return found == blockFormats.end() ? nullptr : &*found;
}

} // namespace

BlockSize blockSize(DType dtype)
{
    const BlockFormat* format = formatOf(dtype);
    return format ? format->size : BlockSize{};
}

std::optional<DType> blockedDType(std::uint32_t ggmlType)
{
    const auto found = std::find_if(blockFormats.begin(), blockFormats.end(),
                                    [&](const BlockFormat& format) { return format.ggmlType == ggmlType; });
    return found == blockFormats.end() ? std::nullopt : std::optional(found->dtype);
}

std::string blockedDTypeNames()
{
    std::string names;
    for (const BlockFormat& format : blockFormats)
        names += (names.empty() ? "" : ", ") + std::string(dtypeName(format.dtype));
    return names;
}

template <typename Scalar>
void readBlocks(DType dtype, const std::byte* blocks, std::int64_t first, std::int64_t count, Scalar* out)
{
    const BlockFormat* format = formatOf(dtype);
    assert(format);
    if (!format)
        return;
    const BlockSize size = format->size;
    Block numbers;
    for (std::int64_t done = 0; done < count;) {
        const std::int64_t within = (first + done) % size.numbers;
        const std::byte* block =
            blocks + static_cast<std::size_t>((first + done) / size.numbers) * size.bytes;
        format->read(block, numbers);
        const std::int64_t run = std::min(count - done, size.numbers - within);
        std::copy_n(numbers.data() + within, run, out + done);
        done += run;
    }
}

template void readBlocks(DType, const std::byte*, std::int64_t, std::int64_t, float*);
template void readBlocks(DType, const std::byte*, std::int64_t, std::int64_t, double*);

} // namespace headwise
