#include "tests/support/command.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QDir>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

using namespace headwise;

/// `process --skipless --merge`, and its results in `run`, `verify`, `info` and `analyze`.
class SkiplessCommandsTest : public QObject {
    Q_OBJECT

private slots:
    void init()
    {
        test::ToyOptions options;
        options.dModel = 15;
        test::writeToyModel(path("model").toStdString(), options);
    }

    void writesTheCounterpartAndSaysThatItIsAnotherFunction()
    {
        const test::CommandRun done =
            run({"process", path("model"), "-o", path("skipless"), "--skipless", "--force"});
        QCOMPARE(done.exitCode, 0);
        QVERIFY2(done.out.contains("changes the model's function"), done.out);
        const QJsonObject config = configOf("skipless");
        QCOMPARE(config["skipless"].toBool(), true);
        QVERIFY(config["normalization_type"].isNull() && config.contains("normalization_type"));
        QVERIFY(!config.contains("merged"));
        // Each merge is compared with it.
        const test::CommandRun verified = run({"verify", path("skipless"), "--json"});
        QCOMPARE(verified.exitCode, 0);
        QCOMPARE(mergeSteps(verified),
                 QStringList({"merge-qp applied", "merge-kp applied", "merge-vp applied"}));
        QCOMPARE(run({"process", path("model"), "-o", path("ordinary"), "--force"}).exitCode, 0);
        QVERIFY(configOf("ordinary").contains("d_model") && !configOf("ordinary").contains("skipless"));
    }

    void writesMergedModelsThatVerifyComparesWithTheUnmerged_data()
    {
        QTest::addColumn<QString>("pair");
        for (const char* pair : {"qp", "kp", "vp"})
            QTest::newRow(pair) << QString(pair);
    }
    void writesMergedModelsThatVerifyComparesWithTheUnmerged()
    {
        QFETCH(QString, pair);
        const QString folder = path("merged");
        const test::CommandRun done =
            run({"process", path("model"), "-o", folder, "--skipless", "--merge", pair, "--force"});
        QCOMPARE(done.exitCode, 0);
        for (const char* said : {"merge-", "(float64)", "(float32)", "(bfloat16)"})
            QVERIFY2(done.out.contains(said), done.out);
        QCOMPARE(configOf("merged")["merged"].toString(), pair);
        QCOMPARE(run({"run", folder, "--tokens", "3,1,4", "-o", path("run.h5")}).exitCode, 0);
        QCOMPARE(run({"analyze", folder, "-o", path("session.h5"), "--replace"}).exitCode, 0);

        const test::CommandRun verified = run({"verify", folder, "--json"});
        QCOMPARE(verified.exitCode, 0);
        QCOMPARE(mergeSteps(verified), QStringList{"merge-" + pair + " applied"});
        // The positive control: compared with another model, the function differs.
        test::ToyOptions options;
        options.dModel = 15;
        options.seed = 2;
        test::writeToyModel(path("other").toStdString(), options);
        QCOMPARE(run({"verify", folder, "--unmerged", path("other")}).exitCode, 1);
        QCOMPARE(run({"verify", folder, "--unmerged", path("model")}).exitCode, 0);
        // If the unmerged model is gone or has changed, there is nothing to verify against.
        test::writeToyModel(path("model").toStdString(), {.dModel = 15, .nCtx = 19});
        const test::CommandRun changed = run({"verify", folder});
        QCOMPARE(changed.exitCode, 3);
        QVERIFY2(changed.err.contains("has changed since; name the unmerged model with --unmerged"),
                 changed.err);
        QVERIFY(QDir(path("model")).removeRecursively());
        const test::CommandRun gone = run({"verify", folder});
        QCOMPARE(gone.exitCode, 3);
        QVERIFY2(gone.err.contains("cannot be opened; name the unmerged model with --unmerged"), gone.err);
        QCOMPARE(run({"verify", folder, "--unmerged", path("model")}).exitCode, 3);

        const QJsonObject info = QJsonDocument::fromJson(run({"info", folder, "--json"}).out).object();
        const int q = pair == "qp" ? 0 : 15 * 15;
        QCOMPARE(info["parameters"]["attention_qp_per_layer"].toInt(), q);
        QCOMPARE(info["parameters"]["attention_kv_per_layer"].toInt(), pair == "qp" ? 2 * 225 : 225);
        QCOMPARE(info["merges"][0]["possible"].toBool(true), false);
    }

