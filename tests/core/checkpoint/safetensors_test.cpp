#include "core/checkpoint/safetensors.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <cstring>

using namespace headwise;

namespace {

QByteArray number(std::uint64_t value)
{
    return QByteArray(reinterpret_cast<const char*>(&value), 8);
}

QByteArray file(const QByteArray& header, qsizetype dataBytes = 0)
{
    return number(static_cast<std::uint64_t>(header.size())) + header + QByteArray(dataBytes, '\1');
}

/// A header of one tensor 'a'.
QByteArray tensorHeader(const char* dtype, const char* shape, const char* offsets)
{
    return QByteArray("{\"a\":{\"dtype\":\"") + dtype + "\",\"shape\":" + shape + R"(,"data_offsets":)"
        + offsets + "}}";
}

/// A header of two F32 vectors, 'a' and 'b'.
QByteArray twoTensors(int sizeA, const char* offsetsA, int sizeB, const char* offsetsB)
{
    return R"({"a":{"dtype":"F32","shape":[)" + QByteArray::number(sizeA) + R"(],"data_offsets":)" + offsetsA
        + R"(},"b":{"dtype":"F32","shape":[)" + QByteArray::number(sizeB) + R"(],"data_offsets":)" + offsetsB
        + "}}";
}

QByteArray nested(int depth)
{
    return R"({"a":{"x":)" + QByteArray(depth, '[') + QByteArray(depth, ']')
        + R"(,"dtype":"F32","shape":[0],"data_offsets":[0,0]}})";
}

Result<SafetensorsHeader> read(const QByteArray& bytes)
{
    return readSafetensorsHeader(
        std::as_bytes(std::span(bytes.constData(), static_cast<std::size_t>(bytes.size()))), "x.safetensors");
}

} // namespace

class SafetensorsTest : public QObject {
    Q_OBJECT

private slots:
    void readsTheSampleFile()
    {
        const QByteArray bytes = QByteArray::fromHex("3600000000000000")
            + R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"
            + QByteArray::fromHex("0000803f00000040");
        QCOMPARE(bytes.size(), 70);
        const auto header = read(bytes);
        QVERIFY(test::isOk(header));
        QCOMPARE(header->headerBytes, std::size_t{62});
        QCOMPARE(header->tensors.size(), std::size_t{1});
        const StoredTensor expected{
            .name = "a", .dtype = DType::F32, .shape = {2}, .begin = 62, .byteCount = 8, .shard = 0};
        QVERIFY(header->tensors[0] == expected);
        float numbers[2];
        std::memcpy(numbers, bytes.constData() + header->tensors[0].begin, sizeof numbers);
        QCOMPARE(numbers[0], 1.0f);
        QCOMPARE(numbers[1], 2.0f);
    }

    void readsWhatTheFormatAllows_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<int>("tensorCount");
        QTest::newRow("no tensor") << file("{}") << 0;
        QTest::newRow("only metadata") << file(R"({"__metadata__":{"format":"pt"}})") << 0;
        QTest::newRow("metadata null") << file(R"({"__metadata__":null})") << 0;
        QTest::newRow("rank 0") << file(tensorHeader("F32", "[]", "[0,4]"), 4) << 1;
        QTest::newRow("size 0") << file(tensorHeader("F32", "[2,0]", "[0,0]")) << 1;
        QTest::newRow("size 0 beside a huge one")
            << file(tensorHeader("F32", "[1099511627776,0]", "[0,0]")) << 1;
        QTest::newRow("trailing spaces") << file("{}      ") << 0;
        QTest::newRow("leading white space") << file("\t\r\n {}") << 0;
        QTest::newRow("extra field") << file(
            R"({"a":{"dtype":"F32","x":{"dtype":[1.5,null,true]},"shape":[0],"data_offsets":[0,0]}})")
                                     << 1;
        QTest::newRow("F4, two in a byte") << file(tensorHeader("F4", "[2]", "[0,1]"), 1) << 1;
        QTest::newRow("two tensors in the other order") << file(twoTensors(1, "[4,8]", 1, "[0,4]"), 8) << 2;
        QTest::newRow("two of size 0 at one place") << file(twoTensors(0, "[0,0]", 0, "[0,0]")) << 2;
        QTest::newRow("name in UTF-8")
            << file("{\"ä/\\\"\\n\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1) << 1;
        QTest::newRow("depth 128") << file(nested(126)) << 1;
    }

