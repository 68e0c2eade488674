#include "core/io/tokenizer.h"

#include "tests/support/matchers.h"

#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

using namespace headwise;

namespace {

using Ids = std::vector<int>;
using SpecialTokens = Tokenizer::SpecialTokens;

/// reference.json; tests/data/tokenizers/README.md says where it comes from.
const QJsonObject& reference()
{
    static const QJsonObject object = [] {
        QFile file(QString::fromStdString(test::testData("tokenizers/reference.json").string()));
        return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object()
                                              : QJsonObject();
    }();
    return object;
}

QString referenceText(qsizetype index)
{
    const QJsonArray text = reference()["texts"].toArray()[index].toArray();
    return text[0].toString().repeated(text[1].toInt());
}

Ids idsOf(const QJsonValue& array)
{
    Ids ids;
    for (const QJsonValue& id : array.toArray())
        ids.push_back(id.toInt());
    return ids;
}

const Tokenizer& opened(const QString& name)
{
    static std::map<QString, Tokenizer> tokenizers;
    const auto known = tokenizers.find(name);
    if (known != tokenizers.end())
        return known->second;
    const std::string file = reference()["tokenizers"][name]["file"].toString().toStdString();
    Result<Tokenizer> tokenizer = Tokenizer::open(test::testData("tokenizers/" + file));
    if (!tokenizer)
        qFatal("%s", test::printed(tokenizer.error()).constData());
    return tokenizers.emplace(name, std::move(tokenizer).value()).first->second;
}

/// A tokenizer.json of a test's own, opened from a folder that is gone afterwards.
Result<Tokenizer> openedFrom(const QByteArray& json, const QByteArray& config = {})
{
    QTemporaryDir folder;
    const auto write = [&folder](const char* name, const QByteArray& content) {
        QFile file(folder.filePath(name));
        if (file.open(QIODevice::WriteOnly))
            file.write(content);
    };
    write("tokenizer.json", json);
    if (!config.isEmpty())
        write("tokenizer_config.json", config);
    return Tokenizer::open(folder.path().toStdString());
}

/// a, b, c, ab and abc, with parts of the file replaced.
QByteArray smallFile(const char* model = R"("merges": ["a b", "ab c"])", const char* rest = "")
{
    return QByteArray(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}, )")
        + model + "}" + rest + "}";
}

} // namespace

class TokenizerTest : public QObject {
    Q_OBJECT

private slots:
    void givesTheIdsOfTheReference_data() { tokenizerNames(); }
    void givesTheIdsOfTheReference();
    void decodesAsTheReference_data() { tokenizerNames(); }
    void decodesAsTheReference();
    void gpt2BringsEveryTextBack();
    void neoxBringsEveryTextBackInNormalFormC();
    void addsSpecialTokensWhereTheReferenceDoes_data() { tokenizerNames(); }
    void addsSpecialTokensWhereTheReferenceDoes();
    void neverAddsABeginningTwice();
    void honoursTheLegacyChoiceOfABeginning();
    void everyTokenOfGpt2EncodesBackFromItsBytes();
    void showsTokensOfEveryKind();
    void gapsAndForeignIdsAreUnused();
    void findsByShownFormRawTextAndNumber();
    void namesWhatItDoesNotFindAndSuggestsANeighbour();
    void prefersAnAddedTokenAndLastAByteToken();
    void longRunsDoNotTakeQuadraticTime();
    void opensGpt2Quickly();
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

private:
    static void tokenizerNames()
    {
        QTest::addColumn<QString>("name");
        for (const QString& name : reference()["tokenizers"].toObject().keys())
            QTest::newRow(qPrintable(name)) << name;
    }
};

void TokenizerTest::givesTheIdsOfTheReference()
{
    QFETCH(QString, name);
    const QJsonArray expected = reference()["tokenizers"][name]["ids"].toArray();
    QVERIFY(expected.size() >= 300);
    for (qsizetype i = 0; i < expected.size(); ++i) {
        const auto ids = opened(name).encode(referenceText(i).toStdString(), SpecialTokens::None);
        QVERIFY2(test::isOk(ids) && *ids == idsOf(expected[i]), qPrintable(referenceText(i).left(200)));
    }
}

