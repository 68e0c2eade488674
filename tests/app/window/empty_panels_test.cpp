// A panel that lacks the model's files or a tokenizer has the button that gets them.

#include "app/window/pages.h"
#include "core/session/session_file.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "tests/support/window_driver.h"
#include "ui/base/job.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/analyses/result_page.h"
#include "ui/pages/parts/fill_button.h"

#include <QLabel>
#include <QSignalSpy>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

/// Texts of the page that send the user for the model's files.
QStringList wishesForFiles(const Page& page)
{
    QStringList found;
    for (const QLabel* label : page.findChildren<QLabel*>())
        if (label->isVisible()
            && (label->text().contains(QStringLiteral("the model's files"))
                || label->text().contains(QStringLiteral("locate its model"))))
            found << label->text();
    return found;
}

QStringList offeredOn(const Page& page)
{
    QStringList words;
    for (const FillButton* button : page.findChildren<FillButton*>())
        if (button->isVisible())
            words << button->text();
    return words;
}

} // namespace

class EmptyPanelsTest : public QObject {
    Q_OBJECT

private:
    /// Saves a session of the demo whose model is nowhere.
    void saveAlone(const QString& file)
    {
        WindowDriver driver;
        driver.openDemo();
        QSignalSpy saved(driver.workspace().session(), &SessionFile::saved);
        driver.window.saveTo(file);
        QTRY_COMPARE(saved.count(), 1);
        auto read = readSession(file.toStdString(), Task{});
        QVERIFY(test::isOk(read));
        Session session = std::move(read).value();
        session.model.source = "/nowhere";
        std::erase_if(session.results.arrays, [](const ResultArray& array) {
            return array.path.starts_with("analyses/relations/"); // the findings may have had the time for it
        });
        QVERIFY(test::isOk(writeSession(file.toStdString(), session, Task{})));
    }

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }
    void cleanupTestCase() { QVERIFY(waitForJobs(std::chrono::minutes(1))); }

    void aButtonAsksForWhatIsLacking()
    {
        FillButton button;
        std::vector<FillButton::Lack> wanted;
        connect(&button, &FillButton::wanted, &button,
                [&wanted](FillButton::Lack lack) { wanted.push_back(lack); });
        QVERIFY(button.isHidden());
        button.offer(FillButton::Lack::Model);
        QCOMPARE(button.text(), QStringLiteral("Locate model…"));
        QVERIFY(!button.isHidden());
        button.click();
        button.offer(FillButton::Lack::Tokenizer);
        QCOMPARE(button.text(), QStringLiteral("Add tokenizer…"));
        button.click();
        QVERIFY((wanted == std::vector{FillButton::Lack::Model, FillButton::Lack::Tokenizer}));
        button.offer(FillButton::Lack::Nothing);
        QVERIFY(button.isHidden());
    }

    void everyPageThatWantsTheFilesOffersToLocateThem()
    {
        const QString file = m_folder.filePath(QStringLiteral("alone.h5"));
        saveAlone(file);
        QVERIFY(!QTest::currentTestFailed());
        WindowDriver driver;
        driver.window.openPath(file);
        QTRY_VERIFY(driver.workspace().model()->isOpen());
        QVERIFY(!driver.workspace().model()->hasModel());
        int wishes = 0;
        for (int page = 0; page < driver.tabs()->count(); ++page) {
            driver.tabs()->setCurrentIndex(page);
            QTRY_VERIFY(JobBoard::instance().running().isEmpty());
            const QStringList wanted = wishesForFiles(*driver.page());
            const QStringList offered = offeredOn(*driver.page());
            wishes += wanted.isEmpty() ? 0 : 1;
            QVERIFY2(wanted.isEmpty() || offered.contains(QStringLiteral("Locate model…")),
                     qPrintable(driver.tabs()->tabText(page) + QStringLiteral(": ") + wanted.join(u'|')));
            QVERIFY2(!offered.contains(QStringLiteral("Add tokenizer…")),
                     qPrintable(driver.tabs()->tabText(page)));
        }
        QVERIFY(wishes > 2); // the positive control
        for (const char* page : {"relations", "models"}) {
            driver.window.showPage(QLatin1String(page));
            QVERIFY2(offeredOn(*driver.page()).contains(QStringLiteral("Locate model…")), page);
        }
        // The effect of a token says so in its picture.
        driver.window.showPage(QStringLiteral("tokens"));
        QVERIFY(offeredOn(*driver.page()).contains(QStringLiteral("Locate model…")));
        // With the files the offers go.
        driver.window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(driver.workspace().model()->hasModel());
        driver.waitForAnalyses();
        for (int page = 0; page < driver.tabs()->count(); ++page) {
            driver.tabs()->setCurrentIndex(page);
            QTRY_VERIFY2(!offeredOn(*driver.page()).contains(QStringLiteral("Locate model…")),
                         qPrintable(driver.tabs()->tabText(page)));
        }
    }

    void aModelWithoutATokenizerIsOfferedOne()
    {
        const QString folder = m_folder.filePath(QStringLiteral("toy"));
        test::writeToyModel(folder.toStdString());
        WindowDriver driver;
        driver.window.openPath(folder);
        QTRY_VERIFY(driver.workspace().model()->hasModel());
        QVERIFY(!driver.workspace().model()->tokenizer());
        for (const char* page : {"relations", "model"}) {
            driver.window.showPage(QLatin1String(page));
            QTRY_VERIFY2(offeredOn(*driver.page()).contains(QStringLiteral("Add tokenizer…")), page);
        }
        driver.window.showPage(QStringLiteral("analyses"));
        auto* results = driver.window.findChild<ResultPage*>();
        results->showAnalysis("relations");
        QTRY_COMPARE(offeredOn(*results), QStringList{QStringLiteral("Add tokenizer…")});
        results->showAnalysis("spectra"); // needs none
        QTRY_COMPARE(offeredOn(*results), QStringList());
    }

    void aPageThatLacksAChoiceOffersIt()
    {
        WindowDriver driver;
        driver.openDemo();
        driver.window.showPage(QStringLiteral("training"));
        QCOMPARE(offeredOn(*driver.page()),
                 QStringList({QStringLiteral("Open series…"), QStringLiteral("Open series folder…")}));
        driver.window.showPage(QStringLiteral("compare"));
        QTRY_COMPARE(offeredOn(*driver.page()), QStringList{QStringLiteral("Compare with nearest head")});
        for (auto* button : driver.page()->findChildren<FillButton*>())
            if (button->isVisible())
                button->click();
        QTRY_VERIFY(driver.workspace().selection()->reference());
        QCOMPARE(driver.tabs()->currentName(), QStringLiteral("compare"));
        QTRY_VERIFY(!driver.page()->figures().isEmpty());
        QCOMPARE(offeredOn(*driver.page()), QStringList());
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(EmptyPanelsTest)
#include "empty_panels_test.moc"
