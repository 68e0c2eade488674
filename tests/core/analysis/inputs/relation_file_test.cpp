#include "core/analysis/inputs/relation_file.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QFile>
#include <QTemporaryDir>

using namespace headwise;
using test::failsWith;
using test::isOk;

class RelationFileTest : public QObject {
    Q_OBJECT

private slots:
    void relationsFromCsvByHand()
    {
        const auto read =
            relationsFromCsv("\xEF\xBB\xBFsource,target\r\nFrance,Paris\r\n\r\n\"a,b\",\"say \"\"x\"\"\"\n",
                             "folder/capitals.csv");
        QVERIFY(isOk(read));
        QCOMPARE(*read, (std::vector<Relation>{{"capitals", {{"France", "Paris"}, {"a,b", "say \"x\""}}}}));
    }

    void relationsFromJsonByHand()
    {
        const auto pairs = relationsFromJson(R"([["a","b"],["c","d"]])", "letters.json");
        QCOMPARE(*pairs, (std::vector<Relation>{{"letters", {{"a", "b"}, {"c", "d"}}}}));
        const auto named = relationsFromJson(R"({"pairs":[["a","b"]],"name":"next"})", "letters.json");
        QCOMPARE(*named, (std::vector<Relation>{{"next", {{"a", "b"}}}}));
        const auto many =
            relationsFromJson(R"([{"name":"x","pairs":[["a","b"]]},{"pairs":[["c","d"]]}])", "y.json");
        QCOMPARE(*many, (std::vector<Relation>{{"x", {{"a", "b"}}}, {"y", {{"c", "d"}}}}));
    }

    void badRelationFilesAreRefused_data()
    {
        QTest::addColumn<QByteArray>("file");
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char* name, const char* file, const QByteArray& text, const char* says) {
            QTest::newRow(name) << QByteArray(file) << text << QByteArray(says);
        };
        row("three columns", "r.csv", "a,b\nc,d,e\n", "'r.csv': line 2 has 3 columns");
        row("one column", "r.csv", "a,b\n\nword\n", "line 3 has 1 column,");
        row("empty word", "r.csv", "a,b\nc, \n", "line 2 has an empty word");
        row("open quote", "r.csv", "a,b\n\"c,d\n", "line 2 does not end");
        row("no UTF-8", "r.csv", "a,b\nc,\xff\n", "line 2 is not UTF-8");
        row("NUL", "r.csv", QByteArray("a,b\0c\n", 6), "NUL");
        row("a long word", "r.csv", "a," + QByteArray(201, 'x'), "a word of 201 bytes");
        row("nothing", "r.csv", "", "no pairs");
        row("a header alone", "r.csv", "Source,Target\n", "no pairs");
        row("bad JSON", "r.json", "[[\"a\",", "r.json");
        row("a number", "r.json", "3", "no pairs");
        row("no pairs", "r.json", "[]", "no pairs");
        row("a triple", "r.json", R"([["a","b"],["a","b","c"]])",
            "pair 2 of 'r' is not an array of two strings");
        row("a number inside", "r.json", R"([["a",1]])", "pair 1 of 'r' is not");
        row("an object without pairs", "r.json", R"({"name":"x"})", "no \"pairs\"");
        row("a name that is none", "r.json", R"({"name":3,"pairs":[["a","b"]]})", "\"name\" is not a string");
        row("an empty name", "r.json", R"({"name":"","pairs":[["a","b"]]})", "\"name\" is an empty word");
        row("a name twice", "r.json", R"([{"pairs":[["a","b"]]},{"pairs":[["a","b"]]}])",
            "two relations named 'r'");
        row("a mixture", "r.json", R"([{"pairs":[["a","b"]]},["a","b"]])", "relation 2 is not an object");
    }
    void badRelationFilesAreRefused()
    {
        QFETCH(QByteArray, file);
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, says);
        const QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / file.toStdString();
        QFile out(QString::fromStdString(path.string()));
        QVERIFY(out.open(QIODevice::WriteOnly));
        out.write(text);
        out.close();
        QVERIFY(failsWith(readRelations(path), ErrorCode::Corrupt, says.toStdString()));
    }

    void anAbsentRelationFileIsNotFound()
    {
        QVERIFY(failsWith(readRelations("nowhere/none.csv"), ErrorCode::NotFound, "none.csv"));
    }
};

HEADWISE_TEST(RelationFileTest)
#include "relation_file_test.moc"
