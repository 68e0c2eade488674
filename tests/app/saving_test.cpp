#include "app/window/recovery.h"

#include "core/files/hdf5.h"
#include "core/session/session_file.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/widgets/notice_bar.h"

#include <QDir>
#include <QFileDialog>
#include <QLabel>
#include <QPushButton>
#include <QSemaphore>
#include <QSignalSpy>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

/// Keeps all job threads busy during its lifetime, so that a save takes as long.
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

/// Saving loses nothing that is typed meanwhile.
class SavingTest : public QObject {
    Q_OBJECT

private slots:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        test::beginWithoutAutosave(*m_folder);
    }

    void whatIsTypedWhileASaveRunsStaysUnsaved()
    {
        WindowDriver driver;
        driver.window.keepRecovery(recovery());
        driver.openDemo();
        auto* keeper = driver.window.findChild<app::Recovery*>();
        QSignalSpy saved(driver.workspace().session(), &SessionFile::saved),
            kept(keeper, &app::Recovery::saved);
        driver.workspace().notebook()->setNote({0, 1}, QStringLiteral("before"));
        keeper->saveNow();
        QTRY_COMPARE(kept.count(), 1);
        const QString file = m_folder->filePath(QStringLiteral("a.h5"));
        {
            const SlowDisk slow;
            driver.window.saveTo(file);
            driver.workspace().notebook()->setNote({0, 2}, QStringLiteral("meanwhile"));
            QCOMPARE(saved.count(), 0);
        }
        QTRY_COMPARE(saved.count(), 1);
        QCOMPARE(noteIn(file, "0.1"), "before");
        QCOMPARE(noteIn(file, "0.2"), "");
        QVERIFY(driver.workspace().notebook()->isUnsaved());
        QVERIFY(driver.window.isWindowModified());
        QCOMPARE(copies().size(), 1); // the only place on disk that can still hold the second note
        keeper->saveNow();
        QTRY_COMPARE(kept.count(), 2);
        QCOMPARE(noteIn(recovery(copies().first()), "0.2"), "meanwhile");

        driver.window.saveTo(file); // the positive control: nothing is typed
        QTRY_COMPARE(saved.count(), 2);
        QCOMPARE(noteIn(file, "0.2"), "meanwhile");
        QVERIFY(!driver.workspace().session()->isModified());
        QCOMPARE(copies(), QStringList());
    }

    void whatIsOpenedWhileASaveRunsIsNotTakenForIt()
    {
        WindowDriver driver;
        driver.openDemo();
        {
            const SlowDisk slow;
            driver.window.saveTo(m_folder->filePath(QStringLiteral("a.h5")));
            driver.workspace().opener()->close();
        }
        driver.openDemo(); // its job waits behind the save
        QVERIFY(QFile::exists(m_folder->filePath(QStringLiteral("a.h5"))));
        QCOMPARE(driver.workspace().session()->path(), std::filesystem::path());
    }

    void aSessionThatAnotherWindowSavedIsMergedOrOverwritten_data()
    {
        QTest::addColumn<QString>("button");
        QTest::newRow("merge") << QStringLiteral("Merge notes");
        QTest::newRow("overwrite") << QStringLiteral("Overwrite");
        QTest::newRow("cancel") << QStringLiteral("Cancel");
    }

    void aSessionThatAnotherWindowSavedIsMergedOrOverwritten()
    {
        QFETCH(QString, button);
        const QString file = m_folder->filePath(QStringLiteral("shared.h5"));
        {
            WindowDriver first;
            first.openDemo();
            first.workspace().notebook()->setNote({0, 3}, QStringLiteral("old"));
            first.workspace().notebook()->setBookmarked({0, 4}, true);
            saveAndWait(first, file);
        }
        WindowDriver one, two;
        for (WindowDriver* driver : {&one, &two}) {
            driver->window.openPath(file);
            driver->waitForAnalyses();
        }
        one.workspace().notebook()->setNote({0, 1}, QStringLiteral("of one"));
        one.workspace().notebook()->setNote({0, 5}, QStringLiteral("one of both"));
        one.workspace().notebook()->setBookmarked({0, 4}, false);
        saveAndWait(one, file);
        two.workspace().notebook()->setNote({0, 2}, QStringLiteral("of two"));
        two.workspace().notebook()->setNote({0, 3}, {});
        two.workspace().notebook()->setNote({0, 5}, QStringLiteral("two of both"));
        QSignalSpy saved(two.workspace().session(), &SessionFile::saved);
        two.window.saveTo(file);
        QAbstractButton* pressed = nullptr;
        QTRY_VERIFY((pressed = buttonOf(two.window, button)) || saved.count());
        QCOMPARE(saved.count(), 0); // without a question
        QCOMPARE(noteIn(file, "0.1"), "of one");
        pressed->click();
        if (button == QLatin1String("Cancel")) {
            QVERIFY(two.workspace().notebook()->isUnsaved());
            QCOMPARE(noteIn(file, "0.2"), "");
            return;
        }
        QTRY_COMPARE(saved.count(), 1);
        const bool isMerged = button == QLatin1String("Merge notes");
        QCOMPARE(noteIn(file, "0.1"), isMerged ? "of one" : "");
        QCOMPARE(noteIn(file, "0.2"), "of two");
        QCOMPARE(noteIn(file, "0.3"), ""); // deleted here
        QCOMPARE(noteIn(file, "0.5"), isMerged ? "two of both\none of both" : "two of both");
        QCOMPARE(two.workspace().notebook()->isBookmarked({0, 4}), !isMerged);
        QVERIFY(!two.workspace().session()->isModified());
        two.workspace().notebook()->setNote({0, 2}, QStringLiteral("more of two"));
        saveAndWait(two, file); // nobody is asked about what this window wrote
        QCOMPARE(noteIn(file, "0.2"), "more of two");
    }

    void aSessionThatChangesOnDiskIsNoticed()
    {
        const QString file = m_folder->filePath(QStringLiteral("watched.h5"));
        WindowDriver driver;
        driver.openDemo();
        saveAndWait(driver, file);
        auto* notices = driver.window.findChild<NoticeBar*>();
        const auto stored = readSession(file.toStdString(), {});
        QVERIFY(test::isOk(stored));
        QVERIFY(!notices->isVisible());
        Session session = *stored;
        session.notes["0.1"] = "from elsewhere";
        QVERIFY(test::isOk(writeSession(file.toStdString(), session, {})));
        QTRY_VERIFY(notices->isVisible());
        QStringList said;
        for (const QLabel* label : notices->findChildren<QLabel*>())
            said << label->text();
        QVERIFY2(said.join(u' ').contains(QStringLiteral("watched.h5")), qPrintable(said.join(u' ')));
    }

    void aSessionOfALaterVersionIsShownAndNotSaved()
    {
        const std::filesystem::path file = m_folder->filePath(QStringLiteral("later.h5")).toStdString();
        writeLaterSession(file);
        const auto before = std::filesystem::last_write_time(file);
        WindowDriver driver;
        driver.window.openPath(QString::fromStdString(file.string()));
        QTRY_VERIFY(driver.workspace().model()->isOpen());
        QVERIFY(driver.workspace().session()->isReadOnly());
        QVERIFY(driver.workspace().model()->results()->find("scores/copying"));
        QSignalSpy failed(&driver.workspace(), &Workspace::failed);
        QSignalSpy saved(driver.workspace().session(), &SessionFile::saved);
        for (const char* name : {"later.h5", "copy.h5"})
            driver.window.saveTo(m_folder->filePath(QLatin1String(name)));
        QCOMPARE(failed.count(), 2); // at once
        QVERIFY(failed.first().first().toString().contains(QStringLiteral("read-only")));
        QCOMPARE(saved.count(), 0);
        QCOMPARE(std::filesystem::last_write_time(file), before);
        QVERIFY(!QFile::exists(m_folder->filePath(QStringLiteral("copy.h5"))));
    }

    void typingIsCopiedSoon()
    {
        QVERIFY(app::Recovery::typingPause <= std::chrono::seconds(25)); // the rest of 30 s is for writing
        QSettings().setValue(QStringLiteral("autosaveMinutes"), 30);
        WindowDriver driver;
        driver.window.keepRecovery(recovery());
        driver.openDemo();
        auto* keeper = driver.window.findChild<app::Recovery*>();
        keeper->setTypingPause(std::chrono::milliseconds(50));
        QSignalSpy kept(keeper, &app::Recovery::saved);
        driver.workspace().notebook()->setNote({0, 1}, QStringLiteral("typed"));
        QTRY_COMPARE(kept.count(), 1);
        QCOMPARE(noteIn(recovery(copies().first()), "0.1"), "typed");
    }

    void aSaveThatWasGivenUpDoesNotCloseTheWindowLater()
    {
        WindowDriver driver;
        driver.openDemo();
        driver.workspace().notebook()->setNote({0, 1}, QStringLiteral("a note"));
        QSignalSpy saved(driver.workspace().session(), &SessionFile::saved);
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
        QTRY_COMPARE(saved.count(), 1);
        QCoreApplication::processEvents();
        QVERIFY(driver.window.isVisible());
    }

