#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/base/job.h"
#include "ui/base/text.h"
#include "ui/figures/figure_export.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/analyses/result_page.h"
#include "ui/pages/export/figure_export_batch.h"
#include "ui/widgets/notice_bar.h"

#include <QClipboard>
#include <QComboBox>
#include <QDesktopServices>
#include <QDir>
#include <QDoubleSpinBox>
#include <QDrag>
#include <QFile>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QPointer>
#include <QPushButton>
#include <QSignalSpy>
#include <QStatusBar>
#include <QToolButton>
#include <QUrl>

#include <algorithm>
#include <chrono>

using namespace headwise;
using namespace headwise::ui;
using headwise::app::MainWindow;
using namespace std::chrono_literals;

namespace {

using test::patience;

QByteArray contents(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

class WindowExportTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::unique_ptr<MainWindow> m_window;
    QUrl m_opened;

    QAction* action(const QString& words)
    {
        for (QAction* each : m_window->findChildren<QAction*>())
            if (QString(each->text()).remove(u'&') == words)
                return each;
        return nullptr;
    }

    /// Triggers `words` and takes the first entry if a menu of pictures opens.
    void ask(const QString& words)
    {
        QTimer answer; // Gone when the menu is: it would choose in the next test's menu.
        connect(&answer, &QTimer::timeout, [] {
            if (auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget())) {
                menu->actions().first()->trigger();
                menu->close();
            }
        });
        answer.start(0);
        action(words)->trigger();
    }

    /// The context menu of a figure while it is open. A late change of the active window can close it before a test looks, so this
    /// does not ask for the active popup; null if there is none.
    QMenu* figureMenu() const
    {
        const QList<QMenu*> menus = m_window->findChildren<QMenu*>(Qt::FindDirectChildrenOnly);
        return menus.isEmpty() ? nullptr : menus.last();
    }

    template <typename Dialog = QDialog>
    Dialog* dialogTitled(const QString& words)
    {
        for (auto* dialog : m_window->findChildren<Dialog*>())
            if (dialog->isVisible() && dialog->windowTitle() == words)
                return dialog;
        return nullptr;
    }

    static QPushButton* button(QDialog* dialog, const QString& words)
    {
        for (QPushButton* each : dialog->findChildren<QPushButton*>())
            if (each->text().contains(words))
                return each;
        return nullptr;
    }

    template <typename Widget>
    static Widget* named(QWidget* parent, const QString& name)
    {
        for (auto* each : parent->findChildren<Widget*>())
            if (each->accessibleName() == name)
                return each;
        return nullptr;
    }

    /// Through the dialogs, as SVG into `path`.
    void exportTo(const QString& path)
    {
        ask(QStringLiteral("Export figure…"));
        QTRY_VERIFY(dialogTitled(QStringLiteral("Export figure")));
        auto* dialog = dialogTitled(QStringLiteral("Export figure"));
        named<QComboBox>(dialog, QStringLiteral("Format"))->setCurrentText(QStringLiteral("SVG, to edit"));
        QTest::mouseClick(button(dialog, QStringLiteral("Export figure")), Qt::LeftButton);
        QTRY_VERIFY(dialog->findChild<QFileDialog*>());
        auto* files = dialog->findChild<QFileDialog*>();
        auto* name = files->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
        // Typing without the focus selects a file with the suggested name.
        QTRY_VERIFY(name->hasFocus());
        name->setText(path);
        QTest::keyClick(name, Qt::Key_Return);
        QTRY_VERIFY(!dialogTitled(QStringLiteral("Export figure")));
        QVERIFY(QFile::exists(path));
    }

    void showMatrix(HeadId head)
    {
        m_window->workspace()->selection()->setHead(head);
        m_window->showPage(QStringLiteral("matrix"));
        // The old picture stays until the new one is ready.
        const auto isShown = [&] {
            const auto labels = currentPage()->findChildren<QLabel*>();
            return std::ranges::any_of(labels, [&](const QLabel* label) {
                return label->isVisible() && label->text().startsWith(text(head) + QStringLiteral(" · "));
            });
        };
        QTRY_VERIFY(isShown() && JobBoard::instance().running().isEmpty());
    }

