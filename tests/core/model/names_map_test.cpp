#include "core/model/architecture.h"
#include "core/model/names/named_sizes.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QTemporaryDir>

#include <fstream>

using namespace headwise;

namespace {

std::string mapOf(const std::string& rows, const std::string& more = "")
{
    return R"({"headwise_names": 1, "tensors": [)" + rows + "]" + more + "}";
}

std::string rowOf(const std::string& is, const std::string& name = "a", const std::string& more = "")
{
    return R"({"name": ")" + name + R"(", "is": ")" + is + "\"" + more + "}";
}

/// Attention alone, without norms and biases.
test::ToyOptions plainToy()
{
    test::ToyOptions options;
    options.attnOnly = true;
    options.normalization = std::nullopt;
    options.qkvBias = options.outBias = options.unembedBias = false;
    return options;
}

/// Rows of W_O, one stack of heads, and of W_Q, W_K and W_V, with `more` about these; each after a comma.
std::string attentionRows(const std::string& more)
{
    const std::string block = "blocks.{layer}.attn.";
    std::string rows = "," + rowOf(block + "W_O", block + "W_O", R"(, "axes": "heads, d_head, d_model")");
    for (const char* name : {"W_Q", "W_K", "W_V"})
        rows += "," + rowOf(block + name, block + name, more);
    return rows;
}

} // namespace

class NamesMapTest : public QObject {
    Q_OBJECT

private slots:
    void refusesWhatItDoesNotKnow_data()
    {
        QTest::addColumn<QByteArray>("map");
        QTest::addColumn<int>("code");
        QTest::addColumn<QByteArray>("part");
        const auto row = [](const char* name, const std::string& map, const char* part,
                            ErrorCode code = ErrorCode::Corrupt) {
            QTest::newRow(name) << QByteArray::fromStdString(map) << static_cast<int>(code)
                                << QByteArray(part);
        };
        const std::string W_E = rowOf("embed.W_E");
        row("no JSON", "{", "'map.json'");
        row("a list", "[]", "is not a names map");
        row("another file", R"({"d_model": 4})", "there is no 'headwise_names'");
        row("version 0", R"({"headwise_names": 0, "tensors": []})", "is 0, expected 1");
        row("version 2", R"({"headwise_names": 2})", "update Headwise", ErrorCode::Unsupported);
        row("unknown key", mapOf(W_E, R"(, "ignored": [])"), "unknown key 'ignored'");
        row("no rows", mapOf(""), "'tensors' must be a list of rows");
        row("a row's unknown key", mapOf(rowOf("embed.W_E", "a", R"(, "axis": "d_model")")), "row 1");
        row("unknown role", mapOf(rowOf("embed.W_X")), "unknown role 'embed.W_X'");
        row("unanswered", mapOf(rowOf("?")), "row 1 of 'tensors' ('a') still says '?'");
        row("unknown axis", mapOf(rowOf("embed.W_E", "a", R"(, "axes": "vocab, d_mlp")")), "axis 'd_mlp'");
        row("missing axis", mapOf(rowOf("embed.W_E", "a", R"(, "axes": "vocab")")), "expected d_model once");
        row("an axis twice", mapOf(rowOf("embed.W_E", "a", R"(, "axes": "vocab, d_model*d_model")")),
            "expected d_model once");
        row("no layer", mapOf(rowOf("blocks.{layer}.ln1.w")), "needs {layer} in its name");
        row("a layer too many", mapOf(rowOf("embed.W_E", "a.{layer}")), "must have no {layer}");
        row("another brace", mapOf(rowOf("blocks.{layer}.ln1.w", "a.{layer}.{expert}")), "no other braces");
        row("heads twice",
            mapOf(
                rowOf("blocks.{layer}.attn.W_Q", "a.{layer}.{head}", R"(, "axes": "heads*d_head, d_model")")),
            "expected heads once");
        row("no heads",
            mapOf(rowOf("blocks.{layer}.attn.W_Q", "a.{layer}", R"(, "axes": "d_head, d_model")")),
            "expected heads once");
        row("parts of one", mapOf(rowOf("embed.W_E", "a", R"(, "axes": "parts*vocab, d_model")")),
            "'parts' once");
        row("unlike parts",
            mapOf(R"({"name": "a.{layer}", "is": ["blocks.{layer}.attn.W_Q", "blocks.{layer}.mlp.W_in"]})"),
            "whose axes differ");
        row("unknown fact", mapOf(W_E, R"(, "facts": {"hidden_size": 3})"),
            "unknown config key 'hidden_size'");
        row("a fact of many values", mapOf(W_E, R"(, "facts": {"act_fn": ["relu"]})"), "expected one value");
        row("a file elsewhere", mapOf(W_E, R"(, "config": {"file": "../x", "keys": {}})"),
            "beside the weights");
    }
    void refusesWhatItDoesNotKnow()
    {
        QFETCH(QByteArray, map);
        QFETCH(int, code);
        QFETCH(QByteArray, part);
        QVERIFY(test::failsWith(readNamesMap(map.toStdString(), "map.json"), static_cast<ErrorCode>(code),
                                part.toStdString()));
    }