private:
    /// Writes a session of format version 2, with a known array and an unknown group.
    static void writeLaterSession(const std::filesystem::path& file)
    {
        auto made = Hdf5Writer::create(file);
        QVERIFY(test::isOk(made));
        Hdf5Writer writer = std::move(made).value();
        QVERIFY(test::isOk(writer.setAttribute("", "format", std::string("headwise-session"))));
        QVERIFY(test::isOk(writer.setAttribute("", "format_version", std::int64_t(2))));
        QVERIFY(test::isOk(writer.createGroup("model")));
        for (const char* name :
             {"n_layers", "n_heads", "n_kv_heads", "d_model", "d_head", "d_mlp", "d_vocab", "n_ctx"})
            QVERIFY(test::isOk(writer.setAttribute("model", name, std::int64_t(1))));
        QVERIFY(test::isOk(writer.writeTexts("future", std::vector<std::string>{"x"})));
        QVERIFY(test::isOk(writer.writeArray("scores/copying", {1, 1}, std::vector<float>{0.5F}, Task{})));
        QVERIFY(test::isOk(writer.close()));
    }

    static void saveAndWait(WindowDriver& driver, const QString& file)
    {
        QSignalSpy saved(driver.workspace().session(), &SessionFile::saved);
        driver.window.saveTo(file);
        QTRY_COMPARE(saved.count(), 1);
    }

    static QAbstractButton* buttonOf(app::MainWindow& window, const QString& words)
    {
        for (QMessageBox* box : window.findChildren<QMessageBox*>())
            for (QAbstractButton* button : box->buttons())
                if (QString(button->text()).remove(u'&') == words)
                    return button;
        return nullptr;
    }

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

HEADWISE_TEST(SavingTest)
#include "saving_test.moc"
