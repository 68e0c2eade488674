#include "core/analysis/inputs/token_counts.h"
#include "core/checkpoint/npy.h"
#include "core/tokenizer/tokenizer.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QFile>
#include <QTemporaryDir>

#include <cmath>
#include <cstring>

using namespace headwise;
using test::failsWith;

namespace {

const std::vector<std::string> rawTokens{"a", "b", " a", "ab", "\"", ","},
    shownTokens{"a", "b", "␣a", "ab", "\"", ","};

std::vector<double> perId(const TokenCounts& counts)
{
    return counts.all();
}

} // namespace

/// Files with token counts of a text.
class TokenCountsTest : public QObject {
    Q_OBJECT

private slots:
    void init()
    {
        m_tokenizer = std::make_shared<const Tokenizer>(Tokenizer::fromVocabulary(shownTokens, rawTokens));
    }

    void allFormsSayTheSame_data()
    {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<QByteArray>("content");
        QTest::newRow("CSV") << QByteArray("c.csv") << QByteArray("a,3\n␣a,0.5\n#1,2\n");
        QTest::newRow("header, CRLF, mark, empty lines")
            << QByteArray("c.CSV")
            << QByteArray("\xEF\xBB\xBFToken,Count\r\na,3\r\n\r\n a,5e-1\r\nb, 2 \r\n");
        QTest::newRow("quoted, added up")
            << QByteArray("c.txt") << QByteArray("\"a\",1\n#0,2\n\" a\",0.5\nb,2");
        QTest::newRow("JSON") << QByteArray("c.json") << QByteArray("{\"a\": 3, \" a\": 0.5, \"#1\": 2}");
    }
    void allFormsSayTheSame()
    {
        QFETCH(QByteArray, name);
        QFETCH(QByteArray, content);
        const auto read = tokens(name, content);
        QVERIFY(test::isOk(read));
        QCOMPARE(perId(*read->counts), (std::vector<double>{3, 2, 0.5, 0, 0, 0}));
        QCOMPARE(read->counts->total(), 5.5);
        QCOMPARE(read->counts->source(), name.toStdString());
        QVERIFY(read->warning.empty());
        QCOMPARE(read->counts->of(1), 2.0);
        QCOMPARE(read->counts->of(-1) + read->counts->of(6), 0.0);
    }

    void aVectorIsOneNumberPerId()
    {
        const std::vector<double> numbers{3, 2, 0.5, 0, 0, 0};
        QByteArray bytes = QByteArray::fromStdString(npyHeader("<f8", {6}));
        bytes.append(reinterpret_cast<const char*>(numbers.data()), 48);
        const auto read = tokens("c.npy", bytes);
        QVERIFY(test::isOk(read));
        QCOMPARE(perId(*read->counts), numbers);
        QVERIFY(failsWith(readTokenCounts(write("c.npy", bytes), {m_tokenizer.get(), 7}), ErrorCode::Corrupt,
                          "holds 6 numbers, expected 7"));
        const double negative = -1;
        std::memcpy(bytes.data() + bytes.size() - 8, &negative, 8);
        QVERIFY(failsWith(tokens("c.npy", bytes), ErrorCode::Corrupt, "token 5 has a count below 0"));
    }

    // Commas and quotes are tokens too.
    void tokensOfPunctuationAreQuoted()
    {
        const auto read = tokens("c.csv", "\"\"\"\",7\n\",\",8\n");
        QVERIFY(test::isOk(read));
        QCOMPARE(read->counts->of(4), 7.0);
        QCOMPARE(read->counts->of(5), 8.0);
    }

    void wordsThatAreNoTokenAreCounted()
    {
        const auto read = tokens("c.csv", "a,3\nabra,4\n#6,5\nA,1\n");
        QVERIFY(test::isOk(read));
        QCOMPARE(
            read->warning,
            std::string("3 of the 4 words in 'c.csv' are not single tokens of this model and were ignored."));
        QCOMPARE(read->counts->total(), 3.0);
        QVERIFY(failsWith(tokens("c.csv", "abra,4\n"), ErrorCode::NotFound, "none of its 1 words"));
        const auto small = readTokenCounts(write("c.csv", "a,3\nab,4\n"), {m_tokenizer.get(), 3});
        QVERIFY(test::isOk(small)); // a tokenizer may know more ids than the model
        QVERIFY(small->warning.starts_with("1 of the 2 words"));
    }

