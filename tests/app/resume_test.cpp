#include "core/session/session_file.h"
#include "tests/support/command.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QFile>
#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace headwise;
using namespace headwise::test;

namespace {

constexpr int resumePatience = 300'000; // ms, on a loaded machine

bool haveSameValues(const ResultArray& a, const ResultArray& b)
{
    return a.values.index() == b.values.index()
        && std::visit(
               [&](const auto& mine) {
                   const auto& other = std::get<std::decay_t<decltype(mine)>>(b.values);
                   return mine.size() == other.size()
                       && std::memcmp(mine.data(), other.data(), mine.size() * sizeof mine[0]) == 0;
               },
               a.values);
}

/// Returns the first visible difference between two sessions; NaN equals NaN.
QString difference(const Session& a, const Session& b)
{
    if (a.model != b.model || a.processing != b.processing || a.embedding != b.embedding
        || a.tokens != b.tokens || a.tokenBytes != b.tokenBytes || a.view != b.view)
        return QStringLiteral("the frame");
    if (a.warnings != b.warnings)
        return QStringLiteral("the warnings");
    if (a.results.groupAttributes != b.results.groupAttributes)
        return QStringLiteral("the attributes of groups");
    if (a.results.arrays.size() != b.results.arrays.size())
        return QStringLiteral("%1 and %2 arrays").arg(a.results.arrays.size()).arg(b.results.arrays.size());
    for (std::size_t i = 0; i < a.results.arrays.size(); ++i) {
        ResultArray mine = a.results.arrays[i], other = b.results.arrays[i];
        const QString path = QString::fromStdString(mine.path);
        if (!haveSameValues(mine, other))
            return path;
        mine.values = other.values = std::vector<float>();
        if (mine != other)
            return path + QStringLiteral(", what is said about it");
    }
    return {};
}

} // namespace

