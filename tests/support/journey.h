#pragma once

#include "app/window/main_window.h"
#include "core/base/blas_kernels.h"
#include "tests/support/program.h"

#include <QAccessible>
#include <QApplication>
#include <QElapsedTimer>
#include <QLabel>
#include <QTemporaryDir>
#include <QTest>

#include <chrono>
#include <filesystem>

namespace headwise::test {

using namespace std::chrono_literals;

inline constexpr int patience = 120000; // ms, under a loaded machine

/// Notes every event that holds up the GUI thread for longer than a user would not notice: time on the clock less what the
/// thread waited for a processor, against how slow the core is around that moment, so that a loaded machine does not count
/// but a disk, a lock or another thread does. The time of a nested event loop belongs to its own events.
class WatchedApplication : public QApplication {
public:
    static constexpr double limit = 50; ///< ms

    using QApplication::QApplication;
    bool notify(QObject* receiver, QEvent* event) override;

    /// "63 ms: MouseButtonPress of HeatmapView Heads", since the last call.
    static QStringList takeStalls();

    /// Runs the test functions that stalled once more, in a fresh process, where a stall fails: one that is ours comes back at
    /// the first use, the machine's own, such as of a host that holds its guest for 100 ms, does not.
    /// \returns the exit code of that process; 0 if none stalled
    static int tryStalledWalksAgain();

    /// Buttons of the mouse that were pressed on widgets, and files that were dropped, since the program began.
    static int gestures();
};

/// What the user waits for: the shorter of the time on the clock and the CPU time of the whole program, so that neither
/// other programs nor many threads count, over how much slower this core is than that of the laptop that targets are for.
class UserTime {
public:
    UserTime();
    double milliseconds() const; ///< Since it was made.

private:
    QElapsedTimer m_clock;
    double m_cpu; // ms
};

/// The checkpoints every journey is made on: the demo, and a random one of GPT-2 small's sizes with GPT-2's tokenizer, which all
/// journeys of a build folder share.
enum class JourneyModel { Demo, Gpt2Small };
std::filesystem::path folderOf(JourneyModel model);
/// Writes the large one into `folder` unless it is there.
/// \returns whether it is there now
bool makeJourneyModel(const std::filesystem::path& folder);
/// Rows "demo" and "GPT-2 small" of a column `model`.
void addJourneyModels();

/// One walk through the program as a person takes it: by what is written on the screen and what a screen reader says.
/// At its end no event has stalled the window in two walks, and a picture of it is in $HEADWISE_SCREENSHOTS, if that is set.
class Journey {
public:
    explicit Journey(const QString& name);
    ~Journey();
    Journey(const Journey&) = delete;
    Journey& operator=(const Journey&) = delete;

    /// The visible widget of that accessible name; waits for it. Null, and the test fails, if there is none.
    template <typename Widget = QWidget>
    Widget* named(const QString& accessibleName)
    {
        Widget* found = nullptr;
        const auto look = [&] {
            for (Widget* one : m_window->findChildren<Widget*>())
                if (one->isVisible() && one->accessibleName() == accessibleName)
                    found = one;
            return found != nullptr;
        };
        waitFor(look, QStringLiteral("a widget named ") + accessibleName);
        return found;
    }

    void drop(QWidget* on, const QStringList& files, Qt::KeyboardModifiers modifiers = Qt::NoModifier);
    void trigger(const QString& words); ///< The action of a menu or button, without its mnemonic.
    void click(const QString& words);   ///< The visible button that has these words in it; waits for it.
    void openTab(const QString& words); ///< The visible tab of that title.
    void close();                       ///< As the user closes the window.
    void keys(const QString& shortcut); ///< "Ctrl+L", to what has the focus.
    void type(const QString& words);
    bool shows(const QString& words) const; ///< In a visible label or banner.
    QString
    labelWith(const QString& words) const; ///< The whole text of the first such label, without markup.
    void waitFor(const std::function<bool()>& holds, const QString& what);
    /// Until nothing is being computed any more.
    void waitForRest();

    /// What follows is counted; a journey begins with its window.
    void begin();
    /// Whether what is on screen took no more clicks and drops than that since `begin`, an action of a menu being two, and, on a
    /// small model, no more than ten times `target`; says how many it took, and how long.
    bool tookGestures(int most, std::chrono::milliseconds target) const;

    QMainWindow* window() { return m_window.get(); }

private:
    QString m_name;
    int m_gestures = 0; // before `begin`, less those in menus since
    UserTime m_since;
    std::unique_ptr<app::MainWindow> m_window;
};

/// The number after `name` in `words`: "copying +0.931 (z …" → 0.931; NaN if there is none.
double numberAfter(const QString& words, const QString& name);

/// `main` of a test of journeys.
template <typename Test>
int runJourneys(int argc, char** argv)
{
    restartWithFasterKernels(programArguments());
    qputenv("QT_QPA_PLATFORM", "offscreen");
    const QTemporaryDir home; // settings, state and logs of this process alone
    for (const char* variable : {"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"})
        qputenv(variable, home.path().toLocal8Bit());
    QCoreApplication::setOrganizationName(QStringLiteral("headwise"));
    QCoreApplication::setApplicationName(QStringLiteral("headwise"));
    WatchedApplication application(argc, argv);
    ui::applyTheme(application, ui::ThemeMode::Light);
    Test test;
    const int failed =
        QTest::qExec(&test, withFunctionsOfPart(Test::staticMetaObject, QCoreApplication::arguments()));
    return failed + WatchedApplication::tryStalledWalksAgain();
}

} // namespace headwise::test
