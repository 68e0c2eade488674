#include "core/checkpoint/gguf.h"
#include "core/tokenizer/model_tokenizer.h"
#include "core/tokenizer/tokenizer.h"

#include "tests/core/tokenizer/tokenizer_cases.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

#include <bit>
#include <random>

using namespace headwise;

namespace {

using Ids = std::vector<int>;
using SpecialTokens = Tokenizer::SpecialTokens;

QByteArray contentOf(const std::string& name)
{
    QFile file(QString::fromStdString(test::testData(name).string()));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QJsonObject jsonOf(const std::string& name)
{
    return QJsonDocument::fromJson(contentOf(name)).object();
}

/// The output of SentencePiece itself; see tests/data/tokenizers/README.md.
const QJsonObject& pieces()
{
    static const QJsonObject object = jsonOf("tokenizers/sentencepiece/reference.json");
    return object;
}

/// A folder of a test's own.
class Folder {
public:
    std::filesystem::path path() const { return m_folder.path().toStdString(); }
    std::filesystem::path write(const char* name, const QByteArray& content) const
    {
        QFile file(m_folder.filePath(name));
        if (file.open(QIODevice::WriteOnly))
            file.write(content);
        return path() / name;
    }
    std::filesystem::path write(const char* name, const std::string& content) const
    {
        return write(name, QByteArray::fromStdString(content));
    }

private:
    QTemporaryDir m_folder;
};

Result<Tokenizer> openedAs(const char* name, const QByteArray& content)
{
    const Folder folder;
    return Tokenizer::open(folder.write(name, content));
}

std::filesystem::path modelPath(const QString& name)
{
    return name == "stories260k-gguf"
        ? test::testData("models/stories260k-gguf/stories260K.gguf")
        : test::testData("tokenizers/sentencepiece/" + name.toStdString() + ".model");
}

const Tokenizer& gpt2()
{
    static const Tokenizer tokenizer =
        Tokenizer::open(test::testData("tokenizers/gpt2/tokenizer.json")).value();
    return tokenizer;
}

/// GPT-2's merges in the form of its tokenizer.json.
std::vector<std::string> gpt2Merges()
{
    std::vector<std::string> merges;
    for (const QJsonValue& merge :
         jsonOf("tokenizers/gpt2/tokenizer.json")["model"].toObject()["merges"].toArray())
        merges.push_back(merge.toString().toStdString());
    return merges;
}

std::vector<std::string> gpt2Spellings()
{
    std::vector<std::string> tokens(50257);
    const QJsonObject vocabulary =
        jsonOf("tokenizers/gpt2/tokenizer.json")["model"].toObject()["vocab"].toObject();
    for (auto token = vocabulary.begin(); token != vocabulary.end(); ++token)
        tokens[static_cast<std::size_t>(token.value().toInt())] = token.key().toStdString();
    return tokens;
}

/// Tells whether a tokenizer gives the ids of the reference's GPT-2 for all its texts.
bool isGpt2(const Tokenizer& tokenizer)
{
    const QJsonObject reference = jsonOf("tokenizers/reference.json");
    const QJsonArray ids = reference["tokenizers"]["gpt2"]["ids"].toArray();
    for (qsizetype i = 0; i < ids.size(); ++i) {
        const QJsonArray text = reference["texts"][i].toArray();
        const std::string whole = text[0].toString().repeated(text[1].toInt()).toStdString();
        const auto found = tokenizer.encode(whole, SpecialTokens::None);
        if (!test::isOk(found) || *found != test::idsOf(ids[i])) {
            qWarning("%s", whole.substr(0, 80).c_str());
            return false;
        }
    }
    return ids.size() > 400;
}

} // namespace

class TokenizerSourcesTest : public QObject {
    Q_OBJECT

private slots:
    void givesTheIdsOfSentencePiece_data() { names(); }
    void givesTheIdsOfSentencePiece();
    void decodesAsSentencePiece_data() { names(); }
    void decodesAsSentencePiece();
    void aGgufBringsItsOwnVocabulary();
    void aGgufOfGpt2GivesGpt2sIds();
    void aGgufWithAnUnknownSplitShowsTokensAndSaysWhichSplit();
    void a25PaddingRowsOfAGgufAreNoTokens();
    void ranksOfTiktokenGiveGpt2sIds();
    void ranksOfP50kEncode();
    void ranksOfAnUnknownVocabularyShowTokens();
    void aVocabTxtIsBerts();
    void aTokenizerOfLlama2cGivesTheIdsOfItsGguf();
    void vocabularyAndMergesTakeTheirSpecialTokensFromTheConfig();
    void theBeginningFollowsTheConfigBesideASentencePieceModel();
    void aFolderIsSearchedInTheStatedOrder();
    void theContentDecidesNotTheName();
    void whatIsNoTokenizerIsRefusedByName_data();
    void whatIsNoTokenizerIsRefusedByName();
    void noDamagedModelBreaksIt_data();
    void noDamagedModelBreaksIt();

private:
    static void names()
    {
        QTest::addColumn<QString>("name");
        for (const QString& name : pieces()["models"].toObject().keys())
            QTest::newRow(qPrintable(name)) << name;
    }
};

void TokenizerSourcesTest::givesTheIdsOfSentencePiece()
{
    QFETCH(QString, name);
    const auto tokenizer = Tokenizer::open(modelPath(name));
    QVERIFY(test::isOk(tokenizer));
    const QJsonArray expected = pieces()["models"][name]["ids"].toArray();
    int compared = 0;
    for (qsizetype i = 0; i < expected.size(); ++i) {
        const std::string text = pieces()["texts"][i].toString().toStdString();
        if (expected[i].isNull())
            continue;
        const auto ids = tokenizer->encode(text, SpecialTokens::None);
        QVERIFY2(test::isOk(ids) && *ids == test::idsOf(expected[i]), text.c_str());
        ++compared;
    }
    QVERIFY(compared > 400);
}

void TokenizerSourcesTest::decodesAsSentencePiece()
{
    QFETCH(QString, name);
    const auto tokenizer = Tokenizer::open(modelPath(name));
    const QJsonArray ids = pieces()["models"][name]["ids"].toArray();
    int compared = 0;
    for (qsizetype i = 0; i < ids.size(); ++i) {
        const Ids given = test::idsOf(ids[i]);
        // SentencePiece writes " ⁇ " for an unknown token, which is in no vocabulary.
        if (ids[i].isNull() || std::find(given.begin(), given.end(), 0) != given.end())
            continue;
        const QString expected = pieces()["models"][name]["decoded"][i].toString();
        QCOMPARE(tokenizer->decode(given), expected.toStdString());
        ++compared;
    }
    QVERIFY(compared > 60);
}

void TokenizerSourcesTest::aGgufBringsItsOwnVocabulary()
{
    const auto weights = WeightMap::open(modelPath("stories260k-gguf"));
    QVERIFY(test::isOk(weights));
    const auto tokenizer = openModelTokenizer(*weights);
    QVERIFY(test::isOk(tokenizer));
    QCOMPARE(tokenizer->size(), 512);
    QCOMPARE(tokenizer->shown(1), std::string("<s>"));
    QVERIFY(tokenizer->isSpecial(1));
    QCOMPARE(tokenizer->shown(3 + 0x41), std::string("A")); // <0x41>
    QCOMPARE(tokenizer->shown(3 + 0xE9), std::string("<0xE9>"));
    QCOMPARE(tokenizer->bytes(3 + 0x0A), std::string("\n"));
    QCOMPARE(tokenizer->encode("Once upon a time").value(), (Ids{1, 403, 407, 261, 378}));
    QCOMPARE(tokenizer->decode(Ids{403, 407, 261, 378}), std::string("Once upon a time"));
    const auto folder = WeightMap::open(modelPath("stories260k-gguf").parent_path());
    QVERIFY(test::isOk(folder) && test::isOk(openModelTokenizer(*folder)));
}

void TokenizerSourcesTest::aGgufOfGpt2GivesGpt2sIds()
{
    test::GgufWriter file;
    file.add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.pre", "gpt-2");
    file.add("tokenizer.ggml.tokens", gpt2Spellings()).add("tokenizer.ggml.merges", gpt2Merges());
    std::vector<std::int32_t> kinds(50257, 1);
    kinds[50256] = 3;
    file.add("tokenizer.ggml.token_type", kinds);
    const Folder folder;
    const auto tokenizer = Tokenizer::open(folder.write("m.gguf", file.bytes()));
    QVERIFY(test::isOk(tokenizer));
    QVERIFY(tokenizer->isSpecial(50256));
    QCOMPARE(tokenizer->encode("").value(), Ids{});
    QVERIFY(isGpt2(*tokenizer));
}

void TokenizerSourcesTest::aGgufWithAnUnknownSplitShowsTokensAndSaysWhichSplit()
{
    for (const auto& [kind, split, part] :
         {std::tuple("gpt2", "odd-bpe", "'odd-bpe'"),
          std::tuple("gpt2", "", "does not say how text is split"), std::tuple("rwkv", "", "'rwkv'")}) {
        test::GgufWriter file;
        file.add("tokenizer.ggml.model", kind);
        if (*split)
            file.add("tokenizer.ggml.pre", split);
        file.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab"});
        file.add("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
        const Folder folder;
        const auto tokenizer = Tokenizer::open(folder.write("m.gguf", file.bytes()));
        QVERIFY(test::isOk(tokenizer));
        QCOMPARE(tokenizer->shown(2), std::string("ab"));
        QVERIFY(test::failsWith(tokenizer->encode("ab"), ErrorCode::Unsupported, part));
        QVERIFY(test::failsWith(tokenizer->encode("ab"), ErrorCode::Unsupported, "m.gguf"));
    }
}

void TokenizerSourcesTest::a25PaddingRowsOfAGgufAreNoTokens()
{
    for (const char* kind : {"gpt2", "llama"}) {
        test::GgufWriter file;
        file.add("tokenizer.ggml.model", kind).add("tokenizer.ggml.pre", "gpt-2");
        file.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "[PAD2]", "[PAD3]"});
        file.add("tokenizer.ggml.merges", std::vector<std::string>{});
        file.add("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 1, 5, 5});
        const Folder folder;
        const auto tokenizer = Tokenizer::open(folder.write("m.gguf", file.bytes()));
        QVERIFY(test::isOk(tokenizer));
        QVERIFY(tokenizer->hasToken(1) && !tokenizer->hasToken(2) && !tokenizer->hasToken(3));
        QCOMPARE(tokenizer->shown(3), std::string("[unused 3]"));
    }
}

void TokenizerSourcesTest::ranksOfTiktokenGiveGpt2sIds()
{
    QByteArray ranks;
    for (int id = 0; id < 50256; ++id)
        ranks += QByteArray::fromStdString(gpt2().bytes(id)).toBase64() + ' ' + QByteArray::number(id) + '\n';
    const auto tokenizer = openedAs("tokenizer.model", ranks);
    QVERIFY(test::isOk(tokenizer));
    QCOMPARE(tokenizer->shown(50256), std::string("<|endoftext|>"));
    QVERIFY(isGpt2(*tokenizer));
    QVERIFY(
        test::failsWith(openedAs("tokenizer.model", ranks + "YQ== x\n"), ErrorCode::Corrupt, "Line 50257"));
    QVERIFY(
        test::failsWith(openedAs("tokenizer.model", ranks + "!!!! 7\n"), ErrorCode::Corrupt, "Line 50257"));
}

// p50k_base is GPT-2's vocabulary with runs of spaces after <|endoftext|>, which is not in the file.
void TokenizerSourcesTest::ranksOfP50kEncode()
{
    QByteArray ranks;
    for (int id = 0; id < 50256; ++id)
        ranks += QByteArray::fromStdString(gpt2().bytes(id)).toBase64() + ' ' + QByteArray::number(id) + '\n';
    for (int id = 50257; id <= 50280; ++id)
        ranks += QByteArray(id - 50254, ' ').toBase64() + ' ' + QByteArray::number(id) + '\n';
    const auto tokenizer = openedAs("p50k_base.tiktoken", ranks);
    QVERIFY(test::isOk(tokenizer));
    QCOMPARE(tokenizer->encode("Hello world").value(), (std::vector<int>{15496, 995}));
    QCOMPARE(tokenizer->encode("a<|endoftext|>").value(), (std::vector<int>{64, 50256}));
    // seven spaces before a word: six, and one that begins the word
    QCOMPARE(tokenizer->encode("a       b").value(), (std::vector<int>{64, 50260, 275}));
}

void TokenizerSourcesTest::ranksOfAnUnknownVocabularyShowTokens()
{
    const auto tokenizer = openedAs("x.tiktoken", "YQ== 0\r\n4pc= 1\nIGE= 7\n");
    QVERIFY(test::isOk(tokenizer));
    QCOMPARE(tokenizer->shown(7), std::string("␣a"));
    QCOMPARE(tokenizer->shown(1), std::string("<0xE2><0x97>"));
    QCOMPARE(tokenizer->shown(5), std::string("[unused 5]"));
    QVERIFY(test::failsWith(tokenizer->encode("a"), ErrorCode::Unsupported, "3 ranks"));
}

void TokenizerSourcesTest::aVocabTxtIsBerts()
{
    const QJsonObject shape = jsonOf("tokenizers/shapes/bert.json")["model"].toObject()["vocab"].toObject();
    QByteArrayList lines(shape.size());
    for (auto token = shape.begin(); token != shape.end(); ++token)
        lines[token.value().toInt()] = token.key().toUtf8();
    const QJsonObject reference = jsonOf("tokenizers/reference.json");
    for (const bool lowercase : {true, false}) {
        const Folder folder;
        folder.write("vocab.txt", lines.join('\n') + '\n');
        if (!lowercase)
            folder.write("tokenizer_config.json", QByteArray(R"({"do_lower_case": false})"));
        const auto tokenizer = Tokenizer::open(folder.path());
        QVERIFY(test::isOk(tokenizer));
        const QJsonValue expected = reference["tokenizers"][lowercase ? "bert" : "bert-cased"];
        for (qsizetype i = 0; i < expected["ids"].toArray().size(); ++i) {
            const std::string text = reference["texts"][i][0].toString().toStdString();
            QCOMPARE(tokenizer->encode(text, SpecialTokens::None).value(), test::idsOf(expected["ids"][i]));
        }
        QCOMPARE(tokenizer->encode("the").value(), test::idsOf(QJsonArray{2, shape["the"], 3}));
    }
    QVERIFY(test::failsWith(openedAs("vocab.txt", "a\n[UNK]\n\xFF\n"), ErrorCode::Corrupt, "UTF-8"));
}

void TokenizerSourcesTest::aTokenizerOfLlama2cGivesTheIdsOfItsGguf()
{
    const QByteArray gguf = contentOf("models/stories260k-gguf/stories260K.gguf");
    const auto header = readGgufHeader(std::as_bytes(std::span(gguf.data(), gguf.size())), "m.gguf");
    QVERIFY(test::isOk(header));
    const auto& tokens = std::get<std::vector<std::string>>(header->metadata.at("tokenizer.ggml.tokens"));
    const auto& scores = std::get<std::vector<double>>(header->metadata.at("tokenizer.ggml.scores"));
    std::string file = test::littleEndian(20, 4);
    for (std::size_t id = 0; id < tokens.size(); ++id) {
        QByteArray text = QByteArray::fromStdString(tokens[id]).replace("▁", " ");
        if (id == 1 || id == 2)
            text = "\n" + text + "\n";
        file += test::littleEndian(std::bit_cast<std::uint32_t>(static_cast<float>(scores[id])), 4)
            + test::littleEndian(static_cast<std::uint64_t>(text.size()), 4) + text.toStdString();
    }
    const auto tokenizer = openedAs("tokenizer.bin", QByteArray::fromStdString(file));
    QVERIFY(test::isOk(tokenizer));
    const auto other = Tokenizer::open(modelPath("stories260k-gguf"));
    for (int id = 0; id < 512; ++id)
        QCOMPARE(tokenizer->shown(id), other->shown(id));
    for (const QJsonValue& text : pieces()["texts"].toArray()) {
        const std::string whole = text.toString().toStdString();
        QCOMPARE(tokenizer->encode(whole).value(), other->encode(whole).value());
    }
    file.pop_back();
    QVERIFY(test::failsWith(openedAs("tokenizer.bin", QByteArray::fromStdString(file)),
                            ErrorCode::Unsupported, "not a tokenizer"));
}

void TokenizerSourcesTest::vocabularyAndMergesTakeTheirSpecialTokensFromTheConfig()
{
    const Folder folder;
    folder.write("vocab.json", QByteArray(R"({"a": 0, "</s>": 1, "<|endoftext|>": 2, "<pad>": 3})"));
    folder.write("merges.txt", QByteArray("#version: 0.2\n"));
    const auto plain = Tokenizer::open(folder.path());
    QVERIFY(test::isOk(plain));
    QVERIFY(plain->isSpecial(2) && !plain->isSpecial(1)); // GPT-2's by default
    folder.write(
        "tokenizer_config.json",
        QByteArray(R"({"add_bos_token": true, "bos_token": {"content": "</s>"}, "eos_token": "</s>"})"));
    folder.write("special_tokens_map.json", QByteArray(R"({"pad_token": "<pad>"})"));
    const auto tokenizer = Tokenizer::open(folder.path() / "merges.txt");
    QVERIFY(test::isOk(tokenizer));
    QVERIFY(tokenizer->isSpecial(1) && tokenizer->isSpecial(3) && !tokenizer->isSpecial(2));
    QCOMPARE(tokenizer->encode("a<pad>a").value(), (Ids{1, 0, 3, 0}));
}

void TokenizerSourcesTest::theBeginningFollowsTheConfigBesideASentencePieceModel()
{
    const Folder folder;
    folder.write("tokenizer.model", contentOf("tokenizers/sentencepiece/bpe.model"));
    const Ids begun = Tokenizer::open(folder.path())->encode("a").value();
    QCOMPARE(begun.front(), 1); // as Llama's and Gemma's do
    folder.write("tokenizer_config.json", QByteArray(R"({"add_bos_token": false, "add_eos_token": true})"));
    const Ids ended = Tokenizer::open(folder.path())->encode("a").value();
    QCOMPARE(ended.back(), 2);
    QVERIFY(ended.front() != 1);
    folder.write("tokenizer_config.json", QByteArray("{"));
    QCOMPARE(Tokenizer::open(folder.path())->encode("a").value(), begun);
    const Tokenizer unigram = Tokenizer::open(modelPath("unigram")).value(); // T5's kind
    QCOMPARE(unigram.encode("a").value(), unigram.encode("a", SpecialTokens::None).value());
}

void TokenizerSourcesTest::aFolderIsSearchedInTheStatedOrder()
{
    const Folder folder;
    QVERIFY(test::failsWith(Tokenizer::open(folder.path()), ErrorCode::NotFound, "tokenizer.model"));
    const auto sizeNow = [&folder] { return Tokenizer::open(folder.path()).value().size(); };
    folder.write("vocab.txt", QByteArray("[UNK]\na\n"));
    QCOMPARE(sizeNow(), 2);
    folder.write("tokenizer.model", contentOf("tokenizers/sentencepiece/bpe.model"));
    QVERIFY(sizeNow() > 1000);
    folder.write("vocab.json", QByteArray(R"({"a": 0, "b": 4})"));
    folder.write("merges.txt", QByteArray("#version: 0.2\n"));
    QCOMPARE(sizeNow(), 5);
    folder.write("tokenizer.json",
                 QByteArray(R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 6}}})"));
    QCOMPARE(sizeNow(), 7);
    // A GGUF's own vocabulary takes precedence.
    folder.write("m.gguf", contentOf("models/stories260k-gguf/stories260K.gguf"));
    QCOMPARE(openModelTokenizer(WeightMap::open(folder.path() / "m.gguf").value()).value().size(), 512);
}

