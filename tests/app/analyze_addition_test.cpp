#include "core/files/hdf5.h"
#include "core/session/session_file.h"

#include "tests/support/command.h"
#include "tests/support/matchers.h"
#include "tests/support/patched_model.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

using namespace headwise;
using namespace headwise::test;

/// `analyze -o` over a session that is already there.
class AnalyzeAdditionTest : public QObject {
    Q_OBJECT

private slots:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        QVERIFY(m_folder->isValid());
        m_session = m_folder->filePath("s.h5");
    }

    void whatASessionHoldsIsKept()
    {
        QCOMPARE(analyze({"--analyses", "copying"}).exitCode, 0);
        Session written = read();
        const std::vector<ResultArray> before = written.results.arrays;
        written.notes = {{"1.5", "copies names"}};
        written.bookmarks = {"0.3", "1.5"};
        written.view = R"({"page":"grid"})";
        written.created = "2001-02-03T04:05:06Z";
        QVERIFY(isOk(writeSession(m_session.toStdString(), written, {})));

        const CommandRun run = analyze({"--analyses", "matching"});
        QVERIFY2(run.exitCode == 0, run.err);
        const Session whole = read();
        QCOMPARE(whole.notes, written.notes);
        QCOMPARE(whole.bookmarks, written.bookmarks);
        QCOMPARE(whole.view, written.view);
        QCOMPARE(whole.created, written.created);
        for (const ResultArray& array : before) {
            const ResultArray* kept = whole.results.find(array.path);
            QVERIFY2(kept && *kept == array, array.path.c_str());
        }
        QVERIFY(whole.results.find("scores/matching") && whole.results.arrays.size() > before.size());
    }

    void replaceBeginsAnew()
    {
        QCOMPARE(analyze({"--analyses", "copying"}).exitCode, 0);
        Session written = read();
        written.notes = {{"1.5", "copies names"}};
        QVERIFY(isOk(writeSession(m_session.toStdString(), written, {})));
        const CommandRun run = analyze({"--analyses", "matching", "--replace", "--embedding", "effective"});
        QVERIFY2(run.exitCode == 0, run.err);
        const Session anew = read();
        QVERIFY(anew.notes.empty() && !anew.results.find("scores/copying"));
        QVERIFY(anew.results.find("scores/matching"));
        QCOMPARE(anew.embedding, std::string("effective"));
    }

    void anAnalysisIsReplacedAsAWhole()
    {
        const QString model = QString::fromStdString(testData("models/stories260k").string());
        QVERIFY(analyze({"--analyses", "rotary,copying", "--token", "#300", "--key-token", "#301"}, model)
                    .exitCode
                == 0);
        QVERIFY(read().results.find("analyses/rotary/token_to_key_score"));
        QVERIFY(analyze({"--analyses", "rotary"}, model).exitCode == 0);
        const Session whole = read();
        QVERIFY(!whole.results.find("analyses/rotary/token_to_key_score")); // of a token nobody asked for
        QVERIFY(whole.results.find("scores/copying"));
        QVERIFY(std::any_of(whole.results.arrays.begin(), whole.results.arrays.end(),
                            [](const ResultArray& a) { return a.path.starts_with("analyses/rotary/"); }));
    }

    void resultsThatDoNotBelongTogetherAreRefused_data()
    {
        QTest::addColumn<QStringList>("asked");
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("part");
        const QString demo = HEADWISE_DEMO_MODEL;
        QTest::newRow("model") << QStringList()
                               << QString::fromStdString(testData("models/stories260k").string())
                               << "another model";
        QTest::newRow("processing") << QStringList{"--no-center-unembed"} << demo << "processing switches";
        QTest::newRow("head change") << QStringList{"--without-component", "0.1:3"} << demo
                                     << "processing switches";
        QTest::newRow("embedding") << QStringList{"--embedding", "effective"} << demo << "--embedding raw";
        QTest::newRow("precision") << QStringList{"--precision", "f64"} << demo << "--precision f32";
        QTest::newRow("config") << QStringList{"--set", "layer_norm_epsilon=0.001"} << demo << "--set";
    }
    void resultsThatDoNotBelongTogetherAreRefused()
    {
        QFETCH(QStringList, asked);
        QFETCH(QString, model);
        QFETCH(QString, part);
        QCOMPARE(analyze({"--analyses", "spectra"}).exitCode, 0);
        const QByteArray before = bytes();
        const CommandRun run = analyze(QStringList{"--analyses", "copying"} + asked, model);
        QCOMPARE(run.exitCode, 2);
        QVERIFY2(run.err.contains("--replace") && run.err.contains(part.toUtf8())
                     && run.err.contains(m_session.toUtf8()),
                 run.err);
        QVERIFY2(run.err.trimmed().split('\n').last().startsWith("headwise: Session '"), run.err);
        QCOMPARE(bytes(), before);
        QCOMPARE(QDir(m_folder->path()).entryList({"s.h5*", ".s.h5*"}, QDir::Files | QDir::Hidden),
                 QStringList{"s.h5"});
        const CommandRun anew = analyze(QStringList{"--analyses", "copying", "--replace"} + asked, model);
        QVERIFY2(anew.exitCode == 0, anew.err);
    }

    void doublesJoinDoubles()
    {
        const QStringList all{"--analyses",
                              "spectra,eigenvalues,composition,copying",
                              "--precision",
                              "f64",
                              "--self-contained",
                              "--heads",
                              "0.*"};
        QCOMPARE(analyze(all).exitCode, 0);
        const CommandRun run = analyze(all);
        QVERIFY2(run.exitCode == 0, run.err);
    }

    void weightsAreComparedWhereTheSessionNamesOtherFiles()
    {
        const QString mine = m_folder->filePath("a"), copy = m_folder->filePath("b"),
                      other = m_folder->filePath("c");
        writeToyModel(mine.toStdString(), {});
        QVERIFY(QDir().mkpath(copy) && QDir().mkpath(other));
        QVERIFY(copyPatched(mine, copy, "blocks.1.attn.W_K", [](QByteArray&) {}));
        QVERIFY(
            copyPatched(mine, other, "blocks.1.attn.W_K", [](QByteArray& numbers) { numbers[0] = '\x2a'; }));
        QCOMPARE(analyze({"--analyses", "spectra"}, mine).exitCode, 0);
        const CommandRun moved = analyze({"--analyses", "composition"}, copy);
        QVERIFY2(moved.exitCode == 0, moved.err);
        const CommandRun trained = analyze({"--analyses", "composition"}, other);
        QCOMPARE(trained.exitCode, 2);
        QVERIFY2(trained.err.contains("other weights of the same shape"), trained.err);
    }

    void weightsThatAreYoungerThanTheSessionAreToldOf()
    {
        const QString model = m_folder->filePath("model");
        writeToyModel(model.toStdString(), {});
        QVERIFY(analyze({"--analyses", "spectra"}, model).exitCode == 0);
        const CommandRun same = analyze({"--analyses", "composition"}, model);
        QVERIFY2(same.exitCode == 0 && !same.err.contains("is newer than"), same.err);
        const std::filesystem::path weights = (model + "/model.safetensors").toStdString();
        std::filesystem::last_write_time(
            weights, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
        const CommandRun younger = analyze({"--analyses", "composition"}, model);
        QVERIFY2(younger.exitCode == 0 && younger.err.contains("model.safetensors is newer than"),
                 younger.err);
        const CommandRun anew = analyze({"--analyses", "composition", "--replace"}, model);
        QVERIFY2(anew.exitCode == 0 && !anew.err.contains("is newer than"), anew.err);
    }

    void aDamagedSessionIsNotWrittenOver()
    {
        QFile file(m_session);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("\x89HDF\r\n\x1a\nbroken");
        file.close();
        const QByteArray before = bytes();
        const CommandRun run = analyze({"--analyses", "copying"});
        QCOMPARE(run.exitCode, 3);
        QVERIFY2(run.err.contains("--replace"), run.err);
        QCOMPARE(bytes(), before);
        QCOMPARE(analyze({"--analyses", "copying", "--replace"}).exitCode, 0);
        QVERIFY(read().results.find("scores/copying"));
    }

    void aSessionOfALaterVersionIsNotWrittenOver()
    {
        auto made = Hdf5Writer::create(m_session.toStdString());
        QVERIFY(isOk(made));
        Hdf5Writer writer = std::move(made).value();
        QVERIFY(isOk(writer.setAttribute("", "format", std::string("headwise-session"))));
        QVERIFY(isOk(writer.setAttribute("", "format_version", std::int64_t(2))));
        QVERIFY(isOk(writer.createGroup("model")));
        for (const char* name :
             {"n_layers", "n_heads", "n_kv_heads", "d_model", "d_head", "d_mlp", "d_vocab", "n_ctx"})
            QVERIFY(isOk(writer.setAttribute("model", name, std::int64_t(1))));
        QVERIFY(isOk(writer.close()));
        const QByteArray before = bytes();
        const CommandRun run = analyze({"--analyses", "copying"});
        QCOMPARE(run.exitCode, 2);
        QVERIFY2(run.err.contains("later version of Headwise") && run.err.count('\n') == 1, run.err);
        QCOMPARE(bytes(), before);
    }

private:
    CommandRun analyze(const QStringList& more, const QString& model = HEADWISE_DEMO_MODEL) const
    {
        return runHeadwise(QStringList{"analyze", model, "-o", m_session} + more, m_folder->path());
    }
    Session read() const
    {
        auto session = readSession(m_session.toStdString(), {});
        return session ? std::move(session).value() : Session();
    }
    QByteArray bytes() const
    {
        QFile file(m_session);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    QString m_session;
};

HEADWISE_TEST(AnalyzeAdditionTest)
#include "analyze_addition_test.moc"
