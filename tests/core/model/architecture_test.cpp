#include "core/model/architecture.h"
#include "core/model/load_report.h"
#include "core/model/recipes.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

#include <cstring>
#include <fstream>

using namespace headwise;
using Kind = TensorKind;

namespace {

/// Element of a stored tensor by its indices, counted from the definition of row-major order.
double at(const test::ToyModel& toy, const std::string& name, std::initializer_list<int> indices)
{
    const test::StoredTensor& tensor = toy.tensors.at(name);
    std::size_t place = 0, axis = 0;
    for (const int index : indices)
        place = place * tensor.shape.at(axis++) + static_cast<std::size_t>(index);
    return tensor.values.at(place);
}

/// Tells whether every entry (i, j) of a canonical tensor is exactly expected(i, j).
template <typename Expected>
bool isEqual(const ModelWeights& weights, Kind kind, int layer, int head, int rows, int cols,
             Expected expected)
{
    const Matrix<double> actual = weights.read<double>(kind, layer, head);
    if (actual.rows() != rows || actual.cols() != cols) {
        qWarning("%s of layer %d has shape [%d, %d]", tensorKindName(kind).data(), layer, int(actual.rows()),
                 int(actual.cols()));
        return false;
    }
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < cols; ++j)
            if (actual(i, j) != expected(i, j)) {
                qWarning("%s[%d][%d] of layer %d, head %d", tensorKindName(kind).data(), i, j, layer, head);
                return false;
            }
    return true;
}

} // namespace

class ArchitectureTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void readsGpt2InConv1dLayout_data() { addPrefixes("transformer.", ""); }
    void readsGpt2InConv1dLayout()
    {
        QFETCH(QString, prefix);
        test::ToyOptions options = test::gpt2Options();
        options.prefix = prefix.toStdString();
        const test::ToyModel toy = write(options);
        const auto weights = load();
        QVERIFY(test::isOk(weights));
        const ModelConfig& c = (*weights)->config();
        const int m = 15, h = 5, f = options.dMlp, V = options.dVocab;
        QCOMPARE(c.dHead, h);
        QCOMPARE(c.attentionScale, 1 / std::sqrt(5.0));
        for (int layer = 0; layer < options.nLayers; ++layer) {
            const std::string b = options.prefix + "h." + std::to_string(layer) + ".";
            const auto bias = [&](const std::string& name) {
                return [&toy, name](int, int j) { return at(toy, name, {j}); };
            };
            for (int i = 0; i < options.nHeads; ++i) {
                int part = 0;
                for (const Kind kind : {Kind::W_Q, Kind::W_K, Kind::W_V}) {
                    const int offset = m * part++ + i * h;
                    QVERIFY(isEqual(**weights, kind, layer, i, m, h, [&](int a, int j) {
                        return at(toy, b + "attn.c_attn.weight", {a, offset + j});
                    }));
                }
                part = 0;
                for (const Kind kind : {Kind::b_Q, Kind::b_K, Kind::b_V}) {
                    const int offset = m * part++ + i * h;
                    QVERIFY(isEqual(**weights, kind, layer, i, 1, h, [&](int, int j) {
                        return at(toy, b + "attn.c_attn.bias", {offset + j});
                    }));
                }
                QVERIFY(isEqual(**weights, Kind::W_O, layer, i, h, m, [&](int j, int a) {
                    return at(toy, b + "attn.c_proj.weight", {i * h + j, a});
                }));
            }
            QVERIFY(isEqual(**weights, Kind::b_O, layer, 0, 1, m, bias(b + "attn.c_proj.bias")));
            QVERIFY(isEqual(**weights, Kind::ln1_w, layer, 0, 1, m, bias(b + "ln_1.weight")));
            QVERIFY(isEqual(**weights, Kind::ln1_b, layer, 0, 1, m, bias(b + "ln_1.bias")));
            QVERIFY(isEqual(**weights, Kind::ln2_w, layer, 0, 1, m, bias(b + "ln_2.weight")));
            QVERIFY(isEqual(**weights, Kind::ln2_b, layer, 0, 1, m, bias(b + "ln_2.bias")));
            QVERIFY(isEqual(**weights, Kind::W_in, layer, 0, m, f, [&](int a, int j) {
                return at(toy, b + "mlp.c_fc.weight", {a, j});
            }));
            QVERIFY(isEqual(**weights, Kind::W_out, layer, 0, f, m, [&](int a, int j) {
                return at(toy, b + "mlp.c_proj.weight", {a, j});
            }));
            QVERIFY(isEqual(**weights, Kind::b_in, layer, 0, 1, f, bias(b + "mlp.c_fc.bias")));
            QVERIFY(isEqual(**weights, Kind::b_out, layer, 0, 1, m, bias(b + "mlp.c_proj.bias")));
        }
        QVERIFY(isEqual(**weights, Kind::W_E, 0, 0, V, m, [&](int t, int a) {
            return at(toy, options.prefix + "wte.weight", {t, a});
        }));
        QVERIFY(isEqual(**weights, Kind::W_pos, 0, 0, options.nCtx, m, [&](int p, int a) {
            return at(toy, options.prefix + "wpe.weight", {p, a});
        }));
        QVERIFY(isEqual(**weights, Kind::W_U, 0, 0, m, V, [&](int a, int t) {
            return at(toy, "lm_head.weight", {t, a});
        }));
        QVERIFY(!(*weights)->has(Kind::b_U));
    }

    void readsLlamaWithGroupedHeads_data() { addPrefixes("biases", ""); }
    void readsLlamaWithGroupedHeads()
    {
        QFETCH(QString, prefix);
        test::ToyOptions options = test::llamaOptions();
        options.qkvBias = options.mlpBias = !prefix.isEmpty();
        const test::ToyModel toy = write(options);
        const auto weights = load();
        QVERIFY(test::isOk(weights));
        const int m = 7, h = 4, n = 6, k = 2, f = options.dMlp, V = options.dVocab;
        QCOMPARE((*weights)->config().nKvHeads, k);
        QCOMPARE((*weights)->config().rotary, (Rotary{4, 523, false}));
        for (int layer = 0; layer < options.nLayers; ++layer) {
            const std::string b = "model.layers." + std::to_string(layer) + ".";
            const auto linear = [&](Kind kind, int heads, const std::string& name) {
                for (int i = 0; i < heads; ++i)
                    if (!isEqual(**weights, kind, layer, i, m, h, [&](int a, int j) {
                            return at(toy, b + "self_attn." + name + ".weight", {i * h + j, a});
                        }))
                        return false;
                return true;
            };
            QVERIFY(linear(Kind::W_Q, n, "q_proj") && linear(Kind::W_K, k, "k_proj")
                    && linear(Kind::W_V, k, "v_proj"));
            for (int i = 0; i < n; ++i)
                QVERIFY(isEqual(**weights, Kind::W_O, layer, i, h, m, [&](int j, int a) {
                    return at(toy, b + "self_attn.o_proj.weight", {a, i * h + j});
                }));
            QVERIFY(isEqual(**weights, Kind::W_gate, layer, 0, m, f, [&](int a, int j) {
                return at(toy, b + "mlp.gate_proj.weight", {j, a});
            }));
            QVERIFY(isEqual(**weights, Kind::W_in, layer, 0, m, f, [&](int a, int j) {
                return at(toy, b + "mlp.up_proj.weight", {j, a});
            }));
            QVERIFY(isEqual(**weights, Kind::W_out, layer, 0, f, m, [&](int j, int a) {
                return at(toy, b + "mlp.down_proj.weight", {a, j});
            }));
            QVERIFY(isEqual(**weights, Kind::ln2_w, layer, 0, 1, m,
                            [&](int, int a) { return at(toy, b + "post_attention_layernorm.weight", {a}); }));
            QCOMPARE((*weights)->has(Kind::b_Q, layer, n - 1), options.qkvBias);
            QCOMPARE((*weights)->has(Kind::b_K, layer, k), false);
            if (!options.qkvBias)
                continue;
            QVERIFY(isEqual(**weights, Kind::b_V, layer, 1, 1, h,
                            [&](int, int j) { return at(toy, b + "self_attn.v_proj.bias", {h + j}); }));
            QVERIFY(isEqual(**weights, Kind::b_up, layer, 0, 1, f,
                            [&](int, int j) { return at(toy, b + "mlp.up_proj.bias", {j}); }));
            QVERIFY(isEqual(**weights, Kind::b_gate, layer, 0, 1, f,
                            [&](int, int j) { return at(toy, b + "mlp.gate_proj.bias", {j}); }));
            QVERIFY(!(*weights)->has(Kind::b_in, layer));
        }
        QVERIFY(isEqual(**weights, Kind::W_U, 0, 0, m, V, [&](int a, int t) {
            return at(toy, "lm_head.weight", {t, a});
        }));
    }

    void readsTransformerLensNames_data() { addPrefixes("_", ""); }
    void readsTransformerLensNames()
    {
        QFETCH(QString, prefix);
        test::ToyOptions options;
        options.nHeads = 6;
        options.nKvHeads = prefix.isEmpty() ? 0 : 2;
        options.gatedMlp = options.gateBias = true;
        const test::ToyModel toy = write(options);
        const auto weights = load();
        QVERIFY(test::isOk(weights));
        const std::string u = prefix.toStdString();
        const int m = 7, h = 5, f = 13, V = 11, n = 6, k = u.empty() ? 6 : 2;
        for (int layer = 0; layer < options.nLayers; ++layer) {
            const std::string b = "blocks." + std::to_string(layer) + ".";
            const auto heads = [&](Kind kind, int count, const std::string& name, int rows, int cols) {
                for (int i = 0; i < count; ++i)
                    if (!isEqual(**weights, kind, layer, i, rows, cols, [&](int a, int j) {
                            return rows == 1 ? at(toy, b + "attn." + name, {i, j})
                                             : at(toy, b + "attn." + name, {i, a, j});
                        }))
                        return false;
                return !(*weights)->has(kind, layer, count);
            };
            QVERIFY(heads(Kind::W_Q, n, "W_Q", m, h) && heads(Kind::W_K, k, u + "W_K", m, h));
            QVERIFY(heads(Kind::W_V, k, u + "W_V", m, h) && heads(Kind::W_O, n, "W_O", h, m));
            QVERIFY(heads(Kind::b_Q, n, "b_Q", 1, h) && heads(Kind::b_K, k, u + "b_K", 1, h));
            QVERIFY(heads(Kind::b_V, k, u + "b_V", 1, h));
            const auto plain = [&](Kind kind, const std::string& name, int rows, int cols) {
                return isEqual(**weights, kind, layer, 0, rows, cols, [&](int a, int j) {
                    return rows == 1 ? at(toy, b + name, {j}) : at(toy, b + name, {a, j});
                });
            };
            QVERIFY(plain(Kind::W_in, "mlp.W_in", m, f) && plain(Kind::W_gate, "mlp.W_gate", m, f));
            QVERIFY(plain(Kind::W_out, "mlp.W_out", f, m) && plain(Kind::b_O, "attn.b_O", 1, m));
            QVERIFY(plain(Kind::b_in, "mlp.b_in", 1, f) && plain(Kind::b_out, "mlp.b_out", 1, m));
            QVERIFY(plain(Kind::b_gate, "mlp.b_gate", 1, f) && plain(Kind::b_up, "mlp.b_up", 1, f));
            QVERIFY(plain(Kind::ln1_b, "ln1.b", 1, m) && plain(Kind::ln2_w, "ln2.w", 1, m));
        }
        QVERIFY(isEqual(**weights, Kind::W_U, 0, 0, m, V, [&](int a, int t) {
            return at(toy, "unembed.W_U", {a, t});
        }));
        QVERIFY(isEqual(**weights, Kind::b_U, 0, 0, 1, V,
                        [&](int, int t) { return at(toy, "unembed.b_U", {t}); }));
        QVERIFY(isEqual(**weights, Kind::ln_final_b, 0, 0, 1, m,
                        [&](int, int a) { return at(toy, "ln_final.b", {a}); }));
    }

    void tiesTheEmbeddingsAsTheFileDoes()
    {
        test::ToyOptions options = test::gpt2Options();
        options.tied = true;
        test::ToyModel toy = write(options);
        QVERIFY(readsOutputFrom(toy, "transformer.wte.weight", true));

        // Both exist and are equal: still tied, without a warning.
        toy.tensors["lm_head.weight"] = toy.tensors.at("transformer.wte.weight");
        rewrite(toy);
        QVERIFY(readsOutputFrom(toy, "lm_head.weight", true));

        // They differ in the last row: the file wins, with a warning.
        toy.tensors["lm_head.weight"].values.back() += 0.25;
        rewrite(toy);
        QVERIFY(readsOutputFrom(toy, "lm_head.weight", false));
        const auto warnings = (*load())->warnings();
        QCOMPARE(warnings.size(), std::size_t{1});
        QVERIFY(warnings.front().find("lm_head.weight") != std::string::npos);
        QVERIFY(warnings.front().find("0.25") != std::string::npos);

        // The other name is missing, as some writers leave it out.
        toy.tensors.erase("transformer.wte.weight");
        rewrite(toy);
        QVERIFY(readsOutputFrom(toy, "lm_head.weight", true));
    }

    void ignoresBuffersByTheirRankAndNotByTheirName()
    {
        test::ToyModel toy = write(test::gpt2Options());
        toy.tensors["transformer.h.0.attn.bias"] = {{1, 1, 2, 2}, {1, 0, 1, 1}};
        toy.tensors["transformer.h.0.attn.masked_bias"] = {{1}, {-1e4}};
        rewrite(toy);
        QVERIFY(test::isOk(load()));
        toy.tensors["transformer.h.1.attn.bias"] = {{2}, {1, 2}};
        rewrite(toy);
        QVERIFY(test::failsWith(load(), ErrorCode::Unsupported, "'transformer.h.1.attn.bias'"));
    }

    void namesAllMissingTensorsInOneSentence()
    {
        test::ToyModel toy = write(test::gpt2Options());
        toy.tensors.erase("transformer.h.1.ln_2.weight");
        toy.tensors.erase("lm_head.weight");
        rewrite(toy);
        const auto weights = load();
        QVERIFY(test::failsWith(weights, ErrorCode::NotFound, "'transformer.h.1.ln_2.weight'"));
        QVERIFY(test::failsWith(weights, ErrorCode::NotFound, "'lm_head.weight'"));
    }

    void namesShapesThatContradictTheConfig()
    {
        write(test::llamaOptions());
        const auto weights = load({{"intermediate_size", "12"}});
        QVERIFY(test::failsWith(weights, ErrorCode::Corrupt,
                                "'model.layers.0.mlp.gate_proj.weight' has shape [13, 7], expected [12, 7]"));
        QVERIFY(test::failsWith(weights, ErrorCode::Corrupt, "'model.layers.1.mlp.down_proj.weight'"));
    }

    void refusesTensorsItHasNoPlaceFor()
    {
        test::ToyModel toy = write(test::llamaOptions());
        toy.tensors["model.layers.0.self_attn.q_norm.weight"] = {{4}, {1, 1, 1, 1}};
        toy.tensors["model.layers.0.input_layernorm.bias"] = {{7}, std::vector<double>(7)};
        toy.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {{2}, {1, 0.5}};
        rewrite(toy);
        const auto weights = load();
        QVERIFY(test::failsWith(weights, ErrorCode::Unsupported, "'model.layers.0.self_attn.q_norm.weight'"));
        QVERIFY(test::failsWith(weights, ErrorCode::Unsupported, "'model.layers.0.input_layernorm.bias'"));
        QVERIFY(weights.error().message.find("inv_freq") == std::string::npos);
    }

    void leavesOutTensorsThatTheUserNames()
    {
        test::ToyModel toy = write(test::llamaOptions());
        toy.tensors["visual.patch.weight"] = {{2}, {1, 0.5}};
        toy.tensors["visual.merger.bias"] = {{2}, {1, 0.5}};
        rewrite(toy);
        QVERIFY(test::failsWith(load(), ErrorCode::Unsupported,
                                "--ignore 'visual.merger.bias,visual.patch.weight'"));
        const auto with = [&](std::vector<std::string> patterns) {
            return loadModel({folder(), {}, {}, std::move(patterns)}, Task{});
        };
        QVERIFY(test::failsWith(with({"visual.patch.weight"}), ErrorCode::Unsupported,
                                "Tensor 'visual.merger.bias'"));
        QCOMPARE(unknownTensors({folder(), {}, {}}),
                 (std::vector<std::string>{"visual.merger.bias", "visual.patch.weight"}));
        const auto weights = with({"visual.*", "model.norm.weight"});
        QVERIFY(test::isOk(weights));
        QCOMPARE((*weights)->leftOut().size(), std::size_t(2));
        QVERIFY((*weights)->has(Kind::ln_final_w)); // A tensor of the model is read whatever is named.
        const std::vector<std::string>& warnings = (*weights)->warnings();
        QCOMPARE(warnings.size(), std::size_t(2));
        QVERIFY(warnings[0].find("visual.patch.weight") != std::string::npos);
        QVERIFY(warnings[1].find("'model.norm.weight' leaves nothing out") != std::string::npos);
        const LoadReport report = loadReport(**weights);
        QCOMPARE(report.ignored.size(), std::size_t(1));
        QVERIFY(report.ignored[0].why.find("on request") != std::string::npos);
        toy.tensors["visual.a"] = toy.tensors["visual.b"] = {{2}, {1, 0.5}};
        rewrite(toy);
        QVERIFY(test::failsWith(load(), ErrorCode::Unsupported, "--ignore 'visual.*'"));
    }

    void matchesNamesAgainstPatterns()
    {
        QVERIFY(matchesPattern("a.b", "a.b") && !matchesPattern("a.b", "a") && !matchesPattern("a", "a.b"));
        QVERIFY(matchesPattern("a.b.c", "a.*") && matchesPattern("a.b.c", "*.c") && matchesPattern("", "*"));
        QVERIFY(matchesPattern("a.bb.bc", "a*b*c") && !matchesPattern("a.bb.bd", "a*b*c"));
    }

    void refusesTheLayoutOfNanoGpt()
    {
        test::ToyModel toy = write(test::gpt2Options());
        toy.tensors["transformer.h.0.attn.c_attn.weight"].shape = {45, 15};
        rewrite(toy);
        QVERIFY(test::failsWith(load(), ErrorCode::Unsupported, "nanoGPT"));
    }

    void opensAModelWithoutReadingItsNumbers()
    {
        // 64 GB of holes: reading a noticeable part would take minutes.
        test::ToyOptions options = test::gpt2Options();
        options.tied = true;
        write(options);
        const auto weights = load({{"n_embd", "15"}});
        QVERIFY(test::isOk(weights));
        const std::int64_t rows = std::int64_t{1} << 30, bytes = rows * 60;
        std::ifstream small(folder() / "model.safetensors", std::ios::binary);
        std::string text((std::istreambuf_iterator<char>(small)), {});
        std::uint64_t length = 0;
        std::memcpy(&length, text.data(), 8);
        QByteArray header = QByteArray::fromStdString(text.substr(8, length)).trimmed();
        QJsonObject json = QJsonDocument::fromJson(header).object();
        qint64 end = 0;
        for (const QString& name : json.keys()) {
            QJsonObject tensor = json[name].toObject();
            const QJsonArray offsets = tensor["data_offsets"].toArray();
            qint64 size = offsets[1].toInteger() - offsets[0].toInteger();
            if (name == "transformer.wte.weight") {
                size = bytes;
                tensor["shape"] = QJsonArray{qint64{rows}, 15};
            }
            tensor["data_offsets"] = QJsonArray{end, end + size};
            end += size;
            json[name] = tensor;
        }
        header = QJsonDocument(json).toJson(QJsonDocument::Compact);
        length = static_cast<std::uint64_t>(header.size());
        std::ofstream large(folder() / "model.safetensors", std::ios::binary);
        large.write(reinterpret_cast<const char*>(&length), 8);
        large.write(header.data(), header.size());
        large.close();
        std::filesystem::resize_file(folder() / "model.safetensors",
                                     8 + length + static_cast<std::uint64_t>(end));
        const auto huge = load({{"vocab_size", std::to_string(rows)}});
        QVERIFY(test::isOk(huge));
        QCOMPARE((*huge)->config().dVocab, static_cast<int>(rows));
        QCOMPARE((*huge)->readRows<float>(Kind::W_E, rows - 1, 1).cols(), Eigen::Index{15});
    }

    void holdsTheFileAgainstWhatTheConfigSaysOfBiases()
    {
        test::ToyOptions options = test::llamaOptions();
        options.qkvBias = true;
        test::ToyModel toy = write(options);
        const auto denied = load({{"attention_bias", "false"}});
        QVERIFY(test::failsWith(denied, ErrorCode::Unsupported, "'model.layers.0.self_attn.q_proj.bias'"));
        QVERIFY(test::isOk(load({{"attention_bias", "null"}}))); // says nothing: the file decides
        for (int layer = 0; layer < options.nLayers; ++layer)
            toy.tensors.erase("model.layers." + std::to_string(layer) + ".self_attn.k_proj.bias");
        rewrite(toy);
        QVERIFY(test::failsWith(load(), ErrorCode::NotFound, "'model.layers.1.self_attn.k_proj.bias'"));
    }

    void readsTheRealModels_data()
    {
        QTest::addColumn<QString>("path");
        QTest::addColumn<int>("parameters");
        // Counted from the headers of the files by hand.
        QTest::newRow("demo") << QString(HEADWISE_DEMO_MODEL) << 1611264;
        QTest::newRow("gpt-nano-sort") << QString(HEADWISE_TEST_DATA "/models/gpt-nano-sort") << 85728;
        QTest::newRow("stories260k") << QString(HEADWISE_TEST_DATA "/models/stories260k") << 260032;
        QTest::newRow("sharded") << QString(HEADWISE_TEST_DATA "/models/stories260k-sharded") << 260032;
    }
    void readsTheRealModels()
    {
        QFETCH(QString, path);
        QFETCH(int, parameters);
        const auto weights = loadModel({path.toStdString(), std::nullopt, {}}, Task{});
        QVERIFY(test::isOk(weights));
        QCOMPARE((*weights)->parameterCount(), std::int64_t{parameters});
        QCOMPARE((*weights)->warnings(), std::vector<std::string>());
    }

private:
    static void addPrefixes(const char* first, const char* second)
    {
        QTest::addColumn<QString>("prefix");
        QTest::newRow(first) << QString(first);
        QTest::newRow("without") << QString(second);
    }

    std::filesystem::path folder() const { return m_folder->path().toStdString(); }
    test::ToyModel write(const test::ToyOptions& options) const
    {
        return test::writeToyModel(folder(), options);
    }
    static void rewrite(const test::ToyModel& toy)
    {
        test::writeSafetensors(toy.folder / "model.safetensors", toy.tensors, toy.options.float64);
    }
    Result<std::shared_ptr<const ModelWeights>> load(std::map<std::string, std::string> overrides = {}) const
    {
        return loadModel({folder(), std::nullopt, std::move(overrides)}, Task{});
    }
    bool readsOutputFrom(const test::ToyModel& toy, const std::string& name, bool isTied) const
    {
        const auto weights = load();
        return test::isOk(weights) && (*weights)->config().tiedEmbeddings == isTied
            && isEqual(**weights, Kind::W_U, 0, 0, 15, 11, [&](int a, int t) {
                   return at(toy, name, {t, a});
               });
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

HEADWISE_TEST(ArchitectureTest)
#include "architecture_test.moc"
