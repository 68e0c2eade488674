#include "core/circuits/head_at_offset.h"
#include "core/model/checkpoint_writer.h"
#include "core/model/model_card.h"
#include "tests/support/every_input.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"

#include <QTemporaryDir>

#include <cstring>
#include <memory>

using namespace headwise;

namespace {

const std::vector<int> unknownPrompt{1, 2, 3};

using Settings = std::map<std::string, std::string>;

/// A toy checkpoint without a config, and everything that its user could state.
struct BareModel {
    test::ToyOptions options;
    Settings settings;
};

BareModel bareModel(const QString& kind)
{
    BareModel bare;
    if (kind == QStringLiteral("llama")) {
        bare.options = test::llamaOptions();
        bare.settings = {{"model_type", "llama"},          {"num_attention_heads", "6"},
                         {"num_key_value_heads", "2"},     {"head_dim", "4"},
                         {"rms_norm_eps", "1e-5"},         {"rope_theta", "523"},
                         {"max_position_embeddings", "17"}};
    } else if (kind == QStringLiteral("gpt2")) {
        bare.options = test::gpt2Options();
        bare.settings = {{"n_head", "3"}, {"activation_function", "gelu_new"}};
    } else if (kind == QStringLiteral("learned positions")) {
        bare.settings = {{"act_fn", "gelu_new"}};
    } else {
        bare.options.positional = "none";
        bare.settings = {{"act_fn", "gelu_new"}, {"n_ctx", "17"}, {"positional_embedding_type", "none"}};
    }
    return bare;
}

Circuits circuitsFrom(const std::shared_ptr<const ModelWeights>& weights)
{
    return Circuits(std::make_shared<const ProcessedWeights>(test::processed(weights)));
}

/// Whether two arrays hold the same bits, NaN included.
bool areSameNumbers(const ResultArray& a, const ResultArray& b)
{
    if (a.path != b.path || a.shape != b.shape || a.values.index() != b.values.index())
        return false;
    return std::visit(
        [&](const auto& values) {
            using Values = std::decay_t<decltype(values)>;
            const Values& others = std::get<Values>(b.values);
            return values.size() == others.size()
                && std::memcmp(values.data(), others.data(), values.size() * sizeof(values[0])) == 0;
        },
        a.values);
}

} // namespace

/// Models whose files do not state a field of the config.
class UnknownConfigTest : public QObject {
    Q_OBJECT

    static void addFields()
    {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<int>("field");
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("other"); // another value than BareModel's
        const auto add = [](const char* kind, ConfigField field, const char* key, const char* other) {
            QTest::addRow("%s, %s", kind, key)
                << QString(kind) << static_cast<int>(field) << QString(key) << QString(other);
        };
        add("learned positions", ConfigField::Activation, "act_fn", "relu");
        add("gpt2", ConfigField::Activation, "activation_function", "relu");
        add("no positions", ConfigField::Activation, "act_fn", "relu");
        add("no positions", ConfigField::Context, "n_ctx", "9");
        add("no positions", ConfigField::Positions, "positional_embedding_type", "alibi");
        add("llama", ConfigField::NormEps, "rms_norm_eps", "0.5");
        add("llama", ConfigField::RotaryBase, "rope_theta", "29");
        add("llama", ConfigField::Context, "max_position_embeddings", "9");
    }

private slots:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void theModelOpensAndWhatNeedsTheFieldIsRefusedByName_data() { addFields(); }
    void theModelOpensAndWhatNeedsTheFieldIsRefusedByName()
    {
        QFETCH(QString, kind);
        QFETCH(int, field);
        QFETCH(QString, key);
        const auto unknown = static_cast<ConfigField>(field);
        BareModel bare = bareModel(kind);
        const std::string name = key.toStdString(), said = bare.settings.at(name);
        bare.settings.erase(name);
        const auto weights = open(bare, bare.settings);
        QVERIFY(test::isOk(weights));
        const ModelConfig& config = (*weights)->config();
        QCOMPARE(config.unknown, (std::vector<UnknownField>{{unknown, name}}));
        QVERIFY((*weights)->warnings().back().find("--set " + name + "=") != std::string::npos);
        for (const AssumedKey& assumed : (*weights)->assumed())
            QVERIFY(assumed.key != name);
        const auto run = forward<double>(test::raw(*weights), unknownPrompt, Task{});
        if (unknown == ConfigField::Context)
            QVERIFY(test::isOk(run)); // it changes no number
        else
            QVERIFY(test::failsWith(run, ErrorCode::InvalidArgument, "--set " + name + "="));
        const auto plan = planRun(defaultAnalyses(config, {}), config, {});
        QVERIFY(test::isOk(plan));
        QCOMPARE_GE(plan->analyses.size(), std::size_t{6});
        for (const std::string& warning : plan->warnings)
            QVERIFY2(warning.find("--set " + name + "=") != std::string::npos, warning.c_str());
        bare.settings[name] = said;
        const auto stated = open(bare, bare.settings);
        QVERIFY(test::isOk(stated));
        QVERIFY((*stated)->config().unknown.empty());
        QVERIFY(test::isOk(forward<double>(test::raw(*stated), unknownPrompt, Task{})));
    }

