#include "core/checkpoint/weight_map.h"

#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/zip_writer.h"

#include <QTemporaryDir>

#include <filesystem>
#include <fstream>

using namespace headwise;
using test::littleEndian;
namespace fs = std::filesystem;

namespace {

std::string header(const std::vector<int>& sizes)
{
    std::string text;
    for (const int size : sizes)
        text += littleEndian(static_cast<std::uint32_t>(size), 4);
    return text;
}

/// The bytes of a tensor of stories260k; of Q and K, rows 2j + s of each head are its rows s·h/2 + j, h = 8.
std::string weights(const WeightMap& map, const std::string& name, bool isRotary = false)
{
    const auto bytes = map.bytes(map.find(name));
    const std::string packed(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!isRotary)
        return packed;
    const std::size_t row = 64 * sizeof(float);
    std::string woven;
    for (std::size_t head = 0; head < packed.size() / row / 8; ++head)
        for (std::size_t j = 0; j < 4; ++j)
            for (std::size_t s = 0; s < 2; ++s)
                woven += packed.substr((head * 8 + s * 4 + j) * row, row);
    return woven;
}

std::string ofLayers(const WeightMap& map, const std::string& name, bool isRotary = false)
{
    std::string all;
    for (int layer = 0; layer < 5; ++layer)
        all += weights(map, "model.layers." + std::to_string(layer) + "." + name + ".weight", isRotary);
    return all;
}

std::string attention(const WeightMap& map)
{
    return ofLayers(map, "self_attn.q_proj", true) + ofLayers(map, "self_attn.k_proj", true)
        + ofLayers(map, "self_attn.v_proj") + ofLayers(map, "self_attn.o_proj");
}

std::string mlp(const WeightMap& map)
{
    return ofLayers(map, "mlp.gate_proj") + ofLayers(map, "mlp.down_proj") + ofLayers(map, "mlp.up_proj");
}

const std::vector<int> stories{64, 172, 5, 8, 4, 512, 512};

std::string version0(const WeightMap& map)
{
    return header(stories) + weights(map, "model.embed_tokens.weight") + ofLayers(map, "input_layernorm")
        + attention(map) + ofLayers(map, "post_attention_layernorm") + mlp(map)
        + weights(map, "model.norm.weight") + std::string(512 * 8 * sizeof(float), '\x7f');
}

std::string version1(const WeightMap& map)
{
    std::string text = "24ka" + littleEndian(1, 4) + header(stories) + '\1';
    text.resize(256, '\0');
    return text + ofLayers(map, "input_layernorm") + ofLayers(map, "post_attention_layernorm")
        + weights(map, "model.norm.weight") + weights(map, "model.embed_tokens.weight") + attention(map)
        + mlp(map);
}

} // namespace

class Llama2cTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_temporary;
    fs::path m_file;

    Result<WeightMap> opened(const std::string& bytes)
    {
        std::ofstream(m_file, std::ios::binary) << bytes;
        return WeightMap::open(m_file);
    }

private slots:
    void init() { m_file = fs::path(m_temporary.path().toStdString()) / "stories.bin"; }

    void agreesWithTheOriginalToTheLastBit()
    {
        const auto original = test::loaded(test::testData("models/stories260k"));
        for (const std::string& bytes : {version0(original->file()), version1(original->file())}) {
            QVERIFY(test::isOk(opened(bytes)));
            const auto model = test::loaded(m_file);
            QCOMPARE(model->parameterCount(), original->parameterCount());
            QVERIFY(model->config().tiedEmbeddings && model->config().nKvHeads == 4);
            const std::vector<int> tokens{1, 403, 407, 261, 378};
            QVERIFY(test::ran<double>(test::raw(model), tokens).logits
                    == test::ran<double>(test::raw(original), tokens).logits);
        }
    }

    void refusesWhatItsHeaderDoesNotFit()
    {
        const auto original = test::loaded(test::testData("models/stories260k"));
        const std::string good = version1(original->file());
        QVERIFY(test::failsWith(opened(good.substr(0, good.size() - 1)), ErrorCode::Corrupt,
                                "where its header asks"));
        QVERIFY(test::failsWith(opened(good + "x"), ErrorCode::Corrupt, "where its header asks"));
        QVERIFY(test::failsWith(opened(good.substr(0, 36)), ErrorCode::Corrupt, "impossible sizes"));
        std::string odd = good;
        odd[8] = 63; // dim is no multiple of the heads
        QVERIFY(test::failsWith(opened(odd), ErrorCode::Corrupt, "impossible sizes"));
        odd[11] = '\x80'; // negative
        QVERIFY(test::failsWith(opened(odd), ErrorCode::Corrupt, "impossible sizes"));
        std::string later = good;
        later[4] = 2;
        QVERIFY(test::failsWith(opened(later), ErrorCode::Unsupported, "version 2"));
        // Version 0 has no mark, so that any other length is any other file.
        const std::string unmarked = version0(original->file());
        QVERIFY(test::failsWith(opened(unmarked.substr(0, unmarked.size() - 4)), ErrorCode::Corrupt,
                                "stories.bin"));
    }
};

HEADWISE_TEST(Llama2cTest)
#include "llama2c_test.moc"
