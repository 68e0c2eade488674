#include "core/model/families/inferred_config.h"
#include "core/model/names/names_library.h"
#include "core/model/names/names_proposal.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

#include <cmath>
#include <fstream>

using namespace headwise;

namespace {

using Tensors = std::map<std::string, test::StoredTensor>;

const std::vector<int> namedPrompt{3, 1, 4, 1, 5, 0, 2, 6};

test::StoredTensor flipped(const test::StoredTensor& t)
{
    test::StoredTensor out{{t.shape[1], t.shape[0]}, t.values};
    for (std::size_t i = 0; i < t.shape[0]; ++i)
        for (std::size_t j = 0; j < t.shape[1]; ++j)
            out.values[j * t.shape[0] + i] = t.values[i * t.shape[1] + j];
    return out;
}

/// Head i of [heads, a, b] as [a, b].
test::StoredTensor oneHead(const test::StoredTensor& t, std::size_t i)
{
    const std::size_t size = t.shape[1] * t.shape[2];
    const auto first = t.values.begin() + static_cast<std::ptrdiff_t>(i * size);
    return {{t.shape[1], t.shape[2]}, {first, first + static_cast<std::ptrdiff_t>(size)}};
}

/// Below each other: [a, b] and [c, b] as [a + c, b].
test::StoredTensor below(const std::vector<test::StoredTensor>& parts)
{
    test::StoredTensor out = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) {
        out.shape[0] += parts[i].shape[0];
        out.values.insert(out.values.end(), parts[i].values.begin(), parts[i].values.end());
    }
    return out;
}

/// W_Q, W_K or W_V [heads, d_model, d_head] as nn.Linear's [heads·d_head, d_model].
test::StoredTensor linear(const test::StoredTensor& t)
{
    std::vector<test::StoredTensor> heads;
    for (std::size_t i = 0; i < t.shape[0]; ++i)
        heads.push_back(flipped(oneHead(t, i)));
    return below(heads);
}

/// W_O [heads, d_head, d_model] as nn.Linear's [d_model, heads·d_head].
test::StoredTensor outputLinear(const test::StoredTensor& t)
{
    return flipped({{t.shape[0] * t.shape[1], t.shape[2]}, t.values});
}

test::StoredTensor flat(const test::StoredTensor& t)
{
    return {{t.values.size()}, t.values};
}

/// For each key/value head its queries, its key and its value. Biases [heads, d_head] as columns.
test::StoredTensor grouped(const test::StoredTensor& q, const test::StoredTensor& k,
                           const test::StoredTensor& v)
{
    const std::size_t each = q.shape[0] / k.shape[0];
    std::vector<test::StoredTensor> parts;
    for (std::size_t group = 0; group < k.shape[0]; ++group) {
        for (std::size_t i = 0; i < each; ++i)
            parts.push_back(flipped(oneHead(q, group * each + i)));
        parts.push_back(flipped(oneHead(k, group)));
        parts.push_back(flipped(oneHead(v, group)));
    }
    return below(parts);
}

test::StoredTensor times(test::StoredTensor t, double factor)
{
    for (double& value : t.values)
        value *= factor;
    return t;
}

/// [heads, d_head] as [heads, 1, d_head], so that a bias is fused as a matrix is.
test::StoredTensor asMatrix(const test::StoredTensor& t)
{
    return {{t.shape[0], 1, t.shape[1]}, t.values};
}

} // namespace