/// A killed run of `analyze` is started again.
class ResumeTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { QVERIFY(m_folder.isValid()); }

    void aKilledRunIsTakenUpAndEndsAsIfNothingHadHappened()
    {
        const QString whole = m_folder.filePath("whole.h5"), killed = m_folder.filePath("killed.h5");
        const CommandRun first = runHeadwise(command(whole), m_folder.path());
        QVERIFY2(first.exitCode == 0, first.err.constData());
        QVERIFY(!QFile::exists(whole + ".partial"));

        killOnceSomethingIsSafe(killed);
        QVERIFY(!QFile::exists(killed));
        // A number that no computation gives shows which numbers are reused.
        auto safe = readSession((killed + ".partial").toStdString(), {});
        QVERIFY(isOk(safe));
        Session left = std::move(safe).value();
        QVERIFY(!left.results.arrays.empty());
        ResultArray& array = left.results.arrays.front();
        const float right = std::get<std::vector<float>>(array.values).front();
        std::get<std::vector<float>>(array.values).front() = 77;
        QVERIFY(isOk(writeSession((killed + ".partial").toStdString(), left, {})));

        const CommandRun again = runHeadwise(command(killed), m_folder.path());
        QVERIFY2(again.exitCode == 0, again.err.constData());
        QVERIFY2(again.err.contains("this run reuses them"), again.err.constData());
        QVERIFY(!QFile::exists(killed + ".partial"));
        const auto expected = readSession(whole.toStdString(), {});
        auto resumed = readSession(killed.toStdString(), {});
        QVERIFY(isOk(expected) && isOk(resumed));
        Session found = std::move(resumed).value();
        auto marked = std::find_if(found.results.arrays.begin(), found.results.arrays.end(),
                                   [&](const ResultArray& one) { return one.path == array.path; });
        QVERIFY(marked != found.results.arrays.end());
        QCOMPARE(std::get<std::vector<float>>(marked->values).front(), 77.0F);
        std::get<std::vector<float>>(marked->values).front() = right;
        QCOMPARE(difference(*expected, found), QString());
    }

    void anotherQuestionIsNotAnsweredFromIt_data()
    {
        QTest::addColumn<QStringList>("asked");
        QTest::newRow("other heads") << QStringList{"--heads", "1.*"};
        QTest::newRow("another metric") << QStringList{"--metric", "embedding"};
    }
    void anotherQuestionIsNotAnsweredFromIt()
    {
        QFETCH(QStringList, asked);
        const QString file = m_folder.filePath("other.h5"), killed = m_folder.filePath("one.h5");
        if (!QFile::exists(killed + ".partial"))
            killOnceSomethingIsSafe(killed);
        QVERIFY(QFile::copy(killed + ".partial", file + ".partial"));
        const CommandRun other = runHeadwise(
            QStringList{"analyze", HEADWISE_DEMO_MODEL, "-o", file, "--analyses", "spectra"} + asked,
            m_folder.path());
        QVERIFY2(other.exitCode == 0, other.err.constData());
        QVERIFY2(!other.err.contains("this run reuses them"), other.err.constData());
        const auto found = readSession(file.toStdString(), {});
        QVERIFY(isOk(found));
        const ResultArray* norms = found->results.find("spectra/ov/frobenius_norm");
        QVERIFY(norms);
        QCOMPARE(std::isnan(std::get<std::vector<float>>(norms->values).front()), asked.front() == "--heads");
        QCOMPARE(norms->attributes.contains("metric"), asked.front() == "--metric");
        QVERIFY(!QFile::exists(file + ".partial")); // the session is complete: nothing is left to resume
    }

    void aKilledRunIsTakenUpBesideWhatTheSessionHolds()
    {
        const QString file = m_folder.filePath("held.h5");
        Session held = sessionOf({"--analyses", "copying"}, file);
        held.notes = {{"1.5", "copies names"}};
        QVERIFY(isOk(writeSession(file.toStdString(), held, {})));
        killOnceSomethingIsSafe(file);
        QCOMPARE(readSession(file.toStdString(), {})->notes, held.notes); // the kill did not touch it
        held.notes["0.0"] = "written meanwhile";
        QVERIFY(isOk(writeSession(file.toStdString(), held, {})));
        const CommandRun again = runHeadwise(command(file, "norms,spectra"), m_folder.path());
        QVERIFY2(again.exitCode == 0, again.err.constData());
        QVERIFY2(again.err.contains("this run reuses them"), again.err.constData());
        const auto whole = readSession(file.toStdString(), {});
        QVERIFY(isOk(whole));
        QCOMPARE(whole->notes, held.notes);
        QVERIFY(whole->results.find("scores/copying") && whole->results.find("spectra/ov/frobenius_norm"));
        QVERIFY(!QFile::exists(file + ".partial"));
    }

    void aSideFileThatIsBrokenIsPassedOver()
    {
        const QString file = m_folder.filePath("broken.h5");
        QFile side(file + ".partial");
        QVERIFY(side.open(QIODevice::WriteOnly));
        side.write("\x89HDF\r\n\x1a\nbroken");
        side.close();
        const CommandRun run = runHeadwise(
            {"analyze", HEADWISE_DEMO_MODEL, "-o", file, "--analyses", "copying"}, m_folder.path());
        QVERIFY2(run.exitCode == 0, run.err.constData());
        QVERIFY(readSession(file.toStdString(), {})->results.find("scores/copying"));
        QVERIFY(!QFile::exists(file + ".partial"));
    }

private:
    static QStringList command(const QString& output, const QString& analyses = "all")
    {
        return {"analyze", HEADWISE_DEMO_MODEL, "-o",          output,      "--analyses",
                analyses,  "--prompt",          "the cat sat", "--threads", "1"};
    }

    Session sessionOf(const QStringList& options, const QString& file) const
    {
        runHeadwise(QStringList{"analyze", HEADWISE_DEMO_MODEL, "-o", file} + options, m_folder.path());
        auto session = readSession(file.toStdString(), {});
        return session ? std::move(session).value() : Session();
    }

    void killOnceSomethingIsSafe(const QString& output)
    {
        QProcess process;
        process.setProcessEnvironment(quietEnvironment(m_folder.path()));
        process.start(QStringLiteral(HEADWISE_BINARY), command(output));
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(output + ".partial"), resumePatience);
        process.kill();
        QVERIFY(process.waitForFinished());
        QCOMPARE(process.exitStatus(), QProcess::CrashExit); // it had not ended
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(ResumeTest)
#include "resume_test.moc"
