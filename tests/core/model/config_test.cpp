#include "core/model/architecture.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QDir>
#include <QTemporaryDir>

#include <cmath>
#include <fstream>

using namespace headwise;

namespace {

constexpr std::string_view minimalTransformerLens =
    R"({"n_layers": 2, "d_model": 12, "n_heads": 3, "d_head": 5, "n_ctx": 7, "d_vocab": 11, "act_fn": "gelu"})";

} // namespace

class ConfigTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void readsWhatTransformerLensMeansByAbsentKeys()
    {
        write(minimalTransformerLens);
        const auto description = read();
        QVERIFY(test::isOk(description));
        const ModelConfig& c = description->config;
        QCOMPARE(c.architecture, std::string("transformer-lens"));
        QCOMPARE(c.name, folder().filename().string());
        QCOMPARE(c.nKvHeads, 3);
        QCOMPARE(c.dMlp, 48);
        QCOMPARE(c.dVocabOut, 11);
        QCOMPARE(c.normEps, 1e-5);
        QCOMPARE(c.attentionScale, 1 / std::sqrt(5.0));
        QCOMPARE(c.positional, Positional::Learned);
        QCOMPARE(normalizationName(c), std::string_view("LN"));
        QCOMPARE(description->warnings, std::vector<std::string>());
        QCOMPARE(description->assumed.front(), (AssumedKey{"attention_dir", "causal"}));
    }

    void readsTheDirectionOfAttentionInEveryFamily()
    {
        write(minimalTransformerLens);
        QVERIFY(!read()->config.bidirectional);
        QVERIFY(read({{"attention_dir", "bidirectional"}})->config.bidirectional);
        write(R"({"model_type": "gpt2"})");
        QVERIFY(!read()->config.bidirectional);
        QVERIFY(read({{"attention_dir", "bidirectional"}})->config.bidirectional);
        write(R"({"model_type": "bert"})");
        QVERIFY(read()->config.bidirectional);
        QVERIFY(!read({{"attention_dir", "causal"}})->config.bidirectional);
    }

    void listsTheDefaultsThatChangeTheFunction()
    {
        const auto assumed = [&](const std::string& key) {
            const auto description = read();
            for (const AssumedKey& one : description->assumed)
                if (one.key == key)
                    return one.value;
            return std::string();
        };
        write(minimalTransformerLens);
        QCOMPARE(assumed("normalization_type"), std::string("LN"));
        QCOMPARE(assumed("eps"), std::string("1e-05"));
        QCOMPARE(assumed("parallel_attn_mlp"), std::string("false"));
        QCOMPARE(assumed("rotary_base"), std::string()); // of positions that the model does not have
        QCOMPARE(assumed("act_fn"), std::string());      // given
        std::string withoutNorms(minimalTransformerLens);
        withoutNorms.insert(1, R"("normalization_type": null, )");
        write(withoutNorms);
        QCOMPARE(assumed("normalization_type"), std::string()); // null is said
        write(R"({"model_type": "mistral"})");
        QCOMPARE(assumed("sliding_window"), std::string("4096"));
        QCOMPARE(assumed("rope_theta"), std::string("10000.0"));
        QCOMPARE(assumed("rope_scaling"), std::string("null"));
        QCOMPARE(assumed("hidden_activation"), std::string("silu"));
    }

    void saysThatAnActivationIsUnknown()
    {
        write(R"({"n_layers": 2, "d_model": 12, "n_heads": 3, "d_head": 5, "n_ctx": 7, "d_vocab": 11})");
        const auto description = read();
        QVERIFY(test::isOk(description));
        QCOMPARE(description->warnings.size(), std::size_t{1});
        QVERIFY(description->warnings.front().find("--set act_fn=") != std::string::npos);
        QVERIFY(!description->config.isKnown(ConfigField::Activation));
    }

    /// Sizes are compared with the placeholders of missing ones.
    void aMissingSizeIsNamedBeforeWhatFollowsFromIt()
    {
        write(R"({"model_type": "nanogpt", "n_head": 4})");
        QVERIFY(test::failsWith(read(), ErrorCode::Corrupt, "'n_embd'"));
        QVERIFY(read().error().message.find("do not split") == std::string::npos);
    }

    void readsEveryKeyOfTransformerLensThatItSupports()
    {
        write(
            R"({"model_name": "x", "n_layers": 2, "d_model": 12, "n_heads": 4, "d_head": 6, "n_ctx": 7, "d_vocab": 11,
                  "d_vocab_out": 9, "d_mlp": 17, "n_key_value_heads": 2, "act_fn": "silu", "normalization_type": "RMSPre",
                  "final_rms": true, "eps": 1e-6, "gated_mlp": true, "parallel_attn_mlp": true, "rotary_dim": 4,
                  "positional_embedding_type": "rotary", "rotary_base": 5e5, "rotary_adjacent_pairs": true,
                  "attn_scale": 8.0, "attn_scores_soft_cap": 50, "output_logits_soft_cap": 30.0,
                  "rmsnorm_uses_offset": true, "bos_token_id": 3, "seed": 1, "use_hook_tokens": true})");
        ModelConfig expected;
        expected.name = "x";
        expected.architecture = "transformer-lens";
        expected.nLayers = 2, expected.nHeads = 4, expected.nKvHeads = 2, expected.dModel = 12,
        expected.dHead = 6;
        expected.dMlp = 17, expected.dVocab = 11, expected.dVocabOut = 9, expected.nCtx = 7;
        expected.norm = expected.finalNorm = NormKind::Rms;
        expected.normHasParameters = false;
        expected.rmsUsesOffset = true;
        expected.normEps = 1e-6;
        expected.positional = Positional::Rotary;
        expected.rotary = {4, 5e5, true};
        expected.attentionScale = 0.125;
        expected.attentionSoftCap = 50;
        expected.outputSoftCap = 30;
        expected.gatedMlp = expected.parallelBlocks = true;
        expected.activation = Activation::Silu;
        expected.bosTokenId = 3;
        const auto description = read();
        QVERIFY(test::isOk(description));
        QVERIFY(description->config == expected);
        QCOMPARE(description->warnings, std::vector<std::string>());
    }

    void tellsNoNormFromTheStandardNorm_data()
    {
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("finalIsRms");
        for (const char* name : {"LN", "LNPre", "RMS", "RMSPre"})
            QTest::newRow(name) << QString("\"%1\"").arg(name) << QString(name)
                                << QString(name).startsWith("RMS");
        QTest::newRow("null") << "null"
                              << "none" << false;
    }
    void tellsNoNormFromTheStandardNorm()
    {
        QFETCH(QString, value);
        QFETCH(QString, name);
        QFETCH(bool, finalIsRms);
        write(minimalTransformerLens);
        const auto description = read({{"normalization_type", value.toStdString()}});
        QVERIFY(test::isOk(description));
        QCOMPARE(std::string(normalizationName(description->config)), name.toStdString());
        QCOMPARE(description->config.finalNorm == NormKind::Rms, finalIsRms);
    }

    void refusesValuesThatChangeTheFunction_data()
    {
        QTest::addColumn<QString>("base");
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("value");
        const auto row = [](const char* base, const char* key, const char* value) {
            QTest::addRow("%s %s", base, key) << QString(base) << QString(key) << QString(value);
        };
        row("tl", "use_local_attn", "true");
        row("tl", "use_normalization_before_and_after", "true");
        row("tl", "post_embedding_ln", "true");
        row("tl", "num_experts", "8");
        row("tl", "attention_dir", "\"backwards\"");
        row("gpt2", "attention_dir", "\"backwards\"");
        row("tl", "use_yarn_rope", "true");
        row("tl", "rotary_scaling_factor", "8.0");
        row("tl", "rotary_base_local", "10000");
        row("tl", "positional_embedding_type", "\"relative_positional_bias\"");
        row("tl", "normalization_type", "\"BatchNorm\"");
        row("tl", "skipless", "true");
        row("tl", "merged", "\"qp\"");
        row("tl", "original_architecture", "\"Olmo2ForCausalLM\"");
        row("gpt2", "add_cross_attention", "true");
        row("gpt2", "quantization_config", R"({"quant_method":"hqq"})");
        row("llama", "rope_scaling", R"({"factor":8.0,"rope_type":"ntk"})");
        row("llama", "rope_parameters", R"({"full_attention":{"rope_theta":10000.0},"rope_theta":10000.0})");
        row("llama", "sliding_window", "4096");
        row("phi", "qk_layernorm", "true");
        row("gptj", "rotary_dim", "null");
        row("gptj", "scale_attn_weights", "false");
        row("qwen2", "layer_types", R"(["full_attention","chunked_attention"])");
        row("mistral", "quantization_config", R"({"bits":4})");
        row("llama", "quantization_config", R"({"bits":4})");
    }
    void refusesValuesThatChangeTheFunction()
    {
        QFETCH(QString, base);
        QFETCH(QString, key);
        QFETCH(QString, value);
        write(base == "tl" ? minimalTransformerLens : "{\"model_type\": \"" + base.toStdString() + "\"}");
        QVERIFY(test::isOk(read()));
        const auto description = read({{key.toStdString(), value.toStdString()}});
        QVERIFY(test::failsWith(description, ErrorCode::Unsupported,
                                "'" + key.toStdString() + "' = " + value.toStdString()));
    }

    /// The weights' own analyses do without it.
    void anActivationThatIsNotKnownLeavesTheModelOpen_data()
    {
        QTest::addColumn<QString>("base");
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("value");
        QTest::newRow("tl") << "tl"
                            << "act_fn"
                            << "\"solu\"";
        QTest::newRow("gpt2") << "gpt2"
                              << "activation_function"
                              << "\"mish\"";
        QTest::newRow("llama") << "llama"
                               << "hidden_act"
                               << "\"tanh\"";
        QTest::newRow("nemotron") << "nemotron"
                                  << "hidden_act"
                                  << "\"xielu\"";
    }
    void anActivationThatIsNotKnownLeavesTheModelOpen()
    {
        QFETCH(QString, base);
        QFETCH(QString, key);
        QFETCH(QString, value);
        write(base == "tl" ? minimalTransformerLens : "{\"model_type\": \"" + base.toStdString() + "\"}");
        const auto found = read({{key.toStdString(), value.toStdString()}});
        QVERIFY(test::isOk(found));
        QVERIFY(!found->config.isKnown(ConfigField::Activation));
        QCOMPARE(found->config.unknown.front().key, key.toStdString());
        const std::string part = "'" + key.toStdString() + "' = " + value.toStdString() + " is none of the";
        QVERIFY2(found->warnings.front().find(part) != std::string::npos, found->warnings.front().c_str());
        const auto stated = read({{key.toStdString(), "silu"}});
        QVERIFY(test::isOk(stated));
        QVERIFY(stated->config.isKnown(ConfigField::Activation));
    }

    void takesNeutralValuesOfTheSameKeys_data()
    {
        QTest::addColumn<QString>("base");
        QTest::addColumn<QString>("overrides");
        QTest::newRow("tl")
            << "tl"
            << "use_qk_norm=false;num_experts=null;rotary_scaling_factor=1.0;attn_scores_soft_cap=-1.0;output_logits_soft_cap=0;attn_scale=-1;window_size=null;attn_types=null";
        QTest::newRow("gpt2")
            << "gpt2"
            << "scale_attn_by_inverse_layer_idx=false;n_inner=null;reorder_and_upcast_attn=true";
        QTest::newRow("llama")
            << "llama"
            << R"(rope_scaling={"rope_type":"default"};pretraining_tp=1;partial_rotary_factor=1)";
    }
    void takesNeutralValuesOfTheSameKeys()
    {
        QFETCH(QString, base);
        QFETCH(QString, overrides);
        write(base == "tl" ? minimalTransformerLens : "{\"model_type\": \"" + base.toStdString() + "\"}");
        const auto plain = read();
        std::map<std::string, std::string> values;
        for (const QString& pair : overrides.split(';'))
            values[pair.section('=', 0, 0).toStdString()] = pair.section('=', 1).toStdString();
        const auto description = read(values);
        QVERIFY(test::isOk(plain) && test::isOk(description));
        QVERIFY(description->config == plain->config);
        QCOMPARE(description->warnings, std::vector<std::string>());
    }

    void readsTheRotaryBaseWhereverItStands()
    {
        write(R"({"model_type": "llama", "rope_theta": 500000.0})");
        QCOMPARE(read()->config.rotary.base, 5e5);
        write(R"({"model_type": "llama", "rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}})");
        QCOMPARE(read()->config.rotary.base, 1e6);
    }

    void readsNumbersHoweverTheyAreWritten()
    {
        write(
            R"({"model_type": "gpt2", "n_layer": "3", "n_head": 4.0, "n_embd": 2e1, "layer_norm_epsilon": "1e-6",
                  "attn_pdrop": NaN, "bos_token_id": [5, 6]})");
        const auto description = read();
        QVERIFY(test::isOk(description));
        QCOMPARE(description->config.nLayers, 3);
        QCOMPARE(description->config.nHeads, 4);
        QCOMPARE(description->config.dModel, 20);
        QCOMPARE(description->config.normEps, 1e-6);
        QCOMPARE(description->config.bosTokenId, std::optional<int>(5));
    }

    void warnsAboutKeysItDoesNotKnow()
    {
        write(R"({"model_type": "gpt2", "novelty": 3, "silent": null})");
        const auto description = read();
        QVERIFY(test::isOk(description));
        QCOMPARE(description->warnings.size(), std::size_t{1});
        QVERIFY(description->warnings.front().find("the key 'novelty' is unknown and ignored")
                != std::string::npos);
        write("{\"model_type\": \"gpt2\", \"" + std::string(100'000, 'x') + "\": 3}");
        QCOMPARE_LT(read()->warnings.front().size(), std::size_t(600));
    }

    void listsEveryMissingKey()
    {
        write(R"({"d_model": 12, "normalization_type": "LN"})");
        const auto description = read();
        for (const char* key : {"'n_layers'", "'d_vocab'", "'n_heads'"})
            QVERIFY(test::failsWith(description, ErrorCode::Corrupt, key));
        QVERIFY(test::failsWith(description, ErrorCode::Corrupt, "--set"));
    }

    void namesValuesThatMakeNoSense_data()
    {
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("value");
        QTest::newRow("text for a number") << "n_layers"
                                           << "many";
        QTest::newRow("half a head") << "n_heads"
                                     << "2.5";
        QTest::newRow("negative") << "d_model"
                                  << "-12";
        QTest::newRow("zero") << "n_ctx"
                              << "0";
        QTest::newRow("beyond int") << "d_vocab"
                                    << "1e12";
        QTest::newRow("infinite") << "eps"
                                  << "Infinity";
        QTest::newRow("number for a flag") << "attn_only"
                                           << "7";
        QTest::newRow("list for a string") << "act_fn"
                                           << "[1]";
        QTest::newRow("attn_scale") << "attn_scale"
                                    << "0";
    }
    void namesValuesThatMakeNoSense()
    {
        QFETCH(QString, key);
        QFETCH(QString, value);
        write(minimalTransformerLens);
        QVERIFY(test::failsWith(read({{key.toStdString(), value.toStdString()}}), ErrorCode::Corrupt,
                                "'" + key.toStdString() + "'"));
    }

    void saysNanAndInfinityAsTheFileDoes()
    {
        for (const char* value : {"NaN", "Infinity", "-Infinity"}) {
            write(R"({"model_type": "gpt2", "layer_norm_epsilon": )" + std::string(value) + "}");
            QVERIFY(test::failsWith(read(), ErrorCode::Corrupt,
                                    "'layer_norm_epsilon' is " + std::string(value) + ", expected a number"));
        }
    }

    void refusesSizesNoFileHas()
    {
        write(minimalTransformerLens);
        QVERIFY(test::failsWith(read({{"n_layers", "10001"}}), ErrorCode::Corrupt, "10001 layers"));
        QVERIFY(test::failsWith(read({{"n_key_value_heads", "2"}}), ErrorCode::Corrupt, "3 query heads"));
        QVERIFY(test::failsWith(read({{"d_model", "2000000000"}, {"d_vocab", "2000000000"}}),
                                ErrorCode::Corrupt, "more weights"));
        QVERIFY(test::failsWith(read({{"positional_embedding_type", "rotary"}, {"rotary_dim", "6"}}),
                                ErrorCode::Corrupt, "rotary dimension is 6"));
    }

    void refusesAnOriginalContextOfNoPositions()
    {
        const auto ropeOf = [&](const std::string& original) {
            write(R"({"model_type": "llama", "hidden_size": 16, "num_attention_heads": 4, "rope_scaling":
                      {"rope_type": "longrope", "short_factor": [1, 1], "original_max_position_embeddings": )"
                  + original + "}}");
            return read();
        };
        for (const char* original : {"0.5", "1", "1.5"})
            QVERIFY(test::failsWith(ropeOf(original), ErrorCode::Corrupt, "expected at least 2"));
        const auto two = ropeOf("2");
        QVERIFY(test::isOk(two));
        QCOMPARE(two->config.nCtx, 2);
    }

    void readsTheKindOfAScalingWhicheverKeyNamesIt()
    {
        const auto ropeOf = [&](const std::string& rope) {
            write(R"({"model_type": "llama", "rope_scaling": {"factor": 4, )" + rope + "}}");
            return read();
        };
        const auto kind = [&](const std::string& rope) { return ropeOf(rope)->config.rotary.scaling.kind; };
        QCOMPARE(kind(R"("rope_type": null, "type": "linear")"), RotaryScaling::Kind::Linear);
        QCOMPARE(kind(R"("type": "linear")"), RotaryScaling::Kind::Linear);
        QCOMPARE(kind(R"("rope_type": "default", "type": "linear")"), kind(R"("type": null)"));
        for (const char* rope : {R"("rope_type": 7)", R"("rope_type": null, "type": ["linear"])"})
            QVERIFY(test::failsWith(ropeOf(rope), ErrorCode::Unsupported, "'rope_scaling' = {"));
        for (const char* factor : {"Infinity", "NaN", "-Infinity", "0", "-2", "\"4\""}) {
            write(R"({"model_type": "llama", "rope_scaling": {"rope_type": "linear", "factor": )"
                  + std::string(factor) + "}}");
            QVERIFY(test::failsWith(read(), ErrorCode::Corrupt,
                                    "'factor' = " + std::string(factor) + ", expected a positive number"));
        }
    }

    void countsTheLayersOfAListThatRepeats_data()
    {
        QTest::addColumn<QString>("types");
        QTest::addColumn<QString>("fault");
        const QString endless = "[[],2147483647]";
        QTest::newRow("right") << R"([[["global","local"],2]])"
                               << "";
        QTest::newRow("empty list") << "[" + (endless + ",").repeated(200) + endless + "]"
                                    << "not a list of kinds";
        QTest::newRow("no words") << "[[[1,2],2147483647]]"
                                  << "not a list of kinds";
        QTest::newRow("negative") << R"([[["global"],-1]])"
                                  << "not a list of kinds";
        QTest::newRow("no list") << "\"global\""
                                 << "'attention_types' is not a list";
        QTest::newRow("too many") << R"([[["global","local"],9000000000]])"
                                  << "more layers, but there are 4";
        QTest::newRow("too few") << R"([[["global","local"],1]])"
                                 << "2 layers, but there are 4";
    }
    void countsTheLayersOfAListThatRepeats()
    {
        QFETCH(QString, types);
        QFETCH(QString, fault);
        write(R"({"model_type": "gpt_neo", "num_layers": 4, "attention_types": )" + types.toStdString()
              + "}");
        if (fault.isEmpty())
            QVERIFY(read()->config.windows == (std::vector<int>{0, 256, 0, 256}));
        else
            QVERIFY(test::failsWith(read(), ErrorCode::Corrupt, fault.toStdString()));
    }

    void refusesOtherFamiliesByName()
    {
        write(R"({"model_type": "mamba", "architectures": ["MambaForCausalLM"]})");
        QVERIFY(test::failsWith(read(), ErrorCode::Unsupported, "'mamba'"));
        QVERIFY(test::failsWith(read(), ErrorCode::Unsupported, "gemma, gemma2, gemma3, llama, mistral"));
        write(R"({"vocab_size": 5})");
        QVERIFY(test::failsWith(read(), ErrorCode::Unsupported, "names no model family"));
    }

    void saysWhatAFileIsThatIsNoConfig_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("part");
        QTest::newRow("pointer") << QByteArray("version https://git-lfs.github.com/spec/v1\noid sha256:00\n")
                                 << "Git LFS pointer";
        QTest::newRow("web page") << QByteArray("<!DOCTYPE html><html>") << "web page";
        QTest::newRow("empty") << QByteArray(" \n") << "is empty";
        QTest::newRow("no JSON") << QByteArray("{\"n_layer\": }") << "line 1";
        QTest::newRow("no object") << QByteArray("[1]") << "no JSON object";
        QTest::newRow("a key twice") << QByteArray("{\"n_layer\": 1, \"n_layer\": 2}") << "twice";
    }
    void saysWhatAFileIsThatIsNoConfig()
    {
        QFETCH(QByteArray, text);
        QFETCH(QString, part);
        write(text.toStdString());
        QVERIFY(test::failsWith(read(), ErrorCode::Corrupt, part.toStdString()));
        QVERIFY(test::failsWith(read(), ErrorCode::Corrupt, (folder() / "config.json").string()));
    }

    void saysWhatIsMissingInAFolder()
    {
        QVERIFY(test::failsWith(read(), ErrorCode::NotFound, "is empty"));
        std::ofstream(folder() / "adapter_config.json") << "{}";
        QVERIFY(test::failsWith(read(), ErrorCode::Unsupported, "LoRA"));
        std::filesystem::remove(folder() / "adapter_config.json");
        std::ofstream(folder() / "notes.txt") << "x";
        QVERIFY(test::failsWith(read(), ErrorCode::NotFound, "no config.json"));
        QVERIFY(test::failsWith(readModelConfig({folder() / "absent", std::nullopt, {}}), ErrorCode::NotFound,
                                "does not exist"));
        write(R"({"model_type": "gpt2"})");
        QVERIFY(!loadModel({folder(), std::nullopt, {}}, Task{}));
    }

    void takesTheConfigFromElsewhereAndFromOverrides()
    {
        const QTemporaryDir other;
        const std::filesystem::path file = std::filesystem::path(other.path().toStdString()) / "other.json";
        std::ofstream(file) << R"({"model_type": "gpt2", "n_layer": 7})";
        std::ofstream(folder() / "weights.safetensors") << "x";
        const auto description = readModelConfig({folder() / "weights.safetensors", file, {{"n_head", "6"}}});
        QVERIFY(test::isOk(description));
        QCOMPARE(description->config.nLayers, 7);
        QCOMPARE(description->config.nHeads, 6);
        QCOMPARE(description->config.name, std::string("weights"));
    }

private:
    std::filesystem::path folder() const { return m_folder->path().toStdString(); }
    void write(std::string_view text) const { std::ofstream(folder() / "config.json") << text; }
    Result<ModelDescription> read(std::map<std::string, std::string> overrides = {}) const
    {
        return readModelConfig({folder(), std::nullopt, std::move(overrides)});
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

HEADWISE_TEST(ConfigTest)
#include "config_test.moc"