/// Checkpoints in layouts of their own, made from the reference's model.
class NamesLibraryTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void everyBuiltInMapCanBeRead()
    {
        for (const std::string& text : builtInNamesTexts())
            QVERIFY(test::isOk(readNamesMap(text, "built-in")));
    }

    void readsLetsBuildGpt()
    {
        test::ToyOptions options = plain();
        options.qkvBias = false;
        options.activation = "relu";
        const Tensors toy = make(options);
        Tensors own;
        karpathy(toy, own);
        check(save(own), {});
    }

    void readsTheStacksOfProgressMeasuresAndIgnoresTheirMasks()
    {
        test::ToyOptions options = plain();
        options.qkvBias = options.outBias = options.unembedBias = false;
        options.normalization = std::nullopt;
        options.activation = "relu";
        const Tensors toy = make(options);
        Tensors own;
        own["embed.W_E"] = flipped(toy.at("embed.W_E"));
        own["pos_embed.W_pos"] = toy.at("pos_embed.W_pos");
        own["unembed.W_U"] = toy.at("unembed.W_U");
        forLayers([&](const std::string& b) {
            for (const char* name : {"attn.W_Q", "attn.W_K", "attn.W_V"}) {
                const test::StoredTensor& heads = toy.at(b + name);
                own[b + name] = {{heads.shape[0], heads.shape[2], heads.shape[1]}, linear(heads).values};
            }
            own[b + "attn.W_O"] = outputLinear(toy.at(b + "attn.W_O"));
            own[b + "attn.mask"] = mask([](std::size_t i, std::size_t j) { return j <= i; });
            own[b + "mlp.W_in"] = flipped(toy.at(b + "mlp.W_in"));
            own[b + "mlp.W_out"] = flipped(toy.at(b + "mlp.W_out"));
            for (const char* name : {"mlp.b_in", "mlp.b_out"})
                own[b + name] = toy.at(b + name);
        });
        check(save(own), {});
    }

    void readsLlmsFromScratch()
    {
        test::ToyOptions options = plain();
        options.unembedBias = false;
        const Tensors toy = make(options);
        Tensors own{{"tok_emb.weight", toy.at("embed.W_E")},
                    {"pos_emb.weight", toy.at("pos_embed.W_pos")},
                    {"final_norm.scale", toy.at("ln_final.w")},
                    {"final_norm.shift", toy.at("ln_final.b")},
                    {"out_head.weight", flipped(toy.at("unembed.W_U"))}};
        for (int layer = 0; layer < 2; ++layer) {
            const std::string b = "blocks." + std::to_string(layer) + ".",
                              o = "trf_blocks." + std::to_string(layer) + ".";
            for (const auto& [from, to] :
                 {std::pair("Q", "query"), std::pair("K", "key"), std::pair("V", "value")}) {
                own[o + "att.W_" + to + ".weight"] = linear(toy.at(b + "attn.W_" + from));
                own[o + "att.W_" + to + ".bias"] = flat(toy.at(b + "attn.b_" + from));
            }
            own[o + "att.out_proj.weight"] = outputLinear(toy.at(b + "attn.W_O"));
            own[o + "att.out_proj.bias"] = toy.at(b + "attn.b_O");
            own[o + "att.mask"] = mask([](std::size_t i, std::size_t j) { return j > i; });
            norms(toy, b, own, {o + "norm1.scale", o + "norm1.shift", o + "norm2.scale", o + "norm2.shift"});
            mlp(toy, b, own, o + "ff.layers.0", o + "ff.layers.2");
        }
        const auto folder = save(own);
        QVERIFY(test::failsWith(open(folder), ErrorCode::NotFound, "--set n_heads=…."));
        QVERIFY(missingConfig({folder, {}, {}}).isMissing);
        QCOMPARE(missingConfig({folder, {}, {}}).keys, (std::vector<std::string>{"n_heads"}));
        check(folder, {{"n_heads", "3"}});
    }

    /// The config is in params.json, and the file is called as Meta calls it.
    void readsMetasConsolidatedFile()
    {
        const Tensors toy = make(llama(true));
        Tensors own{{"tok_embeddings.weight", toy.at("embed.W_E")},
                    {"norm.weight", toy.at("ln_final.w")},
                    {"rope.freqs", {{2}, {1, 0.5}}},
                    {"output.weight", flipped(toy.at("unembed.W_U"))}};
        for (int layer = 0; layer < 2; ++layer) {
            const std::string b = "blocks." + std::to_string(layer) + ".",
                              o = "layers." + std::to_string(layer) + ".";
            own[o + "attention.wq.weight"] = linear(toy.at(b + "attn.W_Q"));
            own[o + "attention.wk.weight"] = linear(toy.at(b + "attn._W_K"));
            own[o + "attention.wv.weight"] = linear(toy.at(b + "attn._W_V"));
            own[o + "attention.wo.weight"] = outputLinear(toy.at(b + "attn.W_O"));
            own[o + "attention_norm.weight"] = toy.at(b + "ln1.w");
            own[o + "ffn_norm.weight"] = toy.at(b + "ln2.w");
            own[o + "feed_forward.w1.weight"] = flipped(toy.at(b + "mlp.W_gate"));
            own[o + "feed_forward.w3.weight"] = flipped(toy.at(b + "mlp.W_in"));
            own[o + "feed_forward.w2.weight"] = flipped(toy.at(b + "mlp.W_out"));
        }
        const auto folder = save(own, "consolidated.00.pth");
        std::ofstream(folder / "params.json")
            << R"({"dim": 7, "n_heads": 6, "n_kv_heads": 2, "norm_eps": 1e-5, "rope_theta": 523, "vocab_size": -1})";
        check(folder, {});
        std::ofstream(folder / "params.json") << R"({"n_heads": 6, "use_scaled_rope": true})";
        QVERIFY(test::failsWith(open(folder), ErrorCode::Unsupported, "'use_scaled_rope'"));
    }

    void readsLitGptsFusedMatrices_data()
    {
        QTest::addColumn<bool>("isGrouped");
        QTest::newRow("queries, then keys, then values") << false;
        QTest::newRow("a group after the other") << true;
    }
    void readsLitGptsFusedMatrices()
    {
        QFETCH(bool, isGrouped);
        const Tensors toy = make(llama(false));
        Tensors own{{"transformer.wte.weight", toy.at("embed.W_E")},
                    {"transformer.ln_f.weight", toy.at("ln_final.w")},
                    {"lm_head.weight", flipped(toy.at("unembed.W_U"))}};
        for (int layer = 0; layer < 2; ++layer) {
            const std::string b = "blocks." + std::to_string(layer) + ".",
                              o = "transformer.h." + std::to_string(layer) + ".";
            const auto &q = toy.at(b + "attn.W_Q"), &k = toy.at(b + "attn._W_K"),
                       &v = toy.at(b + "attn._W_V");
            if (isGrouped)
                own[o + "attn.attn.weight"] = grouped(q, k, v);
            else
                own[o + "attn.qkv.weight"] = below({linear(q), linear(k), linear(v)});
            own[o + "attn.proj.weight"] = outputLinear(toy.at(b + "attn.W_O"));
            own[o + "norm_1.weight"] = toy.at(b + "ln1.w");
            own[o + "norm_2.weight"] = toy.at(b + "ln2.w");
            own[o + "mlp.fc_1.weight"] = flipped(toy.at(b + "mlp.W_gate"));
            own[o + "mlp.fc_2.weight"] = flipped(toy.at(b + "mlp.W_in"));
            own[o + "mlp.proj.weight"] = flipped(toy.at(b + "mlp.W_out"));
        }
        // The number of key/value heads follows from the shapes.
        check(save(own), {{"n_heads", "6"}, {"rotary_base", "523"}});
    }

    void readsMegatronsFusedMatrices_data()
    {
        QTest::addColumn<bool>("isCore");
        QTest::newRow("Megatron-LM") << false;
        QTest::newRow("Megatron-Core") << true;
    }
    void readsMegatronsFusedMatrices()
    {
        QFETCH(bool, isCore);
        test::ToyOptions options = plain();
        options.unembedBias = false;
        const Tensors toy = make(options);
        const std::string p = isCore ? "model." : "language_model.",
                          s = isCore ? p + "decoder." : p + "encoder.";
        Tensors own{{p + "embedding.word_embeddings.weight", toy.at("embed.W_E")},
                    {p + "embedding.position_embeddings.weight", toy.at("pos_embed.W_pos")},
                    {s + "final_layernorm.weight", toy.at("ln_final.w")},
                    {s + "final_layernorm.bias", toy.at("ln_final.b")},
                    {p + "output_layer.weight", flipped(toy.at("unembed.W_U"))}};
        for (int layer = 0; layer < 2; ++layer) {
            const std::string b = "blocks." + std::to_string(layer) + ".",
                              o = s + "layers." + std::to_string(layer) + ".",
                              qkv = o + "self_attention." + (isCore ? "linear_qkv" : "query_key_value"),
                              out = o + "self_attention." + (isCore ? "linear_proj" : "dense"),
                              up = o + "mlp." + (isCore ? "linear_fc1" : "dense_h_to_4h");
            const auto part = [&](const char* name) { return toy.at(b + "attn." + name); };
            own[qkv + ".weight"] = grouped(part("W_Q"), part("W_K"), part("W_V"));
            own[qkv + ".bias"] =
                flat(grouped(asMatrix(part("b_Q")), asMatrix(part("b_K")), asMatrix(part("b_V"))));
            own[out + ".weight"] = outputLinear(part("W_O"));
            own[out + ".bias"] = part("b_O");
            if (isCore)
                norms(toy, b, own,
                      {qkv + ".layer_norm_weight", qkv + ".layer_norm_bias", up + ".layer_norm_weight",
                       up + ".layer_norm_bias"});
            else
                norms(toy, b, own,
                      {o + "input_layernorm.weight", o + "input_layernorm.bias",
                       o + "post_attention_layernorm.weight", o + "post_attention_layernorm.bias"});
            mlp(toy, b, own, up, o + "mlp." + (isCore ? "linear_fc2" : "dense_4h_to_h"));
        }
        check(save(own), {{"n_heads", "3"}});
    }

    void readsFairseqsLanguageModels_data()
    {
        QTest::addColumn<bool>("isFused");
        QTest::newRow("queries, keys and values apart") << false;
        QTest::newRow("in one tensor") << true;
    }
    void readsFairseqsLanguageModels()
    {
        QFETCH(bool, isFused);
        test::ToyOptions options = plain();
        options.unembedBias = false;
        options.activation = "relu";
        const Tensors toy = make(options);
        const test::StoredTensor& positions = toy.at("pos_embed.W_pos");
        const std::size_t d = positions.shape[1];
        Tensors own{
            {"decoder.embed_tokens.weight", times(toy.at("embed.W_E"), 1 / std::sqrt(double(d)))},
            {"decoder.embed_positions.weight", below({{{2, d}, std::vector<double>(2 * d, 9.0)}, positions})},
            {"decoder.layer_norm.weight", toy.at("ln_final.w")},
            {"decoder.layer_norm.bias", toy.at("ln_final.b")},
            {"decoder.output_projection.weight", flipped(toy.at("unembed.W_U"))},
            {"decoder.version", {{1}, {3}}}};
        for (int layer = 0; layer < 2; ++layer) {
            const std::string b = "blocks." + std::to_string(layer) + ".",
                              o = "decoder.layers." + std::to_string(layer) + ".", a = o + "self_attn.";
            const auto part = [&](const char* name) { return toy.at(b + "attn." + name); };
            if (isFused) {
                own[a + "in_proj_weight"] =
                    below({linear(part("W_Q")), linear(part("W_K")), linear(part("W_V"))});
                own[a + "in_proj_bias"] = below({flat(part("b_Q")), flat(part("b_K")), flat(part("b_V"))});
            }
            for (const auto& [stem, letter] : {std::pair("q", "Q"), std::pair("k", "K"), std::pair("v", "V")})
                if (!isFused) {
                    own[a + stem + "_proj.weight"] = linear(part((std::string("W_") + letter).c_str()));
                    own[a + stem + "_proj.bias"] = flat(part((std::string("b_") + letter).c_str()));
                }
            own[a + "out_proj.weight"] = outputLinear(part("W_O"));
            own[a + "out_proj.bias"] = part("b_O");
            norms(toy, b, own,
                  {o + "self_attn_layer_norm.weight", o + "self_attn_layer_norm.bias",
                   o + "final_layer_norm.weight", o + "final_layer_norm.bias"});
            mlp(toy, b, own, o + "fc1", o + "fc2");
        }
        check(save(own), {{"n_heads", "3"}});
    }

    void readsTheStacksOfFairseqsTranslationModels_data()
    {
        QTest::addColumn<QByteArray>("stack");
        QTest::addColumn<bool>("isPre");
        QTest::addColumn<bool>("isFused");
        for (const char* stack : {"decoder", "encoder", "cross"})
            for (const bool isPre : {false, true})
                for (const bool isFused : {false, true})
                    QTest::addRow("%s, norms %s, %s", stack, isPre ? "before" : "behind",
                                  isFused ? "in_proj" : "apart")
                        << QByteArray(stack) << isPre << isFused;
    }
    /// The stack asked for has the reference's numbers, the others have theirs in another order.
    void readsTheStacksOfFairseqsTranslationModels()
    {
        QFETCH(QByteArray, stack);
        QFETCH(bool, isPre);
        QFETCH(bool, isFused);
        test::ToyOptions options = plain();
        options.unembedBias = false;
        options.activation = "relu";
        options.bidirectional = stack != "decoder";
        const Tensors toy = make(options);
        if (!isPre)
            putNormsBehind(toy);
        const auto folder =
            save(fairseq(toy, stack == "encoder" ? "encoder" : "decoder", stack == "cross", isPre, isFused));
        std::map<std::string, std::string> said{{"n_heads", "3"}};
        if (stack != "decoder") // the one that opens without a word
            said["stack"] = stack.toStdString();
        checkCircuits(folder, said);
        const auto weights = open(folder, said);
        QVERIFY(test::isOk(weights));
        const ModelConfig& c = (*weights)->config();
        QCOMPARE(c.stacks.size(), std::size_t(3));
        QCOMPARE(c.stacks[0], stack.toStdString());
        QCOMPARE(c.hasSumNorms, !isPre);
        QCOMPARE(c.crossAttention, stack == "cross");
        QCOMPARE(c.bidirectional, stack != "decoder");
        QCOMPARE(whyNoForward(c).empty(), stack == "encoder");
        if (stack != "encoder")
            return;
        const auto reference = test::referenceForward(root() / "reference", namedPrompt);
        const auto run = test::ran<double>(test::raw(*weights), namedPrompt);
        QVERIFY(
            test::isClose(run.residuals.back(), test::matrixOf(reference.steps.at("1.resid_post")), 1e-10));
        QCOMPARE((*weights)->has(TensorKind::ln_final_w), isPre);
    }

    void aStackThatFairseqLacksIsRefusedByName()
    {
        test::ToyOptions options = plain();
        options.unembedBias = false;
        const auto folder = save(fairseq(make(options), "decoder", false, true, false));
        QVERIFY(test::failsWith(open(folder, {{"n_heads", "3"}, {"stack", "middle"}}), ErrorCode::Unsupported,
                                "no stack \"middle\""));
    }

    /// Computed positions leave no table behind: the weights open, and a forward pass says what it lacks.
    void fairseqsComputedPositionsAreUnknown()
    {
        test::ToyOptions options = plain();
        options.unembedBias = false;
        Tensors own = fairseq(make(options), "encoder", false, true, false);
        for (const char* side : {"encoder", "decoder"}) {
            own.erase(std::string(side) + ".embed_positions.weight");
            own[std::string(side) + ".embed_positions._float_tensor"] = {{1}, {0}};
        }
        const std::map<std::string, std::string> said{{"n_heads", "3"}, {"stack", "encoder"}};
        const auto folder = save(own);
        checkCircuits(folder, said);
        const auto weights = open(folder, said);
        QVERIFY(test::isOk(weights));
        QVERIFY(!(*weights)->config().isKnown(ConfigField::Positions));
        QVERIFY(test::failsWith(forward<double>(test::raw(*weights), namedPrompt, Task{}),
                                ErrorCode::InvalidArgument, "positional_embedding_type"));
    }

    /// Attention and MLP are layers in turn, and positions are divided by the root of d_model.
    void readsXTransformers()
    {
        test::ToyOptions options = plain();
        options.qkvBias = options.outBias = options.unembedBias = false;
        options.activation = "gelu";
        const Tensors toy = make(options);
        const test::StoredTensor& positions = toy.at("pos_embed.W_pos");
        const std::string n = "net.";
        Tensors own{{n + "token_emb.emb.weight", toy.at("embed.W_E")},
                    {n + "pos_emb.emb.weight", times(positions, std::sqrt(double(positions.shape[1])))},
                    {n + "attn_layers.final_norm.weight", toy.at("ln_final.w")},
                    {n + "attn_layers.final_norm.bias", toy.at("ln_final.b")},
                    {n + "to_logits.weight", flipped(toy.at("unembed.W_U"))}};
        for (int layer = 0; layer < 2; ++layer) {
            const std::string b = "blocks." + std::to_string(layer) + ".", l = n + "attn_layers.layers.",
                              a = l + std::to_string(2 * layer) + ".",
                              f = l + std::to_string(2 * layer + 1) + ".";
            own[a + "1.to_q.weight"] = linear(toy.at(b + "attn.W_Q"));
            own[a + "1.to_k.weight"] = linear(toy.at(b + "attn.W_K"));
            own[a + "1.to_v.weight"] = linear(toy.at(b + "attn.W_V"));
            own[a + "1.to_out.weight"] = outputLinear(toy.at(b + "attn.W_O"));
            norms(toy, b, own, {a + "0.0.weight", a + "0.0.bias", f + "0.0.weight", f + "0.0.bias"});
            mlp(toy, b, own, f + "1.ff.0.0", f + "1.ff.2");
        }
        check(save(own), {{"n_heads", "3"}});
    }

    /// Names that no map knows: refused with the command's name, proposed, mended by nobody, found beside the weights.
    void aProposalReadsAModelOfItsOwnNames()
    {
        test::ToyOptions options = plain();
        options.qkvBias = options.outBias = options.unembedBias = false;
        options.activation = "relu";
        const Tensors toy = make(options);
        const auto folder = save(strange(toy));
        QVERIFY(test::failsWith(open(folder), ErrorCode::NotFound, "`headwise names`"));
        const auto file = WeightMap::open(folder);
        QVERIFY(test::isOk(file));
        const NamesProposal proposal = proposeNames(*file);
        QVERIFY(test::isOk(readNamesMap(proposal.map, "proposal")));
        QVERIFY(!proposal.questions.empty());
        std::ofstream(folder / namesFileName) << proposal.map;
        check(folder, {{"n_heads", "3"}});
    }

    /// Layers may be numbered within a word: "block0.att.q.weight", "layer_0.att.q.weight".
    void aProposalFindsNumbersBehindAWord()
    {
        test::ToyOptions options = plain();
        options.qkvBias = options.outBias = options.unembedBias = false;
        options.activation = "relu";
        const Tensors toy = strange(make(options));
        for (const char* word : {"block", "layer_"}) {
            Tensors own;
            for (const auto& [name, tensor] : toy)
                own[name.starts_with("stack.") ? word + name.substr(6) : name] = tensor;
            const auto folder = save(own);
            const auto file = WeightMap::open(folder);
            QVERIFY(test::isOk(file));
            std::ofstream(folder / namesFileName) << proposeNames(*file).map;
            check(folder, {{"n_heads", "3"}});
        }
    }

    void aUsersMapIsFoundByNamesAndShapes()
    {
        test::ToyOptions options = plain();
        options.qkvBias = options.outBias = options.unembedBias = false;
        options.activation = "relu";
        const Tensors toy = make(options);
        const auto folder = save(strange(toy));
        const QByteArray before = qgetenv("XDG_DATA_HOME");
        qputenv("XDG_DATA_HOME", m_folder->filePath(QStringLiteral("data")).toUtf8());
        const auto file = WeightMap::open(folder);
        const std::filesystem::path kept = userNamesFile(*file);
        std::filesystem::create_directories(kept.parent_path());
        std::ofstream(kept) << proposeNames(*file).map;
        check(folder, {{"n_heads", "3"}});
        std::filesystem::remove(kept);
        QVERIFY(!open(folder, {{"n_heads", "3"}}));
        before.isNull() ? static_cast<void>(qunsetenv("XDG_DATA_HOME"))
                        : static_cast<void>(qputenv("XDG_DATA_HOME", before));
    }

