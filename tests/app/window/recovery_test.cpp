#include "app/window/file_watch.h"
#include "app/window/recovery.h"
#include "core/session/session_file.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/pages/session/notes_page.h"
#include "ui/widgets/notice_bar.h"

#include <QDir>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QSignalSpy>
#include <QTimer>

using namespace headwise;
using headwise::app::MainWindow;
using headwise::app::Recovery;

namespace {

using test::patience;
const QString noteText = QStringLiteral("induction, see fig. 3");

QPlainTextEdit* notesOf(MainWindow& window)
{
    return window.findChild<ui::NotesPage*>()->findChild<QPlainTextEdit*>();
}

void useSettingsIn(const QString& folder)
{
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder);
    QCoreApplication::setOrganizationName(QStringLiteral("headwise-test"));
    QSettings().setValue(QStringLiteral("autosaveMinutes"), 0.005);
}

/// The window to be killed: it opens the demo and has a note typed into it.
int runRecoveryChild(int argc, char** argv)
{
    QApplication application(argc, argv);
    const QString folder = QString::fromLocal8Bit(argv[2]);
    useSettingsIn(folder + QStringLiteral("/child"));
    MainWindow window;
    window.keepRecovery(std::filesystem::path(folder.toStdString()) / "recovery");
    window.show();
    window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
    if (!QTest::qWaitFor([&] { return window.workspace()->model()->isOpen(); }, patience))
        return 1;
    window.goTo(*app::parseAddress(HEADWISE_DEMO_MODEL "#L1H5/spectrum"));
    const auto isThere = [&] { return window.workspace()->selection()->head() == HeadId{1, 5}; };
    if (!QTest::qWaitFor(isThere, patience))
        return 1;
    QTest::keyClicks(notesOf(window), noteText);
    return QApplication::exec();
}

} // namespace

