#include "core/tokenizer/token_search.h"

#include "core/tokenizer/tokenizer.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QElapsedTimer>

using namespace headwise;
using namespace headwise::test;

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

    void aPromptWithoutATokenizerIsIds()
    {
        QCOMPARE(*promptTokens("#3 #5 #112", nullptr, 113), (std::vector<int>{3, 5, 112}));
        QCOMPARE(*promptTokens(" 3,5 ,\t112\n", nullptr, 113), (std::vector<int>{3, 5, 112}));
        QVERIFY(promptTokens(" , ", nullptr, 113)->empty());
        for (const std::string wrong : {"113", "-1", "#", "##3", "3#5", "five", "3.0", "99999999999"}) {
            const auto ids = promptTokens("3 " + wrong, nullptr, 113);
            QVERIFY2(!ids, wrong.c_str());
            QVERIFY(ids.error().code == ErrorCode::InvalidArgument);
            QVERIFY2(ids.error().message.find("'" + wrong + "'") != std::string::npos,
                     ids.error().message.c_str());
            QVERIFY(ids.error().message.find("0 to 112") != std::string::npos);
        }
    }

    void respectsTheLimitAndFindsNothingInNothing()
    {
        const Tokenizer tokenizer = smallVocabulary();
        QCOMPARE(searchTokens(tokenizer, "the", 2), (std::vector<int>{1, 0}));
        QVERIFY(searchTokens(tokenizer, "", 10).empty());
        QVERIFY(searchTokens(tokenizer, "zebra", 10).empty());
    }

    void aPatternStandsBetweenSlashes()
    {
        QCOMPARE(patternIn("/^the$/"), std::optional<std::string_view>("^the$"));
        for (const char* plain : {"", "/", "//", "/the", "the/", "the"})
            QVERIFY2(!patternIn(plain), plain);
    }

    void findsWhatAPatternMatches()
    {
        const Tokenizer tokenizer = smallVocabulary();
        const auto found = [&](const char* pattern, int limit = 10) {
            const auto ids = matchingTokens(tokenizer, pattern, limit, Task{});
            return ids ? *ids : std::vector<int>{-1};
        };
        QCOMPARE(found("^the$"), std::vector<int>{1});
        QCOMPARE(found("^␣the$"), std::vector<int>{0}); // shown form
        QCOMPARE(found("^ the$"), std::vector<int>{0}); // raw text
        QCOMPARE(found("[Tt]he"), (std::vector<int>{0, 1, 2, 4}));
        QCOMPARE(found("(?i)THE$"), (std::vector<int>{0, 1, 4}));
        QCOMPARE(found("the", 2), (std::vector<int>{0, 1}));
        QCOMPARE(found("unused"), std::vector<int>{}); // an id without a token
        QCOMPARE(found("zebra"), std::vector<int>{});
    }

    void saysWhatIsWrongWithAPattern()
    {
        const Tokenizer tokenizer = smallVocabulary();
        QVERIFY(failsWith(
            matchingTokens(tokenizer, "(the", 10, Task{}), ErrorCode::InvalidArgument,
            "Pattern '(the' is not a regular expression: missing closing parenthesis (at byte 4)."));
        const std::string longToken(4000, 'a');
        const Tokenizer hard = Tokenizer::fromVocabulary({"the", longToken}, {"the", longToken});
        QElapsedTimer clock;
        clock.start();
        QVERIFY(failsWith(matchingTokens(hard, "(a+)+(a+)+(a+)+[^a]", 10, Task{}), ErrorCode::InvalidArgument,
                          "takes too many steps on token 1"));
        QVERIFY(clock.elapsed() < 5000); // without a limit it would not end
        std::stop_source stop;
        stop.request_stop();
        Task stoppedTask;
        stoppedTask.stop = stop.get_token();
        QVERIFY(failsWith(matchingTokens(tokenizer, "the", 10, stoppedTask), ErrorCode::Cancelled, ""));
    }

    void partsOfCharactersMatchNothing()
    {
        const Tokenizer tokenizer = Tokenizer::fromVocabulary({"<0xE2>", "é"}, {"\xE2", "\xC3\xA9"});
        const auto ids = matchingTokens(tokenizer, ".", 10, Task{});
        QVERIFY(isOk(ids));
        QCOMPARE(*ids, (std::vector<int>{0, 1})); // the first by how it is shown
        QCOMPARE(*matchingTokens(tokenizer, "^.$", 10, Task{}), std::vector<int>{1});
    }

    void samplesWholeWords() { QCOMPARE(sampleOfWords(smallVocabulary(), 2), (std::vector<int>{0, 2})); }
};

HEADWISE_TEST(TokenSearchTest)
#include "token_search_test.moc"
