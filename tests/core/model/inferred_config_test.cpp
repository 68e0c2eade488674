#include "core/model/families/inferred_config.h"
#include "tests/support/family_model.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

#include <algorithm>
#include <functional>

using namespace headwise;

namespace {

const std::vector<int> inferredPrompt{3, 1, 4, 1, 5, 0, 2, 6};

} // namespace

/// State dicts without a config.json.
class InferredConfigTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void theStateDictsOfNanoGptAndMinGptNeedTheirNumberOfHeadsAlone_data()
    {
        QTest::addColumn<QString>("family");
        for (const char* name : {"nanogpt", "nanogpt, without biases", "mingpt"})
            QTest::newRow(name) << QString(name);
    }
    void theStateDictsOfNanoGptAndMinGptNeedTheirNumberOfHeadsAlone()
    {
        QFETCH(QString, family);
        const auto folder = test::writeFamily(root() / "with", test::familyModel(family.toStdString()));
        const auto expected = test::matrixOf(test::referenceForward(folder, inferredPrompt).logits);
        const auto bare = withoutConfig(folder);
        QVERIFY(test::failsWith(open(bare), ErrorCode::NotFound, "--set n_head=…"));
        const auto weights = open(bare, {{"n_head", "3"}});
        QVERIFY(test::isOk(weights));
        const auto run = test::ran<double>(test::raw(*weights), inferredPrompt);
        QCOMPARE_LT((run.logits - expected).cwiseAbs().maxCoeff(), 1e-10);
        QVERIFY((*weights)->warnings().front().find("activation") != std::string::npos);
    }

    void esmOpensUnderItsAuthorsNames_data()
    {
        QTest::addColumn<QString>("family");
        QTest::addColumn<QString>("inside"); ///< before the names of all but the head
        QTest::addColumn<QString>("head");
        QTest::newRow("ESM-2, as published") << "esm, rotary"
                                             << "encoder.sentence_encoder."
                                             << "encoder.";
        QTest::newRow("ESM-2, without prefix") << "esm, rotary"
                                               << ""
                                               << "";
        QTest::newRow("ESM-1b") << "esm, learned positions"
                                << "encoder.sentence_encoder."
                                << "encoder.";
    }
    void esmOpensUnderItsAuthorsNames()
    {
        QFETCH(QString, family);
        QFETCH(QString, inside);
        QFETCH(QString, head);
        test::FamilyModel model = test::familyModel(family.toStdString());
        model.config["layer_norm_eps"] = 1e-5;
        model.config["token_dropout"] = true;
        const auto folder = test::writeFamily(root() / "with", model);
        const auto expected = test::matrixOf(test::referenceForward(folder, inferredPrompt).logits);
        const std::pair<const char*, const char*> words[]{
            {"esm.embeddings.word_embeddings", "embed_tokens"},
            {"esm.embeddings.position_embeddings", "embed_positions"},
            {"esm.embeddings.layer_norm", "emb_layer_norm_before"},
            {"esm.encoder.emb_layer", "emb_layer"},
            {"esm.encoder.layer.", "layers."},
            {"attention.LayerNorm", "self_attn_layer_norm"},
            {"attention.self.query", "self_attn.q_proj"},
            {"attention.self.key", "self_attn.k_proj"},
            {"attention.self.value", "self_attn.v_proj"},
            {"attention.output.dense", "self_attn.out_proj"},
            {"intermediate.dense", "fc1"},
            {"output.dense", "fc2"},
            {".LayerNorm", ".final_layer_norm"}};
        std::map<std::string, test::StoredTensor> own;
        for (const auto& [name, tensor] : model.tensors) {
            QString renamed = QString::fromStdString(name);
            for (const auto& [from, to] : words)
                renamed.replace(QLatin1String(from), QLatin1String(to));
            own[((name.starts_with("lm_head") ? head : inside) + renamed).toStdString()] = tensor;
        }
        own[(head + "lm_head.weight").toStdString()] =
            model.tensors.at("esm.embeddings.word_embeddings.weight");
        const bool isRotary = family.endsWith(QLatin1String("rotary"));
        const auto heads = static_cast<std::size_t>(model.config["num_attention_heads"].toInt());
        const std::size_t width = own.at((inside + "embed_tokens.weight").toStdString()).shape[1];
        if (isRotary && width / heads % 2 == 0)
            own[(inside + "layers.0.self_attn.rot_emb.inv_freq").toStdString()] = {
                {width / heads / 2}, std::vector<double>(width / heads / 2, 1.0)};
        std::filesystem::create_directories(root() / "own");
        test::writeSafetensors(root() / "own/model.safetensors", own, true);
        if (!isRotary)
            QVERIFY(
                test::failsWith(open(root() / "own"), ErrorCode::NotFound, "--set num_attention_heads=…"));
        std::map<std::string, std::string> said;
        if (!isRotary)
            said["num_attention_heads"] = std::to_string(heads);
        const auto weights = open(root() / "own", said);
        QVERIFY(test::isOk(weights));
        const auto run = test::ran<double>(test::raw(*weights), inferredPrompt);
        QCOMPARE_LT((run.logits - expected).cwiseAbs().maxCoeff(), 1e-10);
    }

    void whatTheTensorsOfHuggingFaceDoNotTellIsListed_data()
    {
        QTest::addColumn<QString>("family");
        QTest::addColumn<QString>("listed");
        QTest::addColumn<QString>("said");
        QTest::newRow("gpt2") << "gpt2"
                              << "--set n_head=…"
                              << "n_head=3,activation_function=gelu_new";
        QTest::newRow("llama") << "llama"
                               << "--set model_type=…,num_attention_heads=…,num_key_value_heads=…,head_dim=…"
                               << "";
    }
    void whatTheTensorsOfHuggingFaceDoNotTellIsListed()
    {
        QFETCH(QString, family);
        QFETCH(QString, listed);
        QFETCH(QString, said);
        const bool isLlama = family == QStringLiteral("llama");
        test::ToyOptions options = isLlama ? test::llamaOptions() : test::gpt2Options();
        options.float64 = true;
        const auto folder = test::writeToyModel(root() / "with", options).folder;
        const auto expected = test::matrixOf(test::referenceForward(folder, inferredPrompt).logits);
        const auto bare = withoutConfig(folder);
        QVERIFY(test::failsWith(open(bare), ErrorCode::NotFound, listed.toStdString()));
        std::map<std::string, std::string> overrides;
        for (const QString& pair : said.split(u',', Qt::SkipEmptyParts))
            overrides[pair.section(u'=', 0, 0).toStdString()] = pair.section(u'=', 1).toStdString();
        if (isLlama) {
            QFile file(QString::fromStdString((folder / "config.json").string()));
            QVERIFY(file.open(QIODevice::ReadOnly));
            const QJsonObject config = QJsonDocument::fromJson(file.readAll()).object();
            for (const char* key : {"model_type", "num_attention_heads", "num_key_value_heads", "head_dim",
                                    "max_position_embeddings", "rms_norm_eps", "rope_theta"})
                overrides[key] = config[QLatin1String(key)].toVariant().toString().toStdString();
        }
        const auto weights = open(bare, overrides);
        QVERIFY(test::isOk(weights));
        const auto run = test::ran<double>(test::raw(*weights), inferredPrompt);
        QCOMPARE_LT((run.logits - expected).cwiseAbs().maxCoeff(), 1e-10);
    }

    void aStateDictOfTransformerLensRunsWithItsActivation_data()
    {
        QTest::addColumn<QString>("normalization");
        QTest::addColumn<int>("kvHeads");
        QTest::addColumn<bool>("gated");
        QTest::newRow("LN") << QString("LN") << 0 << false;
        QTest::newRow("LNPre") << QString("LNPre") << 0 << false;
        QTest::newRow("RMS, grouped, gated") << QString("RMS") << 2 << true;
    }
    void aStateDictOfTransformerLensRunsWithItsActivation()
    {
        QFETCH(QString, normalization);
        QFETCH(int, kvHeads);
        QFETCH(bool, gated);
        test::ToyOptions options;
        options.normalization = normalization.toStdString();
        options.nHeads = kvHeads > 0 ? 6 : 3;
        options.nKvHeads = kvHeads;
        options.gatedMlp = gated;
        options.float64 = true;
        const auto folder = test::writeToyModel(root() / "with", options).folder;
        const auto expected = test::matrixOf(test::referenceForward(folder, inferredPrompt).logits);
        const auto bare = withoutConfig(folder);
        const bool isFolded = normalization == QStringLiteral("LNPre");
        if (isFolded) {
            QVERIFY(test::failsWith(open(bare), ErrorCode::NotFound, "--set normalization_type=…"));
        } else {
            const auto unstated = open(bare);
            QVERIFY(test::isOk(unstated));
            QVERIFY(!(*unstated)->config().isKnown(ConfigField::Activation));
        }
        std::map<std::string, std::string> said{{"act_fn", "gelu_new"}};
        if (isFolded)
            said["normalization_type"] = "LNPre";
        const auto weights = open(bare, said);
        QVERIFY(test::isOk(weights));
        const auto run = test::ran<double>(test::raw(*weights), inferredPrompt);
        QCOMPARE_LT((run.logits - expected).cwiseAbs().maxCoeff(), 1e-10);
    }

    void anAttentionOnlyStateDictNeedsNothing()
    {
        test::ToyOptions options;
        options.attnOnly = true;
        const auto bare = withoutConfig(test::writeToyModel(root() / "with", options).folder);
        const auto weights = open(bare);
        QVERIFY(test::isOk(weights));
        QVERIFY((*weights)->config().attentionOnly);
        QCOMPARE((*weights)->config().nCtx, 17);
    }

    /// The sums of a model of modular addition: its state dict has no norms, and nothing but its author says so.
    void normsThatNoTensorTellsAreAskedFor()
    {
        const std::filesystem::path bare = root() / "bare.pt";
        std::filesystem::copy_file(HEADWISE_TEST_DATA "/models/modadd-1l/modadd_seed0.pt", bare);
        QVERIFY(test::failsWith(open(bare, {{"act_fn", "relu"}}), ErrorCode::NotFound,
                                "--set normalization_type=… (normalization_type: null"));
        const auto weights = open(bare, {{"act_fn", "relu"}, {"normalization_type", "null"}});
        QVERIFY(test::isOk(weights));
        ModelConfig expected = openedWithItsConfig()->config();
        expected.name = (*weights)->config().name;
        QVERIFY((*weights)->config() == expected);
        const ProcessedWeights processed = test::processed(*weights);
        for (int pair = 0; pair < 60; ++pair) {
            const int a = pair * 37 % 113, b = pair * 59 % 113;
            const Matrix<double> logits = test::ran<double>(processed, {a, b, 113}).logits;
            Eigen::Index sum = 0;
            logits.row(2).maxCoeff(&sum);
            QCOMPARE(sum, (a + b) % 113);
        }
    }

    void whatNoFileSaysIsListed()
    {
        test::ToyOptions options;
        options.attnOnly = true;
        const auto weights = open(withoutConfig(test::writeToyModel(root() / "with", options).folder));
        QVERIFY(test::isOk(weights));
        QVERIFY(speaksOf(**weights, "attention_dir=causal"));
        QVERIFY(speaksOf(**weights, "eps=1e-05"));
        QVERIFY(speaksOf(**weights, "scale_attn_by_inverse_layer_idx=false"));
    }

    void aMaskThatHidesNothingMakesAModelBidirectional_data()
    {
        QTest::addColumn<bool>("attnOnly");
        QTest::newRow("attention only") << true;
        QTest::newRow("with MLPs") << false;
    }
    void aMaskThatHidesNothingMakesAModelBidirectional()
    {
        QFETCH(bool, attnOnly);
        test::ToyOptions options;
        options.attnOnly = attnOnly;
        options.bidirectional = true;
        options.float64 = true;
        const auto folder = test::writeToyModel(root() / "with", options).folder;
        const auto expected = test::matrixOf(test::referenceForward(folder, inferredPrompt).logits);
        std::map<std::string, std::string> said;
        if (!attnOnly)
            said["act_fn"] = "gelu_new";
        const auto masked = withMasks(folder, [](int, int) { return 1.0; });
        const auto weights = open(masked, said);
        QVERIFY(test::isOk(weights));
        QVERIFY((*weights)->config().bidirectional);
        QVERIFY(!speaksOf(**weights, "attention_dir"));
        const auto run = test::ran<double>(test::raw(*weights), inferredPrompt);
        QCOMPARE_LT((run.logits - expected).cwiseAbs().maxCoeff(), 1e-10);
        said["attention_dir"] = "bidirectional";
        QVERIFY((*open(withoutConfig(folder), said))->config().bidirectional);
    }

    void aCausalMaskTellsTheWindowAndAnotherMaskIsAskedAbout()
    {
        test::ToyOptions options;
        options.attnOnly = true;
        const auto folder = test::writeToyModel(root() / "with", options).folder;
        const auto causal = open(withMasks(folder, [](int i, int j) { return j <= i ? 1.0 : 0.0; }));
        QVERIFY(test::isOk(causal));
        QVERIFY(!(*causal)->config().bidirectional && (*causal)->config().windows.empty());
        QVERIFY(speaksOf(**causal, "attention_dir=causal")); // TransformerLens stores it either way
        const auto local =
            open(withMasks(folder, [](int i, int j) { return j <= i && i - j < 4 ? 1.0 : 0.0; }));
        QVERIFY(test::isOk(local));
        QCOMPARE((*local)->config().windows, (std::vector<int>{4, 4}));
        const auto prefix = withMasks(folder, [](int i, int j) { return j <= i || j < 3 ? 1.0 : 0.0; });
        QVERIFY(test::failsWith(open(prefix), ErrorCode::NotFound, "--set attention_dir=…"));
        QVERIFY(test::isOk(open(prefix, {{"attention_dir", "causal"}})));
    }

    void whatIsRecognisedAndWhatIsMissingIsSaid()
    {
        const auto folder = test::writeFamily(root() / "with", test::familyModel("nanogpt"));
        auto tensors = test::readStoredTensors(folder);
        tensors.erase("transformer.wpe.weight");
        const std::filesystem::path file = root() / "part.safetensors";
        test::writeSafetensors(file, tensors, false);
        QVERIFY(test::failsWith(open(file), ErrorCode::NotFound,
                                "named as in GPT-2 and nanoGPT, but 'transformer.wpe.weight' is missing"));
        const auto said = open(file, {{"model_type", "nanogpt"}, {"n_head", "3"}});
        QVERIFY(test::failsWith(said, ErrorCode::Corrupt, "'n_embd'"));
        QVERIFY(test::failsWith(said, ErrorCode::Corrupt, "'transformer.wpe.weight' is missing"));
        const std::filesystem::path strange = root() / "strange.safetensors";
        test::writeSafetensors(strange, {{"first.of.all", {{2, 3}, {1, 2, 3, 4, 5, 6}}}}, false);
        QVERIFY(test::failsWith(open(strange), ErrorCode::NotFound, "'first.of.all' [2, 3]"));
    }

    /// Names of HookedEncoder, beside a config and without one.
    void theNamesOfAnEncoderAreRefused()
    {
        test::ToyOptions options;
        options.bidirectional = true;
        const auto folder = test::writeToyModel(root() / "with", options).folder;
        QVERIFY(test::isOk(open(folder)));
        auto tensors = test::readStoredTensors(folder);
        for (const auto& [from, to] : {std::pair("embed.W_E", "embed.embed.W_E"),
                                       std::pair("pos_embed.W_pos", "embed.pos_embed.W_pos")}) {
            tensors[to] = tensors.at(from);
            tensors.erase(from);
        }
        test::writeSafetensors(folder / "model.safetensors", tensors, false);
        const auto bare = withoutConfig(folder);
        for (const auto& path : {folder, bare})
            QVERIFY(
                test::failsWith(open(path), ErrorCode::Unsupported, "TransformerLens HookedEncoder (BERT)"));
        QVERIFY(test::failsWith(open(bare, {{"act_fn", "gelu"}}), ErrorCode::Unsupported, "HookedEncoder"));
        QVERIFY(!missingConfig({bare, {}, {}}).isMissing);
    }

    void positionsThatNoTensorTellsStayUnknown()
    {
        test::ToyOptions options;
        options.attnOnly = true;
        options.positional = "none";
        const auto bare = withoutConfig(test::writeToyModel(root() / "with", options).folder);
        const auto weights = open(bare);
        QVERIFY(test::isOk(weights));
        QCOMPARE((*weights)->config().unknown,
                 (std::vector<UnknownField>{{ConfigField::Context, "n_ctx"},
                                            {ConfigField::Positions, "positional_embedding_type"}}));
        QVERIFY(speaksOf(**weights, "--set n_ctx=2048,positional_embedding_type=rotary"));
        const MissingConfig missing = missingConfig({bare, {}, {}});
        QVERIFY(missing.isMissing && missing.keys.empty());
        QCOMPARE(missing.optional, (std::vector<std::string>{"n_ctx", "positional_embedding_type"}));
        QVERIFY(test::isOk(open(bare, {{"n_ctx", "17"}, {"positional_embedding_type", "none"}})));
    }