void TokenizerSourcesTest::theContentDecidesNotTheName()
{
    QCOMPARE(openedAs("model.bin", contentOf("tokenizers/shapes/llama2.json"))->encode("Hello").value(),
             Tokenizer::open(test::testData("tokenizers/shapes/llama2.json"))->encode("Hello").value());
    QVERIFY(test::isOk(openedAs("x.txt", contentOf("tokenizers/sentencepiece/unigram.model"))));
    QVERIFY(test::isOk(openedAs("tokenizer.dat", contentOf("models/stories260k-gguf/stories260K.gguf"))));
}

void TokenizerSourcesTest::whatIsNoTokenizerIsRefusedByName_data()
{
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<ErrorCode>("code");
    QTest::addColumn<QByteArray>("part");
    const auto row = [](const char* name, const QByteArray& content, ErrorCode code, const char* part) {
        QTest::newRow(name) << content << code << QByteArray(part);
    };
    row("empty", "", ErrorCode::Unsupported, "not a tokenizer");
    row("text", "hello\nworld\n", ErrorCode::Unsupported, "not a tokenizer");
    row("LFS pointer", "version https://git-lfs.github.com/spec/v1\n", ErrorCode::Corrupt, "git lfs pull");
    row("web page", "<!DOCTYPE html><html></html>", ErrorCode::Corrupt, "web page");
    row("a zip archive", "PK\3\4abcd", ErrorCode::Unsupported, "not a tokenizer");
    row("safetensors", contentOf("models/gpt-nano-sort/model.safetensors"), ErrorCode::Unsupported,
        "not a tokenizer");
    row("config.json", contentOf("models/stories260k/config.json"), ErrorCode::Corrupt, "no model");
    test::GgufWriter empty;
    empty.add("general.architecture", "llama");
    row("GGUF without a vocabulary", QByteArray::fromStdString(empty.bytes()), ErrorCode::NotFound,
        "no vocabulary");
    test::GgufWriter uneven;
    uneven.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
    uneven.add("tokenizer.ggml.token_type", std::vector<std::int32_t>{1});
    row("GGUF with a type too few", QByteArray::fromStdString(uneven.bytes()), ErrorCode::Corrupt, "1 types");
}

