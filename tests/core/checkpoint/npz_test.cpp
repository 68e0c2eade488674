#include "core/checkpoint/weight_map.h"

#include "tests/support/address_space_limit.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/zip_writer.h"

#include <QByteArray>
#include <QTemporaryDir>

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace headwise;
using test::littleEndian;
namespace fs = std::filesystem;

namespace {

/// Writes an array as NumPy does: the header is padded so that the data begin at a multiple of 64.
std::string npy(std::string header, const std::string& data, int major = 1)
{
    const std::size_t start = major == 1 ? 10 : 12;
    header.resize((start + header.size() + 64) / 64 * 64 - start - 1, ' ');
    header += '\n';
    return "\x93NUMPY" + littleEndian(major, 1) + '\0' + littleEndian(header.size(), major == 1 ? 2 : 4)
        + header + data;
}

std::string floats(std::initializer_list<float> numbers)
{
    return {reinterpret_cast<const char*>(std::data(numbers)), numbers.size() * sizeof(float)};
}

/// Packs as zip does: qCompress() adds a length and zlib's two bytes before the stream, and a checksum after it.
std::string deflated(const std::string& bytes)
{
    const QByteArray packed = qCompress(QByteArray::fromStdString(bytes));
    return packed.mid(6, packed.size() - 10).toStdString();
}

std::string described(const std::string& dtype, const std::string& shape, const std::string& order = "False")
{
    return "{'descr': '" + dtype + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

const std::string six = floats({1, 2, 3, 4, 5, 6});

} // namespace

class NpzTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_temporary;
    fs::path m_file;

    Result<WeightMap> opened(const std::vector<test::ZipMember>& members)
    {
        std::ofstream(m_file, std::ios::binary) << test::zipArchive(members);
        return WeightMap::open(m_file);
    }

    static Matrix<double> matrix(const WeightMap& map, const char* name, Eigen::Index rows, Eigen::Index cols)
    {
        const TensorView view{
            .tensor = map.find(name), .rowStride = cols, .colStride = 1, .rows = rows, .cols = cols};
        Matrix<double> numbers;
        if (view.isPresent() && map.checkView(view))
            map.read(view, numbers);
        return numbers;
    }

private slots:
    void init() { m_file = fs::path(m_temporary.path().toStdString()) / "m.npz"; }

    void readsArraysOfBothOrdersAndEveryVersion()
    {
        const auto map =
            opened({{"blocks.0/a.npy", npy(described("<f4", "(2, 3)"), six)},
                    {"b.npy", npy(described("<f4", "(2, 3)", "True"), six, 2)},
                    {"c.npy", npy(described("<f8", "()"), std::string("\0\0\0\0\0\0\xf8\x3f", 8), 3)},
                    {"d.npy", npy(described("|V2", "(2,)"), std::string("\x00\x3f\x00\xc0", 4))}});
        QVERIFY(test::isOk(map));
        const Eigen::MatrixXd rows = (Eigen::MatrixXd(2, 3) << 1, 2, 3, 4, 5, 6).finished();
        const Eigen::MatrixXd columns = (Eigen::MatrixXd(2, 3) << 1, 3, 5, 2, 4, 6).finished();
        QVERIFY(matrix(*map, "blocks.0/a", 2, 3) == rows);
        QVERIFY(matrix(*map, "b", 2, 3) == columns);
        QCOMPARE(matrix(*map, "c", 1, 1)(0, 0), 1.5);
        QVERIFY(matrix(*map, "d", 1, 2) == Eigen::RowVector2d(0.5, -2));
    }

