#include "app/address.h"
#include "core/series/series_record.h"
#include "tests/support/copying_series.h"
#include "tests/support/family_model.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/document/training_series.h"
#include "ui/pages/model/model_place.h"
#include "ui/widgets/notice_bar.h"

#include <QDir>
#include <QPushButton>
#include <QSignalSpy>

using namespace headwise;
using test::FirstPage;
using test::patience;
using test::WindowDriver;

/// Addresses that come while something is being opened: the head that was asked for is the head that is shown.
class AddressesTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    QString m_model, m_other, m_session;

    static app::Address address(const QString& words) { return *app::parseAddress(words.toStdString()); }

    /// Goes there once a model was read, before the window hears that it is open.
    static void goOnceRead(WindowDriver& driver, const QString& words)
    {
        const auto* model = driver.workspace().model();
        auto* opened = new QSignalSpy(model, &ui::OpenModel::opened);
        opened->setParent(&driver.window);
        connect(
            model, &ui::OpenModel::circuitsChanged, &driver.window,
            [&driver, opened, words] {
                QTimer::singleShot(0, &driver.window, [&driver, opened, words] {
                    QCOMPARE(opened->count(), 0);
                    driver.window.goTo(address(words));
                });
            },
            Qt::SingleShotConnection);
    }

    /// Presses a button of the next question about what is not saved.
    static void answer(WindowDriver& driver, QMessageBox::StandardButton button)
    {
        QTimer::singleShot(0, &driver.window, [&driver, button] {
            const auto* question = driver.window.findChild<QMessageBox*>();
            QVERIFY(question);
            question->button(button)->click();
        });
    }

    static HeadId head(WindowDriver& driver) { return driver.workspace().selection()->head(); }

    static void waitForRest(WindowDriver& driver)
    {
        const auto isAtRest = [&driver] {
            QCoreApplication::processEvents(); // One answer asks for more.
            return ui::JobBoard::instance().running().isEmpty()
                && driver.workspace().runs()->waiting().empty();
        };
        QVERIFY(QTest::qWaitFor([&] { return isAtRest() && isAtRest(); }, patience));
    }

