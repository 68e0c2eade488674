#include "core/tokenizer/token_text.h"

#include "core/files/utf8.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <string>

using namespace headwise;
using namespace std::string_literals;

namespace {

struct Case {
    const char* name;
    std::string raw;
    std::string shown;
};

const Case cases[] = {
    {"a word", "the", "the"},
    {"leading space", " the", "␣the"},
    {"trailing space", "the ", "the␣"},
    {"inner single space", "in the end", "in the end"},
    {"inner run", "in  the", "in␣␣the"},
    {"run and single", "a b  c d", "a b␣␣c d"},
    {"only a space", " ", "␣"},
    {"only spaces", "   ", "␣␣␣"},
    {"space between newlines stays inner", "\n \n", "⏎ ⏎"},
    {"space before a newline leads", " \n", "␣⏎"},
    {"newline, tab", "\n\t", "⏎⇥"},
    {"carriage return", "\r\n", "<0x0D>⏎"},
    {"NUL and escape", "a\0\x1B"s, "a<0x00><0x1B>"},
    {"DEL", "\x7F", "<0x7F>"},
    {"C1, one per byte", "\xC2\x85", "<0xC2><0x85>"},
    {"right-to-left override", "\xE2\x80\xAE", "<0xE2><0x80><0xAE>"},
    {"isolates", "\xE2\x81\xA6x\xE2\x81\xA9", "<0xE2><0x81><0xA6>x<0xE2><0x81><0xA9>"},
    {"right-to-left mark, Arabic letter mark", "\xE2\x80\x8F\xD8\x9C", "<0xE2><0x80><0x8F><0xD8><0x9C>"},
    {"joiner is no bidi control", "\xE2\x80\x8D", "\xE2\x80\x8D"},
    {"Arabic text", "مرحبا", "مرحبا"},
    {"no-break space", "\xC2\xA0x", "\xC2\xA0x"},
    {"half a character", "\xE2\x80", "<0xE2><0x80>"},
    {"lone continuation", "\x80", "<0x80>"},
    {"space before half a character", " \xF0\x9F", "␣<0xF0><0x9F>"},
    {"overlong slash", "\xC0\xAF", "<0xC0><0xAF>"},
    {"surrogate", "\xED\xA0\x80", "<0xED><0xA0><0x80>"},
    {"past U+10FFFF", "\xF4\x90\x80\x80", "<0xF4><0x90><0x80><0x80>"},
    {"half, then whole", "\xE2\x82\xE2\x82\xAC", "<0xE2><0x82>€"},
    {"four bytes", "🙂", "🙂"},
    {"empty", "", ""},
};

} // namespace

class TokenTextTest : public QObject {
    Q_OBJECT

private slots:
    void everyClauseOfTheShownForm_data()
    {
        QTest::addColumn<QByteArray>("raw");
        QTest::addColumn<QByteArray>("shown");
        for (const Case& row : cases)
            QTest::newRow(row.name) << QByteArray::fromStdString(row.raw)
                                    << QByteArray::fromStdString(row.shown);
    }

    void everyClauseOfTheShownForm()
    {
        QFETCH(QByteArray, raw);
        QFETCH(QByteArray, shown);
        QCOMPARE(QByteArray::fromStdString(shownToken(raw.toStdString())), shown);
    }

    void everyByteAloneIsShownAsUtf8WithoutControls()
    {
        for (int byte = 0; byte < 256; ++byte) {
            const std::string shown = shownToken(std::string(1, static_cast<char>(byte)));
            QVERIFY(!firstInvalidUtf8(shown));
            for (const char c : shown)
                QVERIFY(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
        }
    }

    void specialTokensKeepTheirSpaces()
    {
        QCOMPARE(shownSpecialToken("<|endoftext|>"), std::string("<|endoftext|>"));
        QCOMPARE(shownSpecialToken(" <s>  x "), std::string(" <s>  x "));
        QCOMPARE(shownSpecialToken("<s>\n\x1B"), std::string("<s>⏎<0x1B>"));
    }

    void anIdWithoutTokenShowsItsNumber() { QCOMPARE(shownUnused(50300), std::string("[unused 50300]")); }

    void illFormedSequencesBecomeOneReplacementEach()
    {
        // The example of the Unicode Standard, table 3-8.
        QCOMPARE(withReplacementCharacters("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
                 std::string("a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd"));
    }

    void everyCodePointComesBack()
    {
        for (char32_t c = 0; c <= 0x10FFFF; ++c) {
            if (c >= 0xD800 && c <= 0xDFFF)
                continue;
            std::string text;
            appendUtf8(text, c);
            const Utf8Step step = utf8StepAt(text, 0);
            if (!step.valid || step.codePoint != c || step.length != text.size())
                QFAIL(qPrintable(QString::number(static_cast<uint>(c), 16)));
        }
    }
};

HEADWISE_TEST(TokenTextTest)
#include "token_text_test.moc"