    void refusesDamagedArrays_data()
    {
        QTest::addColumn<QByteArray>("array");
        QTest::addColumn<int>("code");
        QTest::addColumn<QByteArray>("part");
        const auto row = [](const char* name, const std::string& bytes, ErrorCode code, const char* part) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes) << int(code) << QByteArray(part);
        };
        const auto refused = ErrorCode::Unsupported, corrupt = ErrorCode::Corrupt;
        row("empty", "", corrupt, "does not begin");
        row("no version", "\x93NUMPY", corrupt, "not between 1 and 3");
        row("version 9", npy(described("<f4", "(6,)"), six, 9), corrupt, "not between 1 and 3");
        row("header cut", npy(described("<f4", "(6,)"), six).substr(0, 40), corrupt, "cut off");
        row("short", npy(described("<f4", "(7,)"), six), corrupt, "has 24 bytes");
        row("long", npy(described("<f4", "(5,)"), six), corrupt, "has 24 bytes");
        row("overflow", npy(described("<f4", "(4294967296, 4294967296, 4)"), six), corrupt,
            "no array has the shape");
        row("negative", npy(described("<f4", "(-6,)"), six), corrupt, "has no shape");
        row("no number", npy(described("<f4", "(a,)"), six), corrupt, "has no shape");
        row("no shape", npy("{'descr': '<f4', 'fortran_order': False}", six), corrupt, "has no shape");
        row("no order", npy("{'descr': '<f4', 'shape': (6,)}", six), corrupt, "the order of its numbers");
        row("objects", npy(described("|O", "(6,)"), six), refused, "'|O'");
        row("complex", npy(described("<c8", "(3,)"), six), refused, "'<c8'");
        row("records", npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", six), refused,
            "objects or records");
    }

    void refusesDamagedArrays()
    {
        QFETCH(QByteArray, array);
        QFETCH(int, code);
        QFETCH(QByteArray, part);
        const auto map =
            opened({{"a.npy", npy(described("<f4", "(6,)"), six)}, {"w.npy", array.toStdString()}});
        QVERIFY(test::failsWith(map, static_cast<ErrorCode>(code), part.toStdString()));
        QVERIFY(test::failsWith(map, static_cast<ErrorCode>(code), "The array 'w' of '" + m_file.string()));
    }

    void unpacksCompressedArrays()
    {
        const std::string array = npy(described("<f4", "(2, 3)"), six);
        const auto map = opened({{"a.npy", deflated(array), 8, 0, std::int64_t(array.size())},
                                 {"b.npy", npy(described("<f4", "(2, 3)", "True"), six)}});
        QVERIFY(test::isOk(map));
        const Eigen::MatrixXd rows = (Eigen::MatrixXd(2, 3) << 1, 2, 3, 4, 5, 6).finished();
        const Eigen::MatrixXd columns = (Eigen::MatrixXd(2, 3) << 1, 3, 5, 2, 4, 6).finished();
        QVERIFY(matrix(*map, "a", 2, 3) == rows);
        QVERIFY(matrix(*map, "b", 2, 3) == columns);
    }

    void swapsBigEndianArrays()
    {
        std::string swapped = six;
        for (std::size_t at = 0; at < swapped.size(); at += 4)
            std::reverse(swapped.begin() + std::ptrdiff_t(at), swapped.begin() + std::ptrdiff_t(at + 4));
        const auto map = opened({{"a.npy", npy(described("<f4", "(2, 3)"), six)},
                                 {"b.npy", npy(described(">f4", "(2, 3)", "True"), swapped)}});
        QVERIFY(test::isOk(map));
        const Eigen::MatrixXd columns = (Eigen::MatrixXd(2, 3) << 1, 3, 5, 2, 4, 6).finished();
        QVERIFY(matrix(*map, "b", 2, 3) == columns);
        QCOMPARE(matrix(*map, "a", 2, 3)(1, 2), 6.0);
    }

    void compressedBytesThatDoNotUnpackToWhatIsClaimedAreRefused()
    {
        const std::string array = npy(described("<f4", "(2, 3)"), six);
        const std::string packed = deflated(array);
        for (const auto& [bytes, claimed] :
             {std::pair(packed, std::int64_t(array.size()) - 1),
              std::pair(packed, std::int64_t(array.size()) + 1),
              std::pair(packed.substr(0, packed.size() / 2), std::int64_t(array.size())),
              std::pair(std::string("abc"), std::int64_t(array.size()))})
            QVERIFY(test::failsWith(opened({{"w.npy", bytes, 8, 0, claimed}}), ErrorCode::Corrupt,
                                    "does not unpack"));
    }

    void aBombIsRefusedBeforeItIsUnpacked()
    {
        constexpr std::int64_t numbers = 75'000'000; // 300 MB in 300 kB
        const std::string array = npy(described("<f4", "(75000000,)"), std::string(4 * numbers, '\0'));
        const std::vector<test::ZipMember> bomb{{"w.npy", deflated(array), 8, 0, std::int64_t(array.size())}};
        QVERIFY(test::failsWith(opened(bomb), ErrorCode::Corrupt, "claims to unpack its 0.3 MB to 0.3 GB"));
        // Many small ones are as large.
        std::vector<test::ZipMember> many;
        const std::string tenth = npy(described("<f4", "(7500000,)"), std::string(30'000'000, '\0'));
        for (int i = 0; i < 10; ++i)
            many.push_back({std::to_string(i) + ".npy", deflated(tenth), 8, 0, std::int64_t(tenth.size())});
        QVERIFY(test::failsWith(opened(many), ErrorCode::Corrupt, "claims to unpack"));
        many.resize(8); // 240 MB of zeros may be real biases
        QVERIFY(test::isOk(opened(many)));
    }

    void anArchiveThatNeedsMoreThanIsFreeIsRefused()
    {
        const std::string array = npy(described("<f4", "(15000000,)"), std::string(60'000'000, '\0'));
        const std::vector<test::ZipMember> members{
            {"w.npy", deflated(array), 8, 0, std::int64_t(array.size())}};
        QVERIFY(test::isOk(opened(members)));
        const test::AddressSpaceLimit limit(100'000'000);
        QVERIFY(test::failsWith(opened(members), ErrorCode::OutOfMemory, "needs 0.2 GB of memory"));
    }

    void membersThatShareTheirBytesAreRefused()
    {
        const std::string array = npy(described("<f4", "(6,)"), six);
        std::string file = test::zipArchive({{"a.npy", array}, {"b.npy", array}});
        const auto ofA = file.find("PK\1\2");
        const std::string longer = littleEndian(array.size() + 60, 4); // into b
        file.replace(ofA + 20, 8, longer + longer);
        std::ofstream(m_file, std::ios::binary) << file;
        QVERIFY(test::failsWith(WeightMap::open(m_file), ErrorCode::Corrupt,
                                "its members 'a.npy' and 'b.npy' overlap"));
    }
};

HEADWISE_TEST(NpzTest)
#include "npz_test.moc"