void TokenizerTest::decodesAsTheReference()
{
    QFETCH(QString, name);
    const QJsonObject expected = reference()["tokenizers"][name].toObject();
    for (qsizetype i = 0; i < expected["ids"].toArray().size(); ++i) {
        const QJsonValue other = expected["decoded"][QString::number(i)];
        const QString text = other.isString() ? other.toString() : referenceText(i);
        QCOMPARE(opened(name).decode(idsOf(expected["ids"][i])), text.toStdString());
    }
}

void TokenizerTest::gpt2BringsEveryTextBack()
{
    for (qsizetype i = 0; i < reference()["texts"].toArray().size(); ++i) {
        const std::string text = referenceText(i).toStdString();
        const auto ids = opened("gpt2").encode(text);
        QVERIFY(test::isOk(ids));
        QCOMPARE(opened("gpt2").decode(*ids), text);
        std::string bytes;
        for (const int id : *ids)
            bytes += opened("gpt2").bytes(id);
        QCOMPARE(bytes, text);
    }
}

void TokenizerTest::neoxBringsEveryTextBackInNormalFormC()
{
    for (qsizetype i = 0; i < reference()["texts"].toArray().size(); ++i) {
        const QString text = referenceText(i);
        const auto ids = opened("gpt-neox-20b").encode(text.toStdString());
        QVERIFY(test::isOk(ids));
        // Qt's own normalization, piece by piece: an added token is never composed with what follows it.
        QStringList pieces = text.split("<|endoftext|>");
        for (QString& piece : pieces)
            piece = piece.normalized(QString::NormalizationForm_C);
        QCOMPARE(opened("gpt-neox-20b").decode(*ids), pieces.join("<|endoftext|>").toStdString());
    }
}

void TokenizerTest::addsSpecialTokensWhereTheReferenceDoes()
{
    QFETCH(QString, name);
    const QJsonArray expected = reference()["tokenizers"][name]["special"].toArray();
    QVERIFY(!expected.isEmpty());
    for (qsizetype i = 0; i < expected.size(); ++i) {
        const auto ids = opened(name).encode(referenceText(i).toStdString());
        QVERIFY(test::isOk(ids));
        QCOMPARE(*ids, idsOf(expected[i]));
    }
    const QStringList adding{"llama2", "llama3",     "gemma",        "metaspace",    "bert",
                             "t5",     "bert-cased", "bert-accents", "unigram-bytes"};
    QCOMPARE(opened(name).addsSpecialTokens(), adding.contains(name));
}

void TokenizerTest::neverAddsABeginningTwice()
{
    const Tokenizer& llama = opened("llama2");
    const Ids once = llama.encode("Hello").value();
    QCOMPARE(once.front(), 1);
    QCOMPARE(std::count(once.begin(), once.end(), 1), 1);
    QCOMPARE(llama.encode("<s>Hello").value(), once);
    QCOMPARE(llama.encode("").value(), Ids{1});
    QCOMPARE(llama.encode("<s>").value(), Ids{1});
    QCOMPARE(llama.encode("", SpecialTokens::None).value(), Ids{});
    const Ids both = opened("metaspace").encode("a").value();
    QCOMPARE(both.front(), 1);
    QCOMPARE(both.back(), 2);
    QCOMPARE(opened("metaspace").encode("<s>a</s>").value().size(), std::size_t{3});
}