    Page* currentPage() { return m_window->findChild<app::PageTabs*>()->currentPage(); }

    /// Orders "Export all heads…" of the matrix for `heads` into `folder`.
    void orderHeads(const QString& heads, const QString& folder)
    {
        ask(QStringLiteral("Export all heads…"));
        QTRY_VERIFY(dialogTitled(QStringLiteral("Export all heads")));
        auto* dialog = dialogTitled(QStringLiteral("Export all heads"));
        named<QComboBox>(dialog, QStringLiteral("Heads"))->setEditText(heads);
        named<QLineEdit>(dialog, QStringLiteral("Folder"))->setText(folder);
        QPushButton* start = button(dialog, QStringLiteral("Export"));
        QVERIFY(start && start->isEnabled());
        if (const QByteArray shots = qgetenv("HEADWISE_SCREENSHOTS"); !shots.isEmpty())
            dialog->grab().save(QString::fromLocal8Bit(shots) + QStringLiteral("/export-heads.png"));
        QTest::mouseClick(start, Qt::LeftButton);
    }

public slots:
    void takeUrl(const QUrl& url) { m_opened = url; }

private slots:
    void initTestCase()
    {
        test::beginWithOwnSettings(m_folder);
        m_window = std::make_unique<MainWindow>();
        m_window->resize(1280, 800);
        m_window->show();
        test::beginOn(test::FirstPage::Overview, *m_window);
        m_window->openDemo();
        QTRY_VERIFY(m_window->workspace()->model()->isOpen() && m_window->workspace()->model()->tokens());
        QTRY_VERIFY(!m_window->workspace()->runs()->job()->isRunning());
    }

    void cleanupTestCase() { m_window.reset(); }

    /// The platform of the tests drops nothing, so that the drag ends at once; it is deleted in the next turn of the loop.
    void ctrlAndADragTakeThePictureOutOfTheWindow()
    {
        showMatrix({1, 5});
        auto* view = currentPage()->findChild<HeatmapView*>();
        QVERIFY(view && m_window->findChildren<QDrag*>().isEmpty());
        const auto send = [view](QEvent::Type type, const QPoint& at) {
            const bool isMove = type == QEvent::MouseMove;
            QMouseEvent event(type, at, view->mapToGlobal(at), isMove ? Qt::NoButton : Qt::LeftButton,
                              Qt::LeftButton, Qt::ControlModifier);
            QApplication::sendEvent(view, &event);
        };
        const QPoint from = view->cells().area().center().toPoint();
        send(QEvent::MouseButtonPress, from);
        send(QEvent::MouseMove, from + QPoint(40, 30));
        const QList<QDrag*> drags = m_window->findChildren<QDrag*>();
        QCOMPARE(drags.size(), 1);
        QVERIFY(!drags.first()->pixmap().isNull());
        QStringList endings;
        for (const QUrl& url : drags.first()->mimeData()->urls()) {
            const QFileInfo file(url.toLocalFile());
            QVERIFY2(file.size() > 0, qPrintable(file.filePath()));
            QVERIFY2(file.fileName().contains(QStringLiteral("L1H5")), qPrintable(file.fileName()));
            endings << file.suffix();
        }
        QCOMPARE(endings, (QStringList{QStringLiteral("png"), QStringLiteral("svg"), QStringLiteral("csv")}));
        QVERIFY(drags.first()->mimeData()->hasFormat(QStringLiteral("image/png")));
        send(QEvent::MouseButtonRelease, from + QPoint(40, 30));
    }

