#include "core/io/weight_map.h"

#include "tests/support/matchers.h"

#include <QCryptographicHash>
#include <QFile>
#include <QTemporaryDir>

#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

using namespace headwise;
namespace fs = std::filesystem;

namespace {

/// A safetensors file of these bytes: length, header, data.
std::string safetensors(const std::string& header, const std::string& data = {})
{
    const std::uint64_t length = header.size();
    return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

/// One F32 [2, 2] tensor 1 2 3 4 of this name.
std::string oneTensor(const std::string& name)
{
    const float numbers[] = {1, 2, 3, 4};
    return safetensors(R"({")" + name + R"(":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})",
                       std::string(reinterpret_cast<const char*>(numbers), sizeof numbers));
}

std::string index(const std::string& entries)
{
    return R"({"metadata":{"total_size":1},"weight_map":{)" + entries + "}}";
}

} // namespace

class WeightMapTest : public QObject {
    Q_OBJECT

private:
    std::unique_ptr<QTemporaryDir> m_temporary;
    fs::path m_folder;

    void write(const fs::path& name, const std::string& bytes)
    {
        std::ofstream(m_folder / name, std::ios::binary) << bytes;
    }

private slots:
    void init()
    {
        m_temporary = std::make_unique<QTemporaryDir>();
        m_folder = fs::path(m_temporary->path().toStdString()) / "model";
        fs::create_directory(m_folder);
    }

    void opensAFolderAndItsFileAlike()
    {
        write("model.safetensors", oneTensor("w"));
        write("config.json", "{}");
        for (const fs::path& path : {m_folder, m_folder / "model.safetensors"}) {
            const auto map = WeightMap::open(path);
            QVERIFY(test::isOk(map));
            QVERIFY(map->path() == path);
            QVERIFY(map->folder() == m_folder);
            QCOMPARE(map->tensors().size(), std::size_t{1});
            QCOMPARE(map->find("w"), 0);
            QCOMPARE(map->find("v"), -1);
            QCOMPARE(map->bytes(0).size(), std::size_t{16});
            QCOMPARE(map->fileBytes(),
                     static_cast<std::size_t>(fs::file_size(m_folder / "model.safetensors")));
            QVERIFY(map->warnings().empty());
        }
    }

    void readsShardsLikeTheWhole()
    {
        const auto whole = WeightMap::open(test::testData("models/stories260k"));
        const auto sharded = WeightMap::open(test::testData("models/stories260k-sharded"));
        QVERIFY(test::isOk(whole) && test::isOk(sharded));
        QCOMPARE(sharded->tensors().size(), whole->tensors().size());
        for (int i = 0; i < static_cast<int>(whole->tensors().size()); ++i) {
            const int j = sharded->find(whole->tensors()[i].name);
            QVERIFY(j >= 0);
            QVERIFY(sharded->tensors()[j].shape == whole->tensors()[i].shape);
            QVERIFY(std::ranges::equal(sharded->bytes(j), whole->bytes(i)));
        }
        QVERIFY(sharded->warnings().empty());
    }

    void warnsOfATensorTheIndexDoesNotList()
    {
        write("a.safetensors", oneTensor("w"));
        write("b.safetensors", oneTensor("v"));
        write("model.safetensors.index.json", index(R"("w":"a.safetensors")"));
        const auto listed = WeightMap::open(m_folder);
        QVERIFY(test::isOk(listed));
        QCOMPARE(listed->tensors().size(), std::size_t{1});
        write("a.safetensors", oneTensor("v"));
        QVERIFY(test::failsWith(WeightMap::open(m_folder), ErrorCode::Corrupt, "Tensor 'w' is not in"));
    }

    void readsRectanglesByTheirStrides()
    {
        write("model.safetensors", oneTensor("w"));
        const auto map = WeightMap::open(m_folder);
        QVERIFY(test::isOk(map));
        Eigen::MatrixXf rows, transposed, part;
        map->read({.tensor = 0, .offset = 0, .rowStride = 2, .colStride = 1, .rows = 2, .cols = 2}, rows);
        map->read({.tensor = 0, .offset = 0, .rowStride = 1, .colStride = 2, .rows = 2, .cols = 2},
                  transposed);
        map->read({.tensor = 0, .offset = 1, .rowStride = 2, .colStride = 1, .rows = 2, .cols = 1}, part);
        QVERIFY(rows == (Eigen::MatrixXf(2, 2) << 1, 2, 3, 4).finished());
        QVERIFY(transposed == (Eigen::MatrixXf(2, 2) << 1, 3, 2, 4).finished());
        QVERIFY(part == (Eigen::MatrixXf(2, 1) << 2, 4).finished());
    }
};

QTEST_APPLESS_MAIN(WeightMapTest)
#include "weight_map_test.moc"
