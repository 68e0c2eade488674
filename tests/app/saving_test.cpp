#include "app/recovery.h"
#include "core/session/session_file.h"
#include "tests/support/matchers.h"
#include "tests/support/window_driver.h"

#include <QDir>
#include <QFileDialog>
#include <QPushButton>
#include <QSemaphore>
#include <QSignalSpy>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

constexpr int patience = 60000; // ms, under a loaded machine

/// Keeps every thread of the jobs busy until it goes: a save that is asked for meanwhile is as slow as that.
class SlowDisk {
public:
    SlowDisk()
        : m_threads(detail::jobPool().maxThreadCount())
    {
        detail::jobPool().setMaxThreadCount(1);
        detail::jobPool().start([end = m_end] { end->acquire(); });
    }
    ~SlowDisk()
    {
        detail::jobPool().setMaxThreadCount(m_threads);
        m_end->release();
    }
    SlowDisk(const SlowDisk&) = delete;
    SlowDisk& operator=(const SlowDisk&) = delete;

private:
    int m_threads;
    std::shared_ptr<QSemaphore> m_end = std::make_shared<QSemaphore>();
};

std::string noteIn(const QString& file, const std::string& head)
{
    const auto session = readSession(file.toStdString(), {});
    if (!session)
        return session.error().message;
    const auto note = session->notes.find(head);
    return note == session->notes.end() ? std::string() : note->second;
}

} // namespace

/// Nothing that is typed is lost by saving it.
class SavingTest : public QObject {
    Q_OBJECT

private slots:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        test::beginWithOwnSettings(*m_folder);
        QSettings().setValue(QStringLiteral("autosaveMinutes"), 0);
    }

    void whatIsTypedWhileASaveRunsStaysUnsaved()
    {
        WindowDriver driver;
        driver.window.keepRecovery(recovery());
        driver.openDemo();
        auto* keeper = driver.window.findChild<app::Recovery*>();
        QSignalSpy saved(&driver.workspace(), &Workspace::sessionSaved), kept(keeper, &app::Recovery::saved);
        driver.workspace().setNote({0, 1}, QStringLiteral("before"));
        keeper->saveNow();
        QTRY_COMPARE_WITH_TIMEOUT(kept.count(), 1, patience);
        const QString file = m_folder->filePath(QStringLiteral("a.h5"));
        {
            const SlowDisk slow;
            driver.window.saveTo(file);
            driver.workspace().setNote({0, 2}, QStringLiteral("meanwhile"));
            QCOMPARE(saved.count(), 0);
        }
        QTRY_COMPARE_WITH_TIMEOUT(saved.count(), 1, patience);
        QCOMPARE(noteIn(file, "0.1"), "before");
        QCOMPARE(noteIn(file, "0.2"), "");
        QVERIFY(driver.workspace().hasUnsavedNotes());
        QVERIFY(driver.window.isWindowModified());
        QCOMPARE(copies().size(), 1); // the only place on disk that may still get the second note
        keeper->saveNow();
        QTRY_COMPARE_WITH_TIMEOUT(kept.count(), 2, patience);
        QCOMPARE(noteIn(recovery(copies().first()), "0.2"), "meanwhile");

        driver.window.saveTo(file); // the positive control: nothing is typed
        QTRY_COMPARE_WITH_TIMEOUT(saved.count(), 2, patience);
        QCOMPARE(noteIn(file, "0.2"), "meanwhile");
        QVERIFY(!driver.workspace().isModified());
        QCOMPARE(copies(), QStringList());
    }

    void whatIsOpenedWhileASaveRunsIsNotTakenForIt()
    {
        WindowDriver driver;
        driver.openDemo();
        {
            const SlowDisk slow;
            driver.window.saveTo(m_folder->filePath(QStringLiteral("a.h5")));
            driver.workspace().close();
        }
        driver.openDemo(); // its job stands behind the one that saves
        QVERIFY(QFile::exists(m_folder->filePath(QStringLiteral("a.h5"))));
        QCOMPARE(driver.workspace().sessionFile(), std::filesystem::path());
    }

    void aSaveThatWasGivenUpDoesNotCloseTheWindowLater()
    {
        WindowDriver driver;
        driver.openDemo();
        driver.workspace().setNote({0, 1}, QStringLiteral("a note"));
        QSignalSpy saved(&driver.workspace(), &Workspace::sessionSaved);
        QTimer answers;
        answers.callOnTimeout(&driver.window, [&driver] {
            for (auto* dialog : driver.window.findChildren<QFileDialog*>())
                return dialog->reject();
            for (auto* box : driver.window.findChildren<QMessageBox*>())
                if (QAbstractButton* save = box->button(QMessageBox::Save))
                    return save->click();
        });
        answers.start(20);
        QVERIFY(!driver.window.close());
        answers.stop();
        QCOMPARE(saved.count(), 0);
        driver.window.saveTo(m_folder->filePath(QStringLiteral("a.h5")));
        QTRY_COMPARE_WITH_TIMEOUT(saved.count(), 1, patience);
        QCoreApplication::processEvents();
        QVERIFY(driver.window.isVisible());
    }

private:
    std::filesystem::path recovery() const
    {
        return std::filesystem::path(m_folder->path().toStdString()) / "recovery";
    }
    QString recovery(const QString& name) const
    {
        return QString::fromStdString((recovery() / name.toStdString()).string());
    }
    QStringList copies() const
    {
        return QDir(QString::fromStdString(recovery().string())).entryList({QStringLiteral("*.h5")});
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

QTEST_MAIN(SavingTest)
#include "saving_test.moc"