    void readsWhatTheFormatAllows()
    {
        QFETCH(QByteArray, bytes);
        const auto header = read(bytes);
        QVERIFY(test::isOk(header));
        QTEST(static_cast<int>(header->tensors.size()), "tensorCount");
    }

    void refusesMalformedFiles_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QByteArray>("part");
        const auto row = [](const char* name, const QByteArray& bytes, const char* part) {
            QTest::newRow(name) << bytes << QByteArray(part);
        };
        row("HeaderTooSmall: 0 bytes", "", "it has 0 bytes");
        row("HeaderTooSmall: 7 bytes", "1234567", "it has 7 bytes");
        row("HeaderTooLarge: 100000001", number(100000001) + "{}", "100000001 bytes, more than");
        row("HeaderTooLarge: 2^64-1", number(~0ull) + "{}", "18446744073709551615");
        row("HeaderTooLarge: LFS pointer",
            "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 2\n", "git lfs pull");
        row("HeaderTooLarge: web page", "\n<!DOCTYPE html><html></html>", "web page");
        row("HeaderTooLarge: server error", R"({"error":"Repository not found"})", "server's error message");
        row("InvalidHeaderLength", number(60) + "{}", "58 bytes too early");
        row("InvalidHeaderLength: limit", number(100000000) + "{}", "99999998 bytes too early");
        row("InvalidHeader", file("{\"\xff\":1}"), "valid UTF-8 at byte 10");

        const auto json = [&](const char* name, const QByteArray& header, const char* part) {
            row((QByteArray("InvalidHeaderDeserialization: ") + name).constData(), file(header, 8), part);
        };
        json("N = 0", "", "not valid JSON");
        json("cut off", "{", "not valid JSON");
        json("array", "[]", "not a JSON object");
        json("two objects", "{}{}", "not valid JSON");
        json("byte order mark", "\xef\xbb\xbf{}", "byte order mark");
        json("bare NaN", R"({"a":NaN})", "not valid JSON");
        json("dtype F128", tensorHeader("F128", "[2]", "[0,8]"), "tensor 'a' has the unknown dtype 'F128'");
        json("dtype f32", tensorHeader("f32", "[2]", "[0,8]"), "unknown dtype 'f32'");
        json("negative size", tensorHeader("F32", "[-2]", "[0,8]"), "tensor 'a' has a size in its shape");
        json("minus zero", tensorHeader("F32", "[-0]", "[0,8]"), "size in its shape");
        json("size 2.0", tensorHeader("F32", "[2.0]", "[0,8]"), "size in its shape");
        json("size 2e0", tensorHeader("F32", "[2e0]", "[0,8]"), "size in its shape");
        json("size past 64 bits", tensorHeader("F32", "[18446744073709551616]", "[0,8]"),
             "size in its shape");
        json("nested shape", tensorHeader("F32", "[[2]]", "[0,8]"), "size in its shape");
        json("shape no array", tensorHeader("F32", "2", "[0,8]"), "'shape' of the wrong type");
        json("offset -0", tensorHeader("F32", "[2]", "[-0,8]"), "data offset that is not");
        json("offset 8.0", tensorHeader("F32", "[2]", "[0,8.0]"), "data offset that is not");
        json("offset 8e0", tensorHeader("F32", "[2]", "[0,8e0]"), "data offset that is not");
        json("one offset", tensorHeader("F32", "[2]", "[8]"), "has 1 data_offsets");
        json("three offsets", tensorHeader("F32", "[2]", "[0,8,8]"), "has 3 data_offsets");
        json("no dtype", R"({"a":{"shape":[2],"data_offsets":[0,8]}})", "tensor 'a' has no dtype");
        json("no shape", R"({"a":{"dtype":"F32","data_offsets":[0,8]}})", "tensor 'a' has no shape");
        json("no offsets", R"({"a":{"dtype":"F32","shape":[2]}})", "tensor 'a' has no data_offsets");
        json("dtype number", R"({"a":{"dtype":1,"shape":[2],"data_offsets":[0,8]}})",
             "'dtype' of the wrong type");
        json("entry no object", R"({"a":[1]})", "entry 'a' of its header is not");
        json("entry null", R"({"a":null})", "entry 'a' of its header is not");
        json("metadata 1", R"({"__metadata__":{"k":1}})", "'k' in __metadata__ is not a string");
        json("metadata object", R"({"__metadata__":{"k":{}}})", "'k' in __metadata__ is not a string");
        json("metadata array", R"({"__metadata__":[]})", "__metadata__");
        json("too deep", nested(127), "deeper than 128");
        json("rank 17", tensorHeader("F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]"),
             "more than 16 dimensions");
        json("long name", "{\"" + QByteArray(4097, 'n') + "\":1}", "longer than 4096");