void TokenizerTest::honoursTheLegacyChoiceOfABeginning()
{
    const QByteArray file =
        smallFile(R"("merges": [])", R"(, "added_tokens": [{"id": 7, "content": "<s>", "special": true}])");
    const auto idsWith = [&file](const char* config) {
        return openedFrom(file, config).value().encode("ab").value();
    };
    QCOMPARE(idsWith(R"({"add_bos_token": true, "bos_token": {"content": "<s>"}})"), (Ids{7, 0, 1}));
    QCOMPARE(
        idsWith(R"({"add_bos_token": true, "bos_token": "<s>", "add_eos_token": true, "eos_token": "c"})"),
        (Ids{7, 0, 1, 2}));
    QCOMPARE(idsWith(R"({"add_bos_token": false, "bos_token": "<s>"})"), (Ids{0, 1}));
    QCOMPARE(idsWith("no JSON"), (Ids{0, 1}));
    const QByteArray decided =
        smallFile(R"("merges": [])", R"(, "added_tokens": [{"id": 7, "content": "<s>", "special": true}],
        "post_processor": {"type": "ByteLevel"})");
    QCOMPARE(
        openedFrom(decided, R"({"add_bos_token": true, "bos_token": "<s>"})").value().encode("ab").value(),
        (Ids{0, 1}));
}

void TokenizerTest::everyTokenOfGpt2EncodesBackFromItsBytes()
{
    const Tokenizer& gpt2 = opened("gpt2");
    QCOMPARE(gpt2.size(), 50257);
    int whole = 0;
    for (int id = 0; id < gpt2.size(); ++id) {
        QVERIFY(gpt2.hasToken(id));
        QCOMPARE(gpt2.find(gpt2.shown(id)).value(), id);
        const auto ids = gpt2.encode(gpt2.bytes(id));
        whole += ids && *ids == Ids{id};
    }
    // Not the 628 that are parts of characters (the encoder refuses their bytes) and a few that GPT-2 itself
    // never uses because the pattern splits them.
    QVERIFY2(whole > 49500, qPrintable(QString::number(whole)));
}

void TokenizerTest::showsTokensOfEveryKind()
{
    const Tokenizer& gpt2 = opened("gpt2");
    QCOMPARE(gpt2.shown(262), std::string("␣the"));
    QCOMPARE(gpt2.bytes(262), std::string(" the"));
    QCOMPARE(gpt2.shown(198), std::string("⏎"));
    QCOMPARE(gpt2.shown(188), std::string("<0x00>"));
    QCOMPARE(gpt2.bytes(188), std::string(1, '\0'));
    QCOMPARE(gpt2.shown(447), std::string("<0xE2><0x80>"));
    QCOMPARE(gpt2.shown(50256), std::string("<|endoftext|>"));
    QVERIFY(gpt2.isSpecial(50256));
    QVERIFY(!gpt2.isSpecial(262));
    const Tokenizer& neox = opened("gpt-neox-20b");
    QCOMPARE(neox.shown(50276), std::string("␣␣"));
    QVERIFY(!neox.isSpecial(50276));
    const Tokenizer& llama = opened("llama2");
    QCOMPARE(llama.shown(llama.find("▁the").value()), std::string("␣the"));
    QCOMPARE(llama.shown(3 + 0x0A), std::string("⏎"));
    QCOMPARE(llama.shown(3 + 0x41), std::string("A"));
    QCOMPARE(llama.bytes(3 + 0xC3), std::string("\xC3"));
    QCOMPARE(llama.shown(3 + 0xC3), std::string("<0xC3>"));
    QCOMPARE(llama.shown(1), std::string("<s>"));
    QCOMPARE(opened("suffix").bytes(opened("suffix").find("the</w>").value()), std::string("the "));
    QCOMPARE(opened("prefix").shown(opened("prefix").find("##and").value()), std::string("and"));
}

