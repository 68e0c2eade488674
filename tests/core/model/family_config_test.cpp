#include "tests/core/model/family_folder.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QJsonArray>
#include <QTest>

using namespace headwise;

/// Config keys of a family that are absent, null, zero or of an unusual type.
class FamilyConfigTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder.renew(); }

    /// Norms per head have the same shape for any number of heads: the matrices determine the number.
    void aNumberOfHeadsIsCheckedBeforeItIsCountedTo()
    {
        for (const char* name : {"qwen3", "stablelm, parallel with head norms"}) {
            test::FamilyModel model = test::familyModel(name);
            model.config["num_attention_heads"] = model.config["num_key_value_heads"] = 300'000;
            model.config["head_dim"] = 4;
            QVERIFY(test::failsWith(m_folder.open(model), ErrorCode::Corrupt, "q_proj.weight' has shape"));
            model.config["num_attention_heads"] = model.config["num_key_value_heads"] = 2147483647;
            QVERIFY(test::failsWith(m_folder.open(model), ErrorCode::Corrupt, "heads that Headwise accepts"));
        }
    }

    /// As Hugging Face's Qwen2Config reads them.
    void qwensWindowsBeginAndEndWhereTheirKeysSay()
    {
        for (const char* name : {"qwen2", "qwen3"}) {
            test::FamilyModel model = test::familyModel(name);
            model.config.remove("layer_types");
            model.config.remove("max_window_layers");
            model.config["use_sliding_window"] = true;
            model.config["sliding_window"] = 5;
            const auto layers = static_cast<std::size_t>(m_folder.read(model)->config.nLayers);
            QVERIFY(m_folder.read(model)->config.windows.empty()); // from layer 28 on
            model.config["max_window_layers"] = 0;
            QVERIFY(m_folder.read(model)->config.windows == std::vector<int>(layers, 5));
            model.config["max_window_layers"] = 1;
            QCOMPARE(m_folder.read(model)->config.windowOf(0), 0);
            QCOMPARE(m_folder.read(model)->config.windowOf(1), 5);
            model.config["max_window_layers"] = -1;
            QVERIFY(test::failsWith(m_folder.read(model), ErrorCode::Corrupt, "'max_window_layers' is -1"));
            model.config["max_window_layers"] = 0;
            model.config["sliding_window"] = QJsonValue::Null;
            QVERIFY(m_folder.read(model)->config.windows.empty());
            model.config.remove("sliding_window");
            QCOMPARE(m_folder.read(model)->config.windowOf(0), 4096);
        }
    }

    /// As Hugging Face's SmolLM3Config reads them.
    void smolLayersWithoutPositionsAreThoseThatSlide()
    {
        test::FamilyModel model = test::familyModel("smollm3");
        const int layers = m_folder.read(model)->config.nLayers;
        QJsonArray listed;
        for (int layer = 0; layer < layers; ++layer)
            listed.append(layer == 1 ? 0 : 1);
        model.config["no_rope_layers"] = listed;
        model.config.remove("layer_types");
        model.config["sliding_window"] = 5;
        QVERIFY(m_folder.read(model)->config.windows.empty());
        model.config["use_sliding_window"] = true;
        const auto windows = m_folder.read(model)->config.windows;
        for (int layer = 0; layer < layers; ++layer)
            QCOMPARE(windows[static_cast<std::size_t>(layer)], layer == 1 ? 5 : 0);
        model.config["sliding_window"] = QJsonValue::Null;
        QVERIFY(m_folder.read(model)->config.windows.empty());
    }

    void smolLayersAreListedWithNumbers()
    {
        test::FamilyModel model = test::familyModel("smollm3");
        QJsonArray words, fractions;
        for (int layer = 0; layer < m_folder.read(model)->config.nLayers; ++layer) {
            words.append("1");
            fractions.append(0.5);
        }
        for (const QJsonValue& wrong : {QJsonValue(words), QJsonValue(fractions), QJsonValue("1,1,1,0")}) {
            model.config["no_rope_layers"] = wrong;
            QVERIFY(test::failsWith(m_folder.read(model), ErrorCode::Unsupported, "'no_rope_layers' = "));
        }
    }

    void gemmasScaleIsTheRootOfAPositiveNumber()
    {
        for (const char* name : {"gemma2", "gemma3"}) {
            test::FamilyModel model = test::familyModel(name);
            model.config["query_pre_attn_scalar"] = 16;
            QCOMPARE(m_folder.read(model)->config.attentionScale, 0.25);
            for (const double wrong : {0.0, -4.0}) {
                model.config["query_pre_attn_scalar"] = wrong;
                QVERIFY(
                    test::failsWith(m_folder.read(model), ErrorCode::Corrupt, "'query_pre_attn_scalar' is "));
            }
        }
    }

    void keysOfADecoderThatChangeItsFunctionAreRefused_data()
    {
        QTest::addColumn<QString>("family");
        QTest::addColumn<QString>("key");
        QTest::addColumn<QJsonValue>("value");
        QTest::addColumn<QString>("shown");
        const auto row = [](const char* family, const char* key, const QJsonValue& value, const char* shown) {
            QTest::addRow("%s, %s", family, key)
                << QString(family) << QString(key) << value << QString(shown);
        };
        row("starcoder2", "mlp_type", "gated", "'mlp_type' = \"gated\"");
        row("cohere2", "use_qk_norm", true, "'use_qk_norm' = true");
        row("cohere2", "use_parallel_block", false, "'use_parallel_block' = false");
        row("qwen3_moe", "use_sliding_window", true, "'use_sliding_window' = true");
        row("qwen3_moe", "decoder_sparse_step", 2, "'decoder_sparse_step' = 2");
        row("qwen3_moe", "mlp_only_layers", QJsonArray{1}, "'mlp_only_layers' = [1]");
        row("gpt_oss", "swiglu_limit", 5.5, "'swiglu_limit' = 5.5");
        row("gpt_oss", "swiglu_alpha", 1, "'swiglu_alpha' = 1");
        row("mpt", "no_bias", false, "'no_bias' = false");
        row("mpt", "logit_scale", 0.5, "'logit_scale' = 0.5");
        row("mpt", "n_heads", 6, "'n_heads' = 6 (MPT orders");
        row("mpt", "attn_config", QJsonObject{{"qk_ln", true}}, "'attn_config.qk_ln' = true");
        row("mpt", "attn_config", QJsonObject{{"alibi", false}}, "'attn_config.alibi' = false");
        row("mpt", "attn_config", QJsonObject{{"alibi_bias_max", 16}}, "'attn_config.alibi_bias_max' = 16");
    }
    void keysOfADecoderThatChangeItsFunctionAreRefused()
    {
        QFETCH(QString, family);
        QFETCH(QString, key);
        QFETCH(QJsonValue, value);
        QFETCH(QString, shown);
        test::FamilyModel model = test::familyModel(family.toStdString());
        QVERIFY(test::isOk(m_folder.read(model)));
        model.config[key] = value;
        QVERIFY(test::failsWith(m_folder.read(model), ErrorCode::Unsupported, shown.toStdString()));
    }

    void factorsOfADecoderArePositive()
    {
        for (const auto& [name, key] :
             {std::pair("cohere", "logit_scale"), std::pair("granite", "residual_multiplier"),
              std::pair("granite", "logits_scaling"), std::pair("granite", "embedding_multiplier"),
              std::pair("cohere2", "logit_scale")}) {
            test::FamilyModel model = test::familyModel(name);
            for (const double wrong : {0.0, -2.0}) {
                model.config[QLatin1String(key)] = wrong;
                QVERIFY(test::failsWith(m_folder.read(model), ErrorCode::Corrupt,
                                        std::string("'") + key + "' is "));
            }
        }
    }

    /// The circuits of a model are those of the numbers that it adds and reads, wherever its file keeps their factors.
    void factorsOfADecoderArePartsOfItsMatrices()
    {
        const test::FamilyModel model = test::familyModel("granite");
        const auto granite = m_folder.open(model);
        QVERIFY(test::isOk(granite));
        const auto stored = [&](const char* name, std::size_t at) {
            return model.tensors.at(name).values[at];
        };
        using enum TensorKind;
        const double output = stored("model.layers.0.self_attn.o_proj.weight", 0);
        QCOMPARE((*granite)->read<double>(W_O)(0, 0), 0.4 * output);
        QCOMPARE((*granite)->read<double>(b_O)(0, 1),
                 0.4 * stored("model.layers.0.self_attn.o_proj.bias", 1));
        QCOMPARE((*granite)->read<double>(W_out)(0, 0),
                 0.4 * stored("model.layers.0.mlp.down_proj.weight", 0));
        QCOMPARE((*granite)->read<double>(W_in)(0, 0), stored("model.layers.0.mlp.up_proj.weight", 0));
        QCOMPARE((*granite)->read<double>(W_E)(0, 2), stored("model.embed_tokens.weight", 2));
        QCOMPARE((*granite)->readColumns<double>(W_U, 0, 1)(2, 0),
                 stored("model.embed_tokens.weight", 2) / 2);
        QCOMPARE((*granite)->config().embeddingScale, 3.0);
    }

    void nemotronsNormsMultiplyByOnePlusTheirWeight()
    {
        const test::FamilyModel model = test::familyModel("nemotron");
        const auto nemotron = m_folder.open(model);
        QVERIFY(test::isOk(nemotron));
        const auto& stored = model.tensors.at("model.layers.1.input_layernorm.weight").values;
        QCOMPARE((*nemotron)->read<double>(TensorKind::ln1_w, 1)(0, 3), 1 + stored[3]);
        const auto& bias = model.tensors.at("model.layers.1.input_layernorm.bias").values;
        QCOMPARE((*nemotron)->read<double>(TensorKind::ln1_b, 1)(0, 3), bias[3]);
    }

    void baichuanHasRotaryPositionsIfItHasALimitOfThem()
    {
        const auto rotary = m_folder.read(test::familyModel("baichuan, rotary"));
        const auto alibi = m_folder.read(test::familyModel("baichuan, ALiBi"));
        QVERIFY(rotary->config.positional == Positional::Rotary);
        QVERIFY(alibi->config.positional == Positional::Alibi);
        QCOMPARE(alibi->config.nCtx, rotary->config.nCtx);
    }

    /// The 7B tells by its vocabulary alone that it is the second.
    void theOutputOfBaichuan2HasRowsOfLengthOne()
    {
        const auto isUnit = [&](const test::FamilyModel& model) {
            const auto description = m_folder.read(model);
            const auto form = description->forms.find(TensorKind::W_U);
            return form != description->forms.end() && form->second.hasUnitColumns;
        };
        test::FamilyModel large = test::familyModel("baichuan, rotary");
        QVERIFY(!isUnit(large));
        large.config["vocab_size"] = 125696;
        QVERIFY(isUnit(large));
        const test::FamilyModel model = test::familyModel("baichuan 2, ALiBi");
        QVERIFY(isUnit(model));
        const auto weights = m_folder.open(model);
        QVERIFY(test::isOk(weights));
        const Matrix<double> W_U = (*weights)->readColumns<double>(TensorKind::W_U, 1, 4);
        QVERIFY(test::isClose(W_U.colwise().squaredNorm(), RowVector<double>::Ones(4), 1e-14));
        const auto& stored = model.tensors.at("lm_head.weight").values;
        QCOMPARE(W_U(1, 0) / W_U(0, 0), stored[W_U.rows() + 1] / stored[W_U.rows()]);
        QVERIFY(!(*weights)->warnings().empty());
    }

    /// As Hugging Face's GptOssConfig reads them.
    void gptOssHasYarnAndAlternatingWindowsUnlessTheConfigSaysOtherwise()
    {
        test::FamilyModel model = test::familyModel("gpt_oss, by its defaults");
        const ModelConfig config = m_folder.read(model)->config;
        QVERIFY(config.windows == (std::vector<int>{4, 0, 4}));
        const RotaryScaling& scaling = config.rotary.scaling;
        QVERIFY(scaling.kind == RotaryScaling::Kind::Yarn && !scaling.wholePairs);
        QCOMPARE(scaling.factor, 32.0);
        QCOMPARE(scaling.originalContext, 4096.0);
        QCOMPARE(scaling.attentionFactor, 1.3465735902799727);
        model.config["rope_parameters"] = QJsonObject{{"rope_type", "default"}, {"rope_theta", 150000}};
        model.config.remove("rope_theta");
        QVERIFY(m_folder.read(model)->config.rotary == (Rotary{8, 150000, false}));
        model.config["rope_parameters"] = QJsonObject{{"rope_type", "yarn"}, {"factor", 2}, {"truncate", 1}};
        QVERIFY(test::failsWith(m_folder.read(model), ErrorCode::Corrupt,
                                "'truncate' = 1, expected true or false"));
    }

private:
    test::FamilyFolder m_folder;
};

HEADWISE_TEST(FamilyConfigTest)
#include "family_config_test.moc"
