#include "app/window/pages.h"
#include "app/window/settings.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/base/job.h"

#include <QFrame>
#include <QLabel>
#include <QPointer>
#include <QPushButton>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

struct TourDriver : WindowDriver {
    QFrame* panel() { return window.findChild<QFrame*>(QStringLiteral("tour")); }
    QWidget* outline() { return window.findChild<QWidget*>(QStringLiteral("tour-outline")); }
    QString pageName() { return window.findChild<app::Pages*>()->currentName(); }

    bool says(const QString& words)
    {
        for (const QLabel* label : panel()->findChildren<QLabel*>())
            if (label->text().contains(words))
                return true;
        return false;
    }

    QPushButton* button(const QString& text)
    {
        for (auto* one : window.findChildren<QPushButton*>())
            if (one->text() == text && one->isVisible())
                return one;
        qFatal("no button '%s'", qPrintable(text));
    }
};

} // namespace

class TourTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }
    void cleanupTestCase() { QVERIFY(waitForJobs(std::chrono::minutes(1))); }

    void theDemoOffersItOnce()
    {
        QVERIFY(!app::readSettings().tourOffered);
        {
            TourDriver driver;
            driver.button(QStringLiteral("Open demo"))->click();
            QTRY_VERIFY(driver.panel() && driver.panel()->isVisible());
            QVERIFY(app::readSettings().tourOffered);
            driver.button(QStringLiteral("Skip"))->click();
            QTRY_VERIFY(!driver.panel());
        }
        TourDriver again;
        again.button(QStringLiteral("Open demo"))->click();
        again.waitForAnalyses();
        QVERIFY(!again.panel());
    }

    void sixStepsAreVisited()
    {
        TourDriver driver;
        driver.openDemo();
        QVERIFY(!driver.panel()); // nobody asked for it
        driver.trigger(QStringLiteral("Tour"));
        QTRY_VERIFY(driver.panel() && driver.panel()->isVisible());
        QStringList pages, heads;
        for (int step = 1; step <= 6; ++step) {
            QVERIFY(driver.says(QStringLiteral("%1 of 6").arg(step)));
            QTRY_VERIFY(driver.outline()->isVisible());
            QVERIFY(driver.window.rect().contains(driver.panel()->geometry()));
            QVERIFY(!driver.outline()->geometry().intersects(driver.panel()->geometry()));
            QVERIFY(driver.outline()->width() > 40 && driver.outline()->height() > 40);
            pages << driver.pageName();
            heads << QStringLiteral("%1.%2")
                         .arg(driver.workspace().selection()->head().layer)
                         .arg(driver.workspace().selection()->head().head);
            if (step < 6)
                driver.button(QStringLiteral("Next"))->click();
        }
        const QString first = pages.front();
        QVERIFY(first == QStringLiteral("findings") || first == QStringLiteral("overview"));
        QCOMPARE(pages,
                 (QStringList{first, first, QStringLiteral("tokens"), QStringLiteral("position"),
                              QStringLiteral("composition"), first}));
        QCOMPARE(heads,
                 (QStringList{QStringLiteral("1.5"), QStringLiteral("0.1"), QStringLiteral("1.5"),
                              QStringLiteral("0.1"), QStringLiteral("1.5"), QStringLiteral("1.5")}));
        driver.button(QStringLiteral("Done"))->click();
        QTRY_VERIFY(!driver.panel() && !driver.outline());
    }

    void arrowsMoveAndEscCloses()
    {
        TourDriver driver;
        driver.openDemo();
        driver.trigger(QStringLiteral("Tour"));
        const QPointer<QFrame> panel = driver.panel();
        QVERIFY(panel);
        QPushButton* next = driver.button(QStringLiteral("Next"));
        QTest::keyClick(next, Qt::Key_Right);
        QTest::keyClick(next, Qt::Key_Right);
        QVERIFY(driver.says(QStringLiteral("3 of 6")));
        QTest::keyClick(next, Qt::Key_Left);
        QVERIFY(driver.says(QStringLiteral("2 of 6")));
        QTest::keyClick(next, Qt::Key_Left);
        QTest::keyClick(next, Qt::Key_Left); // there is none before the first
        QVERIFY(driver.says(QStringLiteral("1 of 6")));
        driver.window.resize(1000, 600);
        QTRY_VERIFY(driver.window.rect().contains(panel->geometry()));
        QTest::keyClick(next, Qt::Key_Escape);
        QTRY_VERIFY(!driver.panel() && !driver.outline());
        driver.trigger(QStringLiteral("Tour")); // again from the menu
        QVERIFY(driver.panel());
        driver.trigger(QStringLiteral("Return from a jump")); // the action of Esc, wherever the focus is
        QTRY_VERIFY(!driver.panel());
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(TourTest)
#include "tour_test.moc"
