#include "app/window/main_window.h"

#include "app/window/page_tabs.h"
#include "tests/support/program.h"
#include "ui/base/job.h"
#include "ui/pages/model/card_page.h"
#include "ui/pages/parts/page.h"
#include "ui/widgets/token_edit.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QMenu>
#include <QSettings>
#include <QStandardItemModel>
#include <QStandardPaths>
#include <QTest>
#include <QToolButton>

using namespace headwise;
using namespace headwise::app;
using namespace headwise::ui;

namespace {

using test::patience;

QJsonObject pagesIn(const MainWindow& window)
{
    return QJsonDocument::fromJson(window.viewState().toUtf8()).object()[QStringLiteral("pages")].toObject();
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
    }

    void cleanupTestCase() { QVERIFY(waitForJobs(std::chrono::minutes(1))); }

    void aPageIsMadeWhenItIsFirstShown()
    {
        MainWindow window;
        window.show();
        auto* tabs = window.findChild<PageTabs*>();
        QVERIFY(tabs->findChildren<Page*>().isEmpty());
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY_WITH_TIMEOUT(window.workspace()->model()->tokens(), patience);
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
        QTRY_VERIFY_WITH_TIMEOUT(edit->findChild<QStandardItemModel*>()->rowCount() > 0, patience);
    }

    void theStateOfAPageNeverShownIsKept()
    {
        MainWindow window;
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY_WITH_TIMEOUT(window.workspace()->model()->tokens(), patience);
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

    void aNarrowWindowListsItsPages()
    {
        MainWindow window;
        window.resize(1120, 760);
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY_WITH_TIMEOUT(window.workspace()->model()->tokens(), patience);
        auto* tabs = window.findChild<PageTabs*>();
        auto* list = qobject_cast<QToolButton*>(tabs->cornerWidget());
        QTRY_VERIFY(list->isVisible());
        QCOMPARE(list->menu()->actions().size(), tabs->count());
        list->menu()->actions().last()->trigger();
        QCOMPARE(tabs->currentName(), QStringLiteral("analyses"));
        for (int i = 0; i < tabs->count(); ++i) { // no page makes it grow
            tabs->setCurrentIndex(i);
            QCoreApplication::processEvents();
            QVERIFY2(window.width() == 1120,
                     qPrintable(QStringLiteral("%1: %2").arg(tabs->tabText(i)).arg(window.width())));
        }
    }

    /// Half of a wide screen, or a small screen at twice the scale.
    void aSmallScreenHasRoomForTheWindow()
    {
        const QSize small(900, 520);
        MainWindow window;
        window.resize(small);
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY_WITH_TIMEOUT(window.workspace()->model()->tokens(), patience);
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
};

HEADWISE_TEST(PageTabsTest)
#include "page_tabs_test.moc"
