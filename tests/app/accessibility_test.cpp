#include "app/window/main_window.h"

#include "app/window/page_tabs.h"
#include "tests/support/program.h"
#include "ui/base/job.h"
#include "ui/base/text.h"
#include "ui/pages/parts/page.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QAccessible>
#include <QComboBox>
#include <QDockWidget>
#include <QHeaderView>
#include <QHelpEvent>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QSettings>
#include <QSlider>
#include <QStandardPaths>
#include <QTabBar>
#include <QTest>

using namespace headwise;
using namespace headwise::app;
using namespace headwise::ui;

namespace {

template <typename... Kinds>
bool isOneOf(const QObject* object)
{
    return (qobject_cast<const Kinds*>(object) || ...);
}

/// True for a control that the user works with: one of ours, not the parts of which Qt makes a larger one.
bool isControl(const QWidget* widget)
{
    const bool isPart =
        isOneOf<QComboBox, QAbstractSpinBox, QAbstractItemView, QTabBar, QLineEdit>(widget->parentWidget())
        || widget->objectName().startsWith(QLatin1String("qt_"));
    const bool isView = dynamic_cast<const FigureSource*>(widget) && !qobject_cast<const Page*>(widget);
    return !isPart && !qobject_cast<const QHeaderView*>(widget)
        && (isView
            || isOneOf<QAbstractButton, QComboBox, QLineEdit, QPlainTextEdit, QSlider, QAbstractSpinBox,
                       QAbstractItemView>(widget));
}

bool isNamed(QWidget* widget)
{
    if (!widget->accessibleName().isEmpty())
        return true;
    const QAccessibleInterface* seen = QAccessible::queryAccessibleInterface(widget);
    // the text of a button itself, or a label's buddy
    return seen && !seen->text(QAccessible::Name).isEmpty();
}

} // namespace

class AccessibilityTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QStandardPaths::setTestModeEnabled(true);
        QCoreApplication::setOrganizationName(QStringLiteral("headwise-test-accessibility"));
        QSettings().clear();
    }

    void cleanupTestCase() { QVERIFY(waitForJobs(std::chrono::minutes(1))); }

    void everyControlAndPictureHasAName()
    {
        MainWindow window;
        window.resize(1280, 800);
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(window.workspace()->model()->tokens());
        for (auto* dock : window.findChildren<QDockWidget*>())
            dock->show();
        auto* tabs = window.findChild<PageTabs*>();
        QStringList nameless;
        int controls = 0;
        for (int i = 0; i < tabs->count(); ++i) {
            tabs->setCurrentIndex(i);
            QTRY_VERIFY(!window.workspace()->runs()->job()->isRunning());
            for (QWidget* widget : window.findChildren<QWidget*>()) {
                if (!isControl(widget) || !widget->isVisibleTo(&window))
                    continue;
                ++controls;
                if (!isNamed(widget))
                    nameless << QStringLiteral("%1: %2 in %3")
                                    .arg(tabs->pageName(i),
                                         QString::fromLatin1(widget->metaObject()->className()),
                                         QString::fromLatin1(
                                             widget->parentWidget()->metaObject()->className()));
            }
        }
        QVERIFY(controls > 100);
        QVERIFY2(nameless.isEmpty(), qPrintable(nameless.join(u'\n')));
    }

    void everyPagePictureAndHeaderSaysWhatItIs()
    {
        MainWindow window;
        window.resize(1280, 800);
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(window.workspace()->model()->results()->find("scores/copying"));
        QTRY_VERIFY(!window.workspace()->runs()->job()->isRunning());
        // Shift+F1 asks what is under the mouse; the box with the answer is Qt's.
        const auto answers = [](QWidget* widget, const QPoint& at) {
            QHelpEvent asked(QEvent::QueryWhatsThis, at, widget->mapToGlobal(at));
            return QApplication::sendEvent(widget, &asked) && asked.isAccepted();
        };
        auto* tabs = window.findChild<PageTabs*>();
        QStringList silent;
        int asked = 0;
        for (int i = 0; i < tabs->count(); ++i) {
            tabs->setCurrentIndex(i);
            QVERIFY2(!tabs->currentPage()->whatsThis().isEmpty(), qPrintable(tabs->pageName(i)));
            for (QWidget* view : tabs->currentPage()->findChildren<QWidget*>()) {
                if (!dynamic_cast<FigureSource*>(view) || !view->isVisible())
                    continue;
                ++asked;
                if (!answers(view, view->rect().center()))
                    silent << tabs->pageName(i) + u' ' + view->accessibleName();
            }
            for (auto* header : tabs->currentPage()->findChildren<QHeaderView*>())
                if (header->isVisible() && header->orientation() == Qt::Horizontal && header->count() > 0
                    && !answers(header->viewport(), {header->sectionPosition(0) + 4, 6}))
                    silent << tabs->pageName(i) + QStringLiteral(" a header");
        }
        QVERIFY(asked > 15);
        QVERIFY2(silent.isEmpty(), qPrintable(silent.join(u'\n')));
    }

    void aScoreIsExplainedByTheCatalogue()
    {
        MainWindow window;
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(window.workspace()->model()->results()->find("scores/matching"));
        auto* heads = window.findChild<QDockWidget*>(QStringLiteral("heads"));
        auto* box = heads->findChild<QComboBox*>();
        const QWidget* grid = nullptr;
        for (const QWidget* view : heads->findChildren<QWidget*>())
            if (view->accessibleName() == QLatin1String("Heads"))
                grid = view;
        QVERIFY(grid);
        for (const char* id : {"copying", "matching"}) {
            const ResultArray* array =
                window.workspace()->model()->results()->find(std::string("scores/") + id);
            const Analysis* analysis = findAnalysis(id);
            box->setCurrentIndex(box->findData(text("scores/" + std::string(id))));
            emit box->activated(box->currentIndex());
            const QString words = grid->whatsThis();
            for (const QString& part :
                 {text(analysis->formula), text(analysis->citation), text(array->definition)})
                QVERIFY2(words.contains(part.toHtmlEscaped()), qPrintable(words));
        }
    }

    void everyPictureAndTableIsReachedByKeys()
    {
        MainWindow window;
        window.resize(1280, 800);
        window.show();
        window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(window.workspace()->model()->tokens());
        auto* tabs = window.findChild<PageTabs*>();
        QStringList unreached;
        for (int i = 0; i < tabs->count(); ++i) {
            tabs->setCurrentIndex(i);
            for (QWidget* widget : tabs->currentPage()->findChildren<QWidget*>())
                if (isControl(widget) && widget->isVisibleTo(&window) && widget->isEnabled()
                    && !(widget->focusPolicy() & Qt::TabFocus))
                    unreached << QStringLiteral("%1: %2 '%3'")
                                     .arg(tabs->pageName(i),
                                          QString::fromLatin1(widget->metaObject()->className()),
                                          widget->accessibleName());
        }
        QVERIFY2(unreached.isEmpty(), qPrintable(unreached.join(u'\n')));
    }
};

HEADWISE_TEST(AccessibilityTest)
#include "accessibility_test.moc"