/// Recovery copies of windows that crashed.
class RecoveryTest : public QObject {
    Q_OBJECT

private slots:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        QVERIFY(m_folder->isValid());
        useSettingsIn(m_folder->path());
    }

    static void initTestCase() { ui::applyTheme(*qApp, ui::ThemeMode::Light); }

    void aKilledWindowIsRecovered()
    {
        QProcess child;
        startChild(child);
        QTRY_VERIFY(noteInCopy() == noteText);
        {
            // Its window is alive, so no other window offers it.
            MainWindow other;
            other.keepRecovery(recovery());
            QVERIFY(!offer(other));
        }
        child.kill();
        QVERIFY(child.waitForFinished(patience));
        QCOMPARE(child.exitStatus(), QProcess::CrashExit);

        MainWindow window;
        window.keepRecovery(recovery());
        window.show();
        QPushButton* recover = offer(window);
        QVERIFY(recover);
        QVERIFY2(recover->text().contains(QStringLiteral("demo")), qPrintable(recover->text()));
        QVERIFY(recover->isVisible());
        QVERIFY(window.isEmpty()); // nothing happens without a question
        {
            MainWindow second; // already claimed by the first
            second.keepRecovery(recovery());
            QVERIFY(!offer(second));
        }
        const QString pictures = qEnvironmentVariable("HEADWISE_SCREENSHOTS");
        if (!pictures.isEmpty())
            window.grab().save(pictures + QStringLiteral("/recovery.png"));
        QTest::mouseClick(recover, Qt::LeftButton);
        QTRY_VERIFY(window.workspace()->model()->hasModel());
        QCOMPARE(window.workspace()->selection()->head(), (HeadId{1, 5}));
        QCOMPARE(window.workspace()->notebook()->note({1, 5}), noteText);
        QCOMPARE(notesOf(window)->toPlainText(), noteText);
        QVERIFY(window.workspace()->session()->isModified());
        QVERIFY(window.workspace()->session()->path().empty()); // it had never been saved
        QVERIFY(!offer(window));
        QCOMPARE(copies().size(), 1); // until it is saved or given up
        test::discardNotes(window);
        QCOMPARE(copies(), QStringList());
    }

    void whatIsDiscardedIsNotOfferedAgain()
    {
        QProcess child;
        startChild(child);
        QTRY_VERIFY(noteInCopy() == noteText);
        child.kill();
        QVERIFY(child.waitForFinished(patience));
        {
            MainWindow window;
            window.keepRecovery(recovery());
            QVERIFY(offer(window)); // left alone: offered again
        }
        {
            MainWindow window;
            window.keepRecovery(recovery());
            QVERIFY(offer(window));
            window.findChild<ui::NoticeBar*>()->findChildren<QPushButton*>().at(1)->click();
            QVERIFY(!offer(window));
        }
        QCOMPARE(copies(), QStringList());
    }

    void savingMakesTheCopyNeedless()
    {
        MainWindow window;
        window.keepRecovery(recovery());
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(window.workspace()->model()->isOpen());
        window.workspace()->notebook()->setNote({0, 1}, noteText);
        QTRY_COMPARE(copies().size(), 1);
        QTRY_VERIFY(!window.workspace()->runs()->job()->isRunning()
                    && window.workspace()->model()->results()->find("composition/k"));
        window.saveTo(m_folder->filePath(QStringLiteral("saved.h5")));
        QTRY_VERIFY(!window.workspace()->session()->isModified());
        QTRY_COMPARE(copies(), QStringList());
        // Later changes are kept again, as a copy of that session.
        window.workspace()->notebook()->setNote({0, 2}, noteText);
        QTRY_COMPARE(copies().size(), 1);
        test::discardNotes(window);
        QTRY_COMPARE(copies(), QStringList()); // one may be in progress
    }

    void aFileThatChangesIsOfferedToBeReadAgain()
    {
        const QString model = m_folder->filePath(QStringLiteral("model"));
        QVERIFY(QDir().mkpath(model));
        for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
            QVERIFY(QFile::copy(QStringLiteral(HEADWISE_DEMO_MODEL "/") + QLatin1String(name),
                                model + u'/' + QLatin1String(name)));
        MainWindow window;
        window.show();
        QSignalSpy opened(window.workspace()->model(),
                          &ui::OpenModel::opened); // with which the files are watched
        window.openPath(model);
        QVERIFY(opened.wait(patience));
        window.workspace()->selection()->setHead({1, 3});
        auto* notices = window.findChild<ui::NoticeBar*>();
        // Another file beside them makes the watch check the files that were read.
        QSignalSpy unchanged(window.findChild<app::FileWatch*>(), &app::FileWatch::unchanged);
        QFile other(model + QStringLiteral("/other.txt"));
        QVERIFY(other.open(QIODevice::WriteOnly));
        other.close();
        QVERIFY(unchanged.wait(patience));
        QVERIFY(!notices->isVisible()); // reading them is no change
        const auto before = window.workspace()->model()->weights();
        QFile config(model + QStringLiteral("/config.json"));
        QVERIFY(config.open(QIODevice::Append));
        config.write("\n");
        config.close();
        QTRY_VERIFY(notices->isVisible());
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        QTest::keyClick(&window, Qt::Key_F5);
        QTRY_VERIFY(window.workspace()->model()->weights() != before);
        QTRY_VERIFY(!notices->isVisible());
        QCOMPARE(window.workspace()->selection()->head(), (HeadId{1, 3})); // as it was shown
    }

    void withoutAChangeNothingIsWritten()
    {
        MainWindow window;
        window.keepRecovery(recovery());
        window.show();
        auto* keeper = window.findChild<Recovery*>();
        QSignalSpy nothing(keeper, &Recovery::nothingToSave);
        QTRY_VERIFY(nothing.count() >= 2); // intervals with nothing open
        QCOMPARE(copies(), QStringList());
        QSignalSpy saved(keeper, &Recovery::saved); // from the first copy on, which may hold every result
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(window.workspace()->model()->results()->find("composition/k"));
        QTRY_VERIFY(!window.workspace()->runs()->job()->isRunning() && saved.count() > 0);
        QTRY_VERIFY(window.workspace()->runs()->waiting().empty()
                    && ui::JobBoard::instance().running().isEmpty());
        QVERIFY(nothing.wait(patience)); // after the copy with the last of the results
        const qsizetype before = saved.count(), looks = nothing.count();
        QTRY_VERIFY(nothing.count() >= looks + 3);
        QCOMPARE(saved.count(), before);
        window.workspace()->selection()->setHead({1, 3}); // the positive control
        QTRY_COMPARE(saved.count(), before + 1);
    }

private:
    std::filesystem::path recovery() const
    {
        return std::filesystem::path(m_folder->path().toStdString()) / "recovery";
    }

    QStringList copies() const
    {
        return QDir(QString::fromStdString(recovery().string())).entryList({QStringLiteral("*.h5")});
    }

    void startChild(QProcess& child) const
    {
        child.start(QCoreApplication::applicationFilePath(),
                    {QStringLiteral("recovery_test"), QStringLiteral("--child"), m_folder->path()});
        QVERIFY(child.waitForStarted(patience));
    }

    QString noteInCopy() const
    {
        for (const QString& name : copies())
            if (const auto session = readSession(recovery() / name.toStdString(), {}); session)
                if (const auto note = session->notes.find("1.5"); note != session->notes.end())
                    return QString::fromStdString(note->second);
        return {};
    }

    static QPushButton* offer(MainWindow& window)
    {
        for (QPushButton* button : window.findChild<ui::NoticeBar*>()->findChildren<QPushButton*>())
            if (button->text().startsWith(QStringLiteral("Recover session of")) && !button->isHidden())
                return button;
        return nullptr;
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

namespace {

int runRecovery(int argc, char** argv)
{
    if (argc > 2 && std::string_view(argv[1]) == "--child")
        return runRecoveryChild(argc, argv);
    QApplication application(argc, argv);
    RecoveryTest test;
    return QTest::qExec(&test, argc, argv);
}

} // namespace

HEADWISE_TEST_MAIN(RecoveryTest, runRecovery)
#include "recovery_test.moc"
