#include "core/checkpoint/weight_map.h"
#include "tests/support/family_model.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QTemporaryDir>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

using namespace headwise;
namespace fs = std::filesystem;

namespace {

struct PackedTensor {
    DType dtype;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes;
};
using PackedTensors = std::map<std::string, PackedTensor>;

template <typename Number>
PackedTensor packedTensor(DType dtype, const std::vector<std::int64_t>& shape,
                          const std::vector<Number>& numbers)
{
    const auto bytes = std::as_bytes(std::span(numbers));
    return {dtype, shape, {bytes.begin(), bytes.end()}};
}

/// Half-precision numbers: only such that it holds exactly, by their definition.
PackedTensor halves(const std::vector<std::int64_t>& shape, const std::vector<float>& numbers)
{
    std::vector<std::uint16_t> bits;
    for (const float number : numbers) {
        int exponent = 0;
        const double fraction = std::frexp(std::abs(number), &exponent); // in [0.5, 1)
        const auto mantissa = static_cast<int>(std::ldexp(fraction, 11)) - 1024;
        bits.push_back(
            static_cast<std::uint16_t>((number < 0 ? 0x8000 : 0) | (exponent + 14) << 10 | mantissa));
    }
    return packedTensor(DType::F16, shape, bits);
}

/// Appends numbers bit by bit to words of 32 bits, the lowest bits first.
std::vector<std::uint32_t> packedWords(const std::vector<int>& numbers, int bits)
{
    std::vector<std::uint32_t> words((numbers.size() * static_cast<std::size_t>(bits) + 31) / 32, 0);
    std::size_t at = 0;
    for (const int number : numbers)
        for (int bit = 0; bit < bits; ++bit, ++at)
            if ((number >> bit & 1) != 0)
                words[at / 32] |= 1U << at % 32;
    return words;
}

float e4m3ByDefinition(int bits)
{
    const int exponent = bits >> 3 & 15, mantissa = bits & 7;
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(mantissa + 8, exponent - 10);
    return static_cast<float>(bits >= 128 ? -magnitude : magnitude);
}

/// A matrix of GPTQ or AWQ before it is packed. Its scales are exact in half precision.
struct GroupedMatrix {
    std::size_t inputs = 64, outputs = 32, groups = 4;
    int bits = 4;
    std::vector<int> numbers;          // [inputs, outputs]
    std::vector<int> zeros;            // [groups, outputs]
    std::vector<float> scales;         // [groups, outputs]
    std::vector<std::int32_t> groupOf; // [inputs]

    explicit GroupedMatrix(int width, bool isShuffled)
        : bits(width)
    {
        std::mt19937 random(5);
        const auto below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
        for (std::size_t i = 0; i < inputs * outputs; ++i)
            numbers.push_back(below(1U << bits));
        for (std::size_t i = 0; i < groups * outputs; ++i) {
            zeros.push_back(below(1U << bits));
            scales.push_back(std::ldexp(static_cast<float>(1024 + below(1024)), -17));
        }
        zeros[0] = 0; // stored as the largest number
        for (std::size_t i = 0; i < inputs; ++i)
            groupOf.push_back(isShuffled ? below(static_cast<unsigned>(groups))
                                         : static_cast<std::int32_t>(i * groups / inputs));
    }
    float value(std::size_t output, std::size_t input) const
    {
        const auto group = static_cast<std::size_t>(groupOf[input]);
        const auto difference =
            static_cast<float>(numbers[input * outputs + output] - zeros[group * outputs + output]);
        return scales[group * outputs + output] * difference;
    }
    std::int64_t size(std::size_t count) const { return static_cast<std::int64_t>(count); }