    void exportAgainAsksNothingAndTakesTheNextName()
    {
        showMatrix({1, 5});
        const QString first = m_folder.filePath(QStringLiteral("ov.svg"));
        exportTo(first);
        QCOMPARE(action(QStringLiteral("Export again"))->shortcut(),
                 QKeySequence(QStringLiteral("Ctrl+Shift+E")));
        m_window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
        QTest::keyClick(m_window.get(), Qt::Key_E, Qt::ControlModifier | Qt::ShiftModifier);
        const QString second = m_folder.filePath(QStringLiteral("ov-2.svg"));
        QTRY_VERIFY(QFile::exists(second));
        QCOMPARE(contents(second), contents(first));
        QVERIFY(contents(first).contains("L1H5"));
        QTRY_VERIFY2(m_window->statusBar()->currentMessage().contains(second),
                     qPrintable(m_window->statusBar()->currentMessage()));
        action(QStringLiteral("Export again"))->trigger();
        action(QStringLiteral("Export again"))->trigger(); // before the first is written
        QTRY_VERIFY(QFile::exists(m_folder.filePath(QStringLiteral("ov-3.svg"))));
        QTRY_VERIFY(QFile::exists(m_folder.filePath(QStringLiteral("ov-4.svg"))));
    }

    void anotherPictureIsExportedAgainUnderItsOwnName()
    {
        showMatrix({0, 4});
        action(QStringLiteral("Export again"))->trigger();
        const auto file = [this] {
            for (const FigureSource* source : currentPage()->figures()) {
                const QString name = FigureBatch::fileNameOf(source->figureTitle()) + QStringLiteral(".svg");
                if (QFile::exists(m_folder.filePath(name)))
                    return m_folder.filePath(name);
            }
            return QString();
        };
        QTRY_VERIFY(!file().isEmpty());
        QVERIFY(contents(file()).contains("L0H4"));
        QVERIFY(!QFile::exists(m_folder.filePath(QStringLiteral("ov-5.svg"))));
    }

    /// A click in the map of heads selects a head and does not choose the map.
    void aClickOnAnotherHeadExportsItsPicture()
    {
        showMatrix({0, 4});
        action(QStringLiteral("Export again"))->trigger(); // the page's picture is the last one
        HeatmapView* map = nullptr;
        for (auto* view : m_window->findChildren<HeatmapView*>())
            if (view->isVisible() && view->accessibleName() == QLatin1String("Heads"))
                map = view;
        QVERIFY(map);
        QTest::mouseClick(map, Qt::LeftButton, {}, map->cells().rect(1, 2).center().toPoint());
        showMatrix({1, 2});
        const QString name = FigureBatch::fileNameOf(currentPage()->figures().first()->figureTitle());
        action(QStringLiteral("Export again"))->trigger();
        QTRY_VERIFY(QFile::exists(m_folder.filePath(name + QStringLiteral(".svg"))));
        QVERIFY(contents(m_folder.filePath(name + QStringLiteral(".svg"))).contains("L1H2"));
    }

    void aNoticeOpensTheFolderAndCopiesThePicture()
    {
        showMatrix({0, 4});
        const auto choice = [this](const QString& words) -> QPushButton* {
            for (QPushButton* each : m_window->findChild<NoticeBar*>()->findChildren<QPushButton*>())
                if (each->isVisible() && each->text() == words)
                    return each;
            return nullptr;
        };
        action(QStringLiteral("Export again"))->trigger();
        QTRY_VERIFY(choice(QStringLiteral("Open folder")));
        QDesktopServices::setUrlHandler(QStringLiteral("file"), this, "takeUrl");
        choice(QStringLiteral("Open folder"))->click();
        QDesktopServices::unsetUrlHandler(QStringLiteral("file"));
        QCOMPARE(QDir(m_opened.toLocalFile()).canonicalPath(), QDir(m_folder.path()).canonicalPath());
        QTRY_VERIFY(!choice(QStringLiteral("Copy")));
        action(QStringLiteral("Export again"))->trigger();
        QTRY_VERIFY(choice(QStringLiteral("Copy")));
        QGuiApplication::clipboard()->setText(QStringLiteral("as before"));
        choice(QStringLiteral("Copy"))->click();
        QTRY_VERIFY(QGuiApplication::clipboard()->mimeData()->hasImage());
    }

