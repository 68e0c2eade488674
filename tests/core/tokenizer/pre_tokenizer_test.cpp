#include "core/tokenizer/pre_tokenizer.h"

#include "core/tokenizer/token_normalizer.h"
#include "core/tokenizer/token_pattern.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

using namespace headwise;

namespace {

constexpr const char* gpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* qwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

PreTokenizerStep splitBy(const char* regex, SplitBehavior behavior = SplitBehavior::Isolated)
{
    PreTokenizerStep step;
    step.kind = PreTokenizerStep::Kind::Split;
    step.pattern = {true, regex};
    step.behavior = behavior;
    return step;
}

std::string pieces(const PreTokenizerStep& step, const char* text, bool startsText = true)
{
    const auto preTokenizer = PreTokenizer::create({step});
    if (!preTokenizer)
        return preTokenizer.error().message;
    const auto found = preTokenizer->pieces({text, startsText});
    if (!found)
        return found.error().message;
    std::string joined;
    for (const TextPiece& piece : *found)
        joined += (joined.empty() ? "" : "|") + piece.text;
    return joined;
}

std::string normalized(const NormalizerStep& step, const char* text)
{
    const auto normalizer = TokenNormalizer::create({step});
    return normalizer ? normalizer->normalized(text).value() : normalizer.error().message;
}

std::vector<std::string> matchesOf(const char* regex, std::string_view text)
{
    const auto pattern = TokenPattern::compile({true, regex});
    if (!pattern)
        return {pattern.error().message};
    const auto matches = pattern->matches(text);
    if (!matches)
        return {matches.error().message};
    std::vector<std::string> found;
    for (const TokenPattern::Match& match : *matches)
        found.emplace_back(text.substr(match.begin, match.end - match.begin));
    return found;
}

using Strings = std::vector<std::string>;

} // namespace

class PreTokenizerTest : public QObject {
    Q_OBJECT

private slots:
    void splitsAsPerlDoes_data();
    void splitsAsPerlDoes();
    void joinsMatchesWithTheirNeighboursAsAsked();
    void marksSpacesOnlyWhereTheSchemeSays();
    void digitsAreOfAllScripts();
    void whiteSpaceIsThatOfUnicode();
    void wordsOfOnigurumaMeanTheSame();
    void aClassWithinAClassIsAUnion();
    void emptyMatchesMoveOn();
    void aBadPatternIsAnErrorWithItsReason();
    void aPatternThatNeverEndsIsStopped();
    void normalizersDoWhatTheirNamesSay();
    void aTextThatGrowsWithoutMeasureIsRefused();
};

// Perl 5.36 and PCRE2 10.42 agree on these.
void PreTokenizerTest::splitsAsPerlDoes_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("gpt2Pieces");
    QTest::addColumn<QByteArray>("llama3Pieces");
    QTest::addColumn<QByteArray>("qwen2Pieces");
    const auto row = [](const char* text, const char* a, const char* b, const char* c) {
        QTest::newRow(text) << QByteArray(text) << QByteArray(a) << QByteArray(b) << QByteArray(c);
    };
    const auto same = [&row](const char* text, const char* all) { row(text, all, all, all); };
    same("Hello world", "Hello| world");
    same("  leading", " | leading");
    row("don't DON'T", "don|'t| DON|'|T", "don|'t| DON|'T", "don|'t| DON|'T");
    row("x=12345;", "x|=|12345|;", "x|=|123|45|;", "x|=|1|2|3|4|5|;");
    row("tab\tnew\n\nline", "tab|\t|new|\n|\n|line", "tab|\tnew|\n\n|line", "tab|\tnew|\n\n|line");
    same("naïve café 日本語", "naïve| café| 日本語");
    same("trailing  ", "trailing|  ");
    same("a \r\n b", "a| \r\n| b");
    row("foo_bar(x)->y", "foo|_|bar|(|x|)->|y", "foo|_bar|(x|)->|y", "foo|_bar|(x|)->|y");
    row("²½ ٣4", "²½| ٣4", "²½| |٣4", "²|½| |٣|4");
    row("\u00A0nb", "\u00A0|nb", "\u00A0nb", "\u00A0nb");
    row("It's\n  indented", "It|'s|\n | indented", "It|'s|\n| | indented", "It|'s|\n| | indented");
    row("a\u3000\u3000b", "a|\u3000|\u3000|b", "a|\u3000|\u3000b", "a|\u3000|\u3000b");
}

