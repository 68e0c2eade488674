#include "core/session/session_file.h"
#include "tests/support/command.h"
#include "tests/support/journey.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "ui/base/text.h"

#include <QDir>
#include <QFileInfo>
#include <QPlainTextEdit>
#include <QToolButton>

#include <cmath>

using namespace headwise;
using namespace headwise::test;
using ui::text;

namespace {

/// Reads the score from the session on disk, through core.
double copyingInFile(const QString& file, HeadId head)
{
    const auto session = readSession(file.toStdString(), Task{});
    if (!session)
        return std::nan("");
    const ResultArray* scores = session->results.find("scores/copying");
    if (!scores)
        return std::nan("");
    const auto heads = static_cast<std::size_t>(session->model.nHeads);
    return std::get<std::vector<float>>(
        scores->values)[static_cast<std::size_t>(head.layer) * heads + static_cast<std::size_t>(head.head)];
}

bool close(double shown, double expected)
{
    return std::abs(shown - expected) < 0.006 * std::abs(expected) + 1e-6;
}

} // namespace

class SessionsTest : public QObject {
    Q_OBJECT

private slots:
    void aNightsWorkIsOpenedAndNextWeekItIsAsItWasLeft_data() { addJourneyModels(); }
    void aNightsWorkIsOpenedAndNextWeekItIsAsItWasLeft()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        const HeadId wanted = which == JourneyModel::Demo ? HeadId{1, 5} : HeadId{10, 7};
        const QString tag = QLatin1String(QTest::currentDataTag());
        const QString file = m_folder.filePath(QStringLiteral("night-%1.h5").arg(model));

        // J16: at night, without a display. Of the large model this was done before all walks.
        if (which == JourneyModel::Gpt2Small)
            QVERIFY(QFile::copy(text(largeSession().string()), file));
        else
            QVERIFY(writeSessionOf(folderOf(which), file.toStdString()));

        { // In the morning.
            Journey journey(QStringLiteral("j16-") + tag);
            journey.drop(journey.window(), {file});
            journey.waitFor([&] { return journey.shows(QStringLiteral("copying")); },
                            QStringLiteral("the scores"));
            QVERIFY(journey.tookGestures(1, 500ms));
            journey.keys(QStringLiteral("Ctrl+L"));
            journey.type(text(dottedHead(wanted)));
            journey.keys(QStringLiteral("Return"));
            const QString header = journey.labelWith(QStringLiteral("copying"));
            QVERIFY2(close(numberAfter(header, QStringLiteral("copying")), copyingInFile(file, wanted)),
                     qPrintable(header));
            journey.trigger(QStringLiteral("Note on this head"));
            journey.type(QStringLiteral("looks for itself"));
            journey.trigger(QStringLiteral("Spectrum"));
            journey.keys(QStringLiteral("Ctrl+S"));
            journey.waitForRest();
            journey.close();
        }
        { // J15: next week.
            Journey journey(QStringLiteral("j15-") + tag);
            journey.click(QFileInfo(file).fileName());
            journey.waitFor([&] { return journey.shows(text(wanted)); }, QStringLiteral("the head"));
            QVERIFY(journey.tookGestures(1, 500ms));
            QCOMPARE(journey.named<QPlainTextEdit>(QStringLiteral("Note on this head"))->toPlainText(),
                     QStringLiteral("looks for itself"));
            const QString header = journey.labelWith(QStringLiteral("copying"));
            QVERIFY2(close(numberAfter(header, QStringLiteral("copying")), copyingInFile(file, wanted)),
                     qPrintable(header));
            QVERIFY(journey.shows(QStringLiteral("effective rank"))); // the Spectrum page, as it was left
            journey.waitForRest();
        }
    }

    void aSessionWhoseModelMovedIsReadAndFindsItAgain()
    {
        const QDir demo(QStringLiteral(HEADWISE_DEMO_MODEL));
        const QString model = m_folder.filePath(QStringLiteral("model"));
        QVERIFY(QDir().mkpath(model));
        for (const QString& name : demo.entryList(QDir::Files))
            QVERIFY(QFile::copy(demo.filePath(name), model + u'/' + name));
        const QString file = m_folder.filePath(QStringLiteral("moved.h5"));
        QVERIFY(runHeadwise({QStringLiteral("analyze"), model, QStringLiteral("-o"), file}, m_folder.path())
                    .exitCode
                == 0);
        QVERIFY(QDir().rename(model, m_folder.filePath(QStringLiteral("elsewhere"))));
        Journey journey(QStringLiteral("j15-moved"));
        journey.drop(journey.window(), {file});
        journey.waitFor([&] { return journey.shows(QStringLiteral("The model's files were not found")); },
                        QStringLiteral("the banner"));
        const QString header = journey.labelWith(QStringLiteral("copying"));
        QVERIFY2(close(numberAfter(header, QStringLiteral("copying")), copyingInFile(file, {0, 0})),
                 qPrintable(header));
        journey.waitForRest();
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST_MAIN(SessionsTest, runJourneys<SessionsTest>)
#include "sessions_test.moc"