    void everyHeadOfALayerGetsItsFileAndTheSelectionStays()
    {
        const QString folder = m_folder.filePath(QStringLiteral("heads"));
        QVERIFY(QDir().mkpath(folder));
        showMatrix({1, 5});
        QSignalSpy moved(m_window->workspace()->selection(), &Selection::headChanged);
        orderHeads(QStringLiteral("0.*"), folder);
        const auto files = [&folder] {
            return QDir(folder).entryList({QStringLiteral("*.svg")}, QDir::Files);
        };
        QTRY_COMPARE(files().size(), 8);
        QTRY_VERIFY(m_window->statusBar()->currentMessage().contains(QStringLiteral("Exported 8 figures")));
        QCOMPARE(moved.count(), 0);
        for (int head = 0; head < 8; ++head)
            QVERIFY(files()[head].startsWith(QStringLiteral("L0H%1-").arg(head)));
        // The same picture as on the page of that head.
        showMatrix({0, 3});
        const QString alone = m_folder.filePath(QStringLiteral("alone.svg"));
        exportTo(alone);
        QCOMPARE(contents(folder + u'/' + files()[3]), contents(alone));
        QVERIFY(contents(folder + u'/' + files()[2]) != contents(alone));
    }

    void headsOfVectorsAndRelationsAreExportedTogetherToo()
    {
        m_window->workspace()->selection()->setHead({1, 5});
        m_window->showPage(QStringLiteral("relations"));
        m_window->workspace()->runs()->runAnalysis("relations");
        QTRY_VERIFY(m_window->workspace()->model()->results()->find("analyses/relations/best"));
        m_window->workspace()->selection()->setHead({0, 2}); // whose pairs are shown from now on
        for (const char* page : {"vectors", "relations"}) {
            const QString folder = m_folder.filePath(QString::fromLatin1(page));
            QVERIFY(QDir().mkpath(folder));
            m_window->showPage(QString::fromLatin1(page));
            const auto isThere = [&] {
                for (const FigureSource* source : currentPage()->figures())
                    if (source->figureTitle().contains(QStringLiteral("L0H2")))
                        return true;
                return false;
            };
            QTRY_VERIFY(isThere());
            orderHeads(QStringLiteral("1.*"), folder);
            const auto files = [&folder] { return QDir(folder).entryList(QDir::Files); };
            QTRY_COMPARE_WITH_TIMEOUT(files().size(), 8, 3 * patience);
            for (int head = 0; head < 8; ++head)
                QVERIFY2(files()[head].contains(QStringLiteral("L1H%1").arg(head)),
                         qPrintable(files()[head]));
        }
    }

    void aBatchCanBeCancelled()
    {
        const QString folder = m_folder.filePath(QStringLiteral("cancelled"));
        QVERIFY(QDir().mkpath(folder));
        showMatrix({1, 5});
        orderHeads(QStringLiteral("*.*"), folder);
        const auto cancel = [this]() -> QToolButton* {
            for (QLabel* label : m_window->statusBar()->findChildren<QLabel*>())
                if (label->isVisible() && label->text().contains(QStringLiteral("16 figure")))
                    return label->parentWidget()->findChild<QToolButton*>();
            return nullptr;
        };
        QTRY_VERIFY(cancel());
        cancel()->click();
        QTRY_VERIFY(waitForJobs(0ms)); // Nobody writes any more.
        const auto count = QDir(folder).entryList(QDir::Files).size();
        QVERIFY2(count < 16, qPrintable(QString::number(count)));
        QVERIFY(!cancel());
    }