void TokenizerSourcesTest::whatIsNoTokenizerIsRefusedByName()
{
    QFETCH(QByteArray, content);
    QFETCH(ErrorCode, code);
    QFETCH(QByteArray, part);
    QVERIFY(test::failsWith(openedAs("odd.file", content), code, part.toStdString()));
    QVERIFY(test::failsWith(openedAs("odd.file", content), code, "odd.file"));
}

void TokenizerSourcesTest::noDamagedModelBreaksIt_data()
{
    QTest::addColumn<QString>("name");
    for (const char* name : {"unigram", "unigram-bytes", "bpe", "bpe-mapped", "stories260k-gguf"})
        QTest::newRow(name) << name;
}

void TokenizerSourcesTest::noDamagedModelBreaksIt()
{
    QFETCH(QString, name);
    QFile file(QString::fromStdString(modelPath(name).string()));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray whole = file.read(20'000); // the header of the GGUF
    std::mt19937 random(7);
    const Folder folder;
    for (int round = 0; round < 300; ++round) {
        QByteArray damaged = whole.left(round % 3 == 0 ? random() % whole.size() : whole.size());
        for (unsigned i = 0; i < 1 + random() % 40 && !damaged.isEmpty(); ++i)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        const auto tokenizer = Tokenizer::open(folder.write("m", damaged));
        if (!tokenizer)
            continue;
        const auto ids = tokenizer->encode("Hello ﬁ wörld ½ ① <s> 日本");
        if (ids)
            tokenizer->decode(*ids);
    }
}

HEADWISE_TEST(TokenizerSourcesTest)
#include "tokenizer_sources_test.moc"
