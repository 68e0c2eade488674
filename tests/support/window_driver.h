#pragma once

#include "app/window/main_window.h"
#include "app/window/page_tabs.h"
#include "core/results/result_set.h"
#include "tests/support/first_page.h"
#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/pages/parts/page.h"

#include <QAbstractButton>
#include <QAction>
#include <QApplication>
#include <QMessageBox>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

namespace headwise::test {

/// Gives the test its own settings and the light theme, as at a window's first start.
inline void beginWithOwnSettings(const QTemporaryDir& folder)
{
    QVERIFY(folder.isValid());
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder.path());
    QCoreApplication::setOrganizationName(QStringLiteral("headwise-test"));
    ui::applyTheme(*qApp, ui::ThemeMode::Light);
}

/// The same without saving by itself, for a test that decides when to save.
inline void beginWithoutAutosave(const QTemporaryDir& folder)
{
    beginWithOwnSettings(folder);
    QSettings().setValue(QStringLiteral("autosaveMinutes"), 0);
}

/// Closes the window, answering the question about its notes.
inline void discardNotes(app::MainWindow& window)
{
    QTimer::singleShot(0, &window, [&window] {
        for (QMessageBox* box : window.findChildren<QMessageBox*>())
            if (QAbstractButton* discard = box->button(QMessageBox::Discard))
                discard->click();
    });
    window.close();
}

/// Drives the window as a user does, by what is shown.
class WindowDriver {
public:
    app::MainWindow window;

    explicit WindowDriver(FirstPage first = FirstPage::Overview)
    {
        beginOn(first, window);
        window.resize(1360, 860);
        window.show();
    }

    ui::Workspace& workspace() { return *window.workspace(); }
    app::PageTabs* tabs() { return window.findChild<app::PageTabs*>(); }
    ui::Page* page() { return tabs()->currentWidget()->findChild<ui::Page*>(); }

    bool isComplete()
    {
        const ResultSet& results = *workspace().model()->results();
        return results.find("scores/copying") && results.find("composition/k")
            && results.find("scores/matching") && results.find("eigenvalues/full_ov")
            && !workspace().runs()->job()->isRunning();
    }

    /// Sends a key to the focus, as the keyboard does.
    static void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {})
    {
        QTest::keyClick(QApplication::focusWidget(), key, modifiers);
    }

    /// Keys go to this window.
    void activate()
    {
        window.activateWindow();
        if (!QTest::qWaitForWindowActive(&window))
            qFatal("the window does not become active");
    }

    void openDemo()
    {
        window.openDemo();
        waitForAnalyses();
    }

    void waitForAnalyses()
    {
        QTRY_VERIFY(workspace().model()->isOpen());
        QTRY_VERIFY(isComplete());
    }

    void trigger(const QString& text)
    {
        for (QAction* action : window.findChildren<QAction*>())
            if (QString(action->text()).remove(u'&') == text)
                return action->trigger();
        QFAIL(qPrintable(QStringLiteral("no action ") + text));
    }
};

} // namespace headwise::test