    void withoutATokenizerIdsAreNames()
    {
        const auto read = readTokenCounts(write("c.csv", "#2,3\na,4\n"), {nullptr, 6});
        QVERIFY(test::isOk(read));
        QCOMPARE(perId(*read->counts), (std::vector<double>{0, 0, 3, 0, 0, 0}));
        QVERIFY(read->warning.starts_with("1 of the 2 words"));
    }

    void pairsAreLookedUpByTheSecond_data()
    {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<QByteArray>("content");
        QTest::newRow("CSV") << QByteArray("b.csv")
                             << QByteArray("first,second,count\n"
                                           "b,a,2\na,b,3\n#0,#0,4\n\" a\",b,0\nb,␣a,1\nb,a,0.5\nzz,a,9\n");
        QTest::newRow("JSON")
            << QByteArray("b.json")
            << QByteArray(
                   "[[\"b\",\"a\",2],[\"a\",\"b\",3],[\"#0\",\"#0\",4],[\" a\",\"b\",0],[\"b\",\"␣a\",1],[\"b\",\"a\",0.5],[\"zz\",\"a\",9]]");
    }
    void pairsAreLookedUpByTheSecond()
    {
        QFETCH(QByteArray, name);
        QFETCH(QByteArray, content);
        const auto read = bigrams(name, content);
        QVERIFY(test::isOk(read));
        const BigramCounts& counts = *read->counts;
        QCOMPARE(counts.seconds(), (std::vector<int>{0, 1, 2}));
        const auto before = counts.before(0);
        QCOMPARE(before.size(), std::size_t(2));
        QVERIFY(before[0].token == 0 && before[0].count == 4 && before[1].token == 1
                && before[1].count == 2.5);
        for (int first = -1; first < 7; ++first)
            for (int second = -1; second < 7; ++second) {
                const bool isOne = (first == 1 && second == 0) || (first == 0 && second == 0)
                    || (first == 0 && second == 1) || (first == 1 && second == 2);
                QCOMPARE(counts.of(first, second) > 0, isOne);
            }
        QCOMPARE(counts.of(0, 1), 3.0);
        QCOMPARE(counts.size(), std::size_t(4)); // none of what was never seen
        QCOMPARE(counts.total(), 10.5);
        QVERIFY(counts.before(5).empty());
        QVERIFY(read->warning.starts_with("1 of the 7 pairs in '"));
    }

    void fingerprintsTellCountsApart()
    {
        const TokenCounts counts("c", {1, 2, 3});
        QCOMPARE(TokenCounts("c", {1, 2, 3}).fingerprint(), counts.fingerprint());
        QVERIFY(TokenCounts("c", {1, 3, 2}).fingerprint() != counts.fingerprint());
        QVERIFY(TokenCounts("d", {1, 2, 3}).fingerprint() != counts.fingerprint());
        const BigramCounts pairs("b", {{0, 1, 2}, {1, 1, 3}});
        QCOMPARE(BigramCounts("b", {{1, 1, 3}, {0, 1, 2}}).fingerprint(), pairs.fingerprint());
        QVERIFY(BigramCounts("b", {{0, 1, 3}, {1, 1, 2}}).fingerprint() != pairs.fingerprint());
        QVERIFY(BigramCounts("b", {{0, 1, 2}, {1, 2, 3}}).fingerprint() != pairs.fingerprint());
    }

