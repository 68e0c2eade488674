#include "core/model/families/inferred_config.h"
#include "core/model/names/names_library.h"
#include "core/model/names/names_proposal.h"
#include "tests/core/model/renamed_toy.h"
#include "tests/support/program.h"

#include <fstream>

using namespace headwise;

/// Checkpoints in layouts of their own, made from the reference's model.
class NamesLibraryTest : public test::RenamedToyTest {
    Q_OBJECT

private slots:
    void init() { renew(); }

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
};

HEADWISE_TEST(NamesLibraryTest)
#include "names_library_test.moc"
