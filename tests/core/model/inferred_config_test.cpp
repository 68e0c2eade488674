#include "tests/support/family_model.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

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

    void whatTheTensorsOfHuggingFaceDoNotTellIsListed_data()
    {
        QTest::addColumn<QString>("family");
        QTest::addColumn<QString>("listed");
        QTest::addColumn<QString>("said");
        QTest::newRow("gpt2") << "gpt2"
                              << "--set n_head=…,activation_function=…"
                              << "n_head=3,activation_function=gelu_new";
        QTest::newRow("llama")
            << "llama"
            << "--set model_type=…,num_attention_heads=…,num_key_value_heads=…,rms_norm_eps=…,rope_theta=…,max_position_embeddings=…,head_dim=…"
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

    void aStateDictOfTransformerLensNeedsItsActivationAlone_data()
    {
        QTest::addColumn<QString>("normalization");
        QTest::addColumn<int>("kvHeads");
        QTest::addColumn<bool>("gated");
        QTest::newRow("LN") << QString("LN") << 0 << false;
        QTest::newRow("LNPre") << QString("LNPre") << 0 << false;
        QTest::newRow("RMS, grouped, gated") << QString("RMS") << 2 << true;
    }
    void aStateDictOfTransformerLensNeedsItsActivationAlone()
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
        QVERIFY(test::failsWith(open(bare), ErrorCode::NotFound, "--set act_fn=…"));
        const auto weights = open(bare, {{"act_fn", "gelu_new"}});
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

    void positionsThatNoTensorTellsAreAskedFor()
    {
        test::ToyOptions options;
        options.attnOnly = true;
        options.positional = "none";
        const auto bare = withoutConfig(test::writeToyModel(root() / "with", options).folder);
        QVERIFY(test::failsWith(open(bare), ErrorCode::NotFound, "'n_ctx', 'positional_embedding_type'"));
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
    static Result<std::shared_ptr<const ModelWeights>>
    open(const std::filesystem::path& path, const std::map<std::string, std::string>& overrides = {})
    {
        return loadModel({path, {}, overrides}, Task{});
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

HEADWISE_TEST(InferredConfigTest)
#include "inferred_config_test.moc"
