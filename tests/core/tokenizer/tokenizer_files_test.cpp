#include "tests/support/program.h"

#include "tests/core/tokenizer/tokenizer_cases.h"

using namespace headwise;
using test::Ids;
using test::idsOf;
using test::opened;
using test::openedFrom;
using test::smallFile;

/// Tokenizer files: formats, damage, refusals.
class TokenizerFilesTest : public QObject {
    Q_OBJECT

private slots:
    void readsVocabularyAndMergesOfTwoFiles();
    void readsMergesInBothForms();
    void mergesTheLowestRankFirstAndTheLeftmostOnTies();
    void aStoredVocabularyFindsAndDecodesButDoesNotEncode();
    void readsTheOtherModelsOfOldFiles();
    void anUnknownStepOrABadPatternStopsOnlyEncoding();
    void textThatIsNotUtf8IsRefused();
    void damagedFilesAreRefusedBySentence_data();
    void damagedFilesAreRefusedBySentence();
    void aFileCutAnywhereIsRefused();
    void noJsonBreaksIt();
};

void TokenizerFilesTest::readsVocabularyAndMergesOfTwoFiles()
{
    QTemporaryDir folder;
    const auto write = [&folder](const char* name, const QByteArray& content) {
        QFile file(folder.filePath(name));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(content);
    };
    write("vocab.json", R"({"a": 0, "#": 1, "Ġ": 2, "#a": 3, "##": 4, "Ġa": 5})");
    write("merges.txt", "#version: 0.2\n# a\n\n# #\r\nĠ a\n");
    write("added_tokens.json", R"({"<x>": 9})");
    const auto tokenizer = Tokenizer::open(folder.path().toStdString());
    QVERIFY(test::isOk(tokenizer));
    // "# #" is a merge, not a comment.
    QCOMPARE(tokenizer->encode("#a ##<x> a").value(), (Ids{1, 0, 2, 4, 9, 5}));
    QVERIFY(test::isOk(Tokenizer::open(folder.filePath("vocab.json").toStdString())));
    write("merges.txt", "#version: 0.2\nabc\n");
    QVERIFY(test::failsWith(Tokenizer::open(folder.path().toStdString()), ErrorCode::Corrupt, "'abc'"));
    QFile::remove(folder.filePath("merges.txt"));
    QVERIFY(test::failsWith(Tokenizer::open(folder.path().toStdString()), ErrorCode::NotFound, "merges.txt"));
}

void TokenizerFilesTest::readsMergesInBothForms()
{
    QCOMPARE(openedFrom(smallFile())->encode("abcab").value(), (Ids{4, 3}));
    QCOMPARE(openedFrom(smallFile(R"("merges": [["a", "b"], ["ab", "c"]])"))->encode("abcab").value(),
             (Ids{4, 3}));
    const auto withSpaces = openedFrom(
        R"({"model": {"type": "BPE", "vocab": {" ": 0, "a": 1, "  ": 2, "  a": 3}, "merges": [[" ", " "], ["  ", "a"]]}})");
    QCOMPARE(withSpaces->encode("  a ").value(), (Ids{3, 0}));
}

void TokenizerFilesTest::mergesTheLowestRankFirstAndTheLeftmostOnTies()
{
    const auto idsOf = [](const char* merges, const char* text) {
        const QByteArray vocabulary =
            R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "aa": 2, "ab": 3, "ba": 4, "aab": 5}, "merges": )";
        return openedFrom(vocabulary + merges + "}}")->encode(text).value();
    };
    QCOMPARE(idsOf(R"(["a a"])", "aaa"), (Ids{2, 0}));
    QCOMPARE(idsOf(R"(["a a"])", "aaaaa"), (Ids{2, 2, 0}));
    QCOMPARE(idsOf(R"(["a b", "b a"])", "bab"), (Ids{1, 3}));
    QCOMPARE(idsOf(R"(["b a", "a b"])", "bab"), (Ids{4, 1}));
    QCOMPARE(idsOf(R"(["a a", "aa b"])", "aab"), (Ids{5}));
    QCOMPARE(idsOf(R"(["a b", "a a", "aa b"])", "aab"), (Ids{0, 3}));
    QCOMPARE(idsOf(R"(["a b"])", "xaby"), (Ids{3})); // without unk_token unknown characters are left out
}