void PreTokenizerTest::splitsAsPerlDoes()
{
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, gpt2Pieces);
    QFETCH(QByteArray, llama3Pieces);
    QFETCH(QByteArray, qwen2Pieces);
    QCOMPARE(QByteArray::fromStdString(pieces(splitBy(gpt2Pattern), text)), gpt2Pieces);
    QCOMPARE(QByteArray::fromStdString(pieces(splitBy(llama3), text)), llama3Pieces);
    QCOMPARE(QByteArray::fromStdString(pieces(splitBy(qwen2), text)), qwen2Pieces);
}

void PreTokenizerTest::joinsMatchesWithTheirNeighboursAsAsked()
{
    // The example of the library's documentation.
    const auto split = [](SplitBehavior behavior) {
        return pieces(splitBy("-", behavior), "the-final--countdown");
    };
    QCOMPARE(split(SplitBehavior::Removed), std::string("the|final|countdown"));
    QCOMPARE(split(SplitBehavior::Isolated), std::string("the|-|final|-|-|countdown"));
    QCOMPARE(split(SplitBehavior::MergedWithPrevious), std::string("the-|final-|-|countdown"));
    QCOMPARE(split(SplitBehavior::MergedWithNext), std::string("the|-final|-|-countdown"));
    QCOMPARE(split(SplitBehavior::Contiguous), std::string("the|-|final|--|countdown"));
    PreTokenizerStep inverted = splitBy("[a-z]+", SplitBehavior::Removed);
    inverted.invert = true;
    QCOMPARE(pieces(inverted, "the-final--countdown"), std::string("the|final|countdown"));
}

void PreTokenizerTest::marksSpacesOnlyWhereTheSchemeSays()
{
    PreTokenizerStep step;
    step.kind = PreTokenizerStep::Kind::Metaspace;
    QCOMPARE(pieces(step, "a  b"), std::string("▁a|▁|▁b"));
    QCOMPARE(pieces(step, " a"), std::string("▁a"));
    step.prependScheme = PrependScheme::First;
    QCOMPARE(pieces(step, "a b", false), std::string("a|▁b"));
    step.prependScheme = PrependScheme::Never;
    QCOMPARE(pieces(step, "a b"), std::string("a|▁b"));
    step.split = false;
    QCOMPARE(pieces(step, "a b"), std::string("a▁b"));
}

void PreTokenizerTest::digitsAreOfAllScripts()
{
    PreTokenizerStep step;
    step.kind = PreTokenizerStep::Kind::Digits;
    QCOMPARE(pieces(step, "a12²٣b"), std::string("a|12²٣|b"));
    step.individualDigits = true;
    QCOMPARE(pieces(step, "a12²٣b"), std::string("a|1|2|²|٣|b"));
}

void PreTokenizerTest::whiteSpaceIsThatOfUnicode()
{
    QCOMPARE(matchesOf("\\s", " \t\n\u000B\u0085\u00A0\u1680\u2003\u2028\u202F\u205F\u3000").size(),
             std::size_t{12});
    QCOMPARE(matchesOf("\\s", "\u180E\uFEFF\u200B\x1F"), Strings{});
    QCOMPARE(matchesOf("[^\\S\\n]", " \n\u3000"), (Strings{" ", "\u3000"}));
}

void PreTokenizerTest::wordsOfOnigurumaMeanTheSame()
{
    QCOMPARE(matchesOf("\\h+", "xFACE z"), (Strings{"FACE"}));
    QCOMPARE(matchesOf("[\\hx]+", "zxFACE z"), (Strings{"xFACE"}));
    QCOMPARE(matchesOf("\\w+", "e\u0301_1 Ⓐ‿b"), (Strings{"e\u0301_1", "Ⓐ‿b"}));
    QCOMPARE(matchesOf("\\W", "a b"), (Strings{" "}));
    QCOMPARE(matchesOf("\\p{Letter}+\\p{^Letter}", "1ab2"), (Strings{"ab2"}));
    QCOMPARE(matchesOf("\\p{Han}+", "ー々日本"),
             (Strings{"々日本"})); // ー is of Katakana and Hiragana, in extensions also Han
    QCOMPARE(matchesOf("\\u65e5", "日本"), (Strings{"日"}));
    QCOMPARE(matchesOf("a$", "a\na"), (Strings{"a", "a"}));
    QCOMPARE(matchesOf("(?i:'s)", "'S 'ſ"), (Strings{"'S", "'ſ"}));
}

