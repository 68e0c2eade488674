#include "core/checkpoint/tensor_statistics.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/zip_writer.h"

#include <QTemporaryDir>

#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

using namespace headwise;
using test::littleEndian;
namespace fs = std::filesystem;

namespace {

constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

template <typename T>
std::string bytesOf(const std::vector<T>& numbers)
{
    return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

std::vector<double> normals(std::size_t count, double mean, double spread)
{
    std::mt19937_64 engine(7);
    std::normal_distribution<double> normal(mean, spread);
    std::vector<double> numbers(count);
    for (double& number : numbers)
        number = normal(engine);
    return numbers;
}

/// Computes everything at once, in extended precision, by the definitions.
TensorStatistics denseStatistics(const std::vector<double>& numbers, int bins)
{
    TensorStatistics s;
    s.count = static_cast<std::int64_t>(numbers.size());
    long double sum = 0, squares = 0;
    s.minimum = infinity;
    s.maximum = -infinity;
    for (const double x : numbers) {
        s.nanCount += std::isnan(x);
        s.infinityCount += std::isinf(x);
        s.zeroCount += x == 0;
        if (!std::isfinite(x))
            continue;
        sum += x;
        s.minimum = std::min(s.minimum, x);
        s.maximum = std::max(s.maximum, x);
    }
    const auto count = static_cast<long double>(s.finiteCount());
    if (count == 0) {
        s.minimum = s.maximum = s.mean = s.deviation = notANumber;
        return s;
    }
    for (const double x : numbers)
        squares += std::isfinite(x) ? (x - sum / count) * (x - sum / count) : 0;
    s.mean = static_cast<double>(sum / count);
    s.deviation = static_cast<double>(std::sqrt(squares / count));
    s.histogram = {s.minimum, s.maximum, std::vector<std::int64_t>(static_cast<std::size_t>(bins))};
    const long double width = (static_cast<long double>(s.maximum) - s.minimum) / bins;
    for (const double x : numbers)
        if (std::isfinite(x)) {
            const auto bin = static_cast<int>((x - static_cast<long double>(s.minimum)) / width);
            ++s.histogram.counts[static_cast<std::size_t>(std::min(bin, bins - 1))];
        }
    return s;
}

bool isSame(double actual, double expected, double tolerance)
{
    const bool same = std::isnan(expected) ? std::isnan(actual) : std::abs(actual - expected) <= tolerance;
    if (!same)
        qWarning("%.17g, expected %.17g", actual, expected);
    return same;
}

bool agree(const TensorStatistics& actual, const TensorStatistics& expected)
{
    const double size = std::max(std::abs(expected.minimum), std::abs(expected.maximum));
    return actual.count == expected.count && actual.nanCount == expected.nanCount
        && actual.infinityCount == expected.infinityCount && actual.zeroCount == expected.zeroCount
        && isSame(actual.minimum, expected.minimum, 0) && isSame(actual.maximum, expected.maximum, 0)
        && isSame(actual.mean, expected.mean, 1e-14 * size)
        && isSame(actual.deviation, expected.deviation, 1e-12 * expected.deviation)
        && actual.histogram == expected.histogram;
}

} // namespace

class TensorStatisticsTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_temporary;
    fs::path m_folder;

    struct Tensor {
        std::string dtype;
        std::vector<std::int64_t> shape;
        std::string data;
    };

    WeightMap stored(const std::map<std::string, Tensor>& tensors)
    {
        nlohmann::json header;
        std::string data;
        for (const auto& [name, tensor] : tensors) {
            header[name] = {{"dtype", tensor.dtype},
                            {"shape", tensor.shape},
                            {"data_offsets", {data.size(), data.size() + tensor.data.size()}}};
            data += tensor.data;
        }
        const std::string text = header.dump();
        const fs::path file = m_folder / "t.safetensors";
        std::ofstream(file, std::ios::binary) << littleEndian(text.size(), 8) << text << data;
        return WeightMap::open(file).value();
    }

    WeightMap stored(const std::string& dtype, std::size_t count, const std::string& data)
    {
        return stored({{"t", {dtype, {static_cast<std::int64_t>(count)}, data}}});
    }