    void badFilesAreRefused_data()
    {
        QTest::addColumn<bool>("arePairs");
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char* what, bool arePairs, const char* name, const QByteArray& content,
                            const char* says) {
            QTest::newRow(what) << arePairs << QByteArray(name) << content << QByteArray(says);
        };
        row("empty", false, "c.csv", "", "'c.csv': it has no words");
        row("a header alone", false, "c.csv", "token,count\n", "it has no words; write a line token,count");
        row("one column", false, "c.csv", "a,1\nb\n", "line 2 has 1 column, expected 2: token,count");
        row("three columns", false, "c.csv", "a,1,2\n", "line 1 has 3 columns");
        row("two columns of pairs", true, "b.csv", "a,1\n", "expected 3: first,second,count");
        row("no number", false, "c.csv", "a,1\nb,many\n", "line 2 has a count that is not a number");
        row("a number and more", false, "c.csv", "a,1x\n", "line 1 has a count that is not a number");
        row("no count", false, "c.csv", "a,\n", "line 1 has a count that is not a number");
        row("a header later", false, "c.csv", "a,1\ntoken,count\n",
            "line 2 has a count that is not a number");
        row("negative", false, "c.csv", "a,-1\n", "line 1 has a count below 0");
        row("infinite", false, "c.csv", "a,inf\n", "line 1 has a count that is not finite");
        row("NaN", true, "b.csv", "a,b,nan\n", "line 1 has a count that is not finite");
        row("huge", false, "c.csv", "a,1e19\n", "more than 10^18");
        row("an empty word", true, "b.csv", "a,,1\n", "line 1 has an empty word");
        row("all zero", false, "c.csv", "a,0\n", "no token has a count above 0");
        row("all zero pairs", true, "b.csv", "a,b,0\n", "no pair has a count above 0");
        row("no UTF-8", false, "c.csv", "a,1\n\xFF,2\n", "line 2 is not UTF-8");
        row("an open quote", false, "c.csv", "a,1\n\"b,2\n", "line 2 does not end");
        row("bad JSON", false, "c.json", "{\"a\":", "c.json");
        row("a list", false, "c.json", "[1]", "expected an object {token: count}");
        row("an object", true, "b.json", "{}", "expected an array of [first, second, count]");
        row("no pairs", true, "b.json", "[]", "it has no pairs");
        row("a text", false, "c.json", "{\"a\":\"1\"}", "entry 1 has a count that is not a number");
        row("a negative entry", false, "c.json", "{\"a\":1,\"b\":-2}", "entry 2 has a count below 0");
        row("a pair", true, "b.json", "[[\"a\",\"b\",1],[\"a\",\"b\"]]",
            "entry 2 is not [first, second, count]");
        row("a token twice", false, "c.json", "{\"a\":1,\"a\":2}", "c.json");
    }
    void badFilesAreRefused()
    {
        QFETCH(bool, arePairs);
        QFETCH(QByteArray, name);
        QFETCH(QByteArray, content);
        QFETCH(QByteArray, says);
        if (arePairs)
            QVERIFY(failsWith(bigrams(name, content), ErrorCode::Corrupt, says.toStdString()));
        else
            QVERIFY(failsWith(tokens(name, content), ErrorCode::Corrupt, says.toStdString()));
    }

    void absentAndOverlongFilesAreRefused()
    {
        QVERIFY(failsWith(readTokenCounts("nowhere/c.csv", {}), ErrorCode::NotFound, "c.csv"));
        QFile file(m_folder.filePath("long.csv"));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.resize((qint64(32) << 20) + 1));
        QVERIFY(failsWith(readBigramCounts(file.fileName().toStdString(), {}), ErrorCode::Unsupported,
                          "long.csv"));
    }

    void wordsAreLines()
    {
        QCOMPARE(*readWords(write("n.txt", "Anna\r\n\n  Otto \nAnna\nname\n")),
                 (std::vector<std::string>{"Anna", "Otto", "name"}));
        QCOMPARE(*readWords(write("n.csv", "Name\nAnna\n\"Mary Ann\"\n")),
                 (std::vector<std::string>{"Anna", "Mary Ann"}));
        QVERIFY(failsWith(readWords(write("n.csv", "Anna\nOtto,Max\n")), ErrorCode::Corrupt,
                          "line 2 has 2 columns"));
        QVERIFY(failsWith(readWords(write("n.txt", " \n")), ErrorCode::Corrupt, "no words"));
        QVERIFY(failsWith(readWords(write("n.txt", QByteArray(201, 'a'))), ErrorCode::Corrupt, "201 bytes"));
        QVERIFY(failsWith(readWords(write("n.txt", "\xC3")), ErrorCode::Corrupt, "line 1 is not UTF-8"));
    }

private:
    std::filesystem::path write(const QByteArray& name, const QByteArray& content)
    {
        QFile file(m_folder.filePath(QString::fromUtf8(name)));
        if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size())
            qFatal("cannot write %s", name.constData());
        return file.fileName().toStdString();
    }
    Result<ReadCounts<TokenCounts>> tokens(const QByteArray& name, const QByteArray& content)
    {
        return readTokenCounts(write(name, content), {m_tokenizer.get(), 6});
    }
    Result<ReadCounts<BigramCounts>> bigrams(const QByteArray& name, const QByteArray& content)
    {
        return readBigramCounts(write(name, content), {m_tokenizer.get(), 6});
    }

    QTemporaryDir m_folder;
    std::shared_ptr<const Tokenizer> m_tokenizer;
};

HEADWISE_TEST(TokenCountsTest)
#include "token_counts_test.moc"
