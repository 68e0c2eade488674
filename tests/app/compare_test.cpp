#include "core/session/session_file.h"
#include "tests/support/command.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/toy_adapter.h"

#include <QFile>
#include <QTemporaryDir>

#include <algorithm>

using namespace headwise;

/// `headwise compare` as a user runs it.
class CompareTest : public QObject {
    Q_OBJECT

private slots:
    void writesASessionAboutTheOlderModel()
    {
        write("a", {});
        test::ToyOptions options;
        options.seed = 2;
        write("b", options);
        const test::CommandRun done = compare("a", "b");
        QCOMPARE(done.exitCode, 0);
        QVERIFY2(done.out.contains("what changed from toy to toy"), done.out);
        const auto session = readSession(path("out.h5").toStdString(), Task{});
        QVERIFY(test::isOk(session));
        QVERIFY(session->model.source.ends_with("/a"));
        const auto& other = session->results.groupAttributes.at("comparison");
        QVERIFY(std::get<std::string>(other.at("model_b_source")).ends_with("/b"));
        // The digest covers config and header, which are equal here.
        QCOMPARE(std::get<std::string>(other.at("model_b_sha256")), session->model.sha256);
        QCOMPARE(std::get<std::string>(other.at("model_b_name")), std::string("toy"));
        QVERIFY(session->processing.foldLayerNorm);
        for (const ResultArray& array : session->results.arrays) {
            QVERIFY(array.path.starts_with("comparison/"));
            QVERIFY(!array.definition.empty() && array.axes.size() == array.shape.size());
        }
        // Saving it again keeps everything.
        QVERIFY(test::isOk(writeSession(path("again.h5").toStdString(), *session, Task{})));
        const auto again = readSession(path("again.h5").toStdString(), Task{});
        QVERIFY(test::isOk(again));
        QCOMPARE(again->results.arrays.size(), session->results.arrays.size());
        QVERIFY(again->results.groupAttributes == session->results.groupAttributes);
    }

    void switchesCount()
    {
        write("a", {});
        QCOMPARE(compare("a", "a", {"--no-fold-layer-norm"}).exitCode, 0);
        const auto session = readSession(path("out.h5").toStdString(), Task{});
        QVERIFY(test::isOk(session));
        QVERIFY(!session->processing.foldLayerNorm);
        const ResultArray* change = session->results.find("comparison/ov/relative_change");
        QVERIFY(change && std::get<std::vector<float>>(change->values) == std::vector<float>(6, 0.F));
    }

    void optionsOfAModelAreForBoth()
    {
        write("a", {});
        test::ToyOptions options;
        options.seed = 2;
        write("b", options);
        for (const char* name : {"a", "b"})
            QVERIFY(QFile::rename(path(name) + "/config.json", path(name) + ".json"));
        const test::CommandRun done = compare("a", "b", {"--config", path("a.json")});
        QVERIFY2(done.exitCode == 0, done.err);
        const auto session = readSession(path("out.h5").toStdString(), Task{});
        QVERIFY(test::isOk(session));
        const ResultArray* change = session->results.find("comparison/ov/relative_change");
        QVERIFY(change && std::get<std::vector<float>>(change->values)[0] > 0.1F);
        QCOMPARE(compare("a", "b", {"--set", "9"}).exitCode, 2);
        const test::CommandRun wrong = compare("a", "b", {"--config", path("a.json"), "--set", "d_model=8"});
        QCOMPARE(wrong.exitCode, 3);
        QVERIFY2(wrong.err.contains("expected [11, 8]"), wrong.err);
        const test::CommandRun absent =
            compare("a", "b", {"--config", path("a.json"), "--tokenizer", path("none.json")});
        QCOMPARE(absent.exitCode, 3);
        QVERIFY2(absent.err.contains("none.json"), absent.err);
    }

    void headsOfModelsOfAnySizeAreMatched()
    {
        write("a", {});
        test::ToyOptions options;
        options.nLayers = 3;
        options.dModel = 11;
        write("b", options);
        const test::CommandRun done = compare("a", "b", {"--match"});
        QVERIFY2(done.exitCode == 0, done.err);
        const auto session = readSession(path("out.h5").toStdString(), Task{});
        QVERIFY(test::isOk(session));
        const ResultArray* heads = session->results.find("comparison/match/best_head");
        const ResultArray* pairs = session->results.find("comparison/match/jaccard");
        QVERIFY(heads && pairs);
        QCOMPARE(pairs->shape, (std::vector<std::size_t>{2, 3, 3, 3}));
        const auto& best = std::get<std::vector<std::int32_t>>(heads->values);
        const auto& values = std::get<std::vector<float>>(pairs->values);
        const float largest = *std::max_element(values.begin(), values.begin() + 9); // of head 0.0
        QCOMPARE(values[static_cast<std::size_t>(best[0] * 3 + best[1])], largest);
    }

