#include "core/checkpoint/weight_map.h"

#include "tests/support/gguf_writer.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/tensor_writer.h"
#include "tests/support/zip_writer.h"

#include <QTemporaryDir>

#include <filesystem>
#include <fstream>

using namespace headwise;
namespace fs = std::filesystem;

namespace {

/// A safetensors file of one number per name.
std::string safetensors(const std::vector<std::string>& names)
{
    std::string header = "{";
    for (std::size_t i = 0; i < names.size(); ++i)
        header += (i ? ",\"" : "\"") + names[i] + "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":["
            + std::to_string(4 * i) + "," + std::to_string(4 * i + 4) + "]}";
    header += "}";
    return test::littleEndian(header.size(), 8) + header + std::string(4 * names.size(), '\0');
}

Matrix<float> numbers(const WeightMap& map, const std::string& name)
{
    Matrix<float> all;
    const int tensor = map.find(name);
    if (tensor < 0)
        return all;
    map.read({.tensor = tensor,
              .rowStride = 1,
              .colStride = 0,
              .rows = elementCount(map.tensors()[tensor]),
              .cols = 1},
             all);
    return all;
}

std::string modelFile(const std::string& path)
{
    std::ifstream in(test::testData("models/" + path), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

class FormatsTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_temporary;

    Result<WeightMap> opened(const char* name, const std::string& content)
    {
        const fs::path file = fs::path(m_temporary.path().toStdString()) / name;
        std::ofstream(file, std::ios::binary) << content;
        return WeightMap::open(file);
    }

private slots:
    /// llama.cpp and llama2.c store the rows of Q and K as adjacent rotary pairs, Hugging Face as halves.
    void a05OneModelIsEqualToTheLastBitInEveryForm()
    {
        const auto original = WeightMap::open(test::testData("models/stories260k"));
        QVERIFY(test::isOk(original));
        QVERIFY(original->tensors().size() > 40);
        for (const char* form : {"stories260k-sharded", "stories260k-gguf"}) {
            const auto other = WeightMap::open(test::testData(std::string("models/") + form));
            QVERIFY(test::isOk(other));
            QVERIFY(other->tensors().size()
                    >= original->tensors().size()); // the GGUF also has its unembedding
            for (const StoredTensor& tensor : original->tensors()) {
                const Matrix<float> expected = numbers(*original, tensor.name);
                QVERIFY2(numbers(*other, tensor.name) == expected && expected.size() > 0,
                         tensor.name.c_str());
            }
        }
    }

    void a26QuantisedWeightsAreRefusedByName_data()
    {
        QTest::addColumn<QByteArray>("tensor");
        QTest::addColumn<QByteArray>("what");
        const auto row = [](const char* tensor, const char* what) {
            QTest::newRow(tensor) << QByteArray(tensor) << QByteArray(what);
        };
        row("model.layers.0.self_attn.q_proj.qweight", "GPTQ or AWQ");
        row("model.layers.0.mlp.up_proj.weight.quant_state.bitsandbytes__nf4", "4 bits by bitsandbytes");
        row("transformer.h.0.mlp.SCB", "8 bits by bitsandbytes");
        row("model.layers.0.mlp.up_proj.weight_packed", "compressed-tensors");
        row("model.layers.0.mlp.up_proj.weight_scale_inv", "without their scales");
        row("model.layers.0.mlp.up_proj.weight_scale", "without their scales");
    }

    void a26QuantisedWeightsAreRefusedByName()
    {
        QFETCH(QByteArray, tensor);
        QFETCH(QByteArray, what);
        const std::string file = safetensors({"lm_head.weight", tensor.toStdString()});
        const auto map = opened("model.safetensors", file);
        QVERIFY(test::failsWith(map, ErrorCode::Unsupported, what.toStdString()));
        QVERIFY(test::failsWith(map, ErrorCode::Unsupported, tensor.toStdString()));
        QVERIFY(test::failsWith(map, ErrorCode::Unsupported, "open the model it was made from"));
    }

    void refusesByContentAndSaysWhatToDo_data()
    {
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<int>("code");
        QTest::addColumn<QByteArray>("what");
        QTest::addColumn<QByteArray>("advice");
        const auto row = [](const char* name, const std::string& content, const char* what,
                            const char* advice, ErrorCode code = ErrorCode::Unsupported) {
            QTest::newRow(name) << QByteArray::fromStdString(content) << int(code) << QByteArray(what)
                                << QByteArray(advice);
        };
        const auto corrupt = ErrorCode::Corrupt;
        row("LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "Git LFS",
            "git lfs pull", corrupt);
        row("web page", "\n<!DOCTYPE html>\n<html></html>", "web page", "download", corrupt);
        row("server's message", "{\"error\":\"Repository not found\"}", "server's error", "download",
            corrupt);
        row("legacy torch", "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", "before version 1.6",
            "torch.save");
        row("pickle", std::string("\x80\4\x95\x0a\0\0\0\0\0\0\0", 11), "Python pickle", "state_dict()");
        row("tar", std::string(257, 'a') + "ustar" + std::string(300, '\0'), "tar archive", "unpack it");
        row("TorchScript",
            test::zipArchive(
                {{"m/data.pkl", "\x80\2}."}, {"m/constants.pkl", "\x80\2)."}, {"m/code/x.py", ""}}),
            "TorchScript", "state_dict()");
        row("HDF5", "\x89HDF\r\n\x1a\n" + std::string(100, '\0'), "HDF5", "convert it to safetensors");
        row("Flax", "\x82\xa6params\x81\xa1x\x01", "Flax", "convert it to safetensors");
        row("ONNX",
            "\x08\x07\x12\x07pytorch\x1a\x03"
            "2.0",
            "ONNX", "convert it to safetensors");
        row("TensorFlow Lite", std::string("\x1c\0\0\0TFL3", 8) + std::string(40, '\0'), "TensorFlow Lite",
            "convert it to safetensors");
        row("NumPy array", "\x93NUMPY\1\0" + std::string(100, ' '), "NumPy array",
            "convert it to safetensors");
        row("LoRA", safetensors({"base_model.model.q_proj.lora_A.weight"}), "LoRA adapter",
            "beside its adapter_config.json");
        row("llama2.c version 2", "24ka" + test::littleEndian(2, 4) + std::string(300, '\0'), "version 2",
            "version 0 or 1");
        row("split GGUF", test::GgufWriter().add("split.count", 3U).bytes(),
            "one of the 3 parts of a split GGUF model", "llama-gguf-split");
        row("other quantisation", test::GgufWriter().addTensor("blk.0.w", 16, 256).bytes(),
            "stored as IQ2_XXS", "Use another quantisation");
        row("unknown quantisation", test::GgufWriter().addTensor("blk.0.w", 99, 256).bytes(),
            "stored as ggml's type 99", "Use another quantisation");
    }

    void refusesByContentAndSaysWhatToDo()
    {
        QFETCH(QByteArray, content);
        QFETCH(int, code);
        QFETCH(QByteArray, what);
        QFETCH(QByteArray, advice);
        for (const char* name : {"model.safetensors", "pytorch_model.bin", "m.gguf"}) {
            const auto map = opened(name, content.toStdString());
            QVERIFY(test::failsWith(map, static_cast<ErrorCode>(code), what.toStdString()));
            QVERIFY(test::failsWith(map, static_cast<ErrorCode>(code), advice.toStdString()));
            QVERIFY(test::failsWith(map, static_cast<ErrorCode>(code), name));
        }
    }

    void metasOwnFilesInSeveralPartsAreNamed()
    {
        const fs::path folder = fs::path(m_temporary.path().toStdString()) / "meta";
        fs::create_directory(folder);
        for (const char* part : {"consolidated.00.pth", "consolidated.01.pth"})
            std::ofstream(folder / part) << "x";
        QVERIFY(test::failsWith(WeightMap::open(folder), ErrorCode::Unsupported,
                                "Meta's original distribution in several parts"));
    }

    void theContentDecidesNotTheName()
    {
        const std::string sorting = modelFile("gpt-nano-sort/model.safetensors");
        QVERIFY(test::isOk(opened("pytorch_model.bin", sorting)));
        QVERIFY(test::isOk(opened("m.gguf", sorting)));
        QVERIFY(test::isOk(opened("model.safetensors", modelFile("modadd-1l/modadd_seed0.pt"))));
        QVERIFY(test::isOk(opened("m.npz", modelFile("stories260k-gguf/stories260K.gguf"))));
        const fs::path folder = fs::path(m_temporary.path().toStdString()) / "folder";
        fs::create_directory(folder);
        std::ofstream(folder / "pytorch_model.bin", std::ios::binary) << sorting;
        QVERIFY(test::isOk(WeightMap::open(folder)));
    }
};

HEADWISE_TEST(FormatsTest)
#include "formats_test.moc"