    static TensorStatistics statistics(const WeightMap& file, int bins = histogramBins, int threads = 0)
    {
        const auto found =
            tensorStatistics(file, file.find("t"), bins, {.stop = {}, .onProgress = {}, .threads = threads});
        return test::isOk(found) && *found ? **found : TensorStatistics();
    }

private slots:
    void init() { m_folder = m_temporary.path().toStdString(); }

    void agreeWithADenseComputationOverManyBlocks()
    {
        // With a mean far from zero, a sum of squares would lose its digits.
        std::vector<double> numbers = normals(700'001, 1e4, 0.5);
        numbers[3] = notANumber;
        numbers[300'000] = -infinity;
        numbers[300'001] = infinity;
        numbers[699'999] = notANumber;
        numbers[700'000] = 0;
        const WeightMap file = stored("F64", numbers.size(), bytesOf(numbers));
        QVERIFY(agree(statistics(file), denseStatistics(numbers, histogramBins)));
        QVERIFY(agree(statistics(file, 7), denseStatistics(numbers, 7)));
        QVERIFY(statistics(file, 0).histogram.counts.empty());
    }

    void doNotDependOnTheNumberOfThreads()
    {
        const std::vector<double> numbers = normals(1'500'000, 0.1, 1);
        const WeightMap file = stored("F64", numbers.size(), bytesOf(numbers));
        QVERIFY(statistics(file, 64, 1) == statistics(file, 64, 2));
        QVERIFY(statistics(file, 64, 1) == statistics(file, 64, 5));
    }

    void countWhatIsNoNumber()
    {
        const std::vector<float> planted{0.0F,     -0.0F,     1.0F,      -3.0F,     NAN,
                                         INFINITY, -INFINITY, 0x1p-149F, -0x1p-149F};
        const TensorStatistics s = statistics(stored("F32", planted.size(), bytesOf(planted)));
        QCOMPARE(s.count, 9);
        QCOMPARE(s.finiteCount(), 6);
        QCOMPARE(s.nanCount, 1);
        QCOMPARE(s.infinityCount, 2);
        QCOMPARE(s.zeroCount, 2); // subnormal numbers are not zero
        QCOMPARE(s.minimum, -3.0);
        QCOMPARE(s.maximum, 1.0);
        QVERIFY(agree(s, denseStatistics({planted.begin(), planted.end()}, histogramBins)));
    }

    void seeSubnormalNumbersAsTheyAre()
    {
        const std::vector<float> tiny{0x1p-149F, 0x3p-149F, 0x1p-130F, -0x1p-140F};
        QVERIFY(agree(statistics(stored("F32", 4, bytesOf(tiny))),
                      denseStatistics({tiny.begin(), tiny.end()}, histogramBins)));
    }

    void decodeEveryFloat_data()
    {
        QTest::addColumn<QString>("dtype");
        QTest::addColumn<int>("width");
        QTest::newRow("BF16") << "BF16" << 2;
        QTest::newRow("F16") << "F16" << 2;
        QTest::newRow("F8_E4M3") << "F8_E4M3" << 1;
        QTest::newRow("F8_E5M2") << "F8_E5M2" << 1;
    }
    /// Every bit pattern, decoded by the definition of the format.
    void decodeEveryFloat()
    {
        QFETCH(QString, dtype);
        QFETCH(int, width);
        const int exponentBits = dtype == "BF16" ? 8 : dtype == "F8_E4M3" ? 4 : 5;
        const int mantissaBits = 8 * width - 1 - exponentBits, bias = (1 << (exponentBits - 1)) - 1;
        std::vector<double> numbers;
        std::string data;
        for (int bits = 0; bits < 1 << 8 * width; ++bits) {
            data += littleEndian(static_cast<std::uint64_t>(bits), width);
            const int exponent = bits >> mantissaBits & ((1 << exponentBits) - 1);
            const int mantissa = bits & ((1 << mantissaBits) - 1);
            const double sign = bits >> (8 * width - 1) ? -1 : 1;
            const bool isLast = exponent == (1 << exponentBits) - 1;
            double value = sign
                * (exponent == 0
                       ? std::ldexp(mantissa, 1 - bias - mantissaBits)
                       : std::ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits));
            if (dtype == "F8_E4M3" && isLast && mantissa == 7)
                value = notANumber; // its only exception
            else if (dtype != "F8_E4M3" && isLast)
                value = mantissa == 0 ? sign * infinity : notANumber;
            numbers.push_back(value);
        }
        // An odd number of bins: with 64, powers of two would lie on the edges, where rounding decides.
        QVERIFY(agree(statistics(stored(dtype.toStdString(), numbers.size(), data), 61),
                      denseStatistics(numbers, 61)));
    }

    void countIntegersAndTruth()
    {
        const std::vector<std::int64_t> wide{-5, 0, 7, 1LL << 40};
        QVERIFY(agree(statistics(stored("I64", 4, bytesOf(wide))),
                      denseStatistics({-5, 0, 7, 0x1p40}, histogramBins)));
        const std::vector<std::uint64_t> positive{0, 1ULL << 63};
        QCOMPARE(statistics(stored("U64", 2, bytesOf(positive))).maximum, 0x1p63);
        const std::vector<std::int8_t> narrow{-128, 127, 0};
        QVERIFY(agree(statistics(stored("I8", 3, bytesOf(narrow))), denseStatistics({-128, 127, 0}, 64)));
        QCOMPARE(statistics(stored("U8", 3, bytesOf(narrow))).maximum, 128.0);
        const std::vector<std::int16_t> shorts{-300, 5};
        QCOMPARE(statistics(stored("I16", 2, bytesOf(shorts))).minimum, -300.0);
        QCOMPARE(statistics(stored("U16", 2, bytesOf(shorts))).maximum, 65236.0);
        const std::vector<std::int32_t> ints{-70000, 5};
        QCOMPARE(statistics(stored("I32", 2, bytesOf(ints))).minimum, -70000.0);
        QCOMPARE(statistics(stored("U32", 2, bytesOf(ints))).maximum, 4294897296.0);
        QCOMPARE(statistics(stored("BOOL", 4, std::string("\0\1\1\0", 4))).mean, 0.5);
    }

    /// Two blocks of 32: half-precision scale 0.5 and 0.25, then bytes.
    void decodeQuantisedBlocks()
    {
        std::string data;
        std::vector<double> numbers;
        for (const auto& [scale, bits] : {std::pair{0.5, 0x3800}, std::pair{0.25, 0x3400}}) {
            data += littleEndian(static_cast<std::uint64_t>(bits), 2);
            for (int i = 0; i < 32; ++i) {
                const auto byte = static_cast<std::int8_t>(37 * i - 90);
                data += static_cast<char>(byte);
                numbers.push_back(scale * byte);
            }
        }
        const auto text = [](const std::string& value) { return littleEndian(value.size(), 8) + value; };
        const auto number = [&](const std::string& key, std::uint64_t value, int type) {
            return text("llama." + key) + littleEndian(type, 4) + littleEndian(value, 4);
        };
        std::string file = "GGUF" + littleEndian(3, 4) + littleEndian(1, 8) + littleEndian(7, 8);
        file += text("general.architecture") + littleEndian(8, 4) + text("llama");
        file += number("block_count", 1, 4) + number("context_length", 8, 4)
            + number("embedding_length", 32, 4) + number("feed_forward_length", 8, 4)
            + number("attention.head_count", 4, 4)
            + number("attention.layer_norm_rms_epsilon", 0x3727C5AC, 6);
        file += text("token_embd.weight") + littleEndian(2, 4) + littleEndian(32, 8) + littleEndian(2, 8)
            + littleEndian(8, 4) + littleEndian(0, 8);
        file.resize((file.size() + 31) / 32 * 32, '\0');
        std::ofstream(m_folder / "t.gguf", std::ios::binary) << file << data;
        const auto map = WeightMap::open(m_folder / "t.gguf");
        QVERIFY(test::isOk(map));
        const auto found = tensorStatistics(*map, 0, histogramBins, {});
        QVERIFY(test::isOk(found) && *found);
        QVERIFY(agree(**found, denseStatistics(numbers, histogramBins)));
    }

    void handleEmptyScalarConstantAndNothingFinite()
    {
        const TensorStatistics empty = statistics(stored({{"t", {"F32", {0, 3}, ""}}}));
        QCOMPARE(empty.count, 0);
        QVERIFY(std::isnan(empty.minimum) && std::isnan(empty.deviation) && empty.histogram.counts.empty());

        const TensorStatistics one = statistics(stored({{"t", {"F32", {}, bytesOf<float>({-2.5F})}}}));
        QCOMPARE(one.count, 1);
        QCOMPARE(one.mean, -2.5);
        QCOMPARE(one.deviation, 0.0);
        QCOMPARE(one.histogram.low, -3.0);
        QCOMPARE(one.histogram.high, -2.0);
        QCOMPARE(one.histogram.counts[32], 1);

        const TensorStatistics large = statistics(stored("F64", 2, bytesOf<double>({1e300, 1e300})));
        QCOMPARE(large.histogram.high, 1e300);
        QCOMPARE(large.histogram.low, std::nextafter(1e300, 0));
        QCOMPARE(large.histogram.counts.back(), 2);

        const TensorStatistics nothing = statistics(stored("F32", 2, bytesOf<float>({NAN, INFINITY})));
        QCOMPARE(nothing.finiteCount(), 0);
        QVERIFY(std::isnan(nothing.mean) && std::isnan(nothing.maximum));
        QVERIFY(nothing.histogram.counts.empty());
    }

    void binARangeThatNoDoubleHolds()
    {
        const double most = std::numeric_limits<double>::max();
        const TensorStatistics s = statistics(stored("F64", 3, bytesOf<double>({-most, 0, most})), 4);
        QVERIFY(s.histogram.counts == (std::vector<std::int64_t>{1, 0, 1, 1}));
    }

    void readTransposedTensorsOfTheirOwnNumbersAlone()
    {
        std::string header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }";
        header.resize(117, ' ');
        header += '\n';
        const std::string member = std::string("\x93NUMPY\1\0", 8) + littleEndian(118, 2) + header
            + bytesOf<float>({1, 2, 3, 4, 5, 6});
        std::ofstream(m_folder / "t.npz", std::ios::binary) << test::zipArchive({{"t.npy", member}});
        const auto map = WeightMap::open(m_folder / "t.npz");
        QVERIFY(test::isOk(map));
        QVERIFY(agree(statistics(*map), denseStatistics({1, 2, 3, 4, 5, 6}, histogramBins)));
    }

    void sayNothingOfWhatCannotBeDecoded()
    {
        const WeightMap file = stored("F8_E8M0", 2, std::string(2, '\1'));
        const auto found = tensorStatistics(file, 0, 64, {});
        QVERIFY(test::isOk(found));
        QVERIFY(!*found);
    }

    void comeOneByOneWithProgressThatNeverFallsBack()
    {
        const std::vector<double> numbers = normals(600'000, 0, 1);
        const WeightMap file = stored({{"a", {"F64", {600'000}, bytesOf(numbers)}},
                                       {"b", {"F32", {1}, bytesOf<float>({4})}},
                                       {"c", {"F64", {600'000}, bytesOf(numbers)}}});
        std::vector<int> taken, steps;
        int total = 0;
        const Task task{.stop = {}, .onProgress = [&](int done, int end, std::string_view) {
                            steps.push_back(done);
                            total = end;
                        }};
        const auto take = [&](int tensor, const std::optional<TensorStatistics>& s) {
            taken.push_back(tensor);
            QVERIFY(s);
        };
        QVERIFY(test::isOk(tensorStatistics(file, {2, 0, 1}, 64, take, task)));
        QVERIFY(taken == (std::vector<int>{2, 0, 1}));
        QCOMPARE(total, 10); // 9.6 megabytes
        QCOMPARE(steps.back(), total);
        QVERIFY(std::is_sorted(steps.begin(), steps.end()));
        QVERIFY(steps.size() > 6);
    }

    void stopWhenTheyAreAskedTo()
    {
        const std::vector<double> numbers = normals(600'000, 0, 1);
        const WeightMap file = stored("F64", numbers.size(), bytesOf(numbers));
        std::stop_source stop;
        const Task task{.stop = stop.get_token(),
                        .onProgress = [&](int, int, std::string_view) { stop.request_stop(); }};
        QVERIFY(test::failsWith(tensorStatistics(file, 0, 64, task), ErrorCode::Cancelled, ""));
    }

    void refuseAFileThatWasShortened()
    {
        const std::vector<double> numbers = normals(600'000, 0, 1);
        const WeightMap file = stored("F64", numbers.size(), bytesOf(numbers));
        fs::resize_file(m_folder / "t.safetensors", 4096);
        QVERIFY(test::failsWith(tensorStatistics(file, 0, 64, {}), ErrorCode::Io, "t.safetensors"));
    }
};

HEADWISE_TEST(TensorStatisticsTest)
#include "tensor_statistics_test.moc"
