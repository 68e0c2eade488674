#include "tests/support/command.h"
#include "tests/support/program.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

using namespace headwise;

/// `findings` as a user runs it.
class FindingsCommandTest : public QObject {
    Q_OBJECT

private slots:
    void jsonOfTheDemoIsRanked()
    {
        const auto done = run({"findings", m_demo, "--json"});
        QVERIFY2(done.exitCode == 0, done.err);
        const QJsonArray list = QJsonDocument::fromJson(done.out).array();
        QVERIFY(list.size() >= 2);
        const QStringList keys{"heads", "kind", "null", "text", "value", "view", "z"};
        QStringList previous, induction;
        for (const QJsonValue one : list) {
            const QJsonObject finding = one.toObject();
            QCOMPARE(finding.keys(), keys);
            QVERIFY(finding["heads"].isArray() && finding["text"].isString() && finding["view"].isString());
            for (const char* number : {"value", "null", "z"})
                QVERIFY(finding[QLatin1String(number)].isDouble() || finding[QLatin1String(number)].isNull());
            const QString first = finding["heads"].toArray().first().toString();
            if (finding["kind"] == QStringLiteral("previous_token"))
                previous << first;
            if (finding["kind"] == QStringLiteral("induction"))
                induction << first;
        }
        QVERIFY(previous.contains("0.1"));
        QCOMPARE(induction, QStringList{"1.5"});
    }

    void aSessionAnswersFromWhatItHas()
    {
        const QString session = m_folder.filePath("session.h5");
        QCOMPARE(run({"analyze", m_demo, "-o", session, "--analyses", "copying,previous_token"}).exitCode, 0);
        const auto text = run({"findings", session});
        QVERIFY2(text.exitCode == 0, text.err);
        QVERIFY2(text.out.contains("L0H1 attends to the previous token (score "), text.out);
        QVERIFY(!text.out.contains("induction candidate"));
        QVERIFY2(text.err.contains("headwise analyze ")
                     && text.err.contains("--analyses spectra,composition"),
                 text.err);
        const auto markdown = run({"findings", session, "--markdown"});
        QVERIFY2(markdown.out.startsWith("# Findings about demo-attn-2l\n\n- "), markdown.out);
        QVERIFY(markdown.out.contains("\nNot looked for: "));
    }

    void refusesWhatDoesNotFit()
    {
        QCOMPARE(run({"findings"}).exitCode, 2);
        QCOMPARE(run({"findings", m_demo, "--json", "--markdown"}).exitCode, 2);
        QCOMPARE(run({"findings", m_folder.filePath("absent")}).exitCode, 3);
        const QString session = m_folder.filePath("small.h5");
        QCOMPARE(run({"analyze", m_demo, "-o", session, "--analyses", "copying"}).exitCode, 0);
        const auto refused = run({"findings", session, "--no-fold-layer-norm"});
        QCOMPARE(refused.exitCode, 2);
        QVERIFY2(refused.err.contains("is a session"), refused.err);
    }

private:
    test::CommandRun run(const QStringList& arguments) const
    {
        return test::runHeadwise(arguments, m_folder.path());
    }

    QTemporaryDir m_folder;
    const QString m_demo = HEADWISE_DEMO_MODEL;
};

HEADWISE_TEST(FindingsCommandTest)
#include "findings_command_test.moc"
