#include "core/checkpoint/npy.h"

#include "tests/support/matchers.h"
#include "tests/support/numpy_file.h"
#include "tests/support/program.h"
#include "tests/support/zip_writer.h"

#include <QFile>
#include <QTemporaryDir>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

using namespace headwise;
using test::littleEndian;
namespace fs = std::filesystem;

namespace {

template <typename T>
std::string rawBytes(const std::vector<T>& numbers)
{
    return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

QByteArray contentOf(const fs::path& path)
{
    QFile file(QString::fromStdString(path.string()));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

class NpyTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_temporary;
    fs::path m_folder;

    /// A safetensors file with the one tensor "t".
    WeightMap stored(const char* dtype, const std::vector<std::int64_t>& shape, const std::string& data)
    {
        const nlohmann::json header{
            {"t", {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {0, data.size()}}}}};
        const std::string text = header.dump();
        const fs::path file = m_folder / "t.safetensors";
        std::ofstream(file, std::ios::binary) << littleEndian(text.size(), 8) << text << data;
        return WeightMap::open(file).value();
    }

    std::optional<test::NumpyFile> written(const WeightMap& file)
    {
        if (!test::isOk(writeNpy(file, file.find("t"), m_folder / "t.npy", {})))
            return std::nullopt;
        return test::readNumpyFile(contentOf(m_folder / "t.npy"));
    }

private slots:
    void init() { m_folder = m_temporary.path().toStdString(); }

    void readsOneVector()
    {
        const std::vector<double> numbers{1.5, -2, 1e300};
        const auto write = [&](const std::string& content) {
            std::ofstream(m_folder / "x.npy", std::ios::binary) << content;
            return readNpyVector(m_folder / "x.npy");
        };
        for (const auto& shape : std::vector<std::vector<std::int64_t>>{{3}, {1, 3}, {3, 1}}) {
            const auto read = write(npyHeader("<f8", shape) + rawBytes(numbers));
            QVERIFY(test::isOk(read));
            QVERIFY(*read == numbers);
        }
        const auto narrow = write(npyHeader("<f4", {2}) + rawBytes(std::vector<float>{0.5F, 3}));
        QVERIFY(test::isOk(narrow));
        QVERIFY(*narrow == (std::vector<double>{0.5, 3}));
        const auto matrix = write(npyHeader("<f4", {2, 2}) + std::string(16, '\0'));
        QVERIFY(test::failsWith(matrix, ErrorCode::Unsupported, "[2, 2]"));
        QVERIFY(test::failsWith(write(npyHeader("<f8", {3}) + "short"), ErrorCode::Corrupt, "x"));
        QVERIFY(test::failsWith(write("no array"), ErrorCode::Corrupt, "NumPy"));
        QVERIFY(test::failsWith(readNpyVector(m_folder / "absent.npy"), ErrorCode::NotFound, "absent"));
    }

    /// A known file of 2×2 f4.
    void writesTheBytesOfTheFormat()
    {
        const QByteArray header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }");
        QByteArray expected = QByteArray::fromHex("934e554d505901007600");
        expected += header + QByteArray(118 - 1 - header.size(), ' ') + '\n';
        expected += QByteArray::fromHex("0000803f000000400000404000008040");
        const WeightMap file = stored("F32", {2, 2}, rawBytes<float>({1, 2, 3, 4}));
        QVERIFY(test::isOk(writeNpy(file, 0, m_folder / "t.npy", {})));
        QCOMPARE(contentOf(m_folder / "t.npy"), expected);
    }

    void keepsEveryBitOfTheTypesThatNumpyHas_data()
    {
        QTest::addColumn<QString>("dtype");
        QTest::addColumn<QString>("type");
        QTest::addColumn<int>("width");
        const std::tuple<const char*, const char*, int> rows[] = {
            {"F64", "<f8", 8}, {"F32", "<f4", 4}, {"F16", "<f2", 2}, {"I64", "<i8", 8},
            {"U64", "<u8", 8}, {"I32", "<i4", 4}, {"U32", "<u4", 4}, {"I16", "<i2", 2},
            {"U16", "<u2", 2}, {"I8", "|i1", 1},  {"U8", "|u1", 1}};
        for (const auto& [dtype, type, width] : rows)
            QTest::newRow(dtype) << QString(dtype) << QString(type) << width;
    }
    void keepsEveryBitOfTheTypesThatNumpyHas()
    {
        QFETCH(QString, dtype);
        QFETCH(QString, type);
        QFETCH(int, width);
        std::string data;
        for (int i = 0; i < 6 * width; ++i) // NaN with payloads, subnormals, integers beyond 2^53: any bits
            data += static_cast<char>(i < width ? 0xFF : (37 * i + 211) % 256);
        const auto file = written(stored(dtype.toLatin1(), {2, 1, 3}, data));
        QVERIFY(file);
        QCOMPARE(file->type, type);
        QCOMPARE(file->shape, (QList<qint64>{2, 1, 3}));
        QCOMPARE(file->data, QByteArray::fromStdString(data));
    }

