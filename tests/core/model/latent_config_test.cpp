#include "core/model/load_report.h"
#include "core/model/merges.h"
#include "core/model/model_facts.h"
#include "tests/core/model/family_folder.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QTest>

#include <cmath>

using namespace headwise;

/// Configs of attention through a latent and of grouped experts: DeepSeek-V2 and V3.
class LatentConfigTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder.renew(); }

    void otherLatentAttentionThanDeepSeeksIsRefusedByName()
    {
        test::FamilyModel model = test::familyModel("deepseek_v2");
        const auto name = [&](const QJsonValue& type, const QString& architecture) {
            model.config["model_type"] = type;
            model.config["architectures"] = QJsonArray{architecture};
        };
        const auto isRefused = [&](const std::string& part) {
            return test::failsWith(m_folder.read(model), ErrorCode::Unsupported, part);
        };
        name("minicpm3", "MiniCPM3ForCausalLM");
        QVERIFY(isRefused("'minicpm3': its keys and values come from a latent (kv_lora_rank)"));
        model.config["kv_lora_rank"] = QJsonValue::Null;
        QVERIFY(isRefused("'minicpm3'; this version reads"));
    }

    void keysOfDeepSeekThatAreNotReadAreRefused_data()
    {
        QTest::addColumn<QString>("family");
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("value");
        const auto row = [](const char* family, const char* key, const char* value) {
            QTest::addRow("%s, %s", family, key) << QString(family) << QString(key) << QString(value);
        };
        row("deepseek_v2", "topk_method", "\"noaux_tc\"");
        row("deepseek_v2", "routed_scaling_factor", "16"); // beside norm_topk_prob
        row("deepseek_v2", "scoring_func", "\"sigmoid\"");
        row("deepseek_v2", "attention_bias", "true");
        row("deepseek_v2", "moe_layer_freq", "2");
        row("deepseek_v2", "v_head_dim", "10"); // wider than the 9 components that are compared
        row("deepseek_v2", "num_key_value_heads", "2");
        row("deepseek_v3", "topk_method", "\"greedy\"");
        row("deepseek_v3", "scoring_func", "\"softmax\"");
        row("deepseek_v3", "attention_bias", "true");
    }
    void keysOfDeepSeekThatAreNotReadAreRefused()
    {
        QFETCH(QString, family);
        QFETCH(QString, key);
        QFETCH(QString, value);
        test::FamilyModel model = test::familyModel(family.toStdString());
        model.config[key] = QJsonDocument::fromJson("[" + value.toUtf8() + "]").array().first();
        QVERIFY(test::failsWith(m_folder.read(model), ErrorCode::Unsupported,
                                ("'" + key + "' = " + value).toStdString()));
    }

    void groupsOfExpertsFitTheirNumber()
    {
        const auto isRefused = [&](const char* key, const QJsonValue& value, const std::string& part) {
            test::FamilyModel model = test::familyModel("deepseek_v3"); // 5 of 9 experts in 2 of 3 groups
            model.config[QLatin1String(key)] = value;
            return test::failsWith(m_folder.read(model), ErrorCode::Corrupt, part);
        };
        QVERIFY(isRefused("n_group", 4, "choose 5 of 9 experts from the best 2 of 4 groups"));
        QVERIFY(isRefused("n_group", 9, "choose 5 of 9 experts from the best 2 of 9 groups"));
        QVERIFY(isRefused("topk_group", 1, "choose 5 of 9 experts from the best 1 of 3 groups"));
        QVERIFY(isRefused("topk_group", 4, "choose 5 of 9 experts from the best 4 of 3 groups"));
        QVERIFY(isRefused("routed_scaling_factor", -1, "'routed_scaling_factor' is -1"));
        QVERIFY(isRefused("n_shared_experts", 2147483647, "'n_shared_experts' makes an MLP of"));
    }

    /// As Hugging Face's DeepseekV3Config reads them.
    void deepSeekV3HasItsOwnDefaults()
    {
        test::FamilyModel model = test::familyModel("deepseek_v3");
        for (const char* key : {"n_group", "topk_group", "n_routed_experts", "num_experts_per_tok",
                                "norm_topk_prob", "routed_scaling_factor", "topk_method", "q_lora_rank"})
            model.config.remove(QLatin1String(key));
        const auto found = m_folder.read(model);
        QVERIFY(test::isOk(found));
        const ModelConfig& config = found->config;
        Mixture expected{
            .hasSigmoids = true, .factor = 2.5, .groups = 8, .groupsPerToken = 4, .groupVotes = 2};
        expected.denseLayers = 1;
        expected.denseWidth = 17;
        expected.sharedWidth = 26;
        QVERIFY(config.mixture == expected);
        QCOMPARE(config.nExperts, 256);
        QCOMPARE(config.expertsPerToken, 8);
        QCOMPARE(config.latents.queries, 1536);
        QVERIFY(!config.sharesOfAllExperts && config.rotary.adjacentPairs);
        model.config["rope_interleave"] = false;
        QVERIFY(!m_folder.read(model)->config.rotary.adjacentPairs);
    }

    /// 236 and 671 billion, as published; the keys are those of the published files that change them.
    void theLargeModelsHaveTheirPublishedSizes_data()
    {
        QTest::addColumn<QJsonObject>("config");
        QTest::addColumn<qint64>("parameters");
        QTest::addColumn<double>("active"); // for each token, in billions, as published
        QTest::newRow("V2") << QJsonObject{{"model_type", "deepseek_v2"},
                                           {"vocab_size", 102400},
                                           {"hidden_size", 5120},
                                           {"num_hidden_layers", 60},
                                           {"num_attention_heads", 128},
                                           {"intermediate_size", 12288},
                                           {"moe_intermediate_size", 1536},
                                           {"n_routed_experts", 160},
                                           {"n_shared_experts", 2},
                                           {"first_k_dense_replace", 1},
                                           {"topk_method", "group_limited_greedy"},
                                           {"n_group", 8},
                                           {"topk_group", 3},
                                           {"routed_scaling_factor", 16.0}}
                            << Q_INT64_C(235741434880) << 21.0;
        QTest::newRow("V3") << QJsonObject{{"model_type", "deepseek_v3"}, {"num_nextn_predict_layers", 1}}
                            << Q_INT64_C(671026419200) << 37.0;
    }
    void theLargeModelsHaveTheirPublishedSizes()
    {
        QFETCH(QJsonObject, config);
        QFETCH(qint64, parameters);
        const auto found = m_folder.read({config, {}});
        QVERIFY(test::isOk(found));
        QCOMPARE(qint64(parameterCount(*found)), parameters);
        QFETCH(double, active);
        const WeightCount count = countWeights(found->config);
        const double met = static_cast<double>(count.mlpPerToken + count.embedding)
            + found->config.nLayers * static_cast<double>(count.qpPerLayer + count.kvPerLayer);
        QVERIFY2(std::abs(met / 1e9 - active) < 0.6, QByteArray::number(met / 1e9));
    }

    /// Against the sizes of the fixture's tensors: 6 heads of 9, 9 experts behind one dense layer.
    void countsLatentsDenseLayersAndSharedExperts()
    {
        const auto found = m_folder.read(test::familyModel("deepseek_v3"));
        QVERIFY(test::isOk(found));
        const ModelConfig& c = found->config;
        const WeightCount count = countWeights(c);
        std::int64_t attention = 0, mlp = 0, dense = 0;
        test::FamilyModel model = test::familyModel("deepseek_v3");
        for (const auto& [name, tensor] : model.tensors) {
            const auto size = static_cast<std::int64_t>(tensor.values.size());
            const bool isMatrix = tensor.shape.size() == 2;
            if (isMatrix && name.starts_with("model.layers.1.self_attn."))
                attention += size;
            else if (isMatrix && name.starts_with("model.layers.1.mlp."))
                mlp += size;
            else if (isMatrix && name.starts_with("model.layers.0.mlp."))
                dense += size;
        }
        QCOMPARE(count.qpPerLayer + count.kvPerLayer, attention);
        QCOMPARE(count.mlpPerLayer, mlp);
        QCOMPARE(count.mlpPerDenseLayer, dense);
        QCOMPARE(count.total, count.embedding + c.nLayers * attention + dense + (c.nLayers - 1) * mlp);
        // A token meets 5 of 9 experts, each 3 · 24 · 13, beside the router and the shared MLP.
        const std::int64_t met = mlp - std::int64_t(4) * 3 * 24 * 13;
        QCOMPARE(count.mlpPerToken, dense + (c.nLayers - 1) * met);
        const double matrices = static_cast<double>(c.nLayers * attention + count.mlpPerToken)
            + static_cast<double>(c.dModel) * c.dVocabOut;
        // A score of a head takes 9 components and its value as many as v_head_dim.
        const double pair = c.nHeads * (9.0 + c.latents.values);
        QCOMPARE(countFlops(c).perToken, 2 * matrices + 2.0 * c.nLayers * c.nCtx * pair);
    }

    void latentsAndExpertsOfOtherSizesAreNamed()
    {
        const auto isNamed = [&](const char* key, int value, const std::string& part) {
            test::FamilyModel model = test::familyModel("deepseek_v3");
            model.config[QLatin1String(key)] = value;
            return test::failsWith(m_folder.open(model), ErrorCode::Corrupt, part);
        };
        QVERIFY(
            isNamed("kv_lora_rank", 8, "kv_a_proj_with_mqa.weight' has shape [11, 24], expected [12, 24]"));
        QVERIFY(isNamed("q_lora_rank", 9, "q_a_proj.weight' has shape [10, 24], expected [9, 24]"));
        QVERIFY(isNamed("v_head_dim", 4, "kv_b_proj.weight' has shape [48, 7], expected [54, 7]"));
        QVERIFY(
            isNamed("intermediate_size", 16, "mlp.gate_proj.weight' has shape [17, 24], expected [16, 24]"));
        QVERIFY(isNamed("n_shared_experts", 3,
                        "shared_experts.gate_proj.weight' has shape [26, 24], expected [39, 24]"));
        test::FamilyModel model = test::familyModel("deepseek_v3");
        model.tensors.erase("model.layers.1.mlp.shared_experts.up_proj.weight");
        model.tensors.erase("model.layers.2.mlp.gate.e_score_correction_bias");
        QVERIFY(test::failsWith(m_folder.open(model), ErrorCode::NotFound, "shared_experts.up_proj.weight"));
        QVERIFY(test::failsWith(m_folder.open(model), ErrorCode::NotFound, "e_score_correction_bias"));
    }

    void layersThatPredictFurtherTokensAreIgnored()
    {
        test::FamilyModel model = test::familyModel("deepseek_v3");
        const auto weights = m_folder.open(model);
        QVERIFY(test::isOk(weights));
        QVERIFY((*weights)->warnings().front().starts_with("Layer 3 of the file follows"));
        const LoadReport report = loadReport(**weights);
        QCOMPARE(report.ignored.size(), std::size_t(1));
        QCOMPARE(report.ignored.front().why, std::string("layers that predict further tokens"));
        QCOMPARE(report.ignored.front().names.size(), std::size_t(3));
        // Without what tells such a layer it may be one of the model's.
        model.tensors.erase("model.layers.3.eh_proj.weight");
        QVERIFY(test::failsWith(m_folder.open(model), ErrorCode::Unsupported, "model.layers.3.enorm.weight"));
    }

    /// The dense layer of V2-Lite, its narrower values and the scale under YaRN.
    void readsTheSizesOfLatentAttention()
    {
        const test::FamilyModel model = test::familyModel("deepseek_v2, lite");
        const auto weights = m_folder.open(model);
        QVERIFY(test::isOk(weights));
        const ModelConfig& config = (*weights)->config();
        QVERIFY(config.latentAttention && config.rotary.adjacentPairs);
        QCOMPARE(config.dHead, 9);
        QCOMPARE(config.rotary.dim, 4);
        const double length = 0.1 * 0.9 * std::log(4) + 1;
        QCOMPARE(config.attentionScale, length * length / 3);
        QCOMPARE(config.rotary.scaling.attentionFactor, (0.1 * 0.7 * std::log(4) + 1) / length);
        const auto V = (*weights)->read<double>(TensorKind::W_V, 1, 2);
        QCOMPARE(V.cols(), 9);
        QVERIFY(V.rightCols(6).isZero(0) && !V.leftCols(3).isZero(1e-3));
        QVERIFY((*weights)->read<double>(TensorKind::W_O, 1, 2).bottomRows(6).isZero(0));
        QVERIFY(!(*weights)->has(TensorKind::W_router, 0) && (*weights)->has(TensorKind::W_router, 1));
        QCOMPARE((*weights)->read<double>(TensorKind::W_in, 0).cols(), 17);
        QCOMPARE((*weights)->read<double>(TensorKind::W_in, 1, 3).cols(), 26); // serves every token
        test::FamilyModel half = model;
        QJsonObject yarn = half.config["rope_scaling"].toObject();
        yarn.remove("mscale");
        half.config["rope_scaling"] = yarn;
        QVERIFY(test::failsWith(m_folder.read(half), ErrorCode::Unsupported,
                                "'mscale' and 'mscale_all_dim' together"));
    }

private:
    test::FamilyFolder m_folder;
};

HEADWISE_TEST(LatentConfigTest)
#include "latent_config_test.moc"
