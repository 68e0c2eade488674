#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "tests/support/window_driver.h"
#include "ui/base/job.h"
#include "ui/pages/model/cache_dialog.h"
#include "ui/pages/model/config_dialog.h"
#include "ui/pages/parts/complete_button.h"

#include <QAction>
#include <QDir>
#include <QFile>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

/// Models that open without a complete config, and those that the Hugging Face cache holds.
class CompletingTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }
    void cleanupTestCase() { QVERIFY(waitForJobs(std::chrono::minutes(1))); }

    void whatNoFileStatesIsFilledInLater()
    {
        const QString weights = m_folder.filePath(QStringLiteral("unstated.safetensors"));
        const QString with = m_folder.filePath(QStringLiteral("unstated"));
        test::writeToyModel(with.toStdString(), {});
        QVERIFY(QFile::copy(with + QStringLiteral("/model.safetensors"), weights));
        WindowDriver driver;
        driver.window.openPath(weights);
        QTRY_VERIFY(driver.workspace().model()->isOpen());
        QVERIFY(!driver.window.findChild<ConfigDialog*>()); // nothing asks before it is needed
        const auto isUnknown = [&driver] {
            return !driver.workspace().model()->weights()->config().isKnown(ConfigField::Activation);
        };
        QVERIFY(isUnknown());
        auto* complete = driver.window.findChild<QAction*>(QStringLiteral("complete-config"));
        QVERIFY(complete);
        QTRY_VERIFY(complete->isEnabled());
        const CompleteButton needless(&driver.workspace(), {ConfigField::NormEps});
        QVERIFY(needless.isHidden());
        CompleteButton button(&driver.workspace(), forwardFields()); // as below a page of prompts
        QVERIFY(!button.isHidden());
        button.click();
        auto* dialog = driver.window.findChild<ConfigDialog*>();
        QVERIFY(dialog);
        auto* answer = dialog->findChild<QLineEdit*>(QStringLiteral("act_fn"));
        QVERIFY(answer);
        QTest::keyClicks(answer, QStringLiteral("gelu"));
        dialog->accept();
        QTRY_VERIFY(!isUnknown());
        QCOMPARE(driver.workspace().model()->weights()->config().activation, Activation::Gelu);
        QTRY_VERIFY(!complete->isEnabled() && button.isHidden());
    }

    void aModelIsOpenedFromTheCache()
    {
        const QString snapshot =
            m_folder.filePath(QStringLiteral("hub/models--org--toy/snapshots/0123456789abcdef"));
        test::writeToyModel(snapshot.toStdString(), {});
        QVERIFY(QDir().mkpath(m_folder.filePath(QStringLiteral("hub/models--org--other/snapshots/fedcba"))));
        qunsetenv("HF_HUB_CACHE");
        qunsetenv("HUGGINGFACE_HUB_CACHE");
        qputenv("HF_HOME", m_folder.path().toUtf8());
        WindowDriver driver;
        auto* open = driver.window.findChild<QAction*>(QStringLiteral("open-cache"));
        QVERIFY(open && open->isEnabled());
        open->trigger();
        auto* dialog = driver.window.findChild<CacheDialog*>();
        QVERIFY(dialog);
        const auto* table = dialog->findChild<QTableView*>();
        QTRY_COMPARE(table->model()->rowCount(), 2);
        QTest::keyClicks(dialog->findChild<QLineEdit*>(), QStringLiteral("TOY"));
        QCOMPARE(table->model()->rowCount(), 1);
        QCOMPARE(dialog->folder(), snapshot);
        QTest::keyClick(dialog, Qt::Key_Return);
        QTRY_VERIFY(driver.workspace().model()->isOpen());
        QCOMPARE(driver.workspace().model()->files().source.path.string(), snapshot.toStdString());
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(CompletingTest)
#include "completing_test.moc"