    void writesWhatNumpyLacksAsFloat32()
    {
        const auto file = written(stored("BF16", {3}, rawBytes<std::uint16_t>({0x3F80, 0xC000, 0x0001})));
        QVERIFY(file);
        QCOMPARE(file->type, QString("<f4"));
        QCOMPARE(file->shape, QList<qint64>{3});
        QVERIFY(file->numbers<float>() == (std::vector<float>{1, -2, 0x1p-133F}));
    }

    void writesTruthAsZeroAndOne()
    {
        const auto file = written(stored("BOOL", {4}, std::string("\0\1\7\0", 4)));
        QVERIFY(file);
        QCOMPARE(file->type, QString("|b1"));
        QCOMPARE(file->data, QByteArray("\0\1\1\0", 4));
    }

    void writesScalarsAndEmptyTensors()
    {
        const auto scalar = written(stored("F32", {}, rawBytes<float>({7.5F})));
        QVERIFY(scalar && scalar->shape.isEmpty());
        QVERIFY(scalar->numbers<float>() == std::vector<float>{7.5F});
        const auto empty = written(stored("F32", {0, 3}, {}));
        QVERIFY(empty && empty->data.isEmpty());
        QCOMPARE(empty->shape, (QList<qint64>{0, 3}));
    }

    /// Column-major in its file: the written numbers are row-major with the same bits, in more than one block.
    void writesTensorsThatAreStoredTransposed()
    {
        constexpr std::int64_t rows = 300, columns = 401;
        std::vector<std::int64_t> data(rows * columns);
        for (std::size_t i = 0; i < data.size(); ++i)
            data[i] = static_cast<std::int64_t>(i) + (std::int64_t{1} << 60);
        std::string header = "{'descr': '<i8', 'fortran_order': True, 'shape': (300, 401), }";
        header.resize(117, ' ');
        header += '\n';
        const std::string member =
            std::string("\x93NUMPY\1\0", 8) + littleEndian(118, 2) + header + rawBytes(data);
        std::ofstream(m_folder / "t.npz", std::ios::binary) << test::zipArchive({{"t.npy", member}});
        const auto map = WeightMap::open(m_folder / "t.npz");
        QVERIFY(test::isOk(map));
        const auto file = written(*map);
        QVERIFY(file);
        const std::vector<std::int64_t> numbers = file->numbers<std::int64_t>();
        QCOMPARE(numbers.size(), data.size());
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < columns; ++c)
                QCOMPARE(numbers[static_cast<std::size_t>(r * columns + c)],
                         data[static_cast<std::size_t>(c * rows + r)]);
    }

    void refusesWhatItCannotDecodeAndLeavesTheOldFile()
    {
        std::ofstream(m_folder / "t.npy") << "old";
        const WeightMap file = stored("F8_E8M0", {2}, std::string(2, '\1'));
        QVERIFY(test::failsWith(writeNpy(file, 0, m_folder / "t.npy", {}), ErrorCode::Unsupported, "'t'"));
        QCOMPARE(contentOf(m_folder / "t.npy"), QByteArray("old"));
    }

    void stopsWhenItIsAskedTo()
    {
        std::ofstream(m_folder / "t.npy") << "old";
        const WeightMap file = stored("F32", {2}, std::string(8, '\1'));
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(test::failsWith(
            writeNpy(file, 0, m_folder / "t.npy", Task{.stop = stop.get_token(), .onProgress = {}}),
            ErrorCode::Cancelled, ""));
        QCOMPARE(contentOf(m_folder / "t.npy"), QByteArray("old"));
    }
};

HEADWISE_TEST(NpyTest)
#include "npy_test.moc"