    /// The older model is the adapter's base, and only the planted head changed.
    void anAdapterChangesTheOlderModel()
    {
        const test::ToyModel base = test::writeToyModel(path("base").toStdString(), test::llamaOptions());
        const test::ToyAdapter adapter{{"model.layers.1.self_attn.q_proj"}};
        auto tensors = test::tensorsOf(adapter, base);
        auto& values = tensors.at("base_model.model.model.layers.1.self_attn.q_proj.lora_B.weight").values;
        std::fill(values.begin(), values.begin() + 5 * 4 * 2, 0); // the heads before the last one
        test::writeAdapter(path("adapter").toStdString(), adapter.config(), tensors);
        const test::CommandRun done = compare("base", "adapter", {"--adapter-scale", "0.5"});
        QVERIFY2(done.exitCode == 0, done.err);
        QVERIFY2(done.err.contains("with the LoRA adapter"), done.err);
        const auto session = readSession(path("out.h5").toStdString(), Task{});
        QVERIFY(test::isOk(session));
        const ResultArray* change = session->results.find("comparison/qk/relative_change");
        QVERIFY(change);
        const auto& changes = std::get<std::vector<float>>(change->values);
        QCOMPARE(changes.size(), std::size_t(12));
        for (std::size_t i = 0; i < changes.size(); ++i)
            QVERIFY((changes[i] > 0) == (i == 11));
        const auto& other = session->results.groupAttributes.at("comparison");
        QVERIFY(std::get<std::string>(other.at("model_b_adapter_base")).ends_with("/base"));
        QCOMPARE(std::get<double>(other.at("model_b_adapter_scale")), 0.5);
        QCOMPARE(std::get<std::string>(other.at("model_b_name")), std::string("base + adapter × 0.5"));
        // Alone it needs its base, and a model of its own has none.
        const test::CommandRun alone = test::runHeadwise({"info", path("adapter")}, path("state"));
        QCOMPARE(alone.exitCode, 3);
        QVERIFY2(alone.err.contains("--base"), alone.err);
        const test::CommandRun described =
            test::runHeadwise({"info", path("adapter"), "--base", path("base")}, path("state"));
        QVERIFY2(described.out.contains("LoRA, rank 2, scale 3") && described.out.contains("W_Q"),
                 described.out);
        QCOMPARE(test::runHeadwise({"info", path("base"), "--base", path("base")}, path("state")).exitCode,
                 2);
        QCOMPARE(test::runHeadwise({"info", path("adapter"), "--adapter-scale", "2"}, path("state")).exitCode,
                 2);
    }

    void refusesWhatCannotBeCompared()
    {
        write("a", {});
        test::ToyOptions options;
        options.nLayers = 3;
        write("b", options);
        const test::CommandRun other = compare("a", "b");
        QCOMPARE(other.exitCode, 2);
        QVERIFY2(other.err.contains("n_layers is 2 and 3"), other.err);
        QVERIFY2(other.err.contains("--match"), other.err);
        QCOMPARE(compare("a", "nothing").exitCode, 3);
        QCOMPARE(test::runHeadwise({"compare", path("a"), "-o", path("x.h5")}, path("state")).exitCode, 2);
        QCOMPARE(test::runHeadwise({"compare", path("a"), path("a"), "-o", path("no/x.h5")}, path("state"))
                     .exitCode,
                 4);
    }

private:
    void write(const char* name, const test::ToyOptions& options)
    {
        test::writeToyModel(path(name).toStdString(), options);
    }
    test::CommandRun compare(const char* a, const char* b, const QStringList& switches = {}) const
    {
        return test::runHeadwise(QStringList{"compare", path(a), path(b), "-o", path("out.h5")} + switches,
                                 path("state"));
    }
    QString path(const QString& name) const { return m_folder.path() + "/" + name; }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(CompareTest)
#include "compare_test.moc"