private:
    std::filesystem::path root() const { return m_folder->path().toStdString(); }

    static test::ToyOptions plain()
    {
        test::ToyOptions options;
        options.float64 = true;
        return options;
    }
    static test::ToyOptions llama(bool isAdjacent)
    {
        test::ToyOptions options = plain();
        options.nHeads = 6;
        options.nKvHeads = 2;
        options.dHead = 4;
        options.activation = "silu";
        options.normalization = "RMS";
        options.gatedMlp = true;
        options.positional = "rotary";
        options.rotaryBase = 523;
        options.rotaryAdjacent = isAdjacent;
        options.qkvBias = options.outBias = options.mlpBias = options.unembedBias = false;
        return options;
    }

    Tensors make(const test::ToyOptions& options)
    {
        m_options = options;
        return test::writeToyModel(root() / "reference", options).tensors;
    }
    std::filesystem::path save(const Tensors& tensors, const char* name = "model.safetensors") const
    {
        std::filesystem::create_directories(root() / "own");
        test::writeSafetensors(root() / "own" / name, tensors, true);
        return root() / "own";
    }

    template <typename Add>
    static void forLayers(const Add& add)
    {
        for (int layer = 0; layer < 2; ++layer)
            add("blocks." + std::to_string(layer) + ".");
    }
    test::StoredTensor mask(bool (*isSet)(std::size_t, std::size_t)) const
    {
        const auto n = static_cast<std::size_t>(m_options.nCtx);
        test::StoredTensor mask{{n, n}, {}};
        for (std::size_t i = 0; i < n * n; ++i)
            mask.values.push_back(isSet(i / n, i % n) ? 1 : 0);
        return mask;
    }
    static void norms(const Tensors& toy, const std::string& b, Tensors& own,
                      const std::vector<std::string>& names)
    {
        std::size_t at = 0;
        for (const char* part : {"ln1.w", "ln1.b", "ln2.w", "ln2.b"})
            own[names[at++]] = toy.at(b + part);
    }
    static void mlp(const Tensors& toy, const std::string& b, Tensors& own, const std::string& in,
                    const std::string& out)
    {
        own[in + ".weight"] = flipped(toy.at(b + "mlp.W_in"));
        own[in + ".bias"] = toy.at(b + "mlp.b_in");
        own[out + ".weight"] = flipped(toy.at(b + "mlp.W_out"));
        own[out + ".bias"] = toy.at(b + "mlp.b_out");
    }
    static void karpathy(const Tensors& toy, Tensors& own)
    {
        own["token_embedding_table.weight"] = toy.at("embed.W_E");
        own["position_embedding_table.weight"] = toy.at("pos_embed.W_pos");
        own["ln_f.weight"] = toy.at("ln_final.w");
        own["ln_f.bias"] = toy.at("ln_final.b");
        own["lm_head.weight"] = flipped(toy.at("unembed.W_U"));
        own["lm_head.bias"] = toy.at("unembed.b_U");
        forLayers([&](const std::string& b) {
            for (std::size_t head = 0; head < 3; ++head) {
                const std::string o = b + "sa.heads." + std::to_string(head) + ".";
                own[o + "query.weight"] = flipped(oneHead(toy.at(b + "attn.W_Q"), head));
                own[o + "key.weight"] = flipped(oneHead(toy.at(b + "attn.W_K"), head));
                own[o + "value.weight"] = flipped(oneHead(toy.at(b + "attn.W_V"), head));
                own[o + "tril"] = {{2, 2}, {1, 0, 1, 1}};
            }
            own[b + "sa.proj.weight"] = outputLinear(toy.at(b + "attn.W_O"));
            own[b + "sa.proj.bias"] = toy.at(b + "attn.b_O");
            norms(toy, b, own, {b + "ln1.weight", b + "ln1.bias", b + "ln2.weight", b + "ln2.bias"});
            mlp(toy, b, own, b + "ffwd.net.0", b + "ffwd.net.2");
        });
    }
    /// The reference as a model with norms behind the additions: what they are called, and the config.
    void putNormsBehind(const Tensors& toy) const
    {
        Tensors renamed;
        for (const auto& [name, tensor] : toy) {
            const auto at = name.find(".ln");
            renamed[at == std::string::npos ? name : name.substr(0, at + 4) + "_post" + name.substr(at + 4)] =
                tensor;
        }
        test::writeSafetensors(root() / "reference" / "model.safetensors", renamed, true);
        QFile file(m_folder->filePath(QStringLiteral("reference/config.json")));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QJsonObject config = QJsonDocument::fromJson(file.readAll()).object();
        file.close();
        config[QLatin1String("norm_placement")] = QStringLiteral("post");
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QJsonDocument(config).toJson());
    }

    /// Layer `from` of the toy as attention under fairseq's names.
    static void fairseqAttention(const Tensors& toy, int from, bool isFused, const std::string& a,
                                 Tensors& own)
    {
        const std::string b = "blocks." + std::to_string(from) + ".attn.";
        const auto weight = [&](const char* letter) { return linear(toy.at(b + "W_" + letter)); };
        const auto bias = [&](const char* letter) { return flat(toy.at(b + "b_" + letter)); };
        if (isFused) {
            own[a + "in_proj_weight"] = below({weight("Q"), weight("K"), weight("V")});
            own[a + "in_proj_bias"] = below({bias("Q"), bias("K"), bias("V")});
        } else {
            for (const auto& [stem, letter] :
                 {std::pair("q", "Q"), std::pair("k", "K"), std::pair("v", "V")}) {
                own[a + stem + "_proj.weight"] = weight(letter);
                own[a + stem + "_proj.bias"] = bias(letter);
            }
        }
        own[a + "out_proj.weight"] = outputLinear(toy.at(b + "W_O"));
        own[a + "out_proj.bias"] = toy.at(b + "b_O");
    }

    /// \param side the side with the toy's layers in order; the other has them turned round
    /// \param isCross the layers are those of the attention between the two, and the decoder's own are turned round
    static Tensors fairseq(const Tensors& toy, const std::string& side, bool isCross, bool isPre,
                           bool isFused)
    {
        Tensors own{{"decoder.output_projection.weight", flipped(toy.at("unembed.W_U"))}};
        const test::StoredTensor& positions = toy.at("pos_embed.W_pos");
        const std::size_t d = positions.shape[1];
        for (const std::string one : {"encoder", "decoder"}) {
            own[one + ".version"] = {{1}, {3}};
            own[one + ".embed_tokens.weight"] = times(toy.at("embed.W_E"), 1 / std::sqrt(double(d)));
            own[one + ".embed_positions.weight"] =
                below({{{2, d}, std::vector<double>(2 * d, 9.0)}, positions});
            for (const auto& [norm, part] : {std::pair("weight", "w"), std::pair("bias", "b")})
                if (isPre)
                    own[one + ".layer_norm." + norm] = toy.at(std::string("ln_final.") + part);
            for (int layer = 0; layer < 2; ++layer) {
                const int from = one == side ? layer : 1 - layer;
                const std::string b = "blocks." + std::to_string(from) + ".",
                                  o = one + ".layers." + std::to_string(layer) + ".",
                                  read = isCross && one == side ? "encoder_attn" : "self_attn";
                fairseqAttention(toy, from, isFused, o + read + ".", own);
                norms(toy, b, own,
                      {o + read + "_layer_norm.weight", o + read + "_layer_norm.bias",
                       o + "final_layer_norm.weight", o + "final_layer_norm.bias"});
                mlp(toy, b, own, o + "fc1", o + "fc2");
                if (one == "encoder")
                    continue;
                const std::string unread = read == "self_attn" ? "encoder_attn" : "self_attn";
                fairseqAttention(toy, 1 - from, isFused, o + unread + ".", own);
                own[o + unread + "_layer_norm.weight"] = toy.at(b + "ln2.w");
                own[o + unread + "_layer_norm.bias"] = toy.at(b + "ln2.b");
            }
        }
        return own;
    }

    static Tensors strange(const Tensors& toy)
    {
        Tensors own{{"tok_emb.weight", toy.at("embed.W_E")},
                    {"pos_table.weight", toy.at("pos_embed.W_pos")},
                    {"last_norm.weight", toy.at("ln_final.w")},
                    {"last_norm.bias", toy.at("ln_final.b")},
                    {"head.weight", flipped(toy.at("unembed.W_U"))}};
        for (int layer = 0; layer < 2; ++layer) {
            const std::string b = "blocks." + std::to_string(layer) + ".",
                              o = "stack." + std::to_string(layer) + ".";
            own[o + "att.q.weight"] = linear(toy.at(b + "attn.W_Q"));
            own[o + "att.k.weight"] = linear(toy.at(b + "attn.W_K"));
            own[o + "att.v.weight"] = flipped(linear(toy.at(b + "attn.W_V"))); // stored [inputs, outputs]
            own[o + "att.out.weight"] = outputLinear(toy.at(b + "attn.W_O"));
            own[o + "att.tril"] = {{2, 2}, {1, 0, 1, 1}};
            norms(toy, b, own, {o + "norm1.weight", o + "norm1.bias", o + "norm2.weight", o + "norm2.bias"});
            mlp(toy, b, own, o + "ffn.up", o + "ffn.down");
        }
        return own;
    }

    static Result<std::shared_ptr<const ModelWeights>>
    open(const std::filesystem::path& folder, const std::map<std::string, std::string>& said = {})
    {
        return loadModel({folder, std::nullopt, said}, Task{});
    }

    /// The circuits' matrices, against the reference's of the same numbers in TransformerLens' layout.
    void checkCircuits(const std::filesystem::path& folder,
                       const std::map<std::string, std::string>& said) const
    {
        const auto weights = open(folder, said);
        QVERIFY(test::isOk(weights));
        const ModelConfig& c = (*weights)->config();
        QCOMPARE(c.nHeads, m_options.nHeads);
        for (int layer = 0; layer < 2; ++layer)
            for (int head = 0; head < c.nHeads; ++head) {
                const int group = head / (c.nHeads / c.nKvHeads);
                const auto expected = test::referenceHead(
                    root() / "reference", static_cast<std::size_t>(layer), static_cast<std::size_t>(head));
                const auto read = [&](TensorKind kind, int index) {
                    return (*weights)->read<double>(kind, layer, index);
                };
                const Matrix<double> qk =
                    read(TensorKind::W_Q, head) * read(TensorKind::W_K, group).transpose();
                const Matrix<double> ov = read(TensorKind::W_V, group) * read(TensorKind::W_O, head);
                const Matrix<double> expectedQk =
                    test::matrixOf(expected.W_Q) * test::matrixOf(expected.W_K).transpose();
                const Matrix<double> expectedOv = test::matrixOf(expected.W_V) * test::matrixOf(expected.W_O);
                QVERIFY(test::isClose(qk, expectedQk, 1e-12));
                QVERIFY(test::isClose(ov, expectedOv, 1e-12));
            }
    }

    /// The circuits, and a forward pass.
    void check(const std::filesystem::path& folder, const std::map<std::string, std::string>& said) const
    {
        checkCircuits(folder, said);
        const auto weights = open(folder, said);
        QVERIFY(test::isOk(weights));
        const auto expected =
            test::matrixOf(test::referenceForward(root() / "reference", namedPrompt).logits);
        const auto run = test::ran<double>(test::raw(*weights), namedPrompt);
        QVERIFY(test::isClose(run.logits, expected, 1e-10));
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    test::ToyOptions m_options;
};

HEADWISE_TEST(NamesLibraryTest)
#include "names_library_test.moc"
