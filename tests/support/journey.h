#pragma once

#include "app/window/main_window.h"
#include "tests/support/program.h"
#include "ui/base/theme.h"

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

/// Records every event that holds up the GUI thread noticeably: clock time minus the time the thread waited for a
/// processor, relative to the core's speed at that moment. A loaded machine does not count, but a disk, a lock or another
/// thread does. Time in a nested event loop belongs to that loop's events.
class WatchedApplication : public QApplication {
public:
    static constexpr double limit = 50; ///< ms

    using QApplication::QApplication;
    bool notify(QObject* receiver, QEvent* event) override;

    /// "63 ms: MouseButtonPress of HeatmapView Heads", since the last call.
    static QStringList takeStalls();

    /// Repeats the test functions that stalled once, in a fresh process, where a stall is a failure. A stall of ours
    /// comes back; one of the machine, such as a host that pauses its guest for 100 ms, does not.
    /// \returns the exit code of that process; 0 if none stalled
    static int tryStalledWalksAgain();

    /// Number of mouse presses on widgets and of dropped files since the program started.
    static int gestures();
};

/// Time that the user waits: the shorter of clock time and CPU time of the whole program, so that neither other programs
/// nor many threads count, divided by how much slower this core is than that of the reference laptop.
class UserTime {
public:
    UserTime();
    double milliseconds() const; ///< Since it was made.

private:
    QElapsedTimer m_clock;
    double m_cpu; // ms
};

/// The checkpoints of every journey: the demo, and a random one of GPT-2 small's sizes with GPT-2's tokenizer, which all
/// journeys of a build folder share.
enum class JourneyModel { Demo, Gpt2Small };
std::filesystem::path folderOf(JourneyModel model);
/// Writes the large one into `folder` unless it exists.
/// \returns whether it exists now
bool makeJourneyModel(const std::filesystem::path& folder);
/// Writes a session with the default analyses of a model, as `analyze` computes them at night.
/// \returns whether it was written
bool writeSessionOf(const std::filesystem::path& model, const std::filesystem::path& file);
/// The session of the large model that all journeys of a build folder share.
std::filesystem::path largeSession();
/// Rows "demo" and "GPT-2 small" of a column `model`.
void addJourneyModels();

/// One walk through the program as a user does it: by the text on the screen and for screen readers. It begins on the overview
/// of head 0.0; MainWindowTest walks over the findings. At its end no event
/// has stalled the window in two walks, and a picture of it is in $HEADWISE_SCREENSHOTS, if that is set.
class Journey {
public:
    explicit Journey(const QString& name);
    ~Journey();
    Journey(const Journey&) = delete;
    Journey& operator=(const Journey&) = delete;

    /// Waits for the visible widget with that accessible name. Null, and the test fails, if there is none.
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
    void click(const QString& words);   ///< Waits for the visible button with this text.
    void openTab(const QString& words); ///< Opens the page or the visible tab with that title.
    void close();                       ///< As the user closes the window.
    void keys(const QString& shortcut); ///< Sends "Ctrl+L" to the focus.
    void type(const QString& words);
    bool shows(const QString& words) const; ///< In any visible label or banner.
    QString
    labelWith(const QString& words) const; ///< The whole text of the first such label, without markup.
    void waitFor(const std::function<bool()>& holds, const QString& what);
    /// Waits until nothing is being computed.
    void waitForRest();

    /// Starts counting; a journey begins with its window.
    void begin();
    /// Tells whether reaching the current screen took at most that many clicks and drops since `begin` (a menu action
    /// counts as two) and, on a small model, at most ten times `target`. Prints the number and the time.
    bool tookGestures(int most, std::chrono::milliseconds target) const;

    QMainWindow* window() { return m_window.get(); }

private:
    QString m_name;
    int m_gestures = 0; // before `begin`, minus menu gestures since
    UserTime m_since;
    std::unique_ptr<app::MainWindow> m_window;
};

/// The number after `name` in `words`: "copying +0.931 (z …" → 0.931; NaN if there is none.
double numberAfter(const QString& words, const QString& name);

/// `main` of a test of journeys.
template <typename Test>
int runJourneys(int argc, char** argv)
{
    qputenv("QT_QPA_PLATFORM", "offscreen");
    const QTemporaryDir home; // settings, state and logs of this process only
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
