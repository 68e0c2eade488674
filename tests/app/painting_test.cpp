#include "tests/support/painting.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"

#include <QScrollArea>
#include <QScrollBar>

using namespace headwise;
using namespace headwise::ui;
using namespace headwise::test;

class PaintingTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { beginWithOwnSettings(m_settings); }

    void everyPixelOfEveryPageIsPainted_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::newRow("1280 x 800") << QSize(1280, 800);
        QTest::newRow("1024 x 640") << QSize(1024, 640);
        QTest::newRow("900 x 520") << QSize(900, 520);
    }

    void everyPixelOfEveryPageIsPainted()
    {
        QFETCH(QSize, size);
        WindowDriver driver;
        driver.window.resize(size);
        driver.openDemo();
        driver.waitForAnalyses();
        for (int i = 0; i < driver.tabs()->count(); ++i) {
            driver.tabs()->setCurrentIndex(i);
            QVERIFY(QTest::qWaitFor([&] { return isSettled(driver.window); }, test::patience));
            const QString page = driver.tabs()->tabText(i) + QStringLiteral(": ");
            // A label gets its height one layout after its width.
            QTRY_VERIFY2(cutLabels(driver.window).isEmpty(),
                         qPrintable(page + cutLabels(driver.window).join(QStringLiteral("; "))));
            const QRect hole = unpainted(driver.window);
            QVERIFY2(hole.isNull(), qPrintable(page + whoIsAt(driver.window, hole.center())));
            if (size.width() < 1024)
                continue;
            QTRY_VERIFY2(
                hiddenSideways(driver.page()) == 0,
                qPrintable(page + QStringLiteral("is %1 px too wide").arg(hiddenSideways(driver.page()))));
            const QStringList squeezed = squeezedButtons(*driver.page());
            QVERIFY2(squeezed.isEmpty(), qPrintable(page + squeezed.join(QStringLiteral("; "))));
        }
    }

private:
    /// Returns by how much `page` is wider than the scroll area around it, px.
    static int hiddenSideways(const QWidget* page)
    {
        for (const QWidget* around = page->parentWidget(); around; around = around->parentWidget())
            if (const auto* area = qobject_cast<const QScrollArea*>(around))
                return area->horizontalScrollBar()->maximum();
        return -1; // a page is in one
    }

    QTemporaryDir m_settings;
};

HEADWISE_TEST(PaintingTest)
#include "painting_test.moc"
