#include "ui/document/note_history.h"

#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/widgets/token_edit.h"

#include <QLabel>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QToolBar>
#include <QToolButton>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

struct NoteDriver : WindowDriver {
    NoteDriver()
    {
        activate();
        openDemo();
        note = window.findChild<QPlainTextEdit*>(QStringLiteral("note"));
        tabs()->setFocus();
    }

    QPlainTextEdit* note = nullptr;
};

} // namespace

/// Undo and redo of notes and bookmarks by keys.
class NoteHistoryTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }
    void cleanupTestCase() { QVERIFY(waitForJobs(std::chrono::minutes(1))); }

    void notesAndBookmarksAreTakenBack()
    {
        NoteDriver driver;
        Workspace& workspace = driver.workspace();
        const auto bookmarks = [&] { return workspace.notebook()->bookmarks(); };
        for (const HeadId head : {HeadId{0, 1}, HeadId{1, 5}, HeadId{1, 2}}) {
            workspace.selection()->setHead(head);
            NoteDriver::press(Qt::Key_D, Qt::ControlModifier);
        }
        const QList<HeadId> all = bookmarks();
        QCOMPARE(all, (QList<HeadId>{{0, 1}, {1, 5}, {1, 2}}));
        workspace.selection()->setHead({0, 1});
        NoteDriver::press(Qt::Key_D, Qt::ControlModifier);
        QCOMPARE(bookmarks(), (QList<HeadId>{{1, 5}, {1, 2}}));
        workspace.selection()->setHead({1, 0});
        NoteDriver::press(Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(bookmarks(), all); // in the old order
        QCOMPARE(workspace.selection()->head(), (HeadId{0, 1}));
        NoteDriver::press(Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(bookmarks(), (QList<HeadId>{{0, 1}, {1, 5}}));
        NoteDriver::press(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(bookmarks(), all);

        workspace.selection()->setHead({0, 4});
        driver.note->setFocus();
        QTest::keyClicks(driver.note, QStringLiteral("looks back"));
        workspace.selection()->setHead({0, 5});
        QTest::keyClicks(driver.note, QStringLiteral("copies"));
        workspace.selection()->setHead({0, 4}); // the field forgets what was typed; the window does not
        NoteDriver::press(Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(workspace.notebook()->note({0, 5}), QString());
        QCOMPARE(workspace.notebook()->note({0, 4}), QStringLiteral("looks back"));
        NoteDriver::press(Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(workspace.notebook()->note({0, 4}), QString());
        QCOMPARE(driver.note->toPlainText(), QString());
        NoteDriver::press(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(driver.note->toPlainText(), QStringLiteral("looks back"));
        QCOMPARE(bookmarks(), all);

        QSignalSpy opened(workspace.model(), &OpenModel::opened);
        workspace.opener()->openModel(
            {HEADWISE_DEMO_MODEL, std::nullopt, {}}); // another model has other notes
        QTRY_COMPARE(opened.count(), 1);
        QVERIFY(!workspace.notebook()->history()->canUndo());
        QVERIFY(bookmarks().isEmpty());
        NoteDriver::press(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(bookmarks().isEmpty());
    }

    void aTextFieldTakesBackItsOwnTextFirst()
    {
        NoteDriver driver;
        NoteDriver::press(Qt::Key_D, Qt::ControlModifier);
        Notebook* notebook = driver.workspace().notebook();
        const HeadId head = driver.workspace().selection()->head();
        QVERIFY(notebook->isBookmarked(head));
        QVERIFY(notebook->history()->undoText().contains(QStringLiteral("bookmark"))); // said by the menu
        auto* search = driver.window.findChild<QToolBar*>()->findChild<TokenEdit*>();
        search->setFocus();
        QTest::keyClicks(search, QStringLiteral("word"));
        NoteDriver::press(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(search->text().size() < 4);
        NoteDriver::press(Qt::Key_Z, Qt::ControlModifier); // with nothing left to take back
        QVERIFY(notebook->isBookmarked(head));
        driver.tabs()->setFocus();
        NoteDriver::press(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(!notebook->isBookmarked(head));
    }

    void bookmarksAreOpenedByKeys()
    {
        NoteDriver driver;
        auto* list = driver.window.findChild<QListWidget*>();
        const auto* star = driver.note->parentWidget()->findChild<QToolButton*>();
        const auto drawn = [star] { return star->icon().pixmap(24, 24).toImage(); };
        const auto hint = [list] { return list->findChild<QLabel*>(); };
        QVERIFY(hint()->isVisible() && hint()->text().contains(QStringLiteral("Ctrl+D")));
        const QImage empty = drawn();
        for (const HeadId head : {HeadId{0, 1}, HeadId{1, 5}})
            driver.workspace().notebook()->history()->setBookmarked(head, true);
        QVERIFY(!hint()->isVisible());
        QVERIFY(drawn() != empty);
        driver.workspace().selection()->setHead({0, 0});
        QCOMPARE(drawn(), empty);
        list->setFocus();
        NoteDriver::press(Qt::Key_Home);
        NoteDriver::press(Qt::Key_Return);
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{0, 1}));
        NoteDriver::press(Qt::Key_Down);
        NoteDriver::press(Qt::Key_Return);
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{1, 5}));
        test::discardNotes(driver.window);
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(NoteHistoryTest)
#include "note_history_test.moc"
