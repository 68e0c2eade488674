#include "core/io/token_search.h"

#include "core/io/tokenizer.h"
#include "tests/support/matchers.h"

using namespace headwise;

namespace {

Tokenizer smallVocabulary()
{
    return Tokenizer::fromVocabulary({"␣the", "the", "␣other", "[unused 3]", "␣The", "x"},
                                     {" the", "the", " other", "", " The", "x"});
}

} // namespace

class TokenSearchTest : public QObject {
    Q_OBJECT

private slots:
    void putsTheExactTokenFirstThenBeginningsThenTheRest()
    {
        const Tokenizer tokenizer = smallVocabulary();
        QCOMPARE(searchTokens(tokenizer, "the", 10), (std::vector<int>{1, 0, 2, 4}));
        QCOMPARE(searchTokens(tokenizer, "␣the", 10), (std::vector<int>{0, 4}));
    }

    void respectsTheLimitAndFindsNothingInNothing()
    {
        const Tokenizer tokenizer = smallVocabulary();
        QCOMPARE(searchTokens(tokenizer, "the", 2), (std::vector<int>{1, 0}));
        QVERIFY(searchTokens(tokenizer, "", 10).empty());
        QVERIFY(searchTokens(tokenizer, "zebra", 10).empty());
    }

    void samplesWholeWords() { QCOMPARE(sampleOfWords(smallVocabulary(), 2), (std::vector<int>{0, 2})); }
};

QTEST_APPLESS_MAIN(TokenSearchTest)
#include "token_search_test.moc"