    void numbersOfLayersAndHeadsAreWhole()
    {
        const auto found = matchName("h.{layer}.heads.{head}.w", "h.12.heads.3.w");
        QVERIFY(found && found->layer == 12 && found->head == 3);
        for (const char* other : {"h.12.heads.3", "h.12.heads.3.w2", "h..heads.3.w", "h.01.heads.3.w",
                                  "h.12345678.heads.3.w", "h.x.heads.3.w", ""})
            QVERIFY(!matchName("h.{layer}.heads.{head}.w", other));
        QCOMPARE(matchName("l.{2*layer}.w", "l.4.w")->layer, 2);
        QCOMPARE(matchName("l.{2*layer+1}.w", "l.5.w")->layer, 2);
        QVERIFY(!matchName("l.{2*layer}.w", "l.5.w"));
        QVERIFY(!matchName("l.{2*layer+1}.w", "l.4.w"));
    }

    void axesAreTransposedAndHeadsTaken()
    {
        const auto map =
            readNamesMap(mapOf(rowOf("blocks.{layer}.attn.W_O", "a.{layer}", R"(, "axes": "transposed")")
                               + "," + rowOf("blocks.{layer}.attn.W_Q", "b.{layer}.{head}")),
                         "map.json");
        QVERIFY(test::isOk(map));
        QCOMPARE(axesText(map->rows[0].axes), std::string("[heads*d_head, d_model]"));
        QCOMPARE(axesText(map->rows[1].axes), std::string("[d_head, d_model]"));
        NamedSizes sizes;
        for (const auto& [kind, size] :
             {std::pair(SizeKind::Heads, 3), std::pair(SizeKind::Head, 5), std::pair(SizeKind::Model, 7)})
            sizes.set(kind, size);
        const Slice output = sizes.slice(map->rows[0], 0, 2);
        QVERIFY(output.offset == 2 * 5 * 7 && output.rows == 5 && output.cols == 7 && output.rowStride == 7
                && output.colStride == 1);
        const Slice query = sizes.slice(map->rows[1], 0, 0);
        QVERIFY(query.offset == 0 && query.rows == 7 && query.cols == 5 && query.rowStride == 1
                && query.colStride == 7);
    }