void TokenizerFilesTest::aStoredVocabularyFindsAndDecodesButDoesNotEncode()
{
    const Tokenizer& gpt2 = opened("gpt2");
    std::vector<std::string> shown;
    std::vector<std::string> bytes;
    for (int id = 0; id < 50260; ++id) {
        shown.push_back(gpt2.shown(id));
        bytes.push_back(gpt2.bytes(id));
    }
    const Tokenizer stored = Tokenizer::fromVocabulary(shown, bytes);
    QCOMPARE(stored.size(), 50260);
    QVERIFY(!stored.hasToken(50258));
    // its bytes look like its shown form; nothing distinguishes them
    QVERIFY(stored.isSpecial(50256) == false);
    for (int id = 0; id < 50260; ++id)
        QCOMPARE(stored.shown(id), gpt2.shown(id));
    QCOMPARE(stored.find("␣the").value(), 262);
    QCOMPARE(stored.find(" the").value(), 262);
    const Ids ids = gpt2.encode("naïve 日本語 🙂").value();
    QCOMPARE(stored.decode(ids), std::string("naïve 日本語 🙂"));
    QVERIFY(test::failsWith(stored.encode("a"), ErrorCode::Unsupported, "tokenizer.json"));
    QCOMPARE(Tokenizer::fromVocabulary({}, {}).size(), 0);
    QCOMPARE(Tokenizer::fromVocabulary({"a", "b"}, {"a"}).bytes(1), std::string());
}

void TokenizerFilesTest::readsTheOtherModelsOfOldFiles()
{
    const auto wordPiece = openedFrom(R"({"added_tokens": [{"id": 0, "content": "[CLS]", "special": true}],
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[CLS]": 0, "play": 1, "##ing": 2, ".": 3}}})");
    QVERIFY(test::isOk(wordPiece));
    QCOMPARE(wordPiece->shown(1), std::string("␣play"));
    QCOMPARE(wordPiece->shown(2), std::string("ing"));
    QCOMPARE(wordPiece->decode(Ids{1, 2, 3}), std::string("playing."));
    QCOMPARE(wordPiece->encode("playing").value(), (Ids{1, 2}));

    const auto unigram =
        openedFrom(R"({"decoder": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": true},
        "model": {"unk_id": 0, "vocab": [["<unk>", 0], ["▁play", -1.5], ["ing", -2]]}})");
    QVERIFY(test::isOk(unigram));
    QCOMPARE(unigram->shown(1), std::string("␣play"));
    QCOMPARE(unigram->decode(Ids{1, 2, 1}), std::string("playing play"));
    QCOMPARE(unigram->encode("▁playxxing").value(), (Ids{1, 0, 2}));
}

void TokenizerFilesTest::anUnknownStepOrABadPatternStopsOnlyEncoding()
{
    const struct {
        const char* step;
        ErrorCode code;
        const char* part;
    } refusals[] = {
        {R"(, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "x"})", ErrorCode::Corrupt,
         "character map"},
        {R"(, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "BAAAAP8="})", ErrorCode::Corrupt,
         "character map"},
        {R"(, "pre_tokenizer": {"type": "UnicodeScripts"})", ErrorCode::Unsupported, "'UnicodeScripts'"},
        {R"(, "post_processor": {"type": "Odd"})", ErrorCode::Unsupported, "'Odd'"},
        {R"(, "pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(["}})",
         ErrorCode::Corrupt, "tokenizer.json"},
        {R"(, "normalizer": {"type": "Replace", "content": "", "pattern": {"Regex": "*"}})",
         ErrorCode::Corrupt, "'*'"},
    };
    for (const auto& [step, code, part] : refusals) {
        const auto tokenizer = openedFrom(smallFile(R"("merges": [])", step));
        QVERIFY(test::isOk(tokenizer));
        QCOMPARE(tokenizer->shown(1), std::string("b"));
        QVERIFY(test::failsWith(tokenizer->encode("ab"), code, part));
    }
    const char* slowStep = R"(, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a|aa)+$"}})";
    const auto slow = openedFrom(smallFile(R"("merges": [])", slowStep));
    QVERIFY(test::failsWith(slow->encode(std::string(200, 'a') + "b"), ErrorCode::Corrupt, "tokenizer.json"));
}

