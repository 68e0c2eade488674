#include "tests/support/journey.h"

#include "app/window/page_sidebar.h"
#include "tests/bench/make_gpt2_small.h"
#include "tests/support/command.h"
#include "tests/support/first_page.h"
#include "tests/support/painting.h"
#include "tests/support/program.h"
#include "ui/base/job.h"
#include "ui/base/text.h"

#include <QAbstractButton>
#include <QAction>
#include <QDropEvent>
#include <QFile>
#include <QMetaEnum>
#include <QMimeData>
#include <QProcess>
#include <QRegularExpression>
#include <QTabBar>
#include <QTextDocument>
#include <QUrl>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace headwise::test {

namespace {

double millisecondsOf(clockid_t clock)
{
    timespec now{};
    clock_gettime(clock, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

double threadMilliseconds()
{
    return millisecondsOf(CLOCK_THREAD_CPUTIME_ID);
}

/// Returns the time that the calling thread was ready to run but waited for a processor, since it started; 0 if the
/// kernel does not say.
/// Source: Linux, Documentation/scheduler/sched-stats: time on the processor, time on the run queue, time slices.
double queuedMilliseconds()
{
    static thread_local const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    std::array<char, 128> text{};
    if (file < 0 || pread(file, text.data(), text.size() - 1, 0) <= 0)
        return 0;
    unsigned long long running = 0, queued = 0; // ns
    return std::sscanf(text.data(), "%llu %llu", &running, &queued) == 2 ? 1e-6 * static_cast<double>(queued)
                                                                         : 0;
}

/// Returns the clock time that this thread is responsible for: waiting for a disk, a lock or another thread counts,
/// waiting for a processor does not.
double ownMilliseconds()
{
    return millisecondsOf(CLOCK_MONOTONIC) - queuedMilliseconds();
}

/// CPU time of a fixed piece of work: hashing more memory than the inner caches hold.
double referenceMilliseconds()
{
    static std::vector<unsigned> cells(1 << 19, 1U);
    const double begin = threadMilliseconds();
    for (std::size_t i = 0, at = 0; i < 400'000; ++i) {
        at = (at * 1664525U + 1013904223U + cells[at % cells.size()]) % cells.size();
        ++cells[at];
    }
    return threadMilliseconds() - begin;
}

double fastestReference()
{
    static double best = 1e9;
    for (int i = 0; i < 5; ++i)
        best = std::min(best, referenceMilliseconds());
    return best;
}

/// Tells whether an event took longer than the limit on this core as it is now. Neighbours on a shared machine cost CPU time in
/// short bursts, so the slowest of many measurements counts, up to four times the fastest; it measures until the event is
/// excused.
bool isStall(double milliseconds)
{
    constexpr double limit = WatchedApplication::limit, most = 4;
    constexpr int measurements = 40;
    bool isExcused = milliseconds <= limit;
    if (!isExcused && milliseconds <= most * limit) {
        const double fastest = fastestReference();
        for (int i = 0; i < measurements && !isExcused; ++i)
            isExcused = milliseconds <= limit * referenceMilliseconds() / fastest;
    }
    return !isExcused;
}

/// Estimates how much slower this core is at its best than the one the targets are meant for; at least 1.
double slownessOfMachine()
{
    constexpr double onLaptop = 5; // ms of the fixed piece of work
    return std::max(1.0, fastestReference() / onLaptop);
}

/// Time that the current events spent in nested event loops.
struct Frame {
    int loopLevel;
    double inner;
};
std::vector<Frame>& frames()
{
    static std::vector<Frame> stack;
    return stack;
}

QStringList& stalls()
{
    static QStringList list;
    return list;
}

constexpr const char* secondTry = "HEADWISE_SECOND_TRY";

/// The stalled walks, to be repeated once in a fresh process.
QStringList& stalledWalks()
{
    static QStringList functions;
    return functions;
}

/// Returns the running test function and its row, as an argument of its program.
QString currentTest()
{
    const QString function = QString::fromLatin1(QTest::currentTestFunction());
    const char* row = QTest::currentDataTag();
    return row ? function + u':' + QString::fromUtf8(row) : function;
}

/// The longest event since the last journey began, whether a stall or not.
struct LongestEvent {
    double milliseconds = 0;
    QString what;
};
LongestEvent& longestEvent()
{
    static LongestEvent event;
    return event;
}

int& gestureCount()
{
    static int count = 0;
    return count;
}

QString nameOf(const QObject* object)
{
    if (object->isWidgetType())
        return static_cast<const QWidget*>(object)->accessibleName();
    if (const auto* job = qobject_cast<const ui::Job*>(object->parent()))
        return job->title();
    return object->objectName();
}

QString plain(const QLabel& label)
{
    if (!Qt::mightBeRichText(label.text()))
        return label.text();
    QTextDocument document;
    document.setHtml(label.text());
    return document.toPlainText().replace(QChar::Nbsp, u' ');
}

} // namespace

bool WatchedApplication::notify(QObject* receiver, QEvent* event)
{
    // `receiver` may be gone afterwards.
    if (QThread::currentThread() != thread())
        return QApplication::notify(receiver, event);
    if (receiver->isWidgetType()
        && (event->type() == QEvent::MouseButtonPress || event->type() == QEvent::Drop))
        ++gestureCount();
    const char* type = QMetaEnum::fromType<QEvent::Type>().valueToKey(event->type());
    const QString what = QStringLiteral("%1 of %2 %3")
                             .arg(QLatin1String(type ? type : "an event"),
                                  QLatin1String(receiver->metaObject()->className()), nameOf(receiver));
    const int level = thread()->loopLevel();
    const bool isNested = !frames().empty() && frames().back().loopLevel == level;
    frames().push_back({level, 0});
    const double begin = ownMilliseconds();
    const bool handled = QApplication::notify(receiver, event);
    const double all = ownMilliseconds() - begin;
    const double own = all - frames().back().inner;
    frames().pop_back();
    if (isNested)
        return handled; // a part of the event that sent this one
    if (own > longestEvent().milliseconds)
        longestEvent() = {own, what};
    if (isStall(own))
        stalls() << QStringLiteral("%1 ms: %2").arg(own, 0, 'f', 0).arg(what);
    if (!frames().empty())
        frames().back().inner += ownMilliseconds() - begin; // with the time of isStall(), which is no event's
    return handled;
}

UserTime::UserTime()
    : m_cpu(millisecondsOf(CLOCK_PROCESS_CPUTIME_ID))
{
    m_clock.start();
}

double UserTime::milliseconds() const
{
    const double onClock = 1e-6 * static_cast<double>(m_clock.nsecsElapsed());
    return std::min(onClock, millisecondsOf(CLOCK_PROCESS_CPUTIME_ID) - m_cpu) / slownessOfMachine();
}

QStringList WatchedApplication::takeStalls()
{
    return std::exchange(stalls(), {});
}

int WatchedApplication::tryStalledWalksAgain()
{
    const QStringList walks = std::exchange(stalledWalks(), {});
    if (walks.isEmpty())
        return 0;
    // journey_stalls_test reads how many walks of the whole suite were repeated.
    if (QFile list(QStringLiteral(HEADWISE_JOURNEYS "/stalls.txt")); list.open(QIODevice::Append))
        list.write((walks.join(u'\n') + u'\n').toUtf8());
    qputenv(secondTry, "1");
    QProcess fresh;
    fresh.setProcessChannelMode(QProcess::ForwardedChannels);
    fresh.start(applicationFilePath(), QStringList(QString::fromLocal8Bit(programArguments()[1])) + walks);
    fresh.waitForFinished(-1);
    return fresh.exitStatus() == QProcess::NormalExit ? fresh.exitCode() : 1;
}

int WatchedApplication::gestures()
{
    return gestureCount();
}

bool makeJourneyModel(const std::filesystem::path& folder)
{
    std::error_code error;
    if (std::filesystem::exists(folder / "tokenizer.json", error))
        return true;
    // Writes beside it first, so that an existing folder is complete.
    const std::filesystem::path made = folder.string() + "." + std::to_string(getpid());
    std::filesystem::create_directories(made, error);
    if (!bench::makeGpt2Small(made))
        return false;
    std::filesystem::copy_file(HEADWISE_TEST_DATA "/tokenizers/gpt2/tokenizer.json", made / "tokenizer.json",
                               error);
    if (!error)
        std::filesystem::rename(made, folder, error);
    std::error_code ignored;
    std::filesystem::remove_all(made, ignored);
    return std::filesystem::exists(folder / "tokenizer.json", ignored);
}

std::filesystem::path folderOf(JourneyModel model)
{
    if (model == JourneyModel::Demo)
        return HEADWISE_DEMO_MODEL;
    const std::filesystem::path folder = HEADWISE_JOURNEYS "/gpt2-small";
    static const bool isMade = makeJourneyModel(folder);
    if (!isMade)
        qFatal("a model of GPT-2 small's sizes could not be written into %s", folder.c_str());
    return folder;
}

bool writeSessionOf(const std::filesystem::path& model, const std::filesystem::path& file)
{
    const QTemporaryDir log;
    const CommandRun run =
        runHeadwise({QStringLiteral("analyze"), ui::text(model.string()), QStringLiteral("-o"),
                     ui::text(file.string()), QStringLiteral("--threads"), QStringLiteral("2")},
                    log.path());
    if (run.exitCode != 0)
        qWarning("%s", run.err.constData());
    return run.exitCode == 0;
}

std::filesystem::path largeSession()
{
    const std::filesystem::path file = HEADWISE_JOURNEYS "/gpt2-small.h5";
    static const bool isMade =
        std::filesystem::exists(file) || writeSessionOf(folderOf(JourneyModel::Gpt2Small), file);
    if (!isMade)
        qFatal("a session of GPT-2 small's sizes could not be written to %s", file.c_str());
    return file;
}

void addJourneyModels()
{
    QTest::addColumn<int>("model");
    QTest::newRow("demo") << static_cast<int>(JourneyModel::Demo);
    QTest::newRow("GPT-2 small") << static_cast<int>(JourneyModel::Gpt2Small);
}

Journey::Journey(const QString& name)
    : m_name(name)
    , m_window(std::make_unique<app::MainWindow>())
{
    beginOn(FirstPage::Overview, *m_window);
    m_window->resize(1280, 800);
    m_window->show();
    fastestReference();
    if (!QTest::qWaitForWindowExposed(m_window.get()))
        qFatal("the window is not shown");
    WatchedApplication::takeStalls(); // of the first layout, before anybody saw it
    longestEvent() = {};
    waitForRest();
    begin();
}

Journey::~Journey()
{
    const QStringList slow = WatchedApplication::takeStalls();
    qInfo("%s: the longest event took %.0f ms (%s)", qPrintable(m_name), longestEvent().milliseconds,
          qPrintable(longestEvent().what));
    for (int turn = 0; turn < 3; ++turn) // the last layout, each part in an event after the other
        QCoreApplication::processEvents();
    const QStringList cut = cutLabels(*m_window);
    if (!cut.isEmpty())
        QTest::qFail(qPrintable(QStringLiteral("cut off: ") + cut.join(QStringLiteral("; "))), __FILE__,
                     __LINE__);
    if (const QRect hole = unpainted(*m_window); !hole.isNull())
        QTest::qFail(qPrintable(QStringLiteral("nothing is painted at ") + whoIsAt(*m_window, hole.center())),
                     __FILE__, __LINE__);
    const QString folder = qEnvironmentVariable("HEADWISE_SCREENSHOTS");
    const QString picture = folder + u'/' + m_name + QStringLiteral(".png");
    if (!folder.isEmpty() && !m_window->grab().save(picture))
        QTest::qFail(qPrintable(QStringLiteral("no picture in ") + picture), __FILE__, __LINE__);
    const QString stoodStill = QStringLiteral("the window stood still: ") + slow.join(QStringLiteral("; "));
    if (!slow.isEmpty() && !qEnvironmentVariableIsSet(secondTry)) {
        qInfo("%s; once more, in a fresh process", qPrintable(stoodStill));
        if (!stalledWalks().contains(currentTest()))
            stalledWalks() << currentTest();
    } else if (!slow.isEmpty()) {
        QTest::qFail(qPrintable(stoodStill), __FILE__, __LINE__);
    }
    m_window.reset();
    ui::waitForJobs(std::chrono::minutes(1));
}

void Journey::drop(QWidget* on, const QStringList& files, Qt::KeyboardModifiers modifiers)
{
    QMimeData dropped;
    QList<QUrl> urls;
    for (const QString& file : files)
        urls << QUrl::fromLocalFile(file);
    dropped.setUrls(urls);
    // Like Qt, takes the innermost widget under the mouse that accepts drops.
    QWidget* target = on;
    while (target && !target->acceptDrops())
        target = target->parentWidget();
    QVERIFY2(target, "nothing here takes what is dropped");
    const QPoint center = target->rect().center();
    QDragEnterEvent enter(center, Qt::CopyAction, &dropped, Qt::LeftButton, modifiers);
    QCoreApplication::sendEvent(target, &enter);
    QVERIFY2(enter.isAccepted(), "what is dropped is refused");
    QDropEvent drop(QPointF(center), Qt::CopyAction, &dropped, Qt::LeftButton, modifiers);
    QCoreApplication::sendEvent(target, &drop);
}

void Journey::trigger(const QString& words)
{
    for (QAction* action : m_window->findChildren<QAction*>()) {
        if (action->text().remove(u'&') != words)
            continue;
        QVERIFY2(action->isEnabled(), qPrintable(words + QStringLiteral(" is disabled")));
        m_gestures -= 2; // the menu and its entry
        return action->trigger();
    }
    QFAIL(qPrintable(QStringLiteral("no action is called ") + words));
}

void Journey::click(const QString& words)
{
    QAbstractButton* found = nullptr;
    waitFor(
        [&] {
            for (QAbstractButton* button : m_window->findChildren<QAbstractButton*>())
                if (button->isVisible() && button->isEnabled() && button->text().contains(words))
                    found = button;
            return found != nullptr;
        },
        QStringLiteral("a button with ") + words);
    if (found)
        QTest::mouseClick(found, Qt::LeftButton);
}

void Journey::openTab(const QString& words)
{
    auto* pages = m_window->findChild<app::PageSidebar*>();
    for (QTreeWidgetItem* item : pages->findItems(words, Qt::MatchExactly | Qt::MatchRecursive)) {
        if (!pages->isVisible() || !(item->flags() & Qt::ItemIsSelectable))
            continue; // a heading
        pages->scrollToItem(item);
        return QTest::mouseClick(pages->viewport(), Qt::LeftButton, {}, pages->visualItemRect(item).center());
    }
    for (QTabBar* bar : m_window->findChildren<QTabBar*>())
        for (int i = 0; bar->isVisible() && i < bar->count(); ++i)
            if (bar->tabText(i) == words)
                return QTest::mouseClick(bar, Qt::LeftButton, {}, bar->tabRect(i).center());
    QFAIL(qPrintable(QStringLiteral("no tab is called ") + words));
}

void Journey::close()
{
    m_window->close();
}

void Journey::keys(const QString& shortcut)
{
    const QKeyCombination pressed = QKeySequence(shortcut)[0];
    QWidget* focus = QApplication::focusWidget();
    QTest::keyClick(focus ? focus : m_window.get(), pressed.key(), pressed.keyboardModifiers());
}

void Journey::type(const QString& words)
{
    QWidget* focus = QApplication::focusWidget();
    QVERIFY2(focus, "nothing has the focus");
    QTest::keyClicks(focus, words);
}

QString Journey::labelWith(const QString& words) const
{
    for (const QLabel* label : m_window->findChildren<QLabel*>())
        if (label->isVisible())
            if (const QString text = plain(*label); text.contains(words))
                return text;
    return {};
}

bool Journey::shows(const QString& words) const
{
    return !labelWith(words).isEmpty();
}

void Journey::waitFor(const std::function<bool()>& holds, const QString& what)
{
    QVERIFY2(QTest::qWaitFor(holds, patience), qPrintable(QStringLiteral("waited in vain for ") + what));
}

void Journey::waitForRest()
{
    const ui::JobBoard& board = ui::JobBoard::instance();
    waitFor(
        [&board] {
            // One job may start the next.
            if (!board.running().isEmpty())
                return false;
            QCoreApplication::processEvents();
            return board.running().isEmpty();
        },
        QStringLiteral("everything to be computed"));
}

void Journey::begin()
{
    m_gestures = WatchedApplication::gestures();
    m_since = UserTime();
}

bool Journey::tookGestures(int most, std::chrono::milliseconds target) const
{
    constexpr double slack = 10;
    const double time = m_since.milliseconds();
    const int took = WatchedApplication::gestures() - m_gestures;
    qInfo("%s: %d of %d gestures, %.1f of %.1f s", qPrintable(m_name), took, most, 1e-3 * time,
          1e-3 * static_cast<double>(target.count()));
    // for a large model the time depends on the machine
    const bool isSmall = !m_name.contains(QStringLiteral("GPT-2"));
    return took <= most && (!isSmall || time <= slack * static_cast<double>(target.count()));
}

double numberAfter(const QString& words, const QString& name)
{
    const QRegularExpression pattern(QRegularExpression::escape(name)
                                     + QStringLiteral("\\s*([+−-]?[\\d.]+(?:e[+−-]?\\d+)?)"));
    const QRegularExpressionMatch match = pattern.match(words);
    return match.hasMatch() ? match.captured(1).replace(u'−', u'-').toDouble() : std::nan("");
}

} // namespace headwise::test