void TokenizerTest::gapsAndForeignIdsAreUnused()
{
    const auto tokenizer =
        openedFrom(R"({"model": {"type": "BPE", "vocab": {"a": 0, "z": 9}, "merges": []}})");
    QVERIFY(test::isOk(tokenizer));
    QCOMPARE(tokenizer->size(), 10);
    for (const int id : {-1, 4, 10, 1 << 30, std::numeric_limits<int>::min()}) {
        QVERIFY(!tokenizer->hasToken(id));
        QVERIFY(!tokenizer->isSpecial(id));
        QCOMPARE(tokenizer->shown(id), "[unused " + std::to_string(id) + "]");
        QCOMPARE(tokenizer->bytes(id), std::string());
    }
    QVERIFY(test::failsWith(tokenizer->find("#4"), ErrorCode::NotFound, "id 4"));
    QCOMPARE(tokenizer->decode(Ids{4, -1}), std::string());
}

void TokenizerTest::findsByShownFormRawTextAndNumber()
{
    const Tokenizer& gpt2 = opened("gpt2");
    for (const char* query : {"␣the", " the", "Ġthe", "#262"})
        QCOMPARE(gpt2.find(query).value(), 262);
    QCOMPARE(gpt2.find("the").value(), 1169);
    QCOMPARE(gpt2.find("\n").value(), 198);
    QCOMPARE(gpt2.find("<|endoftext|>").value(), 50256);
    QCOMPARE(gpt2.find("\xE2\x80").value(), 447);
    QCOMPARE(gpt2.find("#").value(), 2);
}

void TokenizerTest::namesWhatItDoesNotFindAndSuggestsANeighbour()
{
    const Tokenizer& gpt2 = opened("gpt2");
    QVERIFY(
        test::failsWith(gpt2.find("paris"), ErrorCode::NotFound, "'paris'. Did you mean 'Paris' (#40313)"));
    QVERIFY(
        test::failsWith(gpt2.find("antidisestablishment"), ErrorCode::NotFound, "'antidisestablishment'"));
    QVERIFY(test::failsWith(gpt2.find("#50257"), ErrorCode::NotFound, "50257"));
    QVERIFY(
        test::failsWith(gpt2.find("#99999999999999999999"), ErrorCode::NotFound, "#99999999999999999999"));
    QVERIFY(test::failsWith(gpt2.find(""), ErrorCode::InvalidArgument, "No token"));
    QVERIFY(test::failsWith(gpt2.find("nonexistent\nline"), ErrorCode::NotFound, "nonexistent⏎line"));
    const auto spaced = openedFrom(R"({"model": {"type": "BPE", "vocab": {" Lisbon": 5}, "merges": []}})");
    QVERIFY(test::failsWith(spaced->find("Lisbon"), ErrorCode::NotFound, "'␣Lisbon' (#5)"));
}

void TokenizerTest::prefersAnAddedTokenAndLastAByteToken()
{
    QCOMPARE(opened("gpt-neox-20b").find("␣␣").value(), 50276); // what encoding two spaces gives
    const Tokenizer& llama = opened("llama2");
    const int letter = llama.find("A").value();
    QVERIFY(letter != 3 + 0x41);
    QCOMPARE(llama.encode("A", SpecialTokens::None).value().back(), letter);
}

