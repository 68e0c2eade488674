#include "core/checkpoint/weight_map.h"
#include "core/model/architecture.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTemporaryDir>

#include <filesystem>
#include <fstream>

using namespace headwise;
namespace fs = std::filesystem;

namespace {

test::GgufWriter splitPart(int number, int count, int tensors)
{
    test::GgufWriter part;
    part.add("split.no", static_cast<std::uint32_t>(number))
        .add("split.count", static_cast<std::uint32_t>(count))
        .add("split.tensors.count", static_cast<std::uint32_t>(tensors));
    return part;
}

/// Part `part` of three, with one tensor all of whose numbers are `part`.
void writePart(const fs::path& root, int part, test::GgufWriter content, const std::string& tensor)
{
    const std::vector<std::size_t> shape =
        tensor == "output_norm.weight" ? std::vector<std::size_t>{8} : std::vector<std::size_t>{4, 8};
    content.addNumbers(tensor, shape,
                       std::vector<float>(shape.size() == 1 ? 8 : 32, static_cast<float>(part)));
    std::ofstream(root / ("m-0000" + std::to_string(part) + "-of-00003.gguf"), std::ios::binary)
        << content.bytes();
}

/// Three parts; only the first has the model's keys.
void writeParts(const fs::path& root, int tensors = 3)
{
    test::GgufWriter first = splitPart(0, 3, tensors);
    first.add("general.architecture", "llama")
        .add("llama.block_count", 1U)
        .add("llama.embedding_length", 8U)
        .add("llama.feed_forward_length", 16U)
        .add("llama.context_length", 64U)
        .add("llama.attention.head_count", 2U)
        .add("llama.attention.layer_norm_rms_epsilon", 1e-5F);
    writePart(root, 1, first, "token_embd.weight");
    writePart(root, 2, splitPart(1, 3, tensors), "output_norm.weight");
    writePart(root, 3, splitPart(2, 3, tensors), "output.weight");
}

} // namespace

class GgufSplitTest : public QObject {
    Q_OBJECT

private slots:
    void aSplitModelOpensFromItsFolderAndFromAnyPart()
    {
        const QTemporaryDir folder;
        const fs::path root(folder.path().toStdString());
        const auto name = [](int part) { return "m-0000" + std::to_string(part) + "-of-00003.gguf"; };
        writeParts(root);
        for (const fs::path& path : {root, root / name(1), root / name(2), root / name(3)}) {
            const auto map = WeightMap::open(path);
            QVERIFY(test::isOk(map));
            QCOMPARE(map->tensors().size(), std::size_t(3));
            QCOMPARE(map->firstFile().filename().string(), name(1));
            QVERIFY(map->warnings().empty());
            const std::vector<std::pair<const char*, double>> numbers{
                {"model.embed_tokens.weight", 1}, {"model.norm.weight", 2}, {"lm_head.weight", 3}};
            for (const auto& [tensorName, number] : numbers) {
                const int found = map->find(tensorName);
                QVERIFY2(found >= 0, tensorName);
                double value = 0;
                map->readNumbers(found, 0, 1, &value);
                QCOMPARE(value, number);
                QCOMPARE(map->fileOf(found).filename().string(), name(static_cast<int>(number)));
            }
            const auto description = readModelConfig({path, {}, {}});
            QVERIFY(test::isOk(description));
            QVERIFY(!description->config.tiedEmbeddings); // output.weight is in the last part
            QCOMPARE(description->config.dVocab, 4);
        }
        fs::remove(root / name(2));
        for (const fs::path& path : {root, root / name(1), root / name(3)}) {
            QVERIFY(test::failsWith(WeightMap::open(path), ErrorCode::NotFound, name(2)));
            QVERIFY(test::failsWith(readModelConfig({path, {}, {}}), ErrorCode::NotFound, name(2)));
        }
    }

    void partsThatDoNotBelongTogetherAreRefused_data()
    {
        QTest::addColumn<int>("number");
        QTest::addColumn<int>("count");
        QTest::addColumn<int>("tensors");
        QTest::addColumn<QByteArray>("tensor");
        QTest::addColumn<QByteArray>("part");
        QTest::newRow("other place") << 2 << 3 << 3 << QByteArray("output_norm.weight")
                                     << QByteArray("part 3 of 3");
        QTest::newRow("other count") << 1 << 4 << 3 << QByteArray("output_norm.weight")
                                     << QByteArray("part 2 of 4");
        QTest::newRow("not split") << 0 << 1 << 3 << QByteArray("output_norm.weight")
                                   << QByteArray("part 1 of 1");
        QTest::newRow("tensor twice") << 1 << 3 << 3 << QByteArray("output.weight")
                                      << QByteArray("'output.weight', as another part does");
        QTest::newRow("tensors missing") << 1 << 3 << 5 << QByteArray("output_norm.weight")
                                         << QByteArray("5 tensors, but the parts hold 3");
    }
    void partsThatDoNotBelongTogetherAreRefused()
    {
        QFETCH(int, number);
        QFETCH(int, count);
        QFETCH(int, tensors);
        QFETCH(QByteArray, tensor);
        QFETCH(QByteArray, part);
        const QTemporaryDir folder;
        const fs::path root(folder.path().toStdString());
        writeParts(root, tensors);
        writePart(root, 2, splitPart(number, count, 3), tensor.toStdString());
        QVERIFY(test::failsWith(WeightMap::open(root), ErrorCode::Corrupt, part.toStdString()));
    }

    void twoModelsInAFolderAreNotOne()
    {
        const QTemporaryDir folder;
        const fs::path root(folder.path().toStdString());
        writeParts(root);
        fs::copy_file(root / "m-00001-of-00003.gguf", root / "other.gguf");
        QVERIFY(test::failsWith(WeightMap::open(root), ErrorCode::NotFound, "several weight files"));
        QVERIFY(test::isOk(WeightMap::open(root / "m-00002-of-00003.gguf")));
    }
};

HEADWISE_TEST(GgufSplitTest)
#include "gguf_split_test.moc"