void TokenizerFilesTest::textThatIsNotUtf8IsRefused()
{
    QVERIFY(test::failsWith(opened("gpt2").encode("ab\xC3"), ErrorCode::InvalidArgument, "byte 2"));
    QVERIFY(test::failsWith(opened("gpt2").encode("\xED\xA0\x80"), ErrorCode::InvalidArgument, "byte 0"));
}

void TokenizerFilesTest::damagedFilesAreRefusedBySentence_data()
{
    QTest::addColumn<QByteArray>("json");
    QTest::addColumn<QByteArray>("part");
    const auto row = [](const char* name, const QByteArray& json, const char* part) {
        QTest::newRow(name) << json << QByteArray(part);
    };
    row("empty", "", "not valid JSON");
    row("no JSON", "<html></html>", "not valid JSON");
    row("LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "git lfs pull");
    row("not UTF-8", "{\"a\xFF\": 1}", "not valid JSON");
    row("lone surrogate", R"({"model": {"vocab": {"\ud800": 0}}})", "not valid JSON");
    row("an array", "[]", "not an object");
    row("a number", "5", "not an object");
    row("a token twice", R"({"model": {"type": "BPE", "vocab": {"a": 0, "a": 1}, "merges": []}})",
        "'a' occurs twice");
    row("no model", "{}", "no model");
    row("model is null", R"({"model": null})", "no model");
    row("no vocabulary", R"({"model": {"type": "BPE", "merges": []}})", "no vocabulary");
    row("vocabulary is a list", R"({"model": {"type": "BPE", "vocab": [], "merges": []}})", "no vocabulary");
    row("no merges", R"({"model": {"type": "BPE", "vocab": {}}})", "no list of merges");
    row("negative id", R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})", "'a' has id -1");
    row("id too large", R"({"model": {"type": "BPE", "vocab": {"a": 10000000}, "merges": []}})", "10000000");
    row("id past 64 bits",
        R"({"model": {"type": "BPE", "vocab": {"a": 18446744073709551615}, "merges": []}})", "'a'");
    row("fractional id", R"({"model": {"type": "BPE", "vocab": {"a": 1.5}, "merges": []}})", "1.5");
    row("id is text", R"({"model": {"type": "BPE", "vocab": {"a": "1"}, "merges": []}})", "string");
    row("merge of one", smallFile(R"("merges": ["ab"])"), "Merge 0");
    row("merge of three", smallFile(R"("merges": ["a b c"])"), "Merge 0");
    row("merge is a number", smallFile(R"("merges": ["a b", 7])"), "Merge 1");
    row("merge of an unknown token", smallFile(R"("merges": ["a b", "a x"])"), "Merge 1 of 'a' and 'x'");
    row("merge to an unknown token", smallFile(R"("merges": ["b c"])"), "makes a token that is not");
    row("added tokens are an object", smallFile(R"("merges": [])", R"(, "added_tokens": {})"),
        "added_tokens");
    row("added token without id", smallFile(R"("merges": [])", R"(, "added_tokens": [{"content": "x"}])"),
        "'x' has id null");
    row("added token without content", smallFile(R"("merges": [])", R"(, "added_tokens": [{"id": 1}])"),
        "no content");
    row("score is missing", R"({"model": {"type": "Unigram", "vocab": [["a"]]}})", "Entry 0");
    row("score is text", R"({"model": {"type": "Unigram", "vocab": [["a", "1"]]}})", "no score");
    row("unknown token behind the end", R"({"model": {"type": "Unigram", "unk_id": 1, "vocab": [["a", 0]]}})",
        "unk_id is 1");
    row("flag is a number", smallFile(R"("merges": [], "byte_fallback": 1)"), "byte_fallback");
    row("normalizer is text", smallFile(R"("merges": [])", R"(, "normalizer": "NFC")"), "normalizer");
    row("split without pattern", smallFile(R"("merges": [])", R"(, "pre_tokenizer": {"type": "Split"})"),
        "no pattern");
    row("unknown behavior",
        smallFile(R"("merges": [])", R"(, "pre_tokenizer": {"type": "Punctuation", "behavior": "Odd"})"),
        "'Odd'");
    row("undefined special token",
        smallFile(R"("merges": [])", R"(, "post_processor": {"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>"}}], "special_tokens": {}})"),
        "'<s>'");
    row("sequences without end",
        smallFile(R"("merges": [])",
                  (R"(, "decoder": )" + QByteArray(R"({"type": "Sequence", "decoders": [)").repeated(50)
                   + QByteArray("]}").repeated(50))
                      .constData()),
        "too deeply");
}

