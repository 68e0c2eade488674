#include "core/session/session_file.h"

#include "tests/support/command.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

using namespace headwise;
using namespace headwise::test;

/// `analyze --shard` and `merge`.
class ShardTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QVERIFY(m_folder.isValid());
        for (int i = 1; i <= 3; ++i) {
            const CommandRun run = shard(QString::number(i) + "/3", part(i));
            QVERIFY2(run.exitCode == 0, run.err);
        }
    }

    void mergedPartsAreTheSessionOfOneProcess()
    {
        const QString whole = m_folder.filePath("whole.h5"), single = m_folder.filePath("single.h5");
        const CommandRun merged = run({"merge", "-o", whole, part(2), part(3), part(1)});
        QVERIFY2(merged.exitCode == 0, merged.err);
        QVERIFY2(merged.out.contains("of 3 parts"), merged.out);
        QCOMPARE(run(QStringList{"analyze", HEADWISE_DEMO_MODEL, "-o", single} + chosen()).exitCode, 0);
        const Session a = read(whole), b = read(single);
        QCOMPARE(a.results.arrays.size(), b.results.arrays.size());
        for (const ResultArray& array : b.results.arrays) {
            const ResultArray* found = a.results.find(array.path);
            QVERIFY2(found, array.path.c_str());
            QVERIFY2(found->attributes == array.attributes && found->shape == array.shape
                         && found->nullMean == array.nullMean,
                     array.path.c_str());
            if (array.path == "scores/copying")
                QVERIFY(found->values == array.values);
        }
        QVERIFY(a.results.groupAttributes == b.results.groupAttributes);
        QVERIFY(!a.part && a.model == b.model && a.processing == b.processing);
    }

    void mergeAnswersInJson()
    {
        const QString file = m_folder.filePath("json.h5");
        const CommandRun merged = run({"merge", "--json", "-o", file, part(1), part(2), part(3)});
        QVERIFY2(merged.exitCode == 0, merged.err);
        const auto answer = nlohmann::json::parse(merged.out.toStdString());
        QCOMPARE(answer.at("output").get<std::string>(), file.toStdString());
        QCOMPARE(answer.at("parts").get<int>(), 3);
        const Session session = read(file);
        QCOMPARE(answer.at("model").get<std::string>(), session.model.name);
        QCOMPARE(answer.at("arrays").get<std::size_t>(), session.results.arrays.size());
        QCOMPARE(answer.size(), std::size_t{4});
    }

    void anExistingSessionIsNotWrittenOver()
    {
        const QString file = m_folder.filePath("existing.h5");
        QVERIFY(run({"merge", "-o", file, part(1), part(2), part(3)}).exitCode == 0);
        const QStringList again{"merge", "-o", file, part(1), part(2), part(3)};
        const CommandRun refused = run(again);
        QCOMPARE(refused.exitCode, 2);
        QVERIFY2(refused.err.contains("--replace") && refused.err.contains("existing.h5"), refused.err);
        QCOMPARE(run(again + QStringList{"--replace"}).exitCode, 0);
        QCOMPARE(run({"merge", "--replace", "-o", part(1), part(1), part(2), part(3)}).exitCode, 2);
        QVERIFY(read(part(1)).part);
    }

    void missingAndDoubledPartsAreNamed()
    {
        const QString file = m_folder.filePath("never.h5");
        const CommandRun missing = run({"merge", "-o", file, part(1), part(3)});
        QCOMPARE(missing.exitCode, 2);
        QVERIFY2(missing.err.contains("1 of the 3 parts is missing: 2/3."), missing.err);
        const CommandRun doubled = run({"merge", "-o", file, part(1), part(3), part(1)});
        QCOMPARE(doubled.exitCode, 2);
        QVERIFY2(doubled.err.contains("part1.h5") && doubled.err.contains("and so is"), doubled.err);
        const QString foreign = m_folder.filePath("foreign.h5");
        QCOMPARE(shard("2/3", foreign, {"-k", "3"}).exitCode, 0);
        const CommandRun other = run({"merge", "-o", file, part(1), foreign, part(3)});
        QCOMPARE(other.exitCode, 2);
        QVERIFY2(other.err.contains("foreign.h5") && other.err.contains("other options"), other.err);
        QVERIFY(!QFile::exists(file));
    }

    void aShardThatIsNoneIsRefused()
    {
        for (const char* wrong : {"0/3", "4/3", "2", "a/b", ""}) {
            const CommandRun refused = shard(wrong, m_folder.filePath("none.h5"));
            QVERIFY2(refused.exitCode == 2 && refused.err.contains("i/n"), refused.err);
        }
        QVERIFY(!QFile::exists(m_folder.filePath("none.h5")));
        QCOMPARE(shard("1/2", m_folder.filePath("none.h5"), {"--heads", "0.0", "--one-end"}).exitCode, 2);
    }

    void aPartTakesOnlyItself()
    {
        const CommandRun whole =
            run({"analyze", HEADWISE_DEMO_MODEL, "-o", part(2), "--analyses", "previous_token"});
        QCOMPARE(whole.exitCode, 2);
        QVERIFY2(whole.err.contains("is part 2/3 of a sharded run"), whole.err);
        QCOMPARE(shard("1/3", part(2)).exitCode, 2);
        QCOMPARE(shard("2/3", part(2)).exitCode, 0);
        QVERIFY(read(part(2)).part);
    }

    void aPartOpensAsAnOrdinarySession()
    {
        const CommandRun exported = run({"export", part(1), "--list"});
        QVERIFY2(exported.exitCode == 0 && !exported.out.isEmpty(), exported.err);
    }

private:
    static QStringList chosen()
    {
        return {"--analyses", "spectra,copying,composition,previous_token,norms,tables"};
    }
    QString part(int i) const { return m_folder.filePath("part" + QString::number(i) + ".h5"); }
    CommandRun run(const QStringList& arguments) const { return runHeadwise(arguments, m_folder.path()); }
    CommandRun shard(const QString& name, const QString& file, const QStringList& more = {}) const
    {
        return run(QStringList{"analyze", HEADWISE_DEMO_MODEL, "-o", file, "--shard", name} + chosen()
                   + more);
    }
    static Session read(const QString& file)
    {
        const auto session = readSession(file.toStdString(), Task{});
        return isOk(session) ? *session : Session{};
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(ShardTest)
#include "shard_test.moc"
