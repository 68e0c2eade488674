#include "app/address.h"
#include "app/window/settings.h"
#include "tests/support/family_model.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/pages/model/model_place.h"

#include <QClipboard>
#include <QDir>
#include <QMenu>
#include <QSignalSpy>

using namespace headwise;
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

    static QString recent() { return app::readSettings().recentFiles.value(0); }

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
        QTRY_COMPARE(openStack(driver), QStringLiteral("decoder"));
        QTRY_VERIFY(menu(driver)->isEnabled());
        QStringList names;
        for (const QAction* choice : menu(driver)->actions()) {
            names << choice->text();
            QCOMPARE(choice->isChecked(), choice->text() == QLatin1String("decoder"));
        }
        QCOMPARE(
            names,
            (QStringList{QStringLiteral("decoder"), QStringLiteral("encoder"), QStringLiteral("cross")}));
        menu(driver)->actions()[2]->trigger();
        QTRY_COMPARE(openStack(driver), QStringLiteral("cross"));
        QVERIFY(driver.workspace().model()->weights()->config().crossAttention);
        QTRY_COMPARE(menu(driver)->actions().first()->text(), QStringLiteral("cross"));
    }

    /// The list of recent files, an address and a session lead back to the stack that was open.
    void theStackIsRemembered()
    {
        const auto model = test::writeFamily(m_folder.filePath(QStringLiteral("remembered")).toStdString(),
                                             test::familyModel("t5"));
        const QString path = QString::fromStdString(model.string()),
                      session = m_folder.filePath(QStringLiteral("cross.h5"));
        QString address;
        {
            WindowDriver driver;
            driver.window.openPath(path);
            QTRY_COMPARE(openStack(driver), QStringLiteral("decoder"));
            QTRY_COMPARE(recent(), path);
            QTRY_VERIFY(driver.window.windowTitle().contains(QStringLiteral("(decoder)")));
            QTRY_COMPARE(menu(driver)->actions().size(), 3);
            menu(driver)->actions()[2]->trigger();
            QTRY_COMPARE(openStack(driver), QStringLiteral("cross"));
            QTRY_VERIFY(driver.window.windowTitle().contains(QStringLiteral("(cross)")));
            QTRY_COMPARE(recent(), path + QStringLiteral("?stack=cross"));
            driver.activate();
            QTest::keyClick(&driver.window, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
            address = QGuiApplication::clipboard()->text();
            QVERIFY2(address.startsWith(path) && address.endsWith(QStringLiteral("stack=cross")),
                     qPrintable(address));
            QSignalSpy saved(driver.workspace().session(), &ui::SessionFile::saved);
            driver.window.saveTo(session);
            QTRY_COMPARE(saved.count(), 1);
        }
        for (const QString& place : {path + QStringLiteral("?stack=cross"), session}) {
            WindowDriver driver;
            driver.window.openPath(place);
            QTRY_COMPARE(openStack(driver), QStringLiteral("cross"));
        }
        WindowDriver driver;
        driver.window.openPath(path);
        QTRY_COMPARE(openStack(driver), QStringLiteral("decoder"));
        driver.window.goTo(*app::parseAddress(address.toStdString()));
        QTRY_COMPARE(openStack(driver), QStringLiteral("cross"));
        driver.window.goTo(*app::parseAddress((path + QStringLiteral("#L0H1")).toStdString()));
        QTRY_COMPARE(openStack(driver), QStringLiteral("decoder"));
        QTRY_COMPARE(driver.workspace().selection()->head(), (HeadId{0, 1}));
    }

    void aFileOfExactlyThatNameComesFirst()
    {
        const QString odd = m_folder.filePath(QStringLiteral("odd?stack=name"));
        QVERIFY(QDir().mkpath(odd));
        QCOMPARE(ui::placeOf(odd).path, odd);
        QVERIFY(ui::placeOf(odd).stack.isEmpty());
        QCOMPARE(ui::placeOf(QStringLiteral("/none?stack=encoder")).stack, QStringLiteral("encoder"));
        QCOMPARE(ui::placeText({QStringLiteral("/none"), QStringLiteral("encoder")}),
                 QStringLiteral("/none?stack=encoder"));
    }

    void aModelOfOneStackOffersNone()
    {
        WindowDriver driver;
        driver.window.openDemo();
        QTRY_VERIFY(driver.workspace().model()->hasModel());
        QVERIFY(!menu(driver)->isEnabled() && menu(driver)->actions().isEmpty());
    }
};

HEADWISE_TEST(StackMenuTest)
#include "stack_menu_test.moc"