void TokenizerFilesTest::damagedFilesAreRefusedBySentence()
{
    QFETCH(QByteArray, json);
    QFETCH(QByteArray, part);
    const auto tokenizer = openedFrom(json);
    QVERIFY(test::failsWith(tokenizer, ErrorCode::Corrupt, part.toStdString()));
    QVERIFY(test::failsWith(tokenizer, ErrorCode::Corrupt, "tokenizer.json'"));
    QVERIFY(test::failsWith(openedFrom(R"({"model": {"type": "Odd", "vocab": {}}})"), ErrorCode::Unsupported,
                            "'Odd'"));
    QVERIFY(test::failsWith(Tokenizer::open("/no/such/tokenizer.json"), ErrorCode::NotFound,
                            "/no/such/tokenizer.json"));
}

void TokenizerFilesTest::aFileCutAnywhereIsRefused()
{
    QFile file(QString::fromStdString(test::testData("tokenizers/shapes/llama3.json").string()));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray whole = file.readAll().trimmed();
    QVERIFY(test::isOk(openedFrom(whole)));
    for (qsizetype length = 0; length < whole.size(); length += 97)
        QVERIFY(!openedFrom(whole.left(length)));
}

void TokenizerFilesTest::noJsonBreaksIt()
{
    // Replaces every value of a file, one after the other, with values of other types.
    QFile file(QString::fromStdString(test::testData("tokenizers/shapes/prefix.json").string()));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray whole = file.readAll();
    int accepted = 0;
    int refused = 0;
    for (qsizetype colon = whole.indexOf(':'); colon >= 0; colon = whole.indexOf(':', colon + 1)) {
        const qsizetype end = std::min(whole.indexOf(',', colon), whole.indexOf('}', colon));
        for (const char* value : {"null", "[]", "-1", "1e300", "\"x\"", "[[[1]]]", "99999"}) {
            const auto tokenizer = openedFrom(whole.left(colon + 1) + value + whole.mid(end));
            ++(tokenizer ? accepted : refused);
            if (!tokenizer)
                continue;
            QVERIFY(tokenizer->size() <= 10'000'000);
            const auto ids = tokenizer->encode("the word, <unk> 日");
            if (ids)
                tokenizer->decode(*ids);
        }
    }
    QVERIFY(accepted > 20);
    QVERIFY(refused > 300);
    const QByteArray deep = QByteArray("[").repeated(100'000) + QByteArray("]").repeated(100'000);
    QVERIFY(test::failsWith(openedFrom(deep), ErrorCode::Corrupt, "nested deeper"));
    QVERIFY(!openedFrom(
        smallFile(R"("merges": [])",
                  (", \"added_tokens\": [{\"content\": \"x\", \"id\": " + deep + "}]").constData())));
}

HEADWISE_TEST(TokenizerFilesTest)
#include "tokenizer_files_test.moc"
