#include "tests/support/family_model.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"

#include <QMenu>

using namespace headwise;
using test::patience;
using test::WindowDriver;

/// File → Stack, for models of several stacks.
class StackMenuTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

    static QMenu* menu(WindowDriver& driver)
    {
        for (auto* one : driver.window.findChildren<QMenu*>())
            if (QString(one->title()).remove(u'&') == QLatin1String("Stack"))
                return one;
        qFatal("there is no such menu");
    }

    static QString openStack(WindowDriver& driver)
    {
        const auto weights = driver.workspace().model()->weights();
        return weights && !weights->config().stacks.empty()
            ? QString::fromStdString(weights->config().stacks.front())
            : QString();
    }

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }
    void cleanupTestCase() { QVERIFY(ui::waitForJobs(std::chrono::minutes(1))); }

    void anotherStackOpens()
    {
        const auto model =
            test::writeFamily(m_folder.filePath(QStringLiteral("t5")).toStdString(), test::familyModel("t5"));
        WindowDriver driver;
        QVERIFY(!menu(driver)->isEnabled());
        driver.window.openPath(QString::fromStdString(model.string()));
        QTRY_COMPARE_WITH_TIMEOUT(openStack(driver), QStringLiteral("decoder"), patience);
        QTRY_VERIFY_WITH_TIMEOUT(menu(driver)->isEnabled(), patience);
        QStringList names;
        for (const QAction* choice : menu(driver)->actions()) {
            names << choice->text();
            QCOMPARE(choice->isChecked(), choice->text() == QLatin1String("decoder"));
        }
        QCOMPARE(
            names,
            (QStringList{QStringLiteral("decoder"), QStringLiteral("encoder"), QStringLiteral("cross")}));
        menu(driver)->actions()[2]->trigger();
        QTRY_COMPARE_WITH_TIMEOUT(openStack(driver), QStringLiteral("cross"), patience);
        QVERIFY(driver.workspace().model()->weights()->config().crossAttention);
        QTRY_COMPARE_WITH_TIMEOUT(menu(driver)->actions().first()->text(), QStringLiteral("cross"), patience);
    }

    void aModelOfOneStackOffersNone()
    {
        WindowDriver driver;
        driver.window.openDemo();
        QTRY_VERIFY_WITH_TIMEOUT(driver.workspace().model()->hasModel(), patience);
        QVERIFY(!menu(driver)->isEnabled() && menu(driver)->actions().isEmpty());
    }
};

HEADWISE_TEST(StackMenuTest)
#include "stack_menu_test.moc"
