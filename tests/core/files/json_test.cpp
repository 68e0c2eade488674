#include "core/files/json.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <nlohmann/json.hpp>

#include <QTemporaryDir>

#include <cmath>
#include <fstream>

using namespace headwise;
using namespace std::string_literals;

class JsonTest : public QObject {
    Q_OBJECT

private slots:
    void buildsTheValueThatIsWritten()
    {
        const auto value = parseJson(R"( {"a":[1,-2,2.0,{"b":null}],"c":"ä\n","d":true} )", "x.json");
        QVERIFY(test::isOk(value));
        QCOMPARE(QByteArray::fromStdString(value->dump()),
                 QByteArray(R"({"a":[1,-2,2.0,{"b":null}],"c":"ä\n","d":true})"));
    }

    void tellsIntegersFromOtherNumbers()
    {
        const auto value = parseJson("[2,-2,2.0,1e3,18446744073709551615,18446744073709551616]", "x.json");
        QVERIFY(test::isOk(value));
        QVERIFY((*value)[0].is_number_unsigned());
        QVERIFY((*value)[1].is_number_integer() && !(*value)[1].is_number_unsigned());
        QVERIFY((*value)[2].is_number_float() && (*value)[3].is_number_float());
        QCOMPARE((*value)[4].get<std::uint64_t>(), ~std::uint64_t{0});
        QVERIFY((*value)[5].is_number_float());
    }

    void namesTheNameThatOccursTwice()
    {
        QVERIFY(test::failsWith(parseJson(R"({"a":{"size":1,"b":{"size":2},"size":3}})", "config.json"),
                                ErrorCode::Corrupt, "'size' occurs twice"));
        QVERIFY(test::isOk(parseJson(R"({"size":1,"b":{"size":2}})", "config.json")));
    }

    void refusesWhatIsNotJson_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("part");
        QTest::newRow("empty") << QByteArray() << QByteArray("unexpected end of input");
        QTest::newRow("cut off") << QByteArray("{\n\"a\":") << QByteArray("line 2, column 5");
        QTest::newRow("two values") << QByteArray("{}{}") << QByteArray("line 1, column 3");
        QTest::newRow("comment") << QByteArray("{} // x") << QByteArray("x.json");
        QTest::newRow("bare NaN") << QByteArray(R"({"a":NaN})") << QByteArray("invalid literal");
        QTest::newRow("bad UTF-8") << QByteArray("{\"\xff\":1}")
                                   << QByteArray("line 1, column 3): the text is not valid UTF-8");
        QTest::newRow("lone surrogate") << QByteArray(R"(["\ud800"])") << QByteArray("surrogate");
        QTest::newRow("too deep") << QByteArray(129, '[') + QByteArray(129, ']')
                                  << QByteArray("deeper than 128");
        QTest::newRow("number too large") << QByteArray("[1e999]") << QByteArray("1e999");
    }

    void refusesWhatIsNotJson()
    {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, part);
        QVERIFY(
            test::failsWith(parseJson(text.toStdString(), "x.json"), ErrorCode::Corrupt, part.toStdString()));
    }

    void aDepthOfExactlyTheLimitIsRead()
    {
        QVERIFY(test::isOk(parseJson(std::string(128, '[') + std::string(128, ']'), "x.json")));
    }

    void readsNanAndInfinityWhenAllowed()
    {
        const auto value = parseJson("{\"a\":NaN,\"b\":[-Infinity,Infinity],\"c\":\"NaN \\\" Infinity\"}",
                                     "x.json", {.allowNonFinite = true});
        QVERIFY(test::isOk(value));
        QVERIFY(std::isnan((*value)["a"].get<double>()));
        QCOMPARE((*value)["b"][0].get<double>(), -std::numeric_limits<double>::infinity());
        QCOMPARE((*value)["b"][1].get<double>(), std::numeric_limits<double>::infinity());
        QCOMPARE((*value)["c"].get<std::string>(), "NaN \" Infinity"s);
    }

    void faultsBehindNanStandWhereTheFileHasThem()
    {
        const auto parsed = [](std::string_view text) {
            return parseJson(text, "x.json", {.allowNonFinite = true});
        };
        const auto fault = [&](std::string_view text, const char* place) {
            return test::failsWith(parsed(text), ErrorCode::Corrupt, place);
        };
        QVERIFY(fault(R"({"a":1,"b":2,})", "line 1, column 14"));
        QVERIFY(fault(R"({"a":NaN,"b":-Infinity,})", "line 1, column 24"));
        QVERIFY(fault("{\"a\":NaN,\n\"b\":-Infinity,\n\"c\":}", "line 3, column 5"));
        QVERIFY(fault(R"({"a":1 NaN})", "line 1, column 8"));
        QVERIFY(fault("{NaN:1}", "the name 'NaN' has no quotes"));
    }

    void aStringNeverBecomesANumber()
    {
        const auto value = parseJson(R"({"a":"\u0000NaN"})", "x.json", {.allowNonFinite = true});
        QVERIFY(test::isOk(value));
        QCOMPARE((*value)["a"].get<std::string>(), "\0NaN"s);
    }

    void readsAFileAndRefusesOthers()
    {
        const QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        std::ofstream(root / "a.json") << std::string(100000, 'x');
        const auto text = readTextFile(root / "a.json");
        QVERIFY(test::isOk(text));
        QCOMPARE(*text, std::string(100000, 'x'));
        QVERIFY(test::isOk(readTextFile(root / "a.json", 100000)));
        QVERIFY(test::failsWith(readTextFile(root / "a.json", 99999), ErrorCode::Unsupported, "99999 bytes"));
        QVERIFY(test::failsWith(readTextFile(root / "none.json"), ErrorCode::NotFound, "none.json"));
        QVERIFY(test::failsWith(readTextFile(root), ErrorCode::Unsupported, "regular file"));
    }
};

HEADWISE_TEST(JsonTest)
#include "json_test.moc"