    void thePapersTableFollowsFromConfigsAlone_data()
    {
        QTest::addColumn<QByteArray>("config");
        QTest::addColumn<int>("percent");
        QTest::addColumn<int>("speedup"); // in hundredths
        QTest::addColumn<bool>("equivalent");
        QTest::newRow("Pythia-6.9B") << QByteArray(
            R"({"model_type":"gpt_neox","architectures":["GPTNeoXForCausalLM"],"hidden_act":"gelu","hidden_size":4096,
                "intermediate_size":16384,"layer_norm_eps":1e-5,"max_position_embeddings":2048,"num_attention_heads":32,
                "num_hidden_layers":32,"rotary_emb_base":10000,"rotary_pct":0.25,"tie_word_embeddings":false,
                "use_parallel_residual":true,"vocab_size":50432})")
                                     << 16 << 119 << false;
        QTest::newRow("Mistral-7B") << QByteArray(
            R"({"model_type":"mistral","architectures":["MistralForCausalLM"],"hidden_act":"silu","hidden_size":4096,
                "intermediate_size":14336,"max_position_embeddings":32768,"num_attention_heads":32,"num_hidden_layers":32,
                "num_key_value_heads":8,"rms_norm_eps":1e-5,"rope_theta":10000.0,"sliding_window":4096,
                "tie_word_embeddings":false,"vocab_size":32000})")
                                    << 15 << 117 << true;
    }
    void thePapersTableFollowsFromConfigsAlone()
    {
        QFETCH(QByteArray, config);
        QFETCH(int, percent);
        QFETCH(int, speedup);
        QFETCH(bool, equivalent);
        QVERIFY(QDir().mkpath(path("config")));
        QFile file(path("config") + "/config.json");
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(config) == config.size());
        file.close();
        const test::CommandRun done = run({"info", path("config"), "--json"});
        QCOMPARE(done.exitCode, 0);
        const QJsonObject qp = QJsonDocument::fromJson(done.out).object()["merges"][0].toObject();
        QCOMPARE(qRound(100 * qp["saving"].toDouble()), percent);
        QCOMPARE(qRound(100 * qp["speedup"].toDouble()), speedup);
        QCOMPARE(qp["possible"].toBool(), true);
        QCOMPARE(qp["equivalent"].toBool(), equivalent);
    }

    void refusesWithTwo()
    {
        const QString out = path("refused");
        const auto refusal = [&](const QStringList& arguments) {
            const test::CommandRun done = run(QStringList{"process", path("model"), "-o", out} + arguments);
            return QByteArray::number(done.exitCode) + " " + done.err;
        };
        QVERIFY(refusal({"--merge", "qp"}).contains("2 headwise: "));
        QVERIFY2(refusal({"--merge", "qp"}).contains("skip connections and normalisation"),
                 refusal({"--merge", "qp"}));
        QVERIFY(refusal({"--merge", "qv", "--skipless"}).startsWith("2 "));
        QVERIFY(refusal({"--skipless", "--fold-layer-norm"}).contains("has no norms"));
        QVERIFY(refusal({"--skipless", "--names", "original"}).startsWith("2 "));
        QVERIFY(
            refusal({"--skipless", "--merge", "qp", "--refactor-factored-attention"}).contains("refactored"));
        test::ToyOptions options;
        options.parallel = true;
        options.dModel = 15;
        options.seed = 2; // matrices that can be inverted in float32
        test::writeToyModel(path("model").toStdString(), options);
        QVERIFY(refusal({"--merge", "qp", "--skipless"}).contains("one of Q, K, V or P"));
        QCOMPARE(run({"process", path("model"), "-o", out, "--skipless"}).exitCode, 0);
        const test::CommandRun parallel = run({"verify", out, "--json"});
        QVERIFY2(parallel.exitCode == 0, parallel.out + parallel.err);
        QCOMPARE(mergeSteps(parallel),
                 QStringList({"merge-qp skipped", "merge-q applied", "merge-kp skipped", "merge-k applied",
                              "merge-vp skipped", "merge-v applied"}));
        QVERIFY(QDir(out).removeRecursively());
        test::writeToyModel(path("model").toStdString(), {});
        QVERIFY(refusal({"--merge", "qp", "--skipless"}).contains("is not square"));
        QVERIFY(!QDir(out).exists());
        QCOMPARE(run({"process", path("model"), "-o", out, "--skipless"}).exitCode, 0);
        const test::CommandRun verified = run({"verify", out, "--json"});
        QCOMPARE(verified.exitCode, 0);
        QCOMPARE(mergeSteps(verified),
                 QStringList({"merge-qp skipped", "merge-kp skipped", "merge-vp skipped"}));
        QVERIFY(QDir(out).removeRecursively());
    }

private:
    test::CommandRun run(const QStringList& arguments) const
    {
        return test::runHeadwise(arguments, path("state"));
    }
    QString path(const QString& name) const { return m_folder.path() + "/" + name; }

    QJsonObject configOf(const QString& folder) const
    {
        QFile file(path(folder) + "/config.json");
        return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object()
                                              : QJsonObject();
    }

    /// "merge-qp applied" of each merge; "too large" instead where it is above the tolerance or exactly 0.
    static QStringList mergeSteps(const test::CommandRun& verified)
    {
        QStringList names;
        for (const QJsonValue step : QJsonDocument::fromJson(verified.out)["steps"].toArray()) {
            const QString name = step["name"].toString();
            if (!name.startsWith("merge"))
                continue;
            const double difference = step["max_abs_diff"].toDouble(INFINITY);
            const bool isApplied = step["applied"].toBool();
            const bool isRight = isApplied ? difference > 0 && difference < 1e-4
                                           : difference == 0 && !step["reason"].toString().isEmpty();
            names += name + (!isRight ? " too large" : isApplied ? " applied" : " skipped");
        }
        return names;
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(SkiplessCommandsTest)
#include "skipless_commands_test.moc"
