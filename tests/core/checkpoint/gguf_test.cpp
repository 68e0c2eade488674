#include "core/checkpoint/gguf.h"

#include "core/checkpoint/block_formats.h"
#include "core/checkpoint/weight_map.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/zip_writer.h"

#include <QTemporaryDir>

#include <array>
#include <filesystem>
#include <fstream>

using namespace headwise;
using test::littleEndian;
namespace fs = std::filesystem;

namespace {

std::string text(const std::string& value)
{
    return littleEndian(value.size(), 8) + value;
}

std::string textKey(const std::string& key, const std::string& value)
{
    return text(key) + littleEndian(8, 4) + text(value);
}

std::string numberKey(const std::string& key, std::uint32_t value)
{
    return text(key) + littleEndian(4, 4) + littleEndian(value, 4);
}

std::string realKey(const std::string& key, double value)
{
    const auto stored = static_cast<float>(value);
    return text(key) + littleEndian(6, 4)
        + std::string(reinterpret_cast<const char*>(&stored), sizeof stored);
}

std::string tensor(const std::string& name, const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                   std::uint64_t offset)
{
    std::string record = text(name) + littleEndian(sizes.size(), 4);
    for (const std::uint64_t size : sizes)
        record += littleEndian(size, 8);
    return record + littleEndian(type, 4) + littleEndian(offset, 8);
}

std::string gguf(const std::vector<std::string>& keys, const std::vector<std::string>& tensors,
                 std::size_t dataBytes, std::uint32_t version = 3)
{
    std::string file =
        "GGUF" + littleEndian(version, 4) + littleEndian(tensors.size(), 8) + littleEndian(keys.size(), 8);
    for (const std::string& part : keys)
        file += part;
    for (const std::string& part : tensors)
        file += part;
    file.resize((file.size() + 31) / 32 * 32, '\0');
    return file + std::string(dataBytes, '\1');
}

/// A minimal file: two keys, output_norm.weight = 1, 2.
const QByteArray minimal = QByteArray::fromHex(
    "474755460300000001000000000000000200000000000000140000000000000067656e6572616c2e617263686974656374757265080000000"
    "5000000000000006c6c616d6111000000000000006c6c616d612e626c6f636b5f636f756e74040000000100000012000000000000006f7574"
    "7075745f6e6f726d2e77656967687401000000020000000000000000000000000000000000000000000000000000000000803f00000040");

std::span<const std::byte> bytes(const std::string& file)
{
    return std::as_bytes(std::span(file));
}

} // namespace

class GgufTest : public QObject {
    Q_OBJECT

private slots:
    void readsTheMinimalFile()
    {
        const auto header = readGgufHeader(bytes(minimal.toStdString()), "m.gguf");
        QVERIFY(test::isOk(header));
        QVERIFY(header->metadata.at("general.architecture") == GgufValue(std::string("llama")));
        QVERIFY(header->metadata.at("llama.block_count") == GgufValue(std::int64_t{1}));
        QVERIFY(header->tensors
                == (std::vector<StoredTensor>{{.name = "output_norm.weight",
                                               .dtype = DType::F32,
                                               .shape = {2},
                                               .begin = 160,
                                               .byteCount = 8}}));
    }

    /// Blocks of bytes (37·i + 11) mod 256, with the first half-precision number 0.5 and the second 0.25, and ggml's
    /// result.
    void decodesBlocksAsGgmlDoes_data()
    {
        QTest::addColumn<int>("dtype");
        QTest::addColumn<QList<int>>("halves");
        QTest::addColumn<QList<double>>("expected"); // y[0..3], y[31], Σ y, Σ (i + 1)·y[i]
        const auto row = [](const char* name, DType dtype, QList<int> halves, QList<double> expected) {
            QTest::newRow(name) << int(dtype) << halves << expected;
        };
        row("Q4_0", DType::Q4_0, {0}, {-1.5, 1, 3.5, -2, 0, -10.5, -259});
        row("Q8_0", DType::Q8_0, {0}, {42.5, 61, -48.5, -30, -24, -88, -4040});
        row("Q4_1", DType::Q4_1, {0, 2}, {7.75, 2.25, 4.75, 7.25, 6.25, 130.5, 2123.5});
        row("Q5_0", DType::Q5_0, {0}, {4.5, -1, 1.5, -4, 0.5, 7.5, 56});
        row("Q5_1", DType::Q5_1, {0, 2}, {9.75, 12.25, 14.75, 9.25, 2.75, 260.5, 4082.5});
        row("Q2_K", DType::Q2_K, {80, 82}, {16.5, 0, 5.5, 11, -0.75, 1029.5, 121565});
        row("Q3_K", DType::Q3_K, {108}, {40.5, -54, 13.5, -27, 32, 479, 88572.5});
        row("Q5_K", DType::Q5_K, {0, 2}, {405.75, -12.75, 312.75, 142.25, 80.25, 58108, 8013724});
        row("IQ4_NL", DType::IQ4_NL, {0}, {-17.5, 12.5, 56.5, -24.5, 0.5, -128.5, -3459.5});
        row("IQ4_XS", DType::IQ4_XS, {0}, {32.5, -0.5, -34.5, 41.5, 17.5, -5502.5, -1045567});
        row("Q4_K", DType::Q4_K, {0, 2}, {157.75, -12.75, 64.75, 142.25, 80.25, 27220, 3786420});
        row("Q6_K", DType::Q6_K, {208}, {-715.5, 848, 291.5, -265, -48, 2306, 392210});
    }