        row("DuplicateKey: tensor",
            file(
                R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                8),
            "names tensor 'a' twice");
        row("DuplicateKey: escaped",
            file(
                R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"\u0061":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                8),
            "names tensor 'a' twice");
        row("DuplicateKey: dtype",
            file(R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8),
            "'dtype' occurs twice in tensor 'a'");
        row("DuplicateKey: metadata", file(R"({"__metadata__":{"k":"1","k":"2"}})"),
            "'k' occurs twice in __metadata__");
        row("InvalidOffset: backwards", file(tensorHeader("F32", "[2]", "[8,0]"), 8),
            "end before they begin");
        row("InvalidOffset: backwards behind another", file(twoTensors(2, "[0,8]", 2, "[8,0]"), 8),
            "end before they begin");
        row("InvalidOffset: late start", file(tensorHeader("F32", "[1]", "[4,8]"), 8),
            "leave a hole after byte 0");
        row("InvalidOffset: hole", file(twoTensors(1, "[0,4]", 1, "[8,12]"), 12),
            "'b' (bytes 8 to 12) leave a hole after byte 4");
        row("InvalidOffset: overlap", file(twoTensors(2, "[0,8]", 1, "[4,8]"), 8),
            "'b' (bytes 4 to 8) overlap");
        row("InvalidOffset: shared", file(twoTensors(2, "[0,8]", 2, "[0,8]"), 8), "overlap");
        row("TensorInvalidInfo", file(tensorHeader("F32", "[3]", "[0,8]"), 8),
            "tensor 'a' has 8 bytes of data where its dtype and shape need 12");
        row("ValidationOverflow: elements", file(tensorHeader("F32", "[2,9223372036854775808]", "[0,8]"), 8),
            "more elements than can be counted");
        row("ValidationOverflow: bits", file(tensorHeader("F32", "[1152921504606846976]", "[0,8]"), 8),
            "more elements than can be counted");
        row("ValidationOverflow: hidden by 0", file(tensorHeader("F32", "[9223372036854775808,0]", "[0,0]")),
            "more elements than can be counted");
        row("MisalignedSlice", file(tensorHeader("F4", "[3]", "[0,2]"), 2), "12 bits");
        row("MetadataIncompleteBuffer: short", file(tensorHeader("F32", "[2]", "[0,8]"), 7),
            "the last 1 bytes are missing");
        row("MetadataIncompleteBuffer: long", file(tensorHeader("F32", "[2]", "[0,8]"), 9),
            "1 bytes follow the last tensor");
        row("MetadataIncompleteBuffer: far", file(tensorHeader("F32", "[2000]", "[0,8000]"), 8),
            "the last 7992 bytes are missing");
        row("MetadataIncompleteBuffer: none", file("{}", 3), "3 bytes follow");
    }

    void refusesMalformedFiles()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QByteArray, part);
        const auto header = read(bytes);
        QVERIFY(test::failsWith(header, ErrorCode::Corrupt, part.toStdString()));
        QVERIFY(test::failsWith(header, ErrorCode::Corrupt, "x.safetensors"));
        QVERIFY(header.error().message.ends_with('.') || header.error().message.ends_with(')'));
    }

    void namesOtherFormats_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QByteArray>("part");
        QTest::newRow("zip") << QByteArray("PK\3\4archive") << QByteArray("PyTorch");
        QTest::newRow("GGUF") << QByteArray("GGUF\3\0\0\0", 8) << QByteArray("GGUF");
        QTest::newRow("npy") << QByteArray("\x93NUMPY\1\0", 8) << QByteArray("NumPy");
        QTest::newRow("HDF5") << QByteArray("\x89HDF\r\n\x1a\n") << QByteArray("HDF5");
        QTest::newRow("pickle") << QByteArray::fromHex("80028a0a6cfc9c46f9206aa85019")
                                << QByteArray("before version 1.6");
        QTest::newRow("llama2.c") << QByteArray::fromHex("32346b6101000000") << QByteArray("llama2.c");
    }

    void namesOtherFormats()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QByteArray, part);
        QVERIFY(test::failsWith(read(bytes), ErrorCode::Unsupported, part.toStdString()));
    }

    void saysThatAnEnormousHeaderIsTheLimitOfThisVersion()
    {
        std::string bytes(100'000'009 + 8, ' ');
        const std::uint64_t length = 100'000'009;
        std::memcpy(bytes.data(), &length, 8);
        bytes[8] = '{';
        const auto header = readSafetensorsHeader(std::as_bytes(std::span(bytes)), "x.safetensors");
        QVERIFY(test::failsWith(header, ErrorCode::Unsupported, "a header of 100000009 bytes"));
    }

    /// Every prefix of a good file and every single changed byte gives an error or a header, never a fault (run under
    /// ASan).
    void survivesDamageAnywhere()
    {
        const QByteArray good = file(twoTensors(1, "[0,4]", 1, "[4,8]"), 8);
        QVERIFY(test::isOk(read(good)));
        for (qsizetype length = 0; length < good.size(); ++length)
            QVERIFY(!read(good.left(length)));
        for (qsizetype i = 0; i < good.size(); ++i) {
            for (const int flip : {1, 4, 32, 128}) {
                QByteArray bad = good;
                bad[i] = static_cast<char>(bad[i] ^ flip);
                const auto header = read(bad);
                if (header)
                    for (const StoredTensor& t : header->tensors)
                        QVERIFY(t.begin + t.byteCount <= static_cast<std::size_t>(bad.size()));
            }
        }
    }

    void everyDtypeHasItsNameAndWidth()
    {
        const char* names[] = {"BOOL",    "F4",      "F6_E2M3", "F6_E3M2",     "U8",          "I8",
                               "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "I16",
                               "U16",     "F16",     "BF16",    "I32",         "U32",         "F32",
                               "I64",     "U64",     "F64",     "C64"};
        const int bits[] = {8, 4, 6, 6, 8, 8, 8, 8, 8, 8, 8, 16, 16, 16, 16, 32, 32, 32, 64, 64, 64, 64};
        for (int i = 0; i < 22; ++i) {
            const auto dtype = static_cast<DType>(i);
            QCOMPARE(dtypeName(dtype), std::string_view(names[i]));
            QVERIFY(dtypeNamed(names[i]) == dtype);
            QCOMPARE(dtypeBits(dtype), bits[i]);
        }
        QVERIFY(!dtypeNamed("bf16"));
    }
};

HEADWISE_TEST(SafetensorsTest)
#include "safetensors_test.moc"
