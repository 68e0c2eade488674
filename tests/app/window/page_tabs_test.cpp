#include "app/window/main_window.h"

#include "app/window/page_sidebar.h"
#include "app/window/page_tabs.h"
#include "core/session/session_file.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "ui/base/job.h"
#include "ui/document/whats_this.h"
#include "ui/pages/analyses/question_panels.h"
#include "ui/pages/matrix/heatmap_page.h"
#include "ui/pages/model/card_page.h"
#include "ui/pages/parts/fill_button.h"
#include "ui/pages/parts/page.h"
#include "ui/widgets/token_edit.h"

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QSignalSpy>
#include <QStandardItemModel>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QWhatsThis>

#include <algorithm>

using namespace headwise;
using namespace headwise::app;
using namespace headwise::ui;

namespace {

QJsonObject pagesIn(const MainWindow& window)
{
    return QJsonDocument::fromJson(window.viewState().toUtf8()).object()[QStringLiteral("pages")].toObject();
}

QTreeWidgetItem* sidebarItem(const PageSidebar* sidebar, const char* title)
{
    return sidebar->findItems(QLatin1String(title), Qt::MatchExactly | Qt::MatchRecursive).value(0);
}

void clickItem(PageSidebar* sidebar, const char* title)
{
    QTreeWidgetItem* item = sidebarItem(sidebar, title);
    sidebar->scrollToItem(item);
    QTest::mouseClick(sidebar->viewport(), Qt::LeftButton, {}, sidebar->visualItemRect(item).center());
}

} // namespace

class PageTabsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QStandardPaths::setTestModeEnabled(true);
        QCoreApplication::setOrganizationName(QStringLiteral("headwise-test-tabs"));
        QSettings().clear();
        QVERIFY(m_folder.isValid());
    }

    void cleanupTestCase() { QVERIFY(waitForJobs(std::chrono::minutes(1))); }

    void aPageIsMadeWhenItIsFirstShown()
    {
        MainWindow window;
        window.show();
        auto* tabs = window.findChild<PageTabs*>();
        QVERIFY(tabs->findChildren<Page*>().isEmpty());
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(window.workspace()->model()->tokens());
        QVERIFY(!tabs->findChild<CardPage*>());
        // A page made late shows what is already open.
        window.showPage(QStringLiteral("model"));
        QStringList words;
        for (const QLabel* label : tabs->findChild<CardPage*>()->findChildren<QLabel*>())
            words << label->text();
        QVERIFY(words.contains(QStringLiteral("demo-attn-2l")));
        QVERIFY(words.contains(QStringLiteral("F32 · 26 tensors")));
        window.showPage(QStringLiteral("tokens"));
        auto* edit = tabs->currentPage()->findChild<TokenEdit*>();
        QTest::keyClicks(edit, QStringLiteral("king"));
        QTRY_VERIFY(edit->findChild<QStandardItemModel*>()->rowCount() > 0);
    }

    void theStateOfAPageNeverShownIsKept()
    {
        MainWindow window;
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(window.workspace()->model()->tokens());
        QJsonObject state = QJsonDocument::fromJson(window.viewState().toUtf8()).object();
        QJsonObject pages = state[QStringLiteral("pages")].toObject();
        pages[QStringLiteral("tokens")] =
            QJsonObject{{QStringLiteral("circuit"), 1}, {QStringLiteral("side"), 1}};
        state[QStringLiteral("pages")] = pages;
        window.restoreViewState(QString::fromUtf8(QJsonDocument(state).toJson()));
        QCOMPARE(pagesIn(window)[QStringLiteral("tokens")], pages[QStringLiteral("tokens")]);
        window.showPage(QStringLiteral("tokens"));
        QCOMPARE(pagesIn(window)[QStringLiteral("tokens")].toObject()[QStringLiteral("side")].toInt(), 1);
    }

    void theSidebarListsEveryPageUnderItsQuestion()
    {
        MainWindow window;
        const auto* sidebar = window.findChild<PageSidebar*>();
        auto* tabs = window.findChild<PageTabs*>();
        QStringList headings, listed, titles;
        for (int i = 0; i < sidebar->topLevelItemCount(); ++i) {
            const QTreeWidgetItem* top = sidebar->topLevelItem(i);
            (top->childCount() > 0 ? headings : listed) << top->text(0);
            for (int k = 0; k < top->childCount(); ++k)
                listed << top->child(k)->text(0);
        }
        for (int i = 0; i < tabs->count(); ++i)
            titles << tabs->tabText(i);
        QCOMPARE(headings,
                 QStringList({QStringLiteral("Reads and writes"), QStringLiteral("Where it looks"),
                              QStringLiteral("Who talks to whom"), QStringLiteral("Compare"),
                              QStringLiteral("The model")}));
        titles.sort();
        listed.sort();
        QCOMPARE(listed, titles);
        QCOMPARE(sidebarItem(sidebar, "Prompt")->parent()->text(0), QStringLiteral("Where it looks"));
    }

    void theSidebarIsClickedAndWalkedThrough()
    {
        MainWindow window;
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(window.workspace()->model()->tokens());
        auto* sidebar = window.findChild<PageSidebar*>();
        auto* tabs = window.findChild<PageTabs*>();
        clickItem(sidebar, "Scores");
        QCOMPARE(tabs->currentName(), QStringLiteral("scores"));
        QCOMPARE(sidebar->currentItem()->text(0), QStringLiteral("Scores"));
        QTest::keyClick(sidebar, Qt::Key_Down);
        QCOMPARE(tabs->currentName(), QStringLiteral("prompt"));
        QTest::keyClick(sidebar, Qt::Key_Down); // over the heading
        QCOMPARE(tabs->currentName(), QStringLiteral("composition"));
        QTest::keyClick(sidebar, Qt::Key_Up);
        QTest::keyClick(sidebar, Qt::Key_Up);
        QCOMPARE(tabs->currentName(), QStringLiteral("scores"));
        QTest::keyClick(sidebar, Qt::Key_End);
        QCOMPARE(tabs->currentName(), QStringLiteral("analyses"));
        window.showPage(QStringLiteral("scores"));
        QCOMPARE(sidebar->currentItem()->text(0), QStringLiteral("Scores"));
        QTest::keyClick(tabs->currentPage(), Qt::Key_Tab, Qt::ControlModifier);
        QCOMPARE(tabs->currentName(), QStringLiteral("prompt"));
        QTest::keyClick(tabs->currentPage(), Qt::Key_Backtab, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(tabs->currentName(), QStringLiteral("scores"));
        QTest::keyClick(tabs->currentPage(), Qt::Key_PageDown, Qt::ControlModifier);
        QCOMPARE(tabs->currentName(), QStringLiteral("prompt"));
    }

    void aHeadingOpensTheAnalysesOfItsQuestion()
    {
        MainWindow window;
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(window.workspace()->model()->tokens());
        auto* sidebar = window.findChild<PageSidebar*>();
        clickItem(sidebar, "Where it looks");
        QCOMPARE(sidebar->currentItem()->text(0), QStringLiteral("Analyses"));
        const auto* panels = window.findChild<QuestionPanels*>();
        QVERIFY(panels && panels->isVisible());
        QCOMPARE(panels->question(), QStringLiteral("Where it looks"));
        int commands = 0;
        for (QAction* action : window.findChildren<QAction*>())
            if (action->objectName().startsWith(QLatin1String("panels-"))) {
                ++commands;
                action->trigger();
            }
        QCOMPARE(commands, 5);
        QCOMPARE(panels->question(), QStringLiteral("The model"));
    }

    void theViewMenuHasThePagesUnderTheirQuestions()
    {
        MainWindow window;
        auto* sidebar = window.findChild<PageSidebar*>();
        QStringList inSidebar; // "Reads and writes › Tokens"
        for (int i = 0; i < sidebar->topLevelItemCount(); ++i) {
            const QTreeWidgetItem* top = sidebar->topLevelItem(i);
            if (top->childCount() == 0)
                inSidebar << top->text(0);
            for (int child = 0; child < top->childCount(); ++child)
                inSidebar << top->text(0) + QStringLiteral(" › ") + top->child(child)->text(0);
        }
        const auto isPage = [](const QAction* action) {
            return action->objectName().startsWith(QStringLiteral("page-"));
        };
        QStringList inMenu;
        for (const QAction* top : window.menuBar()->actions()) {
            if (QString(top->text()).remove(u'&') != QStringLiteral("View"))
                continue;
            for (const QAction* action : top->menu()->actions()) {
                if (isPage(action))
                    inMenu << action->text();
                if (!action->menu())
                    continue;
                for (const QAction* page : action->menu()->actions())
                    if (isPage(page))
                        inMenu << action->text() + QStringLiteral(" › ") + page->text();
            }
        }
        QCOMPARE(inMenu.size(), window.findChild<PageTabs*>()->count());
        QCOMPARE(inMenu, inSidebar);
    }

    void everyPageKeepsItsKey()
    {
        MainWindow window;
        int digit = 0;
        for (const char* name : {"analyses", "overview", "tokens", "matrix", "spectrum", "vectors",
                                 "position", "scores", "composition", "compare"}) {
            const auto* action = window.findChild<QAction*>(QStringLiteral("page-") + QLatin1String(name));
            QVERIFY2(action, name);
            QVERIFY2(action->shortcuts().contains(QKeySequence(QString::number(digit))), name);
            QVERIFY2(action->shortcuts().contains(QKeySequence(QStringLiteral("Alt+%1").arg(digit))), name);
            ++digit;
        }
    }

    void aPageWithNothingToShowIsGreyedWithTheReason()
    {
        MainWindow window;
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        Workspace* workspace = window.workspace();
        QTRY_VERIFY(workspace->model()->results()->find("composition/k"));
        QTRY_VERIFY(!workspace->runs()->job()->isRunning());
        auto* sidebar = window.findChild<PageSidebar*>();
        auto* tabs = window.findChild<PageTabs*>();
        const auto isOpenable = [&](const char* title) {
            return sidebarItem(sidebar, title)->flags().testFlag(Qt::ItemIsEnabled);
        };
        QVERIFY(isOpenable("Matrix") && isOpenable("Tensors"));

        const QString file = m_folder.filePath(QStringLiteral("alone.h5"));
        QSignalSpy saved(workspace->session(), &SessionFile::saved);
        window.saveTo(file);
        QTRY_COMPARE(saved.count(), 1);
        auto read = readSession(file.toStdString(), Task{});
        QVERIFY(test::isOk(read));
        Session session = std::move(read).value();
        session.model.source = "/nowhere";
        QVERIFY(test::isOk(writeSession(file.toStdString(), session, Task{})));
        window.openPath(file);
        QTRY_VERIFY(workspace->model()->isOpen() && !workspace->model()->hasModel());
        QTRY_VERIFY(!isOpenable("Matrix"));
        QCOMPARE(sidebarItem(sidebar, "Matrix")->toolTip(0), HeatmapPage::whyNot(*workspace));
        QVERIFY(HeatmapPage::whyNot(*workspace).contains(QStringLiteral("Locate model")));
        for (const char* title :
             {"Vectors", "Position", "Scores", "Two heads", "Prompt", "Tensors", "Folding"})
            QVERIFY2(!isOpenable(title) && !sidebarItem(sidebar, title)->toolTip(0).isEmpty(), title);
        for (const char* title : {"Overview", "Tokens", "Spectrum", "Composition", "All heads", "Analyses"})
            QVERIFY2(isOpenable(title) && sidebarItem(sidebar, title)->toolTip(0).isEmpty(), title);

        window.showPage(QStringLiteral("spectrum"));
        clickItem(sidebar, "Matrix");
        QCOMPARE(tabs->currentName(), QStringLiteral("spectrum"));
        QCOMPARE(sidebar->currentItem()->text(0), QStringLiteral("Spectrum"));
        QTest::keyClick(sidebar, Qt::Key_Up); // over the matrix
        QCOMPARE(tabs->currentName(), QStringLiteral("tokens"));
        window.showPage(QStringLiteral("matrix")); // as an address does
        QCOMPARE(tabs->currentName(), QStringLiteral("matrix"));
        QCOMPARE(sidebar->currentItem()->text(0), QStringLiteral("Matrix"));
        auto* locate = tabs->page(tabs->currentIndex())->findChild<FillButton*>();
        QVERIFY(locate && locate->isVisible()); // The page has the button that fills it.
        window.showPage(QStringLiteral("spectrum"));
        QVERIFY(!isOpenable("Matrix"));
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(workspace->model()->hasModel());
        QTRY_VERIFY(isOpenable("Matrix"));
        QVERIFY(sidebarItem(sidebar, "Matrix")->toolTip(0).isEmpty());
        window.showPage(QStringLiteral("matrix"));
        QVERIFY(!locate->isVisible());
    }

    void everyPageBeginsWithOneSentence()
    {
        MainWindow window;
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(window.workspace()->model()->tokens());
        auto* tabs = window.findChild<PageTabs*>();
        const auto* shown = tabs->findChild<QLabel*>(QStringLiteral("pageSentence"));
        for (int i = 0; i < tabs->count(); ++i) {
            const QString name = tabs->pageName(i), sentence = sentenceOfPage(name);
            QVERIFY2(!sentence.isEmpty() && sentence.endsWith(u'.'), qPrintable(name));
            QVERIFY2(sentence.split(u' ').size() <= 20, qPrintable(name));
            tabs->setCurrentIndex(i);
            QCOMPARE(shown->text(), sentence);
            QVERIFY(shown->isVisible());
        }
        QVERIFY(sentenceOfPage(QStringLiteral("no such page")).isEmpty());
        QTest::mouseClick(tabs->findChild<QToolButton*>(QStringLiteral("explainPage")), Qt::LeftButton);
        QTRY_VERIFY(std::ranges::any_of(QApplication::topLevelWidgets(), [](const QWidget* top) {
            return top->inherits("QWhatsThat") && top->isVisible();
        }));
        QWhatsThis::hideText();
    }

    void docksGiveWayToThePages()
    {
        MainWindow window;
        window.resize(1360, 860);
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(window.workspace()->model()->tokens());
        auto* tabs = window.findChild<PageTabs*>();
        auto* sidebar = window.findChild<PageSidebar*>();
        const auto* heads = window.findChild<QDockWidget*>(QStringLiteral("heads"));
        const auto* notes = window.findChild<QDockWidget*>(QStringLiteral("notes"));
        QTRY_VERIFY(heads->isVisible() && notes->isVisible());
        window.resize(1024, 640);
        for (int i = 0; i < tabs->count(); ++i) { // no page makes it grow
            tabs->setCurrentIndex(i);
            const auto* area = qobject_cast<QScrollArea*>(tabs->currentWidget());
            const auto isWide = [area] { return area->horizontalScrollBar()->maximum() == 0; };
            QTRY_VERIFY2(isWide()
                             || (!notes->isVisible()
                                 && heads->width() <= std::max(heads->minimumSizeHint().width(), 1) + 1),
                         qPrintable(tabs->tabText(i)));
            QCOMPARE(window.size(), QSize(1024, 640));
            QVERIFY(heads->isVisible());
            const QRect row = sidebar->visualItemRect(sidebar->currentItem());
            QVERIFY2(sidebar->viewport()->rect().contains(row.center()), qPrintable(tabs->tabText(i)));
        }
        window.resize(1700, 860);
        QTRY_VERIFY(notes->isVisible());
    }

    /// Half of a wide screen, or a small screen at twice the scale.
    void aSmallScreenHasRoomForTheWindow()
    {
        const QSize small(900, 520);
        MainWindow window;
        window.resize(small);
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(window.workspace()->model()->tokens());
        auto* tabs = window.findChild<PageTabs*>();
        QStringList tooLarge;
        for (int i = 0; i < tabs->count(); ++i) {
            tabs->setCurrentIndex(i);
            QCoreApplication::processEvents();
            if (window.size() != small)
                tooLarge << QStringLiteral("%1: %2 × %3")
                                .arg(tabs->tabText(i))
                                .arg(window.width())
                                .arg(window.height());
        }
        for (const QWidget* part : window.findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
            tooLarge << QStringLiteral("%1 %2: at least %3 × %4")
                            .arg(QString::fromLatin1(part->metaObject()->className()), part->objectName())
                            .arg(part->minimumSizeHint().width())
                            .arg(part->minimumSizeHint().height());
        QVERIFY2(window.size() == small, qPrintable(tooLarge.join(u'\n')));
        // A page that needs more space can be scrolled.
        const QWidget* page = tabs->currentPage();
        QVERIFY(page->width() >= page->minimumSizeHint().width());
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(PageTabsTest)
#include "page_tabs_test.moc"
