#include "core/analysis/inputs/token_counts.h"
#include "core/analysis/inputs/token_filter.h"

#include "tests/support/changed_toy.h"
#include "tests/support/program.h"

using namespace headwise;

namespace {

const TokenFilter ascii{.asciiOnly = true};
const TokenFilter words{.wordsOnly = true};
const TokenFilter trained{.trainedOnly = true};

} // namespace

class TokenFilterTest : public QObject {
    Q_OBJECT

private slots:
    void looksAtTheText_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<bool>("isAscii");
        QTest::addColumn<bool>("isWord");
        QTest::newRow("word") << QByteArray("the") << true << true;
        QTest::newRow("word behind a space") << QByteArray(" the") << true << true;
        QTest::newRow("two spaces") << QByteArray("  the") << true << false;
        QTest::newRow("a space behind") << QByteArray("the ") << true << false;
        QTest::newRow("number") << QByteArray(" 42") << true << false;
        QTest::newRow("letters and number") << QByteArray("b2") << true << false;
        QTest::newRow("apostrophe") << QByteArray("'s") << true << false;
        QTest::newRow("two words") << QByteArray("of the") << true << false;
        QTest::newRow("new line") << QByteArray("\n") << false << false;
        QTest::newRow("two lines of letters") << QByteArray("a\nb") << false << false;
        QTest::newRow("umlaut") << QByteArray(" \xc3\xbc"
                                              "ber")
                                << false << true;
        QTest::newRow("combining accent") << QByteArray("e\xcc\x81") << false << true;
        QTest::newRow("Chinese") << QByteArray("\xe4\xb8\xad") << false << true;
        QTest::newRow("quotation mark") << QByteArray("\xe2\x80\x9c") << false << false;
        QTest::newRow("part of a letter") << QByteArray("\xc3") << false << false;
        QTest::newRow("space") << QByteArray(" ") << true << false;
    }
    void looksAtTheText()
    {
        QFETCH(QByteArray, text);
        QFETCH(bool, isAscii);
        QFETCH(bool, isWord);
        QCOMPARE(passes(ascii, text.toStdString()), isAscii);
        QCOMPARE(passes(words, text.toStdString()), isWord);
        QCOMPARE(passes({.asciiOnly = true, .wordsOnly = true}, text.toStdString()), isAscii && isWord);
        QVERIFY(passes(trained, text.toStdString()) && passes({}, text.toStdString()));
    }

    void isNamedAsOnTheCommandLine()
    {
        QCOMPARE(filterName({}), std::string());
        QCOMPARE(
            filterName({.asciiOnly = true,
                        .noSpecials = true,
                        .leadingSpace = TokenFilter::LeadingSpace::With,
                        .firstId = 3,
                        .lastId = 99,
                        .lowestNorm = 0.5,
                        .highestNorm = 2.25}),
            std::string(
                "--ascii --no-specials --leading-space with --first-id 3 --last-id 99 --min-norm 0.5 --max-norm 2.25"));
    }

    void standsOnArraysOfTokensAndOnMeasuredLengths()
    {
        ResultSet results;
        for (const char* path : {"tables/full_ov/ids", "analyses/salient_tokens/ids", "scores/copying",
                                 "spectra/ov/z", "analyses/attention/patterns", "analyses/unknown/array"}) {
            ResultArray array;
            array.path = path;
            results.arrays.push_back(array);
        }
        results.arrays[3].attributes["metric"] = std::string("embedding covariance");
        markFilter(results, {});
        for (const ResultArray& array : results.arrays)
            QVERIFY(filterOf(array).empty());
        markFilter(results, words);
        QCOMPARE(filterOf(results.arrays[0]), std::string("--words"));
        QCOMPARE(filterOf(results.arrays[1]), std::string("--words"));
        QCOMPARE(filterOf(results.arrays[2]), std::string());
        QCOMPARE(filterOf(results.arrays[3]), std::string("--words"));
        QCOMPARE(filterOf(results.arrays[4]), std::string());
        QCOMPARE(filterOf(results.arrays[5]), std::string("--words"));
    }

    // 48 rows at distances 10 … 11 from their mean, in opposite pairs, and two at the mean.
    void findsRowsThatStayedAtTheMean()
    {
        test::ToyOptions options;
        options.dVocab = 50;
        test::ChangedToy toy(options);
        Matrix<double> E = Matrix<double>::Zero(50, 7);
        for (Eigen::Index i = 0; i < 24; ++i) {
            E(2 * i, i % 7) = 10 + static_cast<double>(i) / 24;
            E(2 * i + 1, i % 7) = -E(2 * i, i % 7);
        }
        E.rowwise() += RowVector<double>::LinSpaced(7, 1, 3);
        E.row(20).swap(E.row(48)); // tokens 20 and 49 are the two at the mean
        toy.set("embed.W_E", 0, E);
        const ProcessedWeights weights = toy.circuits().weights();
        const auto marks = hardlyTrained(weights, {}, Task{});
        QVERIFY(test::isOk(marks));
        for (std::size_t id = 0; id < 50; ++id)
            QCOMPARE(bool((*marks)[id]), id == 20 || id == 49);
        std::vector<bool> unused(50, false);
        unused[49] = true;
        QVERIFY(!(*hardlyTrained(weights, unused, Task{}))[49]);

        std::vector<std::string> shown(50, "a"), bytes(50, "a");
        bytes[7] = "7";
        const auto tokenizer = Tokenizer::fromVocabulary(shown, bytes);
        const auto left =
            leftOutTokens({.wordsOnly = true, .trainedOnly = true}, &tokenizer, weights, unused, Task{});
        QVERIFY(test::isOk(left));
        for (std::size_t id = 0; id < 50; ++id)
            QCOMPARE(bool((*left)[id]), id == 7 || id == 20 || id == 49);
        std::stop_source stop;
        stop.request_stop();
        Task cancelled;
        cancelled.stop = stop.get_token();
        QVERIFY(test::failsWith(hardlyTrained(weights, {}, cancelled), ErrorCode::Cancelled, ""));
    }

    void looksAtTheIdTheSpaceTheNormAndTheKind()
    {
        test::ToyOptions options;
        options.dVocab = 6;
        test::ChangedToy toy(options);
        Matrix<double> E = Matrix<double>::Zero(6, 7);
        for (int id = 0; id < 6; ++id)
            E(id, id) = 1 + id; // its norm
        toy.set("embed.W_E", 0, E);
        const ProcessedWeights weights = toy.circuits().weights();
        const std::vector<std::string> text{"a", " b", "c", " d", "e", " f"};
        const auto tokenizer = Tokenizer::fromVocabulary(text, text);
        const auto kept = [&](const TokenFilter& filter, const Tokenizer* of) {
            const auto left =
                leftOutTokens(filter, of, weights, {false, false, false, false, true, false}, {});
            std::vector<int> ids;
            for (int id = 0; id < 6; ++id)
                if (left && !(*left)[static_cast<std::size_t>(id)])
                    ids.push_back(id);
            return ids;
        };
        using Ids = std::vector<int>;
        QCOMPARE(kept({}, &tokenizer), (Ids{0, 1, 2, 3, 5}));
        QCOMPARE(kept({.firstId = 1, .lastId = 3}, nullptr), (Ids{1, 2, 3}));
        QCOMPARE(kept({.leadingSpace = TokenFilter::LeadingSpace::With}, &tokenizer), (Ids{1, 3, 5}));
        QCOMPARE(kept({.leadingSpace = TokenFilter::LeadingSpace::Without}, &tokenizer), (Ids{0, 2}));
        QCOMPARE(kept({.lowestNorm = 2, .highestNorm = 4.5}, nullptr), (Ids{1, 2, 3}));
        const auto counts =
            std::make_shared<const TokenCounts>("c.csv", std::vector<double>{3, 0, 2.5, 2, 9});
        QCOMPARE(kept({.lowestCount = 2.5, .counts = counts}, nullptr), (Ids{0, 2})); // 4 is no token
        QCOMPARE(kept({.lastId = 1, .lowestCount = 0, .counts = counts}, nullptr), (Ids{0, 1}));
        QCOMPARE(kept({.lowestCount = 2.5}, nullptr), (Ids{0, 1, 2, 3, 5})); // without counts
        QVERIFY(!TokenFilter{}.isOn() && TokenFilter{.lastId = 3}.isOn()
                && !TokenFilter{.lastId = 3}.asksForText());
    }

    void marksNothingWhereRowsAreAlike()
    {
        test::ChangedToy toy(test::ToyOptions{});
        toy.set("embed.W_E", 0, Matrix<double>::Ones(11, 7));
        const auto marks = hardlyTrained(toy.circuits().weights(), {}, Task{});
        QVERIFY(test::isOk(marks));
        QCOMPARE(std::count(marks->begin(), marks->end(), true), 0);
    }
};

HEADWISE_TEST(TokenFilterTest)
#include "token_filter_test.moc"