    /// The needs of the catalogue are complete: with two values of the field, all that runs without it gives the same bits.
    void whatRunsDoesNotDependOnTheField_data() { addFields(); }
    void whatRunsDoesNotDependOnTheField()
    {
        QFETCH(QString, kind);
        QFETCH(QString, key);
        QFETCH(QString, other);
        BareModel bare = bareModel(kind);
        Settings without = bare.settings, changed = bare.settings;
        without.erase(key.toStdString());
        changed[key.toStdString()] = other.toStdString();
        const auto unknown = open(bare, without);
        QVERIFY(test::isOk(unknown));
        const AnalysisOptions options = test::everyInput((*unknown)->config(), {{0, 0}, {1, 1}});
        const std::vector<std::string> names = test::fittingAnalyses((*unknown)->config(), options);
        QCOMPARE_GE(names.size(), std::size_t{20});
        std::vector<ResultSet> results;
        for (const Settings& settings : {without, bare.settings, changed}) {
            const auto weights = open(bare, settings);
            QVERIFY(test::isOk(weights));
            const Circuits circuits = circuitsFrom(*weights);
            results.push_back(test::analysed(circuits, names, options));
        }
        for (const ResultSet& stated : {results[1], results[2]}) {
            QCOMPARE(stated.arrays.size(), results[0].arrays.size());
            for (std::size_t i = 0; i < stated.arrays.size(); ++i)
                QVERIFY2(areSameNumbers(stated.arrays[i], results[0].arrays[i]),
                         stated.arrays[i].path.c_str());
        }
    }

    void theEmbeddingsThatPassThroughLayer0NeedItsActivation()
    {
        BareModel bare = bareModel(QStringLiteral("learned positions"));
        const auto weights = open(bare, {});
        QVERIFY(test::isOk(weights));
        const Circuits circuits = circuitsFrom(*weights);
        for (const Embedding embedding : {Embedding::Effective, Embedding::Mlp0})
            QVERIFY(test::failsWith(tokenSide(circuits, embedding, Task{}), ErrorCode::InvalidArgument,
                                    "--set act_fn="));
        for (const Embedding embedding : {Embedding::Raw, Embedding::Unembed})
            QVERIFY(test::isOk(tokenSide(circuits, embedding, Task{})));
    }

    void aCircuitAtAnOffsetNeedsTheRotaryBase()
    {
        BareModel bare = bareModel(QStringLiteral("llama"));
        bare.settings.erase("rope_theta");
        const auto weights = open(bare, bare.settings);
        QVERIFY(test::isOk(weights));
        const Circuits circuits = circuitsFrom(*weights);
        CircuitOfHead of{CircuitKind::Qk, {0, 0}, {}};
        QVERIFY(!wrongCircuit(circuits, of));
        of.terms.offset = 3;
        const auto wrong = wrongCircuit(circuits, of);
        QVERIFY(wrong && wrong->message.find("--set rope_theta=") != std::string::npos);
    }

    /// The config of a processed model does not turn what is unknown into a default.
    void aWrittenModelKeepsWhatIsUnknown()
    {
        BareModel bare = bareModel(QStringLiteral("llama"));
        for (const char* key : {"rms_norm_eps", "rope_theta", "max_position_embeddings"})
            bare.settings.erase(key);
        const auto weights = open(bare, bare.settings);
        QVERIFY(test::isOk(weights));
        QCOMPARE((*weights)->config().unknown.size(), std::size_t{3});
        const ProcessedWeights processed = test::processed(*weights);
        const std::filesystem::path original = root() / "original", lens = root() / "lens";
        QVERIFY(test::isOk(
            writeOriginalFolder(processed, {root() / "bare"}, original, ExistingFolder::Refuse, Task{})));
        QVERIFY(test::isOk(
            writeTransformerLensFolder(processed, {root() / "bare"}, lens, ExistingFolder::Refuse, Task{})));
        for (const auto& folder : {original, lens}) {
            const auto again = loadModel({folder, {}, {}}, Task{});
            QVERIFY(test::isOk(again));
            for (const ConfigField field :
                 {ConfigField::NormEps, ConfigField::RotaryBase, ConfigField::Context})
                QVERIFY(!(*again)->config().isKnown(field));
        }
    }

    void rotationMayStandBetweenTheFactorsOfAnUnknownKind()
    {
        BareModel bare = bareModel(QStringLiteral("no positions"));
        bare.settings.erase("positional_embedding_type");
        const auto weights = open(bare, bare.settings);
        QVERIFY(test::isOk(weights));
        ProcessingWish wish;
        wish.refactorAttention = StepWish::Required;
        QVERIFY(test::failsWith(planProcessing(**weights, wish), ErrorCode::InvalidArgument,
                                "no file states the kind of positions"));
    }

    void aConfigWithoutAContextTakesThatOfItsTable()
    {
        const auto folder = test::writeToyModel(root() / "with").folder;
        const auto weights = loadModel({folder, {}, {{"n_ctx", "null"}, {"act_fn", "null"}}}, Task{});
        QVERIFY(test::isOk(weights));
        QCOMPARE((*weights)->config().nCtx, 17);
        QCOMPARE((*weights)->config().unknown,
                 (std::vector<UnknownField>{{ConfigField::Activation, "act_fn"}}));
        QCOMPARE(modelCard(**weights).nCtx, 17);
    }

private:
    std::filesystem::path root() const { return m_folder->path().toStdString(); }

    Result<std::shared_ptr<const ModelWeights>> open(const BareModel& bare, const Settings& settings) const
    {
        const std::filesystem::path file = root() / "bare" / "model.safetensors";
        if (!std::filesystem::exists(file)) {
            const auto folder = test::writeToyModel(root() / "with config", bare.options).folder;
            std::filesystem::create_directories(file.parent_path());
            std::filesystem::copy_file(folder / "model.safetensors", file);
        }
        return loadModel({file, {}, settings}, Task{});
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

HEADWISE_TEST(UnknownConfigTest)
#include "unknown_config_test.moc"
