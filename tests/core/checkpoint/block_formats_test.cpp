#include "core/checkpoint/block_formats.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace headwise;

namespace {

using BlockBytes = std::vector<std::uint8_t>;
using BlockNumbers = std::vector<float>;

/// A half-precision number from its definition.
float halfOf(const BlockBytes& block, std::size_t at)
{
    const int bits = block[at] | block[at + 1] << 8;
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return static_cast<float>(mantissa ? std::nan("") : sign * std::numeric_limits<double>::infinity());
    return static_cast<float>(
        sign * std::ldexp(exponent ? mantissa + 1024 : mantissa, std::max(exponent, 1) - 25));
}

float asFloat(int value)
{
    return static_cast<float>(value);
}

// The oracle writes each block in the order in which the format's description walks through its bytes, a float operation a
// line. It shares no helper with core.

BlockNumbers plainNibbles(const BlockBytes& b, std::size_t q, std::size_t fifth, int shift, bool hasMinimum)
{
    const float d = halfOf(b, 0), m = hasMinimum ? halfOf(b, 2) : 0;
    std::uint32_t bits = 0;
    if (fifth > 0)
        std::memcpy(&bits, b.data() + fifth, 4);
    BlockNumbers y(32);
    for (unsigned j = 0; j < 16; ++j) {
        const int first = (b[q + j] & 0x0F) + ((bits >> j & 1) != 0 ? 16 : 0);
        const int second = (b[q + j] >> 4) + ((bits >> (j + 16) & 1) != 0 ? 16 : 0);
        const float low = asFloat(first - shift) * d, high = asFloat(second - shift) * d;
        y[j] = hasMinimum ? low + m : low;
        y[j + 16] = hasMinimum ? high + m : high;
    }
    return y;
}

BlockNumbers q8_0(const BlockBytes& b)
{
    BlockNumbers y;
    for (std::size_t j = 0; j < 32; ++j)
        y.push_back(asFloat(b[2 + j] > 127 ? b[2 + j] - 256 : b[2 + j]) * halfOf(b, 0));
    return y;
}

BlockNumbers q2_K(const BlockBytes& b)
{
    const float d = halfOf(b, 80), lowest = halfOf(b, 82);
    BlockNumbers y;
    std::size_t scale = 0, q = 16;
    for (int half = 0; half < 2; ++half, q += 32)
        for (int shift = 0; shift < 8; shift += 2)
            for (std::size_t part = 0; part < 32; part += 16, ++scale) {
                const float dl = d * asFloat(b[scale] & 0x0F), ml = lowest * asFloat(b[scale] >> 4);
                for (std::size_t l = 0; l < 16; ++l) {
                    const float product = dl * asFloat(b[q + part + l] >> shift & 3);
                    y.push_back(product - ml);
                }
            }
    return y;
}

/// Unpacks the sixteen scales four bytes at a time, by masks.
BlockNumbers q3_K(const BlockBytes& b)
{
    std::array<std::uint32_t, 4> a{};
    std::memcpy(a.data(), b.data() + 96, 12);
    const std::uint32_t upper = a[2];
    a[2] = (a[0] >> 4 & 0x0f0f0f0f) | ((upper >> 4 & 0x03030303) << 4);
    a[3] = (a[1] >> 4 & 0x0f0f0f0f) | ((upper >> 6 & 0x03030303) << 4);
    a[0] = (a[0] & 0x0f0f0f0f) | ((upper & 0x03030303) << 4);
    a[1] = (a[1] & 0x0f0f0f0f) | ((upper >> 2 & 0x03030303) << 4);
    std::array<std::int8_t, 16> scales{};
    std::memcpy(scales.data(), a.data(), 16);
    const float d = halfOf(b, 108);
    BlockNumbers y;
    std::size_t scale = 0, q = 32;
    int mask = 1;
    for (int half = 0; half < 2; ++half, q += 32)
        for (int shift = 0; shift < 8; shift += 2, mask <<= 1)
            for (std::size_t part = 0; part < 32; part += 16) {
                const float dl = d * asFloat(scales[scale++] - 32);
                for (std::size_t l = 0; l < 16; ++l)
                    y.push_back(
                        dl * asFloat((b[q + part + l] >> shift & 3) - ((b[part + l] & mask) != 0 ? 0 : 4)));
            }
    return y;
}

/// Q4_K, or with `fifth` Q5_K.
BlockNumbers q45_K(const BlockBytes& b, std::size_t fifth, std::size_t q)
{
    const float d = halfOf(b, 0), lowest = halfOf(b, 2);
    const auto unpacked = [&](std::size_t j, int& scale, int& minimum) {
        const std::uint8_t* s = b.data() + 4;
        scale = j < 4 ? s[j] & 63 : (s[j + 4] & 0xF) | ((s[j - 4] >> 6) << 4);
        minimum = j < 4 ? s[j + 4] & 63 : (s[j + 4] >> 4) | ((s[j] >> 6) << 4);
    };
    BlockNumbers y;
    int u1 = 1, u2 = 2;
    for (std::size_t pair = 0; pair < 4; ++pair, q += 32, u1 <<= 2, u2 <<= 2)
        for (const bool isHigh : {false, true}) {
            int scale = 0, minimum = 0;
            unpacked(2 * pair + (isHigh ? 1 : 0), scale, minimum);
            const float step = d * asFloat(scale), m = lowest * asFloat(minimum);
            for (std::size_t l = 0; l < 32; ++l) {
                const int extra = fifth > 0 && (b[fifth + l] & (isHigh ? u2 : u1)) != 0 ? 16 : 0;
                const float product = step * asFloat((isHigh ? b[q + l] >> 4 : b[q + l] & 0xF) + extra);
                y.push_back(product - m);
            }
        }
    return y;
}

BlockNumbers q6_K(const BlockBytes& b)
{
    BlockNumbers y(256);
    for (std::size_t half = 0; half < 2; ++half)
        for (std::size_t l = 0; l < 32; ++l) {
            const std::uint8_t *ql = &b[64 * half], *qh = &b[128 + 32 * half];
            const std::array<int, 4> q{((ql[l] & 0xF) | ((qh[l] >> 0 & 3) << 4)) - 32,
                                       ((ql[l + 32] & 0xF) | ((qh[l] >> 2 & 3) << 4)) - 32,
                                       ((ql[l] >> 4) | ((qh[l] >> 4 & 3) << 4)) - 32,
                                       ((ql[l + 32] >> 4) | ((qh[l] >> 6 & 3) << 4)) - 32};
            for (std::size_t part = 0; part < 4; ++part) {
                const auto scale = static_cast<std::int8_t>(b[192 + 8 * half + l / 16 + 2 * part]);
                const float step = halfOf(b, 208) * asFloat(scale);
                y[128 * half + 32 * part + l] = step * asFloat(q[part]);
            }
        }
    return y;
}

BlockNumbers q8_K(const BlockBytes& b)
{
    const float d = std::bit_cast<float>(std::uint32_t{b[0]} | std::uint32_t{b[1]} << 8
                                         | std::uint32_t{b[2]} << 16 | std::uint32_t{b[3]} << 24);
    BlockNumbers y;
    for (std::size_t j = 0; j < 256; ++j)
        y.push_back(d * asFloat(static_cast<std::int8_t>(b[4 + j])));
    return y;
}

constexpr std::array kvalues{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

BlockNumbers iq4_NL(const BlockBytes& b)
{
    BlockNumbers y(32);
    for (std::size_t j = 0; j < 16; ++j) {
        y[j] = halfOf(b, 0) * asFloat(kvalues[b[2 + j] & 0xF]);
        y[j + 16] = halfOf(b, 0) * asFloat(kvalues[b[2 + j] >> 4]);
    }
    return y;
}

BlockNumbers iq4_XS(const BlockBytes& b)
{
    const int upper = b[2] | b[3] << 8;
    BlockNumbers y;
    std::size_t q = 8;
    for (int group = 0; group < 8; ++group, q += 16) {
        const int low = b[4 + static_cast<std::size_t>(group) / 2] >> (4 * (group % 2)) & 0xF;
        const float dl = halfOf(b, 0) * asFloat((low | (upper >> (2 * group) & 3) << 4) - 32);
        for (std::size_t j = 0; j < 16; ++j)
            y.push_back(dl * asFloat(kvalues[b[q + j] & 0xF]));
        for (std::size_t j = 0; j < 16; ++j)
            y.push_back(dl * asFloat(kvalues[b[q + j] >> 4]));
    }
    return y;
}

BlockNumbers blockOracle(DType dtype, const BlockBytes& b)
{
    switch (dtype) {
    case DType::Q4_0: return plainNibbles(b, 2, 0, 8, false);
    case DType::Q4_1: return plainNibbles(b, 4, 0, 0, true);
    case DType::Q5_0: return plainNibbles(b, 6, 2, 16, false);
    case DType::Q5_1: return plainNibbles(b, 8, 4, 0, true);
    case DType::Q8_0: return q8_0(b);
    case DType::Q2_K: return q2_K(b);
    case DType::Q3_K: return q3_K(b);
    case DType::Q4_K: return q45_K(b, 0, 16);
    case DType::Q5_K: return q45_K(b, 16, 48);
    case DType::Q6_K: return q6_K(b);
    case DType::Q8_K: return q8_K(b);
    case DType::IQ4_NL: return iq4_NL(b);
    case DType::IQ4_XS: return iq4_XS(b);
    default: return {};
    }
}

/// A format's sizes by its description, and where its half-precision numbers are.
struct BlockLayout {
    DType dtype;
    std::int64_t numbers;
    std::size_t bytes;
    std::vector<std::size_t> halves;
};

const std::vector<BlockLayout>& blockLayouts()
{
    static const std::vector<BlockLayout> all{
        {DType::Q4_0, 32, 18, {0}},     {DType::Q4_1, 32, 20, {0, 2}},   {DType::Q5_0, 32, 22, {0}},
        {DType::Q5_1, 32, 24, {0, 2}},  {DType::Q8_0, 32, 34, {0}},      {DType::Q2_K, 256, 84, {80, 82}},
        {DType::Q3_K, 256, 110, {108}}, {DType::Q4_K, 256, 144, {0, 2}}, {DType::Q5_K, 256, 176, {0, 2}},
        {DType::Q6_K, 256, 210, {208}}, {DType::Q8_K, 256, 292, {}},     {DType::IQ4_NL, 32, 18, {0}},
        {DType::IQ4_XS, 256, 136, {0}},
    };
    return all;
}

bool equalBits(float a, float b)
{
    return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

/// Returns the index of the first number that differs from the oracle's, or -1.
int firstBlockDifference(DType dtype, const BlockBytes& block)
{
    const BlockNumbers expected = blockOracle(dtype, block);
    BlockNumbers found(static_cast<std::size_t>(blockSize(dtype).numbers));
    readBlocks(dtype, std::as_bytes(std::span(block)).data(), 0, blockSize(dtype).numbers, found.data());
    if (found.size() != expected.size())
        return 0;
    for (std::size_t i = 0; i < found.size(); ++i)
        if (!equalBits(found[i], expected[i]))
            return static_cast<int>(i);
    return -1;
}

} // namespace

class BlockFormatsTest : public QObject {
    Q_OBJECT

private slots:
    void everyFormat_data()
    {
        QTest::addColumn<int>("layout");
        for (int i = 0; i < static_cast<int>(blockLayouts().size()); ++i)
            QTest::newRow(dtypeName(blockLayouts()[static_cast<std::size_t>(i)].dtype).data()) << i;
    }
    /// Random bytes with scales that are common, denormal, infinite or NaN.
    void everyFormat()
    {
        const BlockLayout& format = layout();
        QCOMPARE(blockSize(format.dtype).numbers, format.numbers);
        QCOMPARE(blockSize(format.dtype).bytes, format.bytes);
        std::mt19937 random(7);
        for (const int half : {0x3800, 0xB4CD, 0x0001, 0x83FF, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x0000})
            for (int trial = 0; trial < 20; ++trial) {
                BlockBytes block(format.bytes);
                for (std::uint8_t& byte : block)
                    byte = static_cast<std::uint8_t>(random());
                for (const std::size_t at : format.halves) {
                    block[at] = static_cast<std::uint8_t>(half & 255);
                    block[at + 1] = static_cast<std::uint8_t>(half >> 8);
                }
                if (format.halves.size() == 2) // the second number differs from the first
                    block[format.halves[1]] ^= 0x15;
                QCOMPARE(firstBlockDifference(format.dtype, block), -1);
            }
    }

    void everyBitCounts_data() { everyFormat_data(); }
    /// One bit at a time: a bit that is read from the wrong place changes another number.
    void everyBitCounts()
    {
        const BlockLayout& format = layout();
        BlockBytes plain(format.bytes, 0x5A);
        for (const std::size_t at : format.halves) {
            plain[at] = 0x40;
            plain[at + 1] = 0x2E;
        }
        if (format.dtype == DType::Q8_K)
            plain[3] = plain[4] = 0x01; // a number that is the scale itself
        const BlockNumbers before = blockOracle(format.dtype, plain);
        const std::size_t used = format.dtype == DType::Q8_K ? 260 : format.bytes;
        for (std::size_t bit = 0; bit < 8 * used; ++bit) {
            BlockBytes block = plain;
            block[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
            QVERIFY2(blockOracle(format.dtype, block) != before, std::to_string(bit).c_str());
            QVERIFY2(firstBlockDifference(format.dtype, block) == -1, std::to_string(bit).c_str());
        }
    }

    void namesTheFormats()
    {
        QCOMPARE(
            blockedDTypeNames(),
            std::string("Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q8_K, IQ4_NL, IQ4_XS"));
        QVERIFY(blockedDType(11) == DType::Q3_K && blockedDType(23) == DType::IQ4_XS);
        QVERIFY(!blockedDType(0) && !blockedDType(9) && !blockedDType(16));
        QCOMPARE(blockSize(DType::BF16).bytes, std::size_t(0));
    }

private:
    static const BlockLayout& layout()
    {
        QFETCH(int, layout);
        return blockLayouts()[static_cast<std::size_t>(layout)];
    }
};

HEADWISE_TEST(BlockFormatsTest)
#include "block_formats_test.moc"