void TokenizerTest::longRunsDoNotTakeQuadraticTime()
{
    // A tenth of a second each in Debug; merging in quadratic time would take a minute.
    const Tokenizer& gpt2 = opened("gpt2");
    const Tokenizer& neox = opened("gpt-neox-20b");
    for (const char* part : {" ", "a", "\n", "ab", "-", "日"}) {
        const std::string text = QByteArray(part).repeated(20'000).toStdString();
        QElapsedTimer timer;
        timer.start();
        QCOMPARE(gpt2.decode(gpt2.encode(text).value()), text);
        QCOMPARE(neox.decode(neox.encode(text).value()), text);
        QVERIFY2(timer.elapsed() < 5'000, qPrintable(QString("%1 ms").arg(timer.elapsed())));
    }
}

void TokenizerTest::opensGpt2Quickly()
{
    QElapsedTimer timer;
    timer.start();
    QVERIFY(test::isOk(Tokenizer::open(test::testData("tokenizers/gpt2/tokenizer.json"))));
    qInfo("opened GPT-2's tokenizer in %lld ms", timer.elapsed());
    QVERIFY(timer.elapsed() < 5'000); // Release: 0.1 s; this is for Debug under sanitizers on a busy machine.
}

void TokenizerTest::readsVocabularyAndMergesOfTwoFiles()
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

void TokenizerTest::readsMergesInBothForms()
{
    QCOMPARE(openedFrom(smallFile())->encode("abcab").value(), (Ids{4, 3}));
    QCOMPARE(openedFrom(smallFile(R"("merges": [["a", "b"], ["ab", "c"]])"))->encode("abcab").value(),
             (Ids{4, 3}));
    const auto withSpaces = openedFrom(
        R"({"model": {"type": "BPE", "vocab": {" ": 0, "a": 1, "  ": 2, "  a": 3}, "merges": [[" ", " "], ["  ", "a"]]}})");
    QCOMPARE(withSpaces->encode("  a ").value(), (Ids{3, 0}));
}

void TokenizerTest::mergesTheLowestRankFirstAndTheLeftmostOnTies()
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

void TokenizerTest::aStoredVocabularyFindsAndDecodesButDoesNotEncode()
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
    QVERIFY(stored.isSpecial(50256) == false); // its bytes read as it is shown; nothing tells them apart
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

void TokenizerTest::readsTheOtherModelsOfOldFiles()
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

void TokenizerTest::anUnknownStepOrABadPatternStopsOnlyEncoding()
{
    const struct {
        const char* step;
        ErrorCode code;
        const char* part;
    } cases[] = {
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
    for (const auto& [step, code, part] : cases) {
        const auto tokenizer = openedFrom(smallFile(R"("merges": [])", step));
        QVERIFY(test::isOk(tokenizer));
        QCOMPARE(tokenizer->shown(1), std::string("b"));
        QVERIFY(test::failsWith(tokenizer->encode("ab"), code, part));
    }
    const char* slowStep = R"(, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a|aa)+$"}})";
    const auto slow = openedFrom(smallFile(R"("merges": [])", slowStep));
    QVERIFY(test::failsWith(slow->encode(std::string(200, 'a') + "b"), ErrorCode::Corrupt, "tokenizer.json"));
}

void TokenizerTest::textThatIsNotUtf8IsRefused()
{
    QVERIFY(test::failsWith(opened("gpt2").encode("ab\xC3"), ErrorCode::InvalidArgument, "byte 2"));
    QVERIFY(test::failsWith(opened("gpt2").encode("\xED\xA0\x80"), ErrorCode::InvalidArgument, "byte 0"));
}

void TokenizerTest::damagedFilesAreRefusedBySentence_data()
{
    QTest::addColumn<QByteArray>("json");
    QTest::addColumn<QByteArray>("part");
    const auto row = [](const char* name, const QByteArray& json, const char* part) {
        QTest::newRow(name) << json << QByteArray(part);
    };
    row("empty", "", "not the JSON it should be");
    row("no JSON", "<html></html>", "not the JSON it should be");
    row("LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "git lfs pull");
    row("not UTF-8", "{\"a\xFF\": 1}", "not the JSON it should be");
    row("lone surrogate", R"({"model": {"vocab": {"\ud800": 0}}})", "not the JSON it should be");
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

void TokenizerTest::damagedFilesAreRefusedBySentence()
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

void TokenizerTest::aFileCutAnywhereIsRefused()
{
    QFile file(QString::fromStdString(test::testData("tokenizers/shapes/llama3.json").string()));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray whole = file.readAll().trimmed();
    QVERIFY(test::isOk(openedFrom(whole)));
    for (qsizetype length = 0; length < whole.size(); length += 97)
        QVERIFY(!openedFrom(whole.left(length)));
}

void TokenizerTest::noJsonBreaksIt()
{
    // Every value of a file, one after the other, replaced by values of other types.
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

QTEST_APPLESS_MAIN(TokenizerTest)
#include "tokenizer_test.moc"
