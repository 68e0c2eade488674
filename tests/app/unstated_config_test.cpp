#include "tests/support/command.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace headwise;
using nlohmann::json;

/// Commands on models whose files do not state all of the config, and on models in the Hugging Face cache.
class UnstatedConfigTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        test::writeToyModel(path("with").toStdString(), {});
        QVERIFY(QFile::copy(path("with/model.safetensors"), m_bare));
        qunsetenv("HF_HUB_CACHE");
        qunsetenv("HUGGINGFACE_HUB_CACHE");
        qputenv("HF_HOME", m_folder.path().toUtf8());
    }

    void anUnknownActivationStopsNothingElse()
    {
        const test::CommandRun analyzed = run({"analyze", m_bare, "-o", path("weights.h5")});
        QVERIFY2(analyzed.exitCode == 0, analyzed.err);
        QVERIFY2(analyzed.err.contains("--set act_fn=gelu"), analyzed.err);
        QVERIFY(!analyzed.err.contains("was left out")); // by default nothing needs it
        const test::CommandRun asked =
            run({"analyze", m_bare, "-o", path("asked.h5"), "--analyses", "spectra,pattern_scores"});
        QVERIFY2(asked.exitCode == 0, asked.err);
        QVERIFY2(asked.err.contains("was left out. It needs the activation"), asked.err);
    }

    void theForwardPassIsRefusedUntilItIsStated()
    {
        const QStringList question{"run", m_bare, "--tokens", "1,2,3", "-o", path("run.h5")};
        const test::CommandRun refused = run(question);
        QCOMPARE(refused.exitCode, 2);
        QVERIFY2(refused.err.contains("The forward pass needs the activation")
                     && refused.err.contains("--set act_fn=gelu"),
                 refused.err);
        QCOMPARE(run({"verify", m_bare}).exitCode, 2);
        const test::CommandRun stated = run(question + QStringList{"--set", "act_fn=gelu"});
        QVERIFY2(stated.exitCode == 0, stated.err);
    }

    /// No number of the session depends on the activation, as it was unknown.
    void whatIsStatedLaterIsAddedToTheSession()
    {
        const QString session = path("later.h5");
        QCOMPARE(run({"analyze", m_bare, "-o", session, "--analyses", "spectra"}).exitCode, 0);
        const QStringList more{"analyze", m_bare, "-o", session, "--analyses", "pattern_scores", "--set"};
        const test::CommandRun changed = run(more + QStringList{"act_fn=gelu,eps=0.5"});
        QCOMPARE(changed.exitCode, 2); // eps was assumed, not unknown
        QVERIFY2(changed.err.contains("other --set"), changed.err);
        const test::CommandRun stated = run(more + QStringList{"act_fn=gelu"});
        QVERIFY2(stated.exitCode == 0, stated.err);
        QCOMPARE(run(more + QStringList{"act_fn=relu"}).exitCode, 2);
    }

    void infoAndTheListOfAnalysesSayWhatIsUnknown()
    {
        const test::CommandRun card = run({"info", m_bare});
        QVERIFY2(card.exitCode == 0, card.err);
        QVERIFY2(card.out.contains("Unknown; whatever needs it is refused\n  act_fn\n"), card.out);
        QVERIFY(card.out.contains("Assumed, because no file states it") && card.out.contains("eps = 1e-05"));
        const QByteArray list = run({"list-analyses", m_bare}).out;
        QVERIFY2(list.contains("not on this model: It needs the activation"), list);
        QVERIFY(QFile::copy(path("with/config.json"), path("config.json")));
        const test::CommandRun nameless = run({"info", m_bare, "--set", "n_ctx=null,act_fn=relu", "--json"});
        QVERIFY2(nameless.exitCode == 0, nameless.err);
        QVERIFY(json::parse(nameless.out.toStdString())["n_ctx"] == 17); // of the table of positions
        QVERIFY(QFile::remove(path("config.json")));
    }

    void aModelInTheCacheHasAName()
    {
        const QString commit(40, QLatin1Char('c'));
        const QString model = path("hub/models--org--toy"), snapshot = model + "/snapshots/" + commit;
        QVERIFY(QDir().mkpath(snapshot) && QDir().mkpath(model + "/blobs") && QDir().mkpath(model + "/refs"));
        for (const char* name : {"config.json", "model.safetensors"}) {
            QVERIFY(QFile::copy(path("with/") + name, model + "/blobs/" + name));
            QVERIFY(QFile::link(QString("../../blobs/") + name, snapshot + "/" + name));
        }
        QFile main(model + "/refs/main");
        QVERIFY(main.open(QIODevice::WriteOnly) && main.write(commit.toUtf8()) == 40);
        main.close();
        for (const QStringList& named :
             {QStringList{"org/toy"}, {"org/toy@main"}, {"org/toy", "--revision", "ccc"}}) {
            const test::CommandRun info = run(QStringList{"info"} + named);
            QVERIFY2(info.exitCode == 0 && info.out.contains("toy  (transformer-lens)"), info.err);
        }
        const test::CommandRun absent = run({"info", "org/absent"});
        QCOMPARE(absent.exitCode, 3);
        QVERIFY2(absent.err.contains("Nothing is downloaded."), absent.err);
        QCOMPARE(run({"info", "org/toy", "--revision", "d"}).exitCode, 3);
        const test::CommandRun listed = run({"list-models"});
        QVERIFY2(listed.exitCode == 0 && listed.out.contains("org/toy  cccccccccccc"), listed.out);
        const json cache = json::parse(run({"list-models", "--json"}).out.toStdString());
        QCOMPARE(cache["models"].size(), std::size_t{1});
        QVERIFY(cache["models"][0]["revisions"][0]["commit"] == commit.toStdString());
        QVERIFY(cache["models"][0]["revisions"][0]["refs"] == json::array({"main"}));
        QVERIFY(cache["models"][0]["revisions"][0]["bytes"].get<double>() > 1000);
    }

private:
    test::CommandRun run(const QStringList& arguments) const
    {
        return test::runHeadwise(arguments, m_folder.path(), m_folder.path());
    }
    QString path(const QString& name) const { return m_folder.filePath(name); }

    QTemporaryDir m_folder;
    const QString m_bare = m_folder.filePath("bare.safetensors");
};

HEADWISE_TEST(UnstatedConfigTest)
#include "unstated_config_test.moc"