    void decodesBlocksAsGgmlDoes()
    {
        QFETCH(int, dtype);
        QFETCH(QList<int>, halves);
        QFETCH(QList<double>, expected);
        const auto type = static_cast<DType>(dtype);
        const BlockSize size = blockSize(type);
        std::vector<unsigned char> block(size.bytes);
        for (std::size_t i = 0; i < block.size(); ++i)
            block[i] = static_cast<unsigned char>(37 * i + 11);
        for (qsizetype i = 0; i < halves.size(); ++i) {
            block[static_cast<std::size_t>(halves[i])] = 0;
            block[static_cast<std::size_t>(halves[i]) + 1] = i == 0 ? 0x38 : 0x34;
        }
        const std::vector<unsigned char> again = block;
        block.insert(block.end(), again.begin(), again.end());
        std::vector<double> y(static_cast<std::size_t>(size.numbers));
        readBlocks(type, std::as_bytes(std::span(block)).data(), 0, size.numbers, y.data());
        double sum = 0, moment = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            sum += y[i];
            moment += static_cast<double>(i + 1) * y[i];
        }
        QVERIFY((QList<double>{y[0], y[1], y[2], y[3], y[31], sum, moment}) == expected);
        std::array<float, 4> across{};
        readBlocks(type, std::as_bytes(std::span(block)).data(), size.numbers - 2, 4, across.data());
        QCOMPARE(double(across[1]), y.back());
        QCOMPARE(double(across[2]), y[0]);
    }

    void agreesWithTheOriginalToTheLastBit()
    {
        const auto original = test::loaded(test::testData("models/stories260k"));
        for (const char* path : {"models/stories260k-gguf", "models/stories260k-gguf/stories260K.gguf"}) {
            const auto converted = test::loaded(test::testData(path));
            const ModelConfig &a = converted->config(), &b = original->config();
            QCOMPARE(a.nKvHeads, b.nKvHeads);
            QCOMPARE(a.normEps, b.normEps);
            QCOMPARE(a.rotary.base, b.rotary.base);
            QVERIFY(a.dVocab == 512 && a.nCtx == 2048);
            // The converter wrote the tied matrix a second time.
            QVERIFY(!a.tiedEmbeddings);
            QCOMPARE(converted->parameterCount(), original->parameterCount() + 512 * 64);
            for (int kind = 0; kind <= static_cast<int>(TensorKind::b_U); ++kind)
                for (int layer = 0; layer < b.nLayers; ++layer)
                    for (int head = 0; head < b.nHeads; ++head) {
                        const auto k = static_cast<TensorKind>(kind);
                        QVERIFY2(converted->read<float>(k, layer, head)
                                     == original->read<float>(k, layer, head),
                                 tensorKindName(k).data());
                    }
            const std::vector<int> tokens{1, 403, 407, 261, 378};
            QVERIFY(test::ran<double>(test::raw(converted), tokens).logits
                    == test::ran<double>(test::raw(original), tokens).logits);
        }
    }

    void refusesWhatItDoesNotRead_data()
    {
        QTest::addColumn<QByteArray>("file");
        QTest::addColumn<int>("code");
        QTest::addColumn<QByteArray>("part");
        const auto row = [](const char* name, const std::string& file, ErrorCode code, const char* part) {
            QTest::newRow(name) << QByteArray::fromStdString(file) << int(code) << QByteArray(part);
        };
        const auto refused = ErrorCode::Unsupported, corrupt = ErrorCode::Corrupt;
        const std::string good = minimal.toStdString();
        for (const std::size_t cut : {4u, 12u, 24u, 30u, 60u, 100u, 130u})
            row(("cut " + std::to_string(cut)).c_str(), good.substr(0, cut), cut == 4 ? refused : corrupt,
                "m.gguf");
        row("data cut", good.substr(0, 164), corrupt, "is truncated: tensor 'output_norm.weight'");
        row("version 1", gguf({}, {}, 0, 1), refused, "a version other than 2 and 3");
        row("big endian", gguf({}, {}, 0, 0x03000000), refused, "big-endian");
        const auto one = [](const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                            std::uint64_t offset) {
            return gguf({}, {tensor("w", sizes, type, offset)}, 64);
        };
        row("many tensors", "GGUF" + littleEndian(3, 4) + std::string(8, '\x7f') + std::string(100, '\0'),
            corrupt, "more tensors or keys");
        row("many keys", "GGUF" + littleEndian(3, 4) + std::string(8, '\0') + std::string(108, '\x7f'),
            corrupt, "more tensors or keys");
        row("other quantisation", one({256}, 16, 0), refused,
            "Tensor 'w' of 'm.gguf' is stored as IQ2_XXS; this version reads F32, F16, BF16, F64, Q4_0");
        row("Q8_1", one({32}, 9, 0), refused, "is stored as Q8_1");
        row("unknown type", one({4}, 99, 0), refused, "ggml's type 99");
        row("no whole block", one({31}, 8, 0), corrupt, "not whole blocks of 32");
        row("no whole block of 256", one({128}, 10, 0), corrupt, "not whole blocks of 256");
        row("blocks past the end", one({256}, 10, 0), corrupt, "is truncated");
        row("rank 0 in blocks", one({}, 8, 0), corrupt, "not whole blocks");
        row("rank 5", one({1, 1, 1, 1, 1}, 0, 0), corrupt, "rank above 4");
        row("negative", one({~std::uint64_t{0}}, 0, 0), corrupt, "has shape [-1]");
        row("overflow", one({1ull << 40, 1ull << 40}, 0, 0), corrupt, "has shape");
        row("bits overflow", one({1ull << 61}, 0, 0), corrupt, "has shape");
        row("past the end", one({17}, 0, 0), corrupt, "is truncated");
        row("gap", one({4}, 0, 32), corrupt, "does not begin where the previous one ends");
        row("unaligned", gguf({}, {tensor("a", {1}, 0, 0), tensor("b", {1}, 0, 4)}, 64), corrupt,
            "tensor 'b'");
        row("tensor twice", gguf({}, {tensor("a", {1}, 0, 0), tensor("a", {1}, 0, 32)}, 64), corrupt,
            "occurs twice");
        row("long name", gguf({}, {tensor(std::string(64, 'a'), {1}, 0, 0)}, 64), corrupt, "64 bytes");
        row("key twice", gguf({numberKey("a", 1), numberKey("a", 1)}, {}, 0), corrupt, "a duplicate");
        row("key empty", gguf({numberKey("", 1)}, {}, 0), corrupt, "is empty");
        row("alignment", gguf({numberKey("general.alignment", 24)}, {}, 0), corrupt, "power of two");
        row("value type", gguf({text("a") + littleEndian(13, 4) + std::string(8, '\0')}, {}, 0), corrupt,
            "unknown type");
        row("array of arrays",
            gguf({text("a") + littleEndian(9, 4) + littleEndian(9, 4) + littleEndian(1, 8)}, {}, 0), corrupt,
            "a type or a length");
        row("long array",
            gguf({text("a") + littleEndian(9, 4) + littleEndian(0, 4) + littleEndian(1ull << 40, 8)}, {}, 0),
            corrupt, "a type or a length");
        row("long text", gguf({text("a") + littleEndian(8, 4) + std::string(8, '\x7f')}, {}, 0), corrupt,
            "goes past its end");
    }

    void refusesWhatItDoesNotRead()
    {
        QFETCH(QByteArray, file);
        QFETCH(int, code);
        QFETCH(QByteArray, part);
        QVERIFY(test::failsWith(readGgufHeader(bytes(file.toStdString()), "m.gguf"),
                                static_cast<ErrorCode>(code), part.toStdString()));
    }

    void refusesModelsItCannotExpress()
    {
        const auto converted = [](const std::vector<std::string>& keys) {
            const auto header = readGgufHeader(bytes(gguf(keys, {}, 0)), "m.gguf");
            return huggingFaceModel(header.value(), "m.gguf");
        };
        QVERIFY(test::failsWith(converted({textKey("general.architecture", "mamba")}), ErrorCode::Unsupported,
                                "'mamba'"));
        std::vector<std::string> keys{textKey("general.architecture", "llama")};
        QVERIFY(test::failsWith(converted(keys), ErrorCode::Corrupt, "'num_hidden_layers'"));
        for (const char* key : {"block_count", "embedding_length", "feed_forward_length",
                                "attention.head_count", "attention.layer_norm_rms_epsilon"})
            keys.push_back(numberKey(std::string("llama.") + key, 2));
        QVERIFY(test::isOk(converted(keys)));
        keys.push_back(numberKey("llama.expert_count", 8));
        QVERIFY(test::failsWith(converted(keys), ErrorCode::Unsupported, "mixture of experts"));
        keys.back() = textKey("llama.rope.scaling.type", "yarn");
        QVERIFY(test::failsWith(converted(keys), ErrorCode::Unsupported, "'yarn'"));
    }

    void refusesKeysThatChangeTheFunctionUnlessTheySayWhatIsDoneAnyway_data()
    {
        QTest::addColumn<QString>("key");
        QTest::addColumn<double>("changing");
        QTest::addColumn<double>("neutral");
        const auto row = [](const char* key, double changing, double neutral) {
            QTest::newRow(key) << QString(key) << changing << neutral;
        };
        row("rope.dimension_count", 2, 4); // a head has 8 / 2 dimensions
        row("attention.value_length", 8, 4);
        row("attention.scale", 1, 0.5);
        row("attention.sliding_window", 63, 64); // of a context of 64
        row("rope.scale_linear", 4, 1);
        row("rope.scaling.factor", 4, 1);
        row("attn_logit_softcapping", 50, 0);
        row("final_logit_softcapping", 30, 0);
        row("logit_scale", 0.0625, 1);
        row("embedding_scale", 12, 1);
        row("residual_scale", 0.5, 0);
        row("attention.causal", 2, 1);
    }
    void refusesKeysThatChangeTheFunctionUnlessTheySayWhatIsDoneAnyway()
    {
        QFETCH(QString, key);
        QFETCH(double, changing);
        QFETCH(double, neutral);
        const std::string name = "llama." + key.toStdString();
        QVERIFY(
            test::failsWith(small({realKey(name, changing)}), ErrorCode::Unsupported, "'" + name + "' = "));
        const auto same = small({realKey(name, neutral)});
        QVERIFY(test::isOk(same));
        QVERIFY(same->warnings.empty());
    }

    void attentionThatIsNotCausalIsBidirectional()
    {
        const QTemporaryDir folder;
        const auto path = fs::path(folder.path().toStdString()) / "m.gguf";
        const auto isBidirectional = [&](const std::vector<std::string>& more,
                                         const std::map<std::string, std::string>& said = {}) {
            std::vector<std::string> keys = smallKeys();
            keys.insert(keys.end(), more.begin(), more.end());
            std::ofstream(path, std::ios::binary) << gguf(keys, {}, 0);
            const auto description = readModelConfig({path, std::nullopt, said});
            if (!description)
                qFatal("%s", test::printed(description.error()).constData());
            return description->config.bidirectional;
        };
        const auto causal = [](char value) { // as llama.cpp writes it, a Boolean
            return std::vector<std::string>{text("llama.attention.causal") + littleEndian(7, 4) + value};
        };
        QVERIFY(isBidirectional(causal(0)));
        QVERIFY(!isBidirectional(causal(1)));
        QVERIFY(!isBidirectional({}));
        QVERIFY(!isBidirectional(causal(0), {{"attention_dir", "causal"}}));
    }

    void aScalingThatIsNoneHasNoFactor()
    {
        QVERIFY(test::isOk(
            small({textKey("llama.rope.scaling.type", "none"), realKey("llama.rope.scaling.factor", 4)})));
    }

    void namesTheKeysNobodyReads()
    {
        const auto model = small({numberKey("llama.novelty", 1), textKey("llama.tensor_data_layout", "x"),
                                  numberKey("general.novelty", 1), textKey("llama.another", "y")});
        QVERIFY(test::isOk(model));
        QCOMPARE(
            model->warnings,
            std::vector<std::string>{
                "In 'm.gguf', of its metadata, 'llama.another', 'llama.novelty' are unknown and ignored."});
    }

private:
    /// Two heads of four dimensions.
    static std::vector<std::string> smallKeys()
    {
        return {textKey("general.architecture", "llama"),
                numberKey("llama.block_count", 1),
                numberKey("llama.embedding_length", 8),
                numberKey("llama.feed_forward_length", 16),
                numberKey("llama.context_length", 64),
                numberKey("llama.attention.head_count", 2),
                realKey("llama.attention.layer_norm_rms_epsilon", 1e-5)};
    }
    static Result<GgufModel> small(const std::vector<std::string>& more)
    {
        std::vector<std::string> keys = smallKeys();
        keys.insert(keys.end(), more.begin(), more.end());
        const auto header = readGgufHeader(bytes(gguf(keys, {}, 0)), "m.gguf");
        return header ? huggingFaceModel(*header, "m.gguf") : Result<GgufModel>(header.error());
    }
};

HEADWISE_TEST(GgufTest)
#include "gguf_test.moc"