    /// While its menu is open, an analysis may end and replace the pictures.
    void aMenuOutlivesItsPicture()
    {
        m_window->showPage(QStringLiteral("analyses"));
        auto* page = m_window->findChild<ResultPage*>();
        page->showAnalysis("copying");
        QTRY_VERIFY(!page->figures().isEmpty());
        const QPointer<QWidget> view = dynamic_cast<QWidget*>(page->figures().first());
        QGuiApplication::clipboard()->setText(QStringLiteral("as before"));
        int chosen = 0;
        QTimer::singleShot(0, m_window.get(), [&] {
            QMenu* menu = figureMenu();
            QVERIFY(menu);
            page->showAnalysis("matching");
            for (QAction* each : menu->actions()) {
                if (each->objectName() == QLatin1String("subjectAction"))
                    continue; // about the head, which is still there
                each->trigger();
                chosen += each->isSeparator() ? 0 : 1;
            }
            menu->close();
        });
        emit view->customContextMenuRequested(view->rect().center());
        QTRY_VERIFY(!view);
        QVERIFY(chosen > 4);
        QTRY_VERIFY(waitForJobs(0ms));
        QCoreApplication::processEvents(); // A copy or a question would have appeared by now.
        QVERIFY(!dialogTitled(QStringLiteral("Export figure")));
        QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("as before"));
        // The same menu copies a picture that still exists.
        QTRY_VERIFY(!page->figures().isEmpty());
        QTimer::singleShot(0, m_window.get(), [this] {
            QMenu* menu = figureMenu();
            QVERIFY(menu);
            for (QAction* each : menu->actions())
                if (each->text() == QLatin1String("Copy data"))
                    each->trigger();
            menu->close();
        });
        auto* alive = dynamic_cast<QWidget*>(page->figures().first());
        emit alive->customContextMenuRequested(alive->rect().center());
        QTRY_VERIFY(QGuiApplication::clipboard()->text() != QLatin1String("as before"));
    }

    void headsThatAreNoneAreSaidBeforeAnythingStarts()
    {
        showMatrix({1, 5});
        ask(QStringLiteral("Export all heads…"));
        QTRY_VERIFY(dialogTitled(QStringLiteral("Export all heads")));
        auto* dialog = dialogTitled(QStringLiteral("Export all heads"));
        named<QComboBox>(dialog, QStringLiteral("Heads"))->setEditText(QStringLiteral("7.0"));
        QVERIFY(!button(dialog, QStringLiteral("Export"))->isEnabled());
        named<QComboBox>(dialog, QStringLiteral("Heads"))->setEditText(QStringLiteral("1.0,1.1"));
        QVERIFY(!button(dialog, QStringLiteral("Export 2 figures"))
                || button(dialog, QStringLiteral("Export 2 figures"))->isEnabled());
        dialog->reject();
    }

    void panelsAreExportedFromTheirDescription()
    {
        const QString path = m_folder.filePath(QStringLiteral("panels.json"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("{\"version\": 1, \"page\": {\"width\": 123, \"height\": 80},"
                   "\"panels\": [{\"view\": \"composition-k\"}, {\"view\": \"composition-v\"}]}");
        file.close();
        QTimer answers;
        answers.callOnTimeout(m_window.get(), [&] {
            for (auto* dialog : m_window->findChildren<QFileDialog*>()) {
                dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))->setText(path);
                static_cast<QDialog*>(dialog)->accept();
            }
        });
        answers.start(20);
        action(QStringLiteral("Export panels…"))->trigger();
        answers.stop();
        QTRY_VERIFY(dialogTitled(QStringLiteral("Export figure")));
        auto* dialog = dialogTitled(QStringLiteral("Export figure"));
        QCOMPARE(named<QDoubleSpinBox>(dialog, QStringLiteral("Width"))->value(), 123.0);
        dialog->reject();
        QTRY_VERIFY(!dialogTitled(QStringLiteral("Export figure")));
        // The session keeps it, and the menu has it by its name.
        action(QStringLiteral("panels"))->trigger();
        QTRY_VERIFY(dialogTitled(QStringLiteral("Export figure")));
        dialog = dialogTitled(QStringLiteral("Export figure"));
        QCOMPARE(named<QDoubleSpinBox>(dialog, QStringLiteral("Width"))->value(), 123.0);
        dialog->reject();
        QTRY_VERIFY(!dialogTitled(QStringLiteral("Export figure")));
    }
};

HEADWISE_TEST(WindowExportTest)
#include "window_export_test.moc"