    PackedTensors gptq(bool isSecondVersion) const
    {
        const std::size_t rows = inputs * static_cast<std::size_t>(bits) / 32;
        std::vector<std::uint32_t> words(rows * outputs);
        for (std::size_t o = 0; o < outputs; ++o) {
            std::vector<int> column;
            for (std::size_t i = 0; i < inputs; ++i)
                column.push_back(numbers[i * outputs + o]);
            const auto packed = packedWords(column, bits);
            for (std::size_t r = 0; r < rows; ++r)
                words[r * outputs + o] = packed[r];
        }
        std::vector<std::uint32_t> zeroWords;
        for (std::size_t g = 0; g < groups; ++g) {
            std::vector<int> row;
            for (std::size_t o = 0; o < outputs; ++o)
                row.push_back((zeros[g * outputs + o] - (isSecondVersion ? 0 : 1)) & ((1 << bits) - 1));
            const auto packed = packedWords(row, bits);
            zeroWords.insert(zeroWords.end(), packed.begin(), packed.end());
        }
        return {{"a.qweight", packedTensor(DType::I32, {size(rows), size(outputs)}, words)},
                {"a.qzeros",
                 packedTensor(DType::I32, {size(groups), size(zeroWords.size() / groups)}, zeroWords)},
                {"a.scales", halves({size(groups), size(outputs)}, scales)},
                {"a.g_idx", packedTensor(DType::I32, {size(inputs)}, groupOf)}};
    }
    /// Column 8c + order[i] is nibble i of word c.
    PackedTensors awq() const
    {
        constexpr std::array<std::size_t, 8> order{0, 2, 4, 6, 1, 3, 5, 7};
        const auto packed = [&](const std::vector<int>& matrix, std::size_t rows) {
            std::vector<std::uint32_t> words;
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t c = 0; c < outputs / 8; ++c) {
                    std::uint32_t word = 0;
                    for (std::size_t i = 0; i < 8; ++i)
                        word |= static_cast<std::uint32_t>(matrix[r * outputs + 8 * c + order[i]]) << 4 * i;
                    words.push_back(word);
                }
            return packedTensor(DType::I32, {size(rows), size(outputs / 8)}, words);
        };
        return {{"a.qweight", packed(numbers, inputs)},
                {"a.qzeros", packed(zeros, groups)},
                {"a.scales", halves({size(groups), size(outputs)}, scales)}};
    }
};

/// Experts in MXFP4, their numbers and scales at random.
struct MicroscaledExperts {
    std::size_t experts, inputs, outputs;
    std::vector<std::uint8_t> blocks,
        scales; // [experts, outputs, inputs/32, 16], [experts, outputs, inputs/32]

    MicroscaledExperts(std::size_t experts_, std::size_t inputs_, std::size_t outputs_)
        : experts(experts_)
        , inputs(inputs_)
        , outputs(outputs_)
    {
        std::mt19937 random(11);
        for (std::size_t i = 0; i < experts * outputs * inputs / 2; ++i)
            blocks.push_back(static_cast<std::uint8_t>(random() % 256));
        for (std::size_t i = 0; i < experts * outputs * inputs / 32; ++i)
            scales.push_back(static_cast<std::uint8_t>(random() % 250)); // no infinity
        scales[0] = 0;                                                   // below the normal numbers
    }
    /// A sign, two bits of exponent and one of mantissa, times 2^(scale − 127).
    float value(std::size_t expert, std::size_t input, std::size_t output) const
    {
        const std::size_t at = (expert * outputs + output) * inputs + input;
        const int bits = blocks[at / 2] >> (at % 2 == 0 ? 0 : 4) & 15;
        const int exponent = bits >> 1 & 3, mantissa = bits & 1;
        const double magnitude =
            exponent == 0 ? mantissa * 0.5 : std::ldexp(1 + mantissa * 0.5, exponent - 1);
        return static_cast<float>(
            std::ldexp((bits & 8) != 0 ? -magnitude : magnitude, scales[at / 32] - 127));
    }
    PackedTensors tensors(const std::string& name) const
    {
        const auto e = static_cast<std::int64_t>(experts), o = static_cast<std::int64_t>(outputs),
                   g = static_cast<std::int64_t>(inputs / 32);
        return {{name + "_blocks", packedTensor(DType::U8, {e, o, g, 16}, blocks)},
                {name + "_scales", packedTensor(DType::U8, {e, o, g}, scales)}};
    }
};

} // namespace

class PackedWeightsTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void gptq_data()
    {
        QTest::addColumn<int>("bits");
        QTest::addColumn<bool>("second");
        for (const int bits : {2, 3, 4, 8})
            for (const bool second : {false, true})
                QTest::addRow("%d bits, %s", bits, second ? "gptq_v2" : "gptq") << bits << second;
    }
    void gptq()
    {
        QFETCH(int, bits);
        QFETCH(bool, second);
        const GroupedMatrix matrix(bits, true);
        const std::string format = second ? R"("checkpoint_format": "gptq_v2", )" : "";
        check(opened(matrix.gptq(second), "{" + format + R"("quant_method": "gptq"})"), matrix);
    }
    void gptqInOrderHasNoListOfGroups()
    {
        const GroupedMatrix matrix(4, false);
        PackedTensors tensors = matrix.gptq(false);
        tensors.erase("a.g_idx");
        check(opened(tensors, R"({"quant_method": "gptq", "bits": 4})"), matrix);
    }
    void awq()
    {
        const GroupedMatrix matrix(4, false);
        check(opened(matrix.awq(), R"({"quant_method": "awq", "version": "gemm", "bits": 4})"), matrix);
    }

    void scaledFloats_data()
    {
        QTest::addColumn<QByteArray>("settings");
        QTest::addColumn<int>("height");
        QTest::addColumn<int>("width");
        QTest::addColumn<QByteArray>("name");
        QTest::newRow("blocks") << QByteArray(R"({"weight_block_size": [2, 3]})") << 2 << 3
                                << QByteArray("a.weight_scale_inv");
        QTest::newRow("blocks of 128") << QByteArray("{}") << 128 << 128 << QByteArray("a.weight_scale_inv");
        QTest::newRow("rows") << QByteArray("{}") << 1 << 200 << QByteArray("a.weight_scale");
        QTest::newRow("whole") << QByteArray("{}") << 300 << 200 << QByteArray("a.weight_scale");
    }
    void scaledFloats()
    {
        QFETCH(QByteArray, settings);
        QFETCH(int, height);
        QFETCH(int, width);
        QFETCH(QByteArray, name);
        constexpr int rows = 300, cols = 200;
        std::mt19937 random(3);
        std::vector<std::uint8_t> numbers;
        for (int i = 0; i < rows * cols; ++i)
            numbers.push_back(static_cast<std::uint8_t>(random() % 2 * 128 + random() % 127)); // no NaN
        const int down = (rows + height - 1) / height, across = (cols + width - 1) / width;
        std::vector<float> scales;
        for (int i = 0; i < down * across; ++i)
            scales.push_back(static_cast<float>(random() % 10000) * 1e-6F);
        const std::vector<std::int64_t> shape =
            scales.size() == 1 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{down, across};
        const WeightMap map = opened({{"a.weight", packedTensor(DType::F8_E4M3, {rows, cols}, numbers)},
                                      {name.toStdString(), packedTensor(DType::F32, shape, scales)},
                                      {"a.input_scale", packedTensor(DType::F32, {}, std::vector<float>{1})}},
                                     settings.toStdString());
        checkNumbers(map, rows, cols, [&](std::size_t r, std::size_t c) {
            const std::size_t block = r / static_cast<std::size_t>(height) * static_cast<std::size_t>(across)
                + c / static_cast<std::size_t>(width);
            return e4m3ByDefinition(numbers[r * cols + c]) * scales[block];
        });
    }

    void eightBitsOfBitsandbytes()
    {
        const std::vector<std::int8_t> numbers{127, -127, 1, 0, -128, 5};
        const std::vector<float> scales{0.37F, 12.5F};
        PackedTensors tensors{{"a.weight", packedTensor(DType::I8, {2, 3}, numbers)},
                              {"a.SCB", packedTensor(DType::F32, {2}, scales)},
                              {"a.weight_format", packedTensor(DType::U8, {}, std::vector<std::uint8_t>{0})}};
        checkNumbers(opened(tensors, "{}"), 2, 3, [&](std::size_t r, std::size_t c) {
            const float product = static_cast<float>(numbers[r * 3 + c]) * scales[r];
            return product * 7.874015718698502e-3F;
        });
        tensors.at("a.weight_format").bytes[0] = std::byte{1};
        QVERIFY(test::failsWith(tried(tensors, "{}"), ErrorCode::Unsupported, "weight_format"));
    }

    void fourBitsOfBitsandbytes_data()
    {
        QTest::addColumn<bool>("nested");
        QTest::newRow("plain") << false;
        QTest::newRow("nested") << true;
    }
    void fourBitsOfBitsandbytes()
    {
        QFETCH(bool, nested);
        constexpr std::size_t rows = 3, cols = 7, block = 4,
                              outerBlock = 2; // 21 numbers, 6 blocks, 3 outer blocks
        std::vector<int> numbers;
        for (std::size_t i = 0; i < rows * cols; ++i)
            numbers.push_back(static_cast<int>((5 * i + 3) % 16));
        std::vector<std::uint8_t> bytes;
        for (std::size_t i = 0; i < numbers.size(); i += 2) // the first in the upper half
            bytes.push_back(
                static_cast<std::uint8_t>(numbers[i] << 4 | (i + 1 < numbers.size() ? numbers[i + 1] : 0)));
        std::vector<float> table, outerTable, scales, outer{0.3F, 1.7F, 0.9F};
        for (int i = 0; i < 16; ++i)
            table.push_back(static_cast<float>(std::tanh((i - 7) / 8.0)));
        for (int i = 0; i < 256; ++i)
            outerTable.push_back(static_cast<float>(i - 127) / 130.0F);
        const std::vector<std::uint8_t> inner{0, 255, 17, 127, 128, 200};
        const float offset = 0.123F;
        for (std::size_t b = 0; b < inner.size(); ++b) {
            const float product = outerTable[inner[b]] * outer[b / outerBlock];
            scales.push_back(nested ? product + offset : 0.1F * static_cast<float>(b + 1));
        }
        std::string state = R"({"quant_type": "nf4", "blocksize": 4, "dtype": "bfloat16", "shape": [3, 7])";
        state +=
            nested ? R"(, "nested_blocksize": 2, "nested_dtype": "float32", "nested_offset": 0.123})" : "}";
        PackedTensors tensors{
            {"a.weight", packedTensor(DType::U8, {std::ssize(bytes), 1}, bytes)},
            {"a.weight.quant_map", packedTensor(DType::F32, {16}, table)},
            {"a.weight.quant_state.bitsandbytes__nf4",
             packedTensor(DType::U8, {std::ssize(state)}, std::vector<char>(state.begin(), state.end()))}};
        if (nested) {
            tensors.emplace("a.weight.absmax", packedTensor(DType::U8, {6}, inner));
            tensors.emplace("a.weight.nested_absmax", packedTensor(DType::F32, {3}, outer));
            tensors.emplace("a.weight.nested_quant_map", packedTensor(DType::F32, {256}, outerTable));
        } else {
            tensors.emplace("a.weight.absmax", packedTensor(DType::F32, {6}, scales));
        }
        checkNumbers(opened(tensors, "{}"), rows, cols, [&](std::size_t r, std::size_t c) {
            const std::size_t i = r * cols + c;
            return table[static_cast<std::size_t>(numbers[i])] * scales[i / block];
        });
        tensors.at("a.weight.absmax") = packedTensor(DType::F32, {5}, std::vector<float>(5));
        QVERIFY(test::failsWith(tried(tensors, "{}"), ErrorCode::Corrupt, "'a.weight.absmax' has shape [5]"));
    }

    /// Each of two experts is transposed: its bytes are [outputs, inputs/2], the first input in the lower half.
    void microscaledFloats()
    {
        constexpr std::size_t experts = 2, inputs = 64, outputs = 5;
        const MicroscaledExperts stored(experts, inputs, outputs);
        const WeightMap map = opened(stored.tensors("a"), R"({"quant_method": "mxfp4"})");
        QCOMPARE(map.tensors().size(), std::size_t(1));
        QCOMPARE(map.tensors()[0].name, std::string("a"));
        QVERIFY(map.tensors()[0].shape == (std::vector<std::int64_t>{experts, inputs, outputs}));
        QCOMPARE(map.warnings(),
                 std::vector<std::string>{
                     "The weights are quantised (MXFP4): all results are those of the quantised model."});
        std::vector<float> line(experts * inputs * outputs);
        map.readNumbers(0, 0, std::ssize(line), line.data());
        for (std::size_t e = 0; e < experts; ++e) {
            Matrix<float> matrix; // every second output of this expert, as a gate is stored
            map.read({.tensor = 0,
                      .offset = std::int64_t(e * inputs * outputs),
                      .rowStride = outputs,
                      .colStride = 2,
                      .rows = inputs,
                      .cols = 3},
                     matrix);
            for (std::size_t i = 0; i < inputs; ++i)
                for (std::size_t o = 0; o < outputs; ++o) {
                    const auto expected = std::bit_cast<std::uint32_t>(stored.value(e, i, o));
                    QCOMPARE(std::bit_cast<std::uint32_t>(line[(e * inputs + i) * outputs + o]), expected);
                    if (o % 2 == 0)
                        QCOMPARE(std::bit_cast<std::uint32_t>(
                                     matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(o / 2))),
                                 expected);
                }
        }
    }

    void aScaleOf255IsNoNumber()
    {
        MicroscaledExperts stored(1, 32, 2);
        stored.scales[1] = 255;
        const WeightMap map = opened(stored.tensors("a"), "{}");
        std::vector<double> line(64);
        map.readNumbers(0, 0, 64, line.data());
        for (std::size_t at = 0; at < line.size(); ++at) // the outputs of an input stand side by side
            QCOMPARE(std::isnan(line[at]), at % 2 == 1);
    }

    void damagedMicroscaledExpertsAreNamed()
    {
        const std::string settings = R"({"quant_method": "mxfp4"})";
        const PackedTensors whole = MicroscaledExperts(2, 64, 5).tensors("a");
        const auto bytes = [](const std::vector<std::int64_t>& shape) {
            std::size_t count = 1;
            for (const std::int64_t size : shape)
                count *= static_cast<std::size_t>(size);
            return packedTensor(DType::U8, shape, std::vector<std::uint8_t>(count));
        };
        PackedTensors bad = whole;
        bad.erase("a_scales");
        QVERIFY(test::failsWith(tried(bad, settings), ErrorCode::Corrupt,
                                "The quantised matrix 'a' has no tensor 'a_scales'"));
        bad = whole;
        bad.at("a_scales") = bytes({2, 5, 1});
        QVERIFY(test::failsWith(tried(bad, settings), ErrorCode::Corrupt,
                                "Tensor 'a_scales' has shape [2, 5, 1], which does not fit"));
        for (const std::vector<std::int64_t>& shape :
             {std::vector<std::int64_t>{2, 5, 2, 8}, {2, 5, 32}, {2, 0, 2, 16}}) {
            bad.at("a_blocks") = bytes(shape);
            QVERIFY(test::failsWith(tried(bad, settings), ErrorCode::Corrupt,
                                    "Tensor 'a_blocks' has shape " + shapeText(shape)));
        }
        bad = whole;
        bad.emplace("a", packedTensor(DType::F32, {1}, std::vector<float>(1)));
        QVERIFY(test::failsWith(tried(bad, settings), ErrorCode::Corrupt, "'a' is stored twice"));
        bad = {{"a_blocks", bytes({3})}}; // of another format: nothing says that it is this one
        QVERIFY(test::isOk(tried(bad, "{}")));
    }

    void partsThatDoNotFitAreNamed()
    {
        const GroupedMatrix matrix(4, false);
        PackedTensors bad = matrix.gptq(false);
        bad.at("a.g_idx").bytes[0] = std::byte{9};
        QVERIFY(test::failsWith(tried(bad, "{}"), ErrorCode::Corrupt, "'a.g_idx' names group 9"));
        bad = matrix.gptq(false);
        bad.at("a.g_idx") = packedTensor(DType::I32, {63}, std::vector<std::int32_t>(63));
        QVERIFY(test::failsWith(tried(bad, "{}"), ErrorCode::Corrupt, "'a.qweight' has shape"));
        QVERIFY(test::failsWith(tried(matrix.gptq(false), R"({"checkpoint_format": "marlin"})"),
                                ErrorCode::Unsupported, "'marlin'"));
        QVERIFY(
            test::failsWith(tried(matrix.awq(), R"({"version": "gemv"})"), ErrorCode::Unsupported, "'gemv'"));
        bad = matrix.awq();
        bad.emplace("a.weight", packedTensor(DType::F32, {1}, std::vector<float>(1)));
        QVERIFY(test::failsWith(tried(bad, "{}"), ErrorCode::Corrupt, "'a.weight' is stored twice"));
        bad = matrix.awq();
        bad.erase("a.qzeros"); // then it is refused as before
        QVERIFY(test::failsWith(tried(bad, "{}"), ErrorCode::Unsupported, "GPTQ or AWQ"));
        QVERIFY(test::failsWith(
            tried({{"a.weight", packedTensor(DType::F8_E4M3, {4, 4}, std::vector<std::uint8_t>(16))},
                   {"a.weight_scale_inv", packedTensor(DType::F32, {3, 1}, std::vector<float>(3))}},
                  "{}"),
            ErrorCode::Corrupt, "'a.weight_scale_inv' has shape [3, 1]"));
    }

    /// A whole model in 8 bits has the function of the same numbers in float32.
    void aQuantisedModelOpens()
    {
        test::FamilyModel model = test::familyModel("qwen3");
        PackedTensors stored;
        for (auto& [name, tensor] : model.tensors) {
            std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
            if (!name.ends_with("_proj.weight")) {
                std::vector<float> numbers(tensor.values.begin(), tensor.values.end());
                tensor.values.assign(numbers.begin(), numbers.end());
                stored.emplace(name, packedTensor(DType::F32, shape, numbers));
                continue;
            }
            const std::size_t cols = tensor.shape[1];
            std::vector<std::int8_t> numbers;
            std::vector<float> scales(tensor.shape[0]);
            for (std::size_t i = 0; i < tensor.values.size(); ++i) {
                float& scale = scales[i / cols];
                for (std::size_t c = 0; i % cols == 0 && c < cols; ++c)
                    scale = std::max(scale, static_cast<float>(std::abs(tensor.values[i + c])));
                numbers.push_back(static_cast<std::int8_t>(std::lround(tensor.values[i] / scale * 127)));
                const float product = static_cast<float>(numbers.back()) * scale;
                tensor.values[i] = product * 7.874015718698502e-3F;
            }
            const std::string stem = name.substr(0, name.size() - std::string("weight").size());
            stored.emplace(name, packedTensor(DType::I8, shape, numbers));
            stored.emplace(stem + "SCB", packedTensor(DType::F32, {std::ssize(scales)}, scales));
        }
        const fs::path original = test::writeFamily(root() / "original", model);
        model.config["quantization_config"] =
            QJsonObject{{"quant_method", "bitsandbytes"}, {"load_in_8bit", true}};
        write(stored, QJsonDocument(model.config).toJson().toStdString());
        const std::vector<int> tokens{3, 1, 4, 1, 5};
        const auto found = test::loaded(root() / "packed"), expected = test::loaded(original);
        QVERIFY(test::ran<double>(test::raw(found), tokens).logits
                == test::ran<double>(test::raw(expected), tokens).logits);
        const auto map = WeightMap::open(root() / "packed");
        QVERIFY(test::isOk(map));
        QCOMPARE(map->warnings(),
                 std::vector<std::string>{
                     "The weights are quantised (INT8_ROWS): all results are those of the quantised model."});
    }

    /// Experts in MXFP4 have the function of the same numbers in the plain tensors, which have these names without an ending.
    void aModelWithMicroscaledExpertsOpens()
    {
        test::FamilyModel model = test::familyModel("gpt_oss");
        model.config["hidden_size"] = 32;
        model.config["intermediate_size"] = 32;
        PackedTensors stored;
        std::mt19937 random(7);
        for (auto& [name, tensor] : model.tensors) {
            for (std::size_t& size : tensor.shape) // groups are of 32 inputs
                size = size == 24 || size == 13 ? 32 : size == 26 ? 64 : size;
            const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
            std::vector<float> numbers;
            if (name.ends_with("_proj")) {
                MicroscaledExperts experts(tensor.shape[0], tensor.shape[1], tensor.shape[2]);
                for (std::uint8_t& scale : experts.scales)
                    scale = static_cast<std::uint8_t>(122 + random() % 4);
                for (std::size_t e = 0; e < experts.experts; ++e)
                    for (std::size_t i = 0; i < experts.inputs; ++i)
                        for (std::size_t o = 0; o < experts.outputs; ++o)
                            numbers.push_back(experts.value(e, i, o));
                stored.merge(experts.tensors(name));
            } else {
                for (std::int64_t left = elementCount({.name = name, .shape = shape}); left > 0; --left)
                    numbers.push_back(static_cast<float>(random() % 2001) / 1000 - 1);
                stored.emplace(name, packedTensor(DType::F32, shape, numbers));
            }
            tensor.values.assign(numbers.begin(), numbers.end());
        }
        const fs::path original = test::writeFamily(root() / "original", model);
        model.config["quantization_config"] = QJsonObject{{"quant_method", "mxfp4"}};
        write(stored, QJsonDocument(model.config).toJson().toStdString());
        const std::vector<int> tokens{3, 1, 4, 1, 5};
        const auto found = test::loaded(root() / "packed"), expected = test::loaded(original);
        const auto logits = test::ran<double>(test::raw(expected), tokens).logits;
        QVERIFY(logits.allFinite() && logits.cwiseAbs().maxCoeff() > 0.1);
        QVERIFY(test::ran<double>(test::raw(found), tokens).logits == logits);
        stored.erase("model.layers.1.mlp.experts.down_proj_scales");
        write(stored, QJsonDocument(model.config).toJson().toStdString());
        QVERIFY(test::failsWith(
            loadModel({root() / "packed", {}, {}}, Task{}), ErrorCode::Corrupt,
            "'model.layers.1.mlp.experts.down_proj' has no tensor 'model.layers.1.mlp.experts.down_proj_scales'"));
    }

    /// As DeepSeek-V3 is published: matrices in 8-bit floats with a scale per block, vectors and the router as they are.
    void aModelInScaledBlocksOpens()
    {
        constexpr std::size_t height = 4, width = 5;
        test::FamilyModel model = test::familyModel("deepseek_v3");
        PackedTensors stored;
        for (auto& [name, tensor] : model.tensors) {
            const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
            if (name.find("_proj") == std::string::npos) {
                const std::vector<float> numbers(tensor.values.begin(), tensor.values.end());
                tensor.values.assign(numbers.begin(), numbers.end());
                stored.emplace(name, packedTensor(DType::F32, shape, numbers));
                continue;
            }
            const std::size_t cols = tensor.shape[1], across = (cols + width - 1) / width;
            std::vector<float> scales((tensor.shape[0] + height - 1) / height * across);
            for (std::size_t i = 0; i < scales.size(); ++i)
                scales[i] = 0.2F * static_cast<float>(1 + i % 3);
            std::vector<std::uint8_t> numbers;
            for (std::size_t i = 0; i < tensor.values.size(); ++i) {
                numbers.push_back(
                    static_cast<std::uint8_t>((tensor.values[i] < 0 ? 128 : 0) + 32 + i * 7 % 24));
                const float scale = scales[i / cols / height * across + i % cols / width];
                tensor.values[i] = e4m3ByDefinition(numbers.back()) * scale;
            }
            stored.emplace(name, packedTensor(DType::F8_E4M3, shape, numbers));
            stored.emplace(name + "_scale_inv",
                           packedTensor(DType::F32,
                                        {std::ssize(scales) / std::int64_t(across), std::int64_t(across)},
                                        scales));
        }
        const fs::path original = test::writeFamily(root() / "original", model);
        model.config["quantization_config"] =
            QJsonObject{{"quant_method", "fp8"}, {"fmt", "e4m3"}, {"weight_block_size", QJsonArray{4, 5}}};
        write(stored, QJsonDocument(model.config).toJson().toStdString());
        const std::vector<int> tokens{3, 1, 4, 1, 5};
        const auto found = test::loaded(root() / "packed"), expected = test::loaded(original);
        QVERIFY(test::ran<double>(test::raw(found), tokens).logits
                == test::ran<double>(test::raw(expected), tokens).logits);
    }

