#include "core/checkpoint/number_formats.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

using namespace headwise;

namespace {

template <typename Scalar, typename Bits>
Scalar decoded(DType dtype, Bits bits)
{
    Scalar out = 0;
    readRectangle(StoredRectangle{dtype, reinterpret_cast<const std::byte*>(&bits), 1, 1, 1, 1}, &out);
    return out;
}

/// Any binary format from its definition in double: 1 sign bit, exponent, mantissa, all special cases as in IEEE 754.
double ieee(std::uint32_t bits, int exponentBits, int mantissaBits)
{
    const int bias = (1 << (exponentBits - 1)) - 1;
    const int exponent = static_cast<int>(bits >> mantissaBits) & ((1 << exponentBits) - 1);
    const double fraction = (bits & ((1u << mantissaBits) - 1)) / std::pow(2.0, mantissaBits);
    const double sign = (bits >> (exponentBits + mantissaBits)) & 1 ? -1 : 1;
    if (exponent == (1 << exponentBits) - 1)
        return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
    return exponent == 0 ? sign * fraction * std::pow(2.0, 1 - bias)
                         : sign * (1 + fraction) * std::pow(2.0, exponent - bias);
}

bool same(double a, double b)
{
    return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

} // namespace

class NumberFormatsTest : public QObject {
    Q_OBJECT

private slots:
    void decodesTheGoldenValues()
    {
        const auto half = [](std::uint16_t bits) { return decoded<double>(DType::F16, bits); };
        QCOMPARE(half(0x3C00), 1.0);
        QCOMPARE(half(0x0001), 5.9604644775390625e-08); // the smallest subnormal
        QCOMPARE(half(0x7BFF), 65504.0);
        QCOMPARE(half(0xC000), -2.0);
        QVERIFY(std::isinf(half(0x7C00)) && std::isnan(half(0x7E00)));
        const auto bfloat = [](std::uint16_t bits) { return decoded<double>(DType::BF16, bits); };
        QCOMPARE(bfloat(0x3F00), 0.5);
        QCOMPARE(bfloat(0xC000), -2.0);
        QCOMPARE(bfloat(0x4049), 3.140625);
        QVERIFY(std::isinf(bfloat(0xFF80)) && std::isnan(bfloat(0x7FC0)));
        const auto e4m3 = [](std::uint8_t bits) { return decoded<double>(DType::F8_E4M3, bits); };
        QCOMPARE(e4m3(0x01), 0.001953125);
        QCOMPARE(e4m3(0x08), 0.015625);
        QCOMPARE(e4m3(0x38), 1.0);
        QCOMPARE(e4m3(0x7E), 448.0);
        QCOMPARE(e4m3(0xFE), -448.0);
        QVERIFY(std::isnan(e4m3(0x7F)) && std::isnan(e4m3(0xFF)));
        const auto e5m2 = [](std::uint8_t bits) { return decoded<double>(DType::F8_E5M2, bits); };
        QCOMPARE(e5m2(0x01), 1.52587890625e-05);
        QCOMPARE(e5m2(0x3C), 1.0);
        QCOMPARE(e5m2(0x7B), 57344.0);
        QVERIFY(std::isinf(e5m2(0x7C)) && std::isinf(e5m2(0xFC)) && std::isnan(e5m2(0x7D))
                && std::isnan(e5m2(0x7F)));
    }

    void decodesEveryValueAsItIsDefined()
    {
        for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
            const auto narrow = static_cast<std::uint16_t>(bits);
            QVERIFY2(same(decoded<double>(DType::F16, narrow), ieee(bits, 5, 10)),
                     qPrintable(QString::number(bits, 16)));
            QVERIFY2(same(decoded<double>(DType::BF16, narrow), ieee(bits, 8, 7)),
                     qPrintable(QString::number(bits, 16)));
            QVERIFY(same(decoded<float>(DType::F16, narrow), ieee(bits, 5, 10)));
        }
        for (std::uint32_t bits = 0; bits < 0x100; ++bits) {
            const auto narrow = static_cast<std::uint8_t>(bits);
            QVERIFY(same(decoded<double>(DType::F8_E5M2, narrow), ieee(bits, 5, 2)));
            // E4M3 uses the highest exponent for numbers, as if it had one more exponent bit, except for its two NaN.
            const double expected = (bits & 0x7F) == 0x7F ? std::nan("")
                : (bits & 0x78) == 0x78 ? (bits & 0x80 ? -1 : 1) * 256.0 * (1 + (bits & 7) / 8.0)
                                        : ieee(bits, 4, 3);
            QVERIFY(same(decoded<double>(DType::F8_E4M3, narrow), expected));
        }
    }

    void readsWideNumbersExactlyAndRoundsForFloat()
    {
        QCOMPARE(decoded<double>(DType::F64, 0.1), 0.1);
        QCOMPARE(decoded<float>(DType::F64, 0.1), 0.1f);
        QCOMPARE(decoded<double>(DType::F32, 0.1f), static_cast<double>(0.1f));
        QVERIFY(std::isinf(decoded<float>(DType::F64, 1e300)));
    }

    /// Every stride, at unaligned addresses, with sizes that are not multiples of a tile.
    void readsAnyRectangleAtAnyAddress()
    {
        constexpr int count = 70 * 45;
        std::vector<std::byte> storage(1 + count * sizeof(float));
        std::byte* const begin = storage.data() + 1;
        for (int i = 0; i < count; ++i) {
            const float number = static_cast<float>(i) - 7.5f;
            std::memcpy(begin + i * sizeof number, &number, sizeof number);
        }
        struct Case {
            int rowStride, colStride, rows, cols;
        };
        for (const auto& [rowStride, colStride, rows, cols] :
             {Case{45, 1, 70, 45}, Case{70, 1, 45, 70}, Case{1, 45, 45, 70}, Case{90, 2, 35, 22},
              Case{1, 0, 45, 3}, Case{45, 3, 33, 1}, Case{1, 1, 1, 1}, Case{45, 1, 0, 5}}) {
            Eigen::MatrixXd actual(rows, cols), expected(rows, cols);
            readRectangle(StoredRectangle{DType::F32, begin, rowStride, colStride, rows, cols},
                          actual.data());
            for (int r = 0; r < rows; ++r)
                for (int c = 0; c < cols; ++c)
                    expected(r, c) = r * rowStride + c * colStride - 7.5;
            QVERIFY(actual == expected);
        }
    }
};

HEADWISE_TEST(NumberFormatsTest)
#include "number_formats_test.moc"