private:
    std::filesystem::path root() const { return m_folder->path().toStdString(); }
    std::filesystem::path withoutConfig(const std::filesystem::path& folder) const
    {
        std::filesystem::create_directories(root() / "bare");
        std::filesystem::copy_file(folder / "model.safetensors", root() / "bare" / "model.safetensors");
        return root() / "bare" / "model.safetensors";
    }
    /// The same with a mask [n_ctx, n_ctx] in each of two layers.
    std::filesystem::path withMasks(const std::filesystem::path& folder,
                                    const std::function<double(int query, int key)>& entry) const
    {
        constexpr int n = 17;
        test::StoredTensor mask{{n, n}, {}};
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j)
                mask.values.push_back(entry(i, j));
        auto tensors = test::readStoredTensors(folder);
        tensors["blocks.0.attn.mask"] = tensors["blocks.1.attn.mask"] = mask;
        const std::filesystem::path file = root() / "masked.safetensors";
        test::writeSafetensors(file, tensors, true);
        return file;
    }
    static bool speaksOf(const ModelWeights& weights, std::string_view words)
    {
        return std::ranges::any_of(weights.warnings(), [&](const std::string& sentence) {
            return sentence.find(words) != std::string::npos;
        });
    }
    static std::shared_ptr<const ModelWeights> openedWithItsConfig()
    {
        return *loadModel({HEADWISE_TEST_DATA "/models/modadd-1l", {}, {}}, Task{});
    }
    static Result<std::shared_ptr<const ModelWeights>>
    open(const std::filesystem::path& path, const std::map<std::string, std::string>& overrides = {})
    {
        return loadModel({path, {}, overrides}, Task{});
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

HEADWISE_TEST(InferredConfigTest)
#include "inferred_config_test.moc"