private:
    void write(const PackedTensors& tensors, const std::string& config) const
    {
        fs::create_directories(root() / "packed");
        std::ofstream(root() / "packed" / "config.json") << config;
        std::map<std::string, test::RawTensor> raw;
        for (const auto& [name, tensor] : tensors)
            raw[name] = {std::string(dtypeName(tensor.dtype)),
                         tensor.shape,
                         {reinterpret_cast<const char*>(tensor.bytes.data()),
                          static_cast<qsizetype>(tensor.bytes.size())}};
        test::writeSafetensors(root() / "packed" / "model.safetensors", raw);
    }
    Result<WeightMap> tried(const PackedTensors& tensors, const std::string& settings) const
    {
        write(tensors, R"({"quantization_config": )" + settings + "}");
        return WeightMap::open(root() / "packed");
    }
    WeightMap opened(const PackedTensors& tensors, const std::string& settings) const
    {
        Result<WeightMap> map = tried(tensors, settings);
        if (!map)
            qFatal("%s", test::printed(map.error()).constData());
        return std::move(map).value();
    }

    static void check(const WeightMap& map, const GroupedMatrix& matrix)
    {
        checkNumbers(map, matrix.outputs, matrix.inputs,
                     [&](std::size_t r, std::size_t c) { return matrix.value(r, c); });
    }

    /// The only tensor is a.weight [rows, cols] with these numbers, to the last bit, read along rows and along columns.
    template <typename Value>
    static void checkNumbers(const WeightMap& map, std::size_t rows, std::size_t cols, const Value& value)
    {
        QCOMPARE(map.tensors().size(), std::size_t(1));
        QCOMPARE(map.tensors()[0].name, std::string("a.weight"));
        QVERIFY(map.tensors()[0].shape
                == (std::vector<std::int64_t>{std::int64_t(rows), std::int64_t(cols)}));
        QCOMPARE(map.warnings().size(), std::size_t(1));
        const auto height = static_cast<Eigen::Index>(rows), width = static_cast<Eigen::Index>(cols);
        const TensorView whole{0, 0, width, 1, height, width}, transposed{0, 0, 1, width, width, height};
        QVERIFY(test::isOk(map.checkView(whole)));
        Matrix<float> a, b;
        map.read(whole, a);
        map.read(transposed, b);
        std::vector<float> line(rows * cols);
        map.readNumbers(0, 0, std::ssize(line), line.data());
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < cols; ++c) {
                const auto expected = std::bit_cast<std::uint32_t>(value(r, c));
                const auto i = static_cast<Eigen::Index>(r), j = static_cast<Eigen::Index>(c);
                QCOMPARE(std::bit_cast<std::uint32_t>(a(i, j)), expected);
                QCOMPARE(std::bit_cast<std::uint32_t>(b(j, i)), expected);
                QCOMPARE(std::bit_cast<std::uint32_t>(line[r * cols + c]), expected);
            }
    }

    fs::path root() const { return m_folder->path().toStdString(); }

    std::unique_ptr<QTemporaryDir> m_folder;
};

HEADWISE_TEST(PackedWeightsTest)
#include "packed_weights_test.moc"