void PreTokenizerTest::aClassWithinAClassIsAUnion()
{
    QCOMPARE(pieces(splitBy(" ?[^(\\s|[.,!?…。，、।۔،])]+"), "Hi there, (you)|!"),
             std::string("Hi| there|, (|you|)|!"));
    QVERIFY(!pcre2Syntax("[a-z&&[^aeiou]]"));
    QVERIFY(!pcre2Syntax("[a[^b]]"));
    QVERIFY(!pcre2Syntax("[\\W]"));
    QCOMPARE(pcre2Syntax("[[:alpha:]]").value_or(""), std::string("[[:alpha:]]"));
}

void PreTokenizerTest::emptyMatchesMoveOn()
{
    QCOMPARE(matchesOf("x*", "axb"), (Strings{"", "x", ""}));
    QCOMPARE(matchesOf("x*", "日").size(), std::size_t{2});
    QCOMPARE(matchesOf("", "abc"), Strings{});
}

void PreTokenizerTest::aBadPatternIsAnErrorWithItsReason()
{
    QVERIFY(test::failsWith(TokenPattern::compile({true, "(a"}), ErrorCode::Corrupt,
                            "missing closing parenthesis"));
    QVERIFY(test::failsWith(TokenPattern::compile({true, "[a&&b]"}), ErrorCode::Unsupported, "[a&&b]"));
    QVERIFY(test::failsWith(TokenPattern::compile({true, std::string(2 << 20, 'a')}), ErrorCode::Corrupt,
                            "longer"));
    QVERIFY(test::failsWith(TokenPattern::compile({true, "\\"}), ErrorCode::Corrupt, "does not compile"));
    QVERIFY(test::failsWith(TokenPattern::compile({true, "[\\p{"}), ErrorCode::Corrupt, "does not compile"));
    QVERIFY(test::isOk(TokenPattern::compile({false, "(a"})));
}

void PreTokenizerTest::aPatternThatNeverEndsIsStopped()
{
    const auto pattern = TokenPattern::compile({true, "(a|aa)+$"});
    QVERIFY(test::isOk(pattern));
    QVERIFY(test::failsWith(pattern->matches(std::string(200, 'a') + "b"), ErrorCode::Corrupt,
                            "cannot be matched"));
}

void PreTokenizerTest::normalizersDoWhatTheirNamesSay()
{
    using Kind = NormalizerStep::Kind;
    const auto step = [](Kind kind) {
        NormalizerStep made;
        made.kind = kind;
        return made;
    };
    QCOMPARE(normalized(step(Kind::Nfc), "e\u0301 \u212B"), std::string("\u00E9 \u00C5"));
    QCOMPARE(normalized(step(Kind::Nfd), "\u00E9"), std::string("e\u0301"));
    QCOMPARE(normalized(step(Kind::Nfkc), "ﬁ² e\u0301"), std::string("fi2 \u00E9"));
    QCOMPARE(normalized(step(Kind::Nfkd), "ﬁ \u00E9"), std::string("fi e\u0301"));
    QCOMPARE(normalized(step(Kind::Lowercase), "ÀΣİ"), std::string("àσi\u0307"));
    QCOMPARE(normalized(step(Kind::StripAccents), "e\u0301 नि"), std::string("e न"));
    QCOMPARE(normalized(step(Kind::Strip), " \u3000 a b \n"), std::string("a b"));
    QCOMPARE(normalized(step(Kind::ByteLevel), "a é"), std::string("aĠÃ©"));
    NormalizerStep replace = step(Kind::Replace);
    replace.pattern = {true, " {2,}"};
    replace.content = "_";
    QCOMPARE(normalized(replace, "a  b c"), std::string("a_b c"));
    NormalizerStep prepend = step(Kind::Prepend);
    prepend.content = "▁";
    QCOMPARE(normalized(prepend, "a"), std::string("▁a"));
    QCOMPARE(normalized(prepend, ""), std::string());
}

void PreTokenizerTest::aTextThatGrowsWithoutMeasureIsRefused()
{
    NormalizerStep thousand;
    thousand.kind = NormalizerStep::Kind::Replace;
    thousand.pattern = {false, "a"};
    thousand.content = std::string(1000, 'a');
    QCOMPARE(normalized(thousand, "aa").size(), std::size_t(2000));
    const auto normalizer = TokenNormalizer::create({thousand, thousand, thousand});
    QVERIFY(test::isOk(normalizer));
    QVERIFY(test::failsWith(normalizer->normalized("a"), ErrorCode::Corrupt, "1048608 bytes"));
    QCOMPARE(normalizer->normalized("bc").value(), std::string("bc"));
}

HEADWISE_TEST(PreTokenizerTest)
#include "pre_tokenizer_test.moc"
