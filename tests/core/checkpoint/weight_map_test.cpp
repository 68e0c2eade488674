#include "core/checkpoint/weight_map.h"

#include "core/checkpoint/file_change.h"
#include "tests/support/address_space_limit.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QCryptographicHash>
#include <QFile>
#include <QTemporaryDir>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

/// Drops root's right to read everything, on this thread, during its lifetime. Does nothing for other users.
class OrdinaryReader {
public:
    OrdinaryReader()
    {
        if (::syscall(SYS_capget, &m_header, m_before) != 0)
            qFatal("capget failed");
        __user_cap_data_struct fewer[2] = {m_before[0], m_before[1]};
        fewer[0].effective &= ~((1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH));
        if (::syscall(SYS_capset, &m_header, fewer) != 0)
            qFatal("capset failed");
    }
    ~OrdinaryReader() { ::syscall(SYS_capset, &m_header, m_before); }
    OrdinaryReader(const OrdinaryReader&) = delete;
    OrdinaryReader& operator=(const OrdinaryReader&) = delete;

private:
    __user_cap_header_struct m_header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct m_before[2] = {};
};

/// Resident kB of this process's mapping of a file, -1 if it has none. "Rss:" is the third line of its block or later.
long mappedKilobytes(const std::string& name)
{
    std::ifstream maps("/proc/self/smaps");
    bool found = false;
    for (std::string line; std::getline(maps, line);) {
        if (line.find(name) != std::string::npos)
            found = true;
        else if (found && line.starts_with("Rss:"))
            return std::stol(line.substr(4));
    }
    return -1;
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

    /// Writes model.safetensors: a GiB of zeros, which take no room on the disk, and "w" of so many 4-byte numbers.
    void writeBehindAHole(const std::string& dtype, int count)
    {
        constexpr std::size_t hole = std::size_t(1) << 30;
        const std::size_t end = hole + 4 * static_cast<std::size_t>(count);
        std::string bytes = safetensors(
            R"({"hole":{"dtype":"BF16","shape":[536870912],"data_offsets":[0,1073741824]},"w":{"dtype":")"
            + dtype + R"(","shape":[)" + std::to_string(count) + R"(],"data_offsets":[1073741824,)"
            + std::to_string(end) + "]}}");
        std::ofstream file(m_folder / "model.safetensors", std::ios::binary);
        file << bytes;
        file.seekp(hole, std::ios::cur);
        for (int i = 0; i < count; ++i) {
            const auto number = static_cast<float>(std::sin(i));
            file.write(reinterpret_cast<const char*>(&number), sizeof number);
        }
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

    // torch.compile and DataParallel prefix every tensor name; an index does the same.
    void takesTheNamesOfWrappersOff()
    {
        for (const std::string prefix : {"_orig_mod.", "module.", "_orig_mod.module.", "module._orig_mod."}) {
            write("model.safetensors", oneTensor(prefix + "w"));
            const auto map = WeightMap::open(m_folder);
            QVERIFY(test::isOk(map));
            QCOMPARE(map->find("w"), 0);
        }
        write("a.safetensors", oneTensor("_orig_mod.w"));
        write("b.safetensors", oneTensor("_orig_mod.v"));
        write("model.safetensors.index.json",
              index(R"("_orig_mod.w":"a.safetensors","_orig_mod.v":"b.safetensors")"));
        const auto sharded = WeightMap::open(m_folder);
        QVERIFY(test::isOk(sharded));
        QVERIFY(sharded->find("w") >= 0 && sharded->find("v") >= 0);
        QVERIFY(sharded->warnings().empty());
        // A prefix on only some names is part of the name.
        write("b.safetensors", oneTensor("v"));
        write("model.safetensors.index.json", index(R"("_orig_mod.w":"a.safetensors","v":"b.safetensors")"));
        const auto mixed = WeightMap::open(m_folder);
        QVERIFY(test::isOk(mixed));
        QVERIFY(mixed->find("_orig_mod.w") >= 0);
    }

    void comparesTheIndexWithTheShards()
    {
        const std::string two = safetensors(
            "{\"v\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
            "12");
        write("a.safetensors", two);
        write("b.safetensors", oneTensor("u"));
        write("model.safetensors.index.json", index(R"("w":"a.safetensors","u":"b.safetensors")"));
        const auto map = WeightMap::open(m_folder);
        QVERIFY(test::isOk(map));
        QCOMPARE(map->tensors().size(), std::size_t{3});
        QCOMPARE(map->warnings().size(), std::size_t{1});
        QVERIFY(map->warnings()[0].find("'v'") != std::string::npos);
        QVERIFY(test::isOk(WeightMap::open(m_folder / "model.safetensors.index.json")));

        write("b.safetensors", oneTensor("x"));
        QVERIFY(test::failsWith(WeightMap::open(m_folder), ErrorCode::Corrupt, "Tensor 'u' is not in"));
        write("b.safetensors", oneTensor("w"));
        QVERIFY(test::failsWith(WeightMap::open(m_folder), ErrorCode::Corrupt, "Tensor 'w' is in two files"));
    }

    void listsAllMissingShards()
    {
        write("a.safetensors", oneTensor("w"));
        write("model.safetensors.index.json",
              index(R"("w":"a.safetensors","v":"b.safetensors","u":"c.safetensors")"));
        QVERIFY(test::failsWith(WeightMap::open(m_folder), ErrorCode::NotFound, "Of the 3 files"));
        QVERIFY(test::failsWith(WeightMap::open(m_folder), ErrorCode::NotFound,
                                "2 are missing: 'b.safetensors', 'c.safetensors'"));
    }

    void neverLeavesTheFolder_data()
    {
        QTest::addColumn<QByteArray>("shard");
        for (const char* shard :
             {"", ".", "..", "../secret.safetensors", "sub/a.safetensors", "/secret.safetensors",
              "C:a.safetensors", "..\\\\secret.safetensors", "a\\u0000.safetensors", "./a.safetensors"})
            QTest::newRow(*shard ? shard : "empty") << QByteArray(shard);
    }

    void neverLeavesTheFolder()
    {
        QFETCH(QByteArray, shard);
        std::ofstream(m_folder.parent_path() / "secret.safetensors") << oneTensor("w");
        fs::create_directory(m_folder / "sub");
        write("sub/a.safetensors", oneTensor("w"));
        write("a.safetensors", oneTensor("w"));
        write("model.safetensors.index.json", index("\"w\":\"" + shard.toStdString() + "\""));
        QVERIFY(test::failsWith(WeightMap::open(m_folder), ErrorCode::Corrupt, "The entry 'w'"));
        write("model.safetensors.index.json", index(R"("w":"a.safetensors")"));
        QVERIFY(test::isOk(WeightMap::open(m_folder)));
    }

    void readsTheLinksOfTheHuggingFaceCache()
    {
        fs::create_directories(m_folder / "blobs");
        fs::create_directories(m_folder / "snapshots" / "main");
        write("blobs/0a", oneTensor("w"));
        write("blobs/0b", index(R"("w":"model-1.safetensors")"));
        fs::create_symlink("../../blobs/0a", m_folder / "snapshots/main/model-1.safetensors");
        fs::create_symlink("../../blobs/0b", m_folder / "snapshots/main/model.safetensors.index.json");
        QVERIFY(test::isOk(WeightMap::open(m_folder / "snapshots/main")));
        fs::remove(m_folder / "snapshots/main/model-1.safetensors");
        fs::create_directory_symlink("../../blobs", m_folder / "snapshots/main/model-1.safetensors");
        QVERIFY(test::failsWith(WeightMap::open(m_folder / "snapshots/main"), ErrorCode::Corrupt,
                                "not a regular file"));
        fs::remove(m_folder / "snapshots/main/model-1.safetensors");
        fs::create_symlink("../../blobs/none", m_folder / "snapshots/main/model-1.safetensors");
        QVERIFY(test::failsWith(WeightMap::open(m_folder / "snapshots/main"), ErrorCode::NotFound,
                                "'model-1.safetensors'"));
    }

    void refusesABadIndex_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("part");
        QTest::newRow("LFS pointer") << QByteArray("version https://git-lfs.github.com/spec/v1\n")
                                     << QByteArray("git lfs pull");
        QTest::newRow("web page") << QByteArray("<html>") << QByteArray("web page");
        QTest::newRow("cut off") << QByteArray("{\"weight_map\":") << QByteArray("line 1");
        QTest::newRow("tensor twice")
            << QByteArray("{\"weight_map\":{\"w\":\"a\",\"w\":\"b\"}}") << QByteArray("'w' occurs twice");
        QTest::newRow("array") << QByteArray("[]") << QByteArray("weight_map");
        QTest::newRow("no map") << QByteArray("{}") << QByteArray("weight_map");
        QTest::newRow("map empty") << QByteArray("{\"weight_map\":{}}") << QByteArray("weight_map");
        QTest::newRow("number") << QByteArray("{\"weight_map\":{\"w\":1}}") << QByteArray("The entry 'w'");
    }

    void refusesABadIndex()
    {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, part);
        write("model.safetensors.index.json", text.toStdString());
        QVERIFY(test::failsWith(WeightMap::open(m_folder), ErrorCode::Corrupt, part.toStdString()));
    }

    void saysWhatAFolderHoldsInstead_data()
    {
        QTest::addColumn<QByteArrayList>("names");
        QTest::addColumn<int>("code");
        QTest::addColumn<QByteArray>("part");
        const auto row = [](const char* name, const QByteArrayList& names, ErrorCode code, const char* part) {
            QTest::newRow(name) << names << static_cast<int>(code) << QByteArray(part);
        };
        row("empty", {}, ErrorCode::NotFound, "is empty");
        row("config only", {"config.json", "README.md"}, ErrorCode::NotFound,
            "found 'README.md', 'config.json'");
        row("LoRA", {"adapter_config.json", "adapter_model.safetensors"}, ErrorCode::Unsupported,
            "LoRA adapter");
        row("several PyTorch", {"a.bin", "b.pt", "optimizer.pt"}, ErrorCode::NotFound,
            "several weight files ('a.bin', 'b.pt')");
        row("several GGUF", {"m.gguf", "n.gguf"}, ErrorCode::NotFound,
            "('m.gguf', 'n.gguf'); open one of them");
        row("TensorFlow", {"tf_model.h5"}, ErrorCode::Unsupported, "convert them to safetensors");
        row("training leftovers", {"optimizer.pt", "rng_state_0.pth"}, ErrorCode::NotFound,
            "holds no weights");
        row("several", {"a.safetensors", "b.safetensors"}, ErrorCode::NotFound,
            "several weight files ('a.safetensors', 'b.safetensors')");
    }

    void saysWhatAFolderHoldsInstead()
    {
        QFETCH(QByteArrayList, names);
        QFETCH(int, code);
        QFETCH(QByteArray, part);
        for (const QByteArray& name : names)
            write(name.toStdString(), oneTensor("w"));
        QVERIFY(test::failsWith(WeightMap::open(m_folder), static_cast<ErrorCode>(code), part.toStdString()));
        QVERIFY(test::failsWith(WeightMap::open(m_folder), static_cast<ErrorCode>(code), m_folder.string()));
    }

    void choosesTheOneThatIsNoCopy()
    {
        for (const char* copy : {"model.fp16.safetensors", "consolidated.safetensors",
                                 "adapter_model.safetensors", ".x.safetensors"})
            write(copy, oneTensor("copy"));
        write("pytorch_model.bin", "");
        write("mine.safetensors", oneTensor("w"));
        const auto map = WeightMap::open(m_folder);
        QVERIFY(test::isOk(map));
        QCOMPARE(map->find("w"), 0);
        write("model.safetensors", oneTensor("v"));
        QCOMPARE(WeightMap::open(m_folder)->find("v"), 0);
        // The content decides, not the name.
        fs::remove(m_folder / "model.safetensors");
        fs::remove(m_folder / "mine.safetensors");
        write("pytorch_model.bin", oneTensor("u"));
        QCOMPARE(WeightMap::open(m_folder)->find("u"), 0);
    }

    void refusesWhatIsNoFile()
    {
        QVERIFY(test::failsWith(WeightMap::open(m_folder / "none"), ErrorCode::NotFound, "none"));
        QVERIFY(
            test::failsWith(WeightMap::open(m_folder / "none" / "deeper"), ErrorCode::NotFound, "deeper"));
        fs::create_directory(m_folder / "model.safetensors");
        QVERIFY(test::failsWith(WeightMap::open(m_folder), ErrorCode::Unsupported, "is a folder"));
        fs::remove(m_folder / "model.safetensors");
        QCOMPARE(::mkfifo((m_folder / "model.safetensors").c_str(), 0600), 0);
        QVERIFY(test::failsWith(WeightMap::open(m_folder), ErrorCode::Unsupported, "not a regular file"));
        fs::remove(m_folder / "model.safetensors");
        write("model.safetensors", oneTensor("w"));
        write("cut.safetensors", oneTensor("w").substr(0, 70));
        QVERIFY(test::failsWith(WeightMap::open(m_folder / "cut.safetensors"), ErrorCode::Corrupt,
                                "bytes are missing"));
    }

    void saysWhatItMayNotRead()
    {
        const OrdinaryReader reader;
        write("model.safetensors", oneTensor("w"));
        fs::permissions(m_folder / "model.safetensors", fs::perms::none);
        QVERIFY(test::failsWith(WeightMap::open(m_folder), ErrorCode::Io, "model.safetensors"));
        fs::permissions(m_folder, fs::perms::none);
        QVERIFY(test::failsWith(WeightMap::open(m_folder), ErrorCode::Io, m_folder.string()));
        fs::permissions(m_folder, fs::perms::owner_all);
    }

    void readsFoldersWithAnyName()
    {
        const fs::path folder = m_folder / "Modèle 模型";
        fs::create_directory(folder);
        std::ofstream(folder / "model.safetensors") << oneTensor("w");
        QVERIFY(test::isOk(WeightMap::open(folder)));
    }

    /// Compared with Qt's implementation of the same digest over hand-cut pieces.
    void digestsConfigAndHeadersInNameOrder()
    {
        const auto hex = [](std::initializer_list<std::string> pieces) {
            QCryptographicHash hash(QCryptographicHash::Sha256);
            for (const std::string& piece : pieces)
                hash.addData(QByteArray::fromStdString(piece));
            return hash.result().toHex().toStdString();
        };
        const auto header = [](const std::string& name) {
            return oneTensor(name).substr(8, oneTensor(name).size() - 24);
        };
        write("b.safetensors", oneTensor("v"));
        QCOMPARE(WeightMap::open(m_folder)->sha256(), hex({header("v")}));
        write("config.json", "{\"n\":1}");
        QCOMPARE(WeightMap::open(m_folder)->sha256(), hex({header("v"), "{\"n\":1}"}));
        write("x.safetensors", oneTensor("w"));
        write("model.safetensors.index.json", index(R"("w":"x.safetensors","v":"b.safetensors")"));
        QCOMPARE(WeightMap::open(m_folder)->sha256(), hex({header("v"), "{\"n\":1}", header("w")}));
    }

    void checksViewsWithoutOverflow()
    {
        write("model.safetensors", oneTensor("w"));
        const auto map = WeightMap::open(m_folder);
        QVERIFY(test::isOk(map));
        constexpr auto huge = std::numeric_limits<std::int64_t>::max();
        QVERIFY(test::isOk(map->checkView({0, 0, 2, 1, 2, 2})));
        QVERIFY(test::isOk(map->checkView({0, 3, huge, huge, 1, 1})));
        QVERIFY(test::isOk(map->checkView({0, 0, 2, 1, 0, 5})));
        for (const TensorView& view :
             {TensorView{0, 1, 2, 1, 2, 2}, TensorView{0, 0, 2, 1, 3, 2}, TensorView{0, 0, 3, 1, 2, 2},
              TensorView{0, -1, 1, 1, 1, 1}, TensorView{0, 3, -1, 0, 2, 1}, TensorView{0, 0, huge, 1, 3, 1},
              TensorView{0, huge, 1, 1, 2, 2}, TensorView{0, 0, huge, huge, 2, 2},
              TensorView{0, 0, 1, 1, -1, 2}})
            QVERIFY(test::failsWith(map->checkView(view), ErrorCode::Corrupt, "Tensor 'w' in '"));
        write("model.safetensors",
              safetensors("{\"m\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "1"));
        QVERIFY(test::failsWith(WeightMap::open(m_folder)->checkView({0, 0, 1, 1, 1, 1}),
                                ErrorCode::Unsupported, "stored as U8"));
    }

    void countsWhatIsNoNumber()
    {
        std::vector<float> numbers(40'000, 1.0f);
        numbers[20'000] = std::numeric_limits<float>::quiet_NaN();
        numbers[39'999] = -std::numeric_limits<float>::infinity();
        write("model.safetensors",
              safetensors("{\"w\":{\"dtype\":\"F32\",\"shape\":[40000],\"data_offsets\":[0,160000]}}",
                          std::string(reinterpret_cast<const char*>(numbers.data()), 160'000)));
        QVERIFY(WeightMap::open(m_folder)->nonFinite(0) == (NonFinite{2, 20'000}));
        write("model.safetensors", oneTensor("w"));
        QVERIFY(WeightMap::open(m_folder)->nonFinite(0) == NonFinite{});
    }

    void aFileShortenedWhileOpenReadsAsNan()
    {
        write("model.safetensors",
              safetensors("{\"w\":{\"dtype\":\"F32\",\"shape\":[40000],\"data_offsets\":[0,160000]}}",
                          std::string(160'000, 0)));
        const auto map = WeightMap::open(m_folder);
        QVERIFY(test::isOk(map));
        Eigen::MatrixXf numbers;
        const TensorView all{
            .tensor = 0, .offset = 0, .rowStride = 1, .colStride = 0, .rows = 40'000, .cols = 1};
        map->read(all, numbers);
        QVERIFY(numbers.isZero(0));
        fs::resize_file(m_folder / "model.safetensors", 100);
        map->read(all, numbers);
        QVERIFY(numbers.array().isNaN().all());
    }

    /// 500 MB with a hole for data: opening and reading one row load no more than they need.
    void openingALargeFileTouchesOnlyItsHeader()
    {
        constexpr std::int64_t rows = 1 << 15, cols = 1 << 12;
        const std::string header = "{\"w\":{\"dtype\":\"F32\",\"shape\":[" + std::to_string(rows) + ","
            + std::to_string(cols) + "],\"data_offsets\":[0," + std::to_string(rows * cols * 4) + "]}}";
        write("model.safetensors", safetensors(header));
        fs::resize_file(m_folder / "model.safetensors", 8 + header.size() + rows * cols * 4);
        const auto map = WeightMap::open(m_folder);
        QVERIFY(test::isOk(map));
        QVERIFY(map->fileBytes() > 500'000'000);
        const auto opened = mappedKilobytes("model.safetensors");
        QVERIFY2(opened >= 0 && opened < 1000, qPrintable(QString::number(opened)));
        Eigen::MatrixXf row;
        map->read(
            {.tensor = 0, .offset = 100 * cols, .rowStride = cols, .colStride = 1, .rows = 1, .cols = cols},
            row);
        QVERIFY(row.isZero(0));
        const auto readOne = mappedKilobytes("model.safetensors");
        QVERIFY2(readOne >= 16 && readOne < 2000, qPrintable(QString::number(readOne)));
        map->read({.tensor = 0, .offset = 0, .rowStride = cols, .colStride = 1, .rows = 2048, .cols = cols},
                  row);
        QVERIFY(mappedKilobytes("model.safetensors")
                >= 2048 * cols * 4 / 1024); // the measurement does detect reads
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

    void readsTheSameWhereTheAddressSpaceIsShort()
    {
        constexpr int rows = 300, cols = 70;
        writeBehindAHole("F32", rows * cols);
        const auto whole = WeightMap::open(m_folder);
        QVERIFY(test::isOk(whole));
        const test::AddressSpaceLimit limit(std::size_t(1) << 29);
        const auto pieces = WeightMap::open(m_folder);
        QVERIFY(test::isOk(pieces));
        const int w = pieces->find("w");
        QVERIFY(pieces->bytes(w).empty() && !whole->bytes(w).empty());
        QCOMPARE(pieces->sha256(), whole->sha256());
        QCOMPARE(pieces->fileBytes(), whole->fileBytes());
        const TensorView all{
            w, 0,    cols,
            1, rows, cols}; // its first columns, its rows as columns, one long line, every third number
        for (const TensorView& view :
             {all, TensorView{w, 7, cols, 1, rows, 9}, TensorView{w, 70, 1, cols, 8, 200},
              TensorView{w, 5, 1, 0, rows * cols - 5, 1}, TensorView{w, 2, 3 * cols, 3, 90, 20}}) {
            Matrix<double> expected, found;
            whole->read(view, expected);
            pieces->read(view, found);
            QVERIFY(found == expected && expected.minCoeff() < expected.maxCoeff());
        }
        std::vector<float> expected(9000), found(9000);
        whole->readNumbers(w, 11'000, 9000, expected.data());
        pieces->readNumbers(w, 11'000, 9000, found.data());
        QVERIFY(found == expected);
        QVERIFY(pieces->nonFinite(w) == whole->nonFinite(w));
        QVERIFY(test::isOk(checkUnchanged(*pieces)));
        fs::resize_file(m_folder / "model.safetensors", 1000);
        Matrix<float> missing;
        pieces->read(all, missing);
        QVERIFY(missing.array().isNaN().all());
    }

    /// Parts of quantised matrices are read from the mapped file.
    void refusesOtherNumbersWhereTheAddressSpaceIsShort()
    {
        writeBehindAHole("I32", 6);
        QVERIFY(test::isOk(WeightMap::open(m_folder)));
        const test::AddressSpaceLimit limit(std::size_t(1) << 29);
        QVERIFY(test::failsWith(WeightMap::open(m_folder), ErrorCode::Io, "address space"));
    }
};

HEADWISE_TEST(WeightMapTest)
#include "weight_map_test.moc"
