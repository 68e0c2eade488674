#include "tests/support/keys_driver.h"
#include "tests/support/program.h"
#include "ui/document/compared_model.h"

#include <QLineEdit>

#include <algorithm>
#include <thread>

using namespace headwise;
using namespace headwise::ui;
using test::KeysDriver;

/// Esc in the window: it clears, goes back or stops, one thing at a time.
class EscapeKeysTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }
    void cleanupTestCase() { QVERIFY(waitForJobs(std::chrono::minutes(1))); }

    void escapeClearsAFilterThenReturnsFromAJump()
    {
        KeysDriver driver;
        driver.workspace().selection()->setHead({0, 2});
        driver.show(QStringLiteral("Tokens"));
        KeysDriver::press(Qt::Key_L, Qt::ControlModifier);
        QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("1.5"));
        KeysDriver::press(Qt::Key_Return);
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{1, 5}));
        QLineEdit* filter = nullptr;
        for (auto* field : driver.page()->findChildren<QLineEdit*>())
            if (field->accessibleName() == QLatin1String("Filter the tables"))
                filter = field;
        QVERIFY(filter);
        filter->setFocus();
        QTest::keyClicks(filter, QStringLiteral("king"));
        KeysDriver::press(Qt::Key_Escape);
        QVERIFY(filter->text().isEmpty());
        filter->setText(QStringLiteral("queen"));
        driver.grid->setFocus(); // also from elsewhere
        KeysDriver::press(Qt::Key_Escape);
        QVERIFY(filter->text().isEmpty());
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{1, 5}));
        KeysDriver::press(Qt::Key_Escape);
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{0, 2}));
    }

    void escapeStopsTheJobOfThePage()
    {
        KeysDriver driver;
        driver.show(QStringLiteral("Composition"));
        driver.grid->setFocus();
        for (Job* job :
             {driver.workspace().runs()->job(), ComparedModel::of(&driver.workspace())->comparisonJob()}) {
            job->start(
                QStringLiteral("Counting"),
                [](const Task& task) -> Result<int> {
                    while (!task.cancelled())
                        std::this_thread::yield();
                    return 0;
                },
                [](const Result<int>&) {});
            QVERIFY(job->isRunning());
            KeysDriver::press(Qt::Key_Escape);
            QVERIFY(!job->isRunning());
        }
    }

    void escapeStopsAnAnalysisThatWasAskedForOnAnyPage()
    {
        KeysDriver driver;
        driver.show(QStringLiteral("Overview"));
        driver.grid->setFocus();
        Workspace& workspace = driver.workspace();
        QTRY_VERIFY(workspace.runs()->waiting().empty() && !workspace.runs()->job()->isRunning());
        const auto isThere = [&] {
            return std::ranges::any_of(workspace.model()->results()->arrays, [](const ResultArray& array) {
                return array.path.starts_with("analyses/degeneracy/");
            });
        };
        workspace.runs()->runAnalysis("degeneracy");
        QVERIFY(workspace.runs()->isUnderWay("degeneracy"));
        KeysDriver::press(Qt::Key_Escape);
        QVERIFY(!workspace.runs()->isUnderWay("degeneracy"));
        QVERIFY(!workspace.runs()->job()->isRunning());
        QVERIFY(waitForJobs(std::chrono::seconds(20)));
        QCoreApplication::processEvents(); // A late answer would be in the queue by now.
        QVERIFY(!isThere());
        workspace.runs()->runAnalysis("copying"); // runs by itself on every model: nothing to stop
        QVERIFY(workspace.runs()->isUnderWay("copying"));
        KeysDriver::press(Qt::Key_Escape);
        QVERIFY(workspace.runs()->isUnderWay("copying"));
        workspace.runs()->runAnalysis("degeneracy");
        QTRY_VERIFY(isThere());
        // Each further Esc cancels a waiting job, the last one first.
        for (const char* id : {"degeneracy", "normality", "symmetry"})
            workspace.runs()->runAnalysis(id);
        const auto waits = [&](const char* id) {
            return std::ranges::find(workspace.runs()->waiting(), findAnalysis(id))
                != workspace.runs()->waiting().end();
        };
        QVERIFY(waits("normality") && waits("symmetry"));
        KeysDriver::press(Qt::Key_Escape);
        QVERIFY(!workspace.runs()->job()->isRunning() && waits("normality") && waits("symmetry"));
        KeysDriver::press(Qt::Key_Escape);
        QVERIFY(waits("normality") && !waits("symmetry"));
        KeysDriver::press(Qt::Key_Escape);
        QVERIFY(!waits("normality"));
        test::discardNotes(driver.window);
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(EscapeKeysTest)
#include "escape_keys_test.moc"