private slots:
    void initTestCase()
    {
        test::beginWithOwnSettings(m_folder);
        m_model = QString::fromStdString(
            test::writeFamily(m_folder.filePath(QStringLiteral("t5")).toStdString(), test::familyModel("t5"))
                .string());
        m_other = QString::fromStdString(
            test::writeFamily(m_folder.filePath(QStringLiteral("gpt_neox")).toStdString(),
                              test::familyModel("gpt_neox"))
                .string());
        m_session = m_folder.filePath(QStringLiteral("kept.h5"));
        WindowDriver driver;
        driver.window.goTo(address(m_model + QStringLiteral("#L1H0")));
        QTRY_COMPARE(head(driver), (HeadId{1, 0}));
        waitForRest(driver);
        QSignalSpy saved(driver.workspace().session(), &ui::SessionFile::saved);
        driver.window.saveTo(m_session);
        QTRY_COMPARE(saved.count(), 1);
    }
    void cleanupTestCase() { QVERIFY(ui::waitForJobs(std::chrono::minutes(1))); }

    /// The first stack is announced while the second is being read, and must not take its address.
    void anAddressWaitsForItsOwnStack()
    {
        WindowDriver driver(FirstPage::Findings);
        QSignalSpy opened(driver.workspace().model(), &ui::OpenModel::opened);
        goOnceRead(driver, m_model + QStringLiteral("#L0H1?stack=cross"));
        driver.window.openPath(m_model);
        QTRY_VERIFY(opened.count() > 0 && ui::openStack(driver.workspace()) == QLatin1String("cross")
                    && !driver.workspace().opener()->coming());
        waitForRest(driver);
        QCOMPARE(head(driver), (HeadId{0, 1}));
        QCOMPARE(driver.tabs()->currentName(), QStringLiteral("overview"));
    }

    /// A model that was read and is not announced yet shows its first page afterwards, over the place that was asked for.
    void anAddressWaitsForTheAnnouncement()
    {
        WindowDriver driver(FirstPage::Findings);
        QSignalSpy opened(driver.workspace().model(), &ui::OpenModel::opened);
        goOnceRead(driver, m_model + QStringLiteral("#L0H0/spectrum"));
        driver.window.openPath(m_model);
        QTRY_COMPARE(opened.count(), 1);
        waitForRest(driver);
        QCOMPARE(opened.count(), 1); // It was not read again.
        QCOMPARE(head(driver), (HeadId{0, 0}));
        QCOMPARE(driver.tabs()->currentName(), QStringLiteral("spectrum"));
    }

    /// The next opening of the same model begins where it always does.
    void anAddressGoesWithTheOpeningThatIsCancelled()
    {
        WindowDriver driver;
        QSignalSpy opened(driver.workspace().model(), &ui::OpenModel::opened);
        driver.window.goTo(address(m_model + QStringLiteral("#L1H0/spectrum")));
        QVERIFY(driver.workspace().opener()->coming());
        driver.workspace().opener()->job()->cancel(); // as the button in the status bar does
        driver.window.openPath(m_model);
        QTRY_COMPARE(opened.count(), 1);
        waitForRest(driver);
        QCOMPARE(head(driver), (HeadId{0, 0}));
        QCOMPARE(driver.tabs()->currentName(), QStringLiteral("overview"));

        driver.workspace().notebook()->setNote({0, 0}, QStringLiteral("not saved"));
        answer(driver, QMessageBox::Cancel);
        driver.window.goTo(address(m_other + QStringLiteral("#L1H0/spectrum")));
        QVERIFY(!driver.workspace().opener()->coming());
        answer(driver, QMessageBox::Discard);
        driver.window.openPath(m_other);
        QTRY_COMPARE(opened.count(), 2);
        waitForRest(driver);
        QCOMPARE(head(driver), (HeadId{0, 0}));
        QCOMPARE(driver.tabs()->currentName(), QStringLiteral("overview"));

        // An address whose question is answered is gone to.
        driver.workspace().notebook()->setNote({0, 0}, QStringLiteral("not saved"));
        answer(driver, QMessageBox::Discard);
        driver.window.goTo(address(m_model + QStringLiteral("#L1H0")));
        QTRY_COMPARE(opened.count(), 3);
        waitForRest(driver);
        QCOMPARE(head(driver), (HeadId{1, 0}));
    }

    /// A recovered session of the same model shows its own head, not that of the opening it replaces.
    void anAddressGoesWithTheOpeningThatARecoveryReplaces()
    {
        const QString copies = m_folder.filePath(QStringLiteral("recovery"));
        QVERIFY(QDir().mkpath(copies));
        QVERIFY(QFile::copy(m_session, copies + QStringLiteral("/lost.h5")));
        QFile description(copies + QStringLiteral("/lost.json"));
        QVERIFY(description.open(QIODevice::WriteOnly) && description.write("{}") > 0);
        description.close();
        WindowDriver driver;
        driver.window.keepRecovery(copies.toStdString());
        const auto buttons = driver.window.findChild<ui::NoticeBar*>()->findChildren<QPushButton*>();
        QVERIFY(!buttons.isEmpty());
        driver.window.goTo(address(m_model + QStringLiteral("#L0H1/spectrum")));
        QVERIFY(driver.workspace().opener()->coming());
        buttons.first()->click();
        QTRY_VERIFY(driver.workspace().model()->hasModel());
        waitForRest(driver);
        QCOMPARE(head(driver), (HeadId{1, 0}));
        QVERIFY(driver.tabs()->currentName() != QLatin1String("spectrum"));
        test::discardNotes(driver.window);
    }

    /// The view of a reload that is cancelled is not the view of the next model.
    void theViewGoesWithTheReloadThatIsCancelled()
    {
        WindowDriver driver;
        QSignalSpy opened(driver.workspace().model(), &ui::OpenModel::opened);
        driver.window.goTo(address(m_model + QStringLiteral("#L1H0/spectrum")));
        QTRY_COMPARE(opened.count(), 1);
        waitForRest(driver);
        QCOMPARE(driver.tabs()->currentName(), QStringLiteral("spectrum"));
        driver.trigger(QStringLiteral("Reload"));
        QVERIFY(driver.workspace().opener()->coming());
        driver.workspace().opener()->job()->cancel();
        driver.window.openPath(m_other);
        QTRY_COMPARE(opened.count(), 2);
        waitForRest(driver);
        QCOMPARE(head(driver), (HeadId{0, 0}));
        QCOMPARE(driver.tabs()->currentName(), QStringLiteral("overview"));
    }

    /// The session's own head comes first, and its model is looked for afterwards.
    void anAddressOutlastsTheViewOfASession()
    {
        for (const bool isLate : {false, true}) {
            WindowDriver driver;
            const QString there = m_session + QStringLiteral("#L0H1");
            if (isLate) // the job that looks for the model; no other announcement follows
                connect(driver.workspace().opener()->job(), &ui::Job::started, &driver.window,
                        [&](const QString& title) {
                            if (title.startsWith(QLatin1String("Looking for")))
                                driver.window.goTo(address(there));
                        });
            if (isLate)
                driver.window.openPath(m_session);
            else
                driver.window.goTo(address(there));
            QTRY_VERIFY(driver.workspace().model()->hasModel());
            waitForRest(driver);
            QCOMPARE(head(driver), (HeadId{0, 1}));
        }
    }

    /// A series whose heads the open model has leaves the model open, so nothing is announced.
    void anAddressInASeriesIsShownOnTheOpenModel()
    {
        SeriesRecord record;
        WindowDriver driver;
        driver.window.openPath(m_model);
        QTRY_VERIFY(driver.workspace().model()->hasModel());
        waitForRest(driver);
        record.frame.model = driver.workspace().model()->card();
        record.entries = test::copyingEntries(static_cast<std::size_t>(record.frame.model.nLayers),
                                              static_cast<std::size_t>(record.frame.model.nHeads));
        const QString file = m_folder.filePath(QStringLiteral("series.h5"));
        const auto written = writeSeriesRecord(file.toStdString(), record, Task{});
        QVERIFY2(written, written ? "" : written.error().message.c_str());
        driver.window.goTo(address(file + QStringLiteral("#L1H0")));
        QTRY_VERIFY(ui::TrainingSeries::isOpenIn(driver.workspace()));
        QVERIFY(driver.workspace().model()->hasModel());
        QCOMPARE(head(driver), (HeadId{1, 0}));
        driver.window.goTo(address(file + QStringLiteral("#L0H1"))); // It is open: at once.
        QCOMPARE(head(driver), (HeadId{0, 1}));
    }
};

HEADWISE_TEST(AddressesTest)
#include "addresses_test.moc"