    void aShapeThatContradictsTheMapIsNamed()
    {
        const QTemporaryDir temporary;
        const std::filesystem::path folder = temporary.path().toStdString();
        test::writeToyModel(folder, plainToy());
        const auto opened = [&](const std::string& embedding, const std::string& heads,
                                const std::map<std::string, std::string>& said = {}) {
            const std::string rows = rowOf("embed.W_E", "embed.W_E", embedding) + ","
                + rowOf("pos_embed.W_pos", "pos_embed.W_pos") + ","
                + rowOf("unembed.W_U", "unembed.W_U", R"(, "axes": "transposed")") + attentionRows(heads);
            std::ofstream(folder / "map.json") << mapOf(rows, R"(, "facts": {"normalization_type": null})");
            ModelSource source{folder, std::nullopt, said};
            source.namesFile = folder / "map.json";
            return loadModel(source, Task{});
        };
        const std::string stack = R"(, "axes": "heads, d_model, d_head")";
        QVERIFY(test::isOk(opened("", stack)));
        const auto transposed = opened(R"(, "axes": "transposed")", stack);
        QVERIFY(test::failsWith(transposed, ErrorCode::Corrupt, "Tensor 'embed.W_E'"));
        QVERIFY(test::failsWith(transposed, ErrorCode::Corrupt, "[d_model, vocab] = "));
        QVERIFY(test::failsWith(transposed, ErrorCode::Corrupt, "it has [11, 7]"));
        QVERIFY(test::failsWith(opened("", ""), ErrorCode::Corrupt,
                                "[heads*d_head, d_model] is expected, but it has [3, 7, 5]"));
        QVERIFY(test::failsWith(opened("", R"(, "axes": "heads, d_head, d_model")"), ErrorCode::Corrupt,
                                "it has [3, 5, 7]"));
        QVERIFY(test::failsWith(opened("", stack, {{"n_heads", "2"}}), ErrorCode::Corrupt, "[2, "));
        QVERIFY(test::failsWith(opened("", stack, {{"n_layers", "5"}}), ErrorCode::NotFound,
                                "has 2 layers according to the names map"));
        QVERIFY(test::failsWith(opened("", stack, {{"normalization_type", "LN"}}), ErrorCode::NotFound,
                                "no tensor for blocks.{layer}.ln1.w"));
        QVERIFY(test::failsWith(opened("", stack, {{"positional_embedding_type", "none"}}),
                                ErrorCode::Corrupt, "'pos_embed.W_pos' is W_pos"));
    }

    void anAbsentOutputIsTheEmbeddingAndRowsOfATableAreSkipped()
    {
        const QTemporaryDir temporary;
        const std::filesystem::path folder = temporary.path().toStdString();
        const test::ToyModel toy = test::writeToyModel(folder, plainToy());
        const auto opened = [&](const std::string& facts) {
            const std::string rows = rowOf("embed.W_E", "embed.W_E") + ","
                + rowOf("pos_embed.W_pos", "pos_embed.W_pos", R"(, "skip": 2)")
                + attentionRows(R"(, "axes": "heads, d_model, d_head")");
            std::ofstream(folder / "headwise-names.json") << mapOf(
                rows, R"(, "ignore": ["unembed.*"], "facts": {"normalization_type": null)" + facts + "}");
            return loadModel({folder, std::nullopt, {}}, Task{});
        };
        QVERIFY(test::failsWith(opened(""), ErrorCode::NotFound, "--set tie_word_embeddings=…"));
        const auto weights = opened(R"(, "tie_word_embeddings": true)");
        QVERIFY(test::isOk(weights));
        QVERIFY((*weights)->config().tiedEmbeddings);
        const Matrix<double> in = (*weights)->read<double>(TensorKind::W_E);
        QVERIFY(in.rows() == 11 && (*weights)->read<double>(TensorKind::W_U) == in.transpose());
        QCOMPARE((*weights)->config().nCtx, 15);
        const Matrix<double> positions = (*weights)->read<double>(TensorKind::W_pos);
        QCOMPARE(positions.rows(), 15);
        QCOMPARE(positions(0, 1), toy.tensors.at("pos_embed.W_pos").values[2 * 7 + 1]);
    }
};

HEADWISE_TEST(NamesMapTest)
#include "names_map_test.moc"
