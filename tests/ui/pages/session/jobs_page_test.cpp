#include "ui/pages/session/jobs_page.h"

#include "tests/support/program.h"

#include <QLabel>
#include <QListWidget>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <thread>

using namespace headwise;
using namespace headwise::ui;

namespace {

/// A record of a job's progress for the test.
struct Work {
    std::atomic<int> begun = 0; ///< Units of work.
    std::atomic<bool> stopped = false;
};

/// Starts a job that runs until it is cancelled.
void startEndless(Job& job, const QString& title, std::shared_ptr<Work> work)
{
    job.start(
        title,
        [work](const Task& task) -> Result<Done> {
            while (!task.cancelled()) {
                const int done = ++work->begun;
                task.report(std::min(done, 999), 1000, "rows");
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
            work->stopped = true;
            return headwise::stopped();
        },
        [](const Result<Done>&) {});
}

/// CPU time of this thread, independent of other load. POSIX clocks provide it; elsewhere it stays 0.
std::chrono::milliseconds ownTime()
{
#ifdef CLOCK_THREAD_CPUTIME_ID
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::milliseconds(time.tv_sec * 1000 + time.tv_nsec / 1'000'000);
#else
    return {};
#endif
}

bool shows(const QWidget& page, const QString& words)
{
    for (const QLabel* label : page.findChildren<QLabel*>())
        if (label->isVisible() && label->text() == words)
            return true;
    return false;
}

QToolButton* buttonNamed(const QWidget& page, const QString& name)
{
    for (QToolButton* button : page.findChildren<QToolButton*>())
        if (button->accessibleName() == name)
            return button;
    return nullptr;
}

} // namespace

class JobsPageTest : public QObject {
    Q_OBJECT

private slots:
    /// Neither the running nor the finished jobs push the others out of the dock.
    void bothHalvesAreReadable()
    {
        Workspace workspace;
        JobsPage page(&workspace);
        page.resize(600, 200);
        page.show();
        auto* finished = page.findChild<QListWidget*>();
        QTRY_VERIFY2(finished->width() > 270 && finished->width() < 310,
                     qPrintable(QString::number(finished->width())));
    }

    void everyJobIsListedAndStopsWithinAHundredMilliseconds()
    {
        Workspace workspace;
        JobsPage page(&workspace);
        page.show();
        QVERIFY(shows(page, QStringLiteral("Nothing is being computed.")));
        const auto work = std::make_shared<Work>();
        Job job;
        QSignalSpy finished(&job, &Job::finished);
        startEndless(job, QStringLiteral("Counting"), work);
        QTRY_VERIFY(shows(page, QStringLiteral("Counting")));
        QVERIFY(!shows(page, QStringLiteral("Nothing is being computed.")));
        QToolButton* cancel = buttonNamed(page, QStringLiteral("Cancel Counting"));
        QVERIFY(cancel);
        QTRY_VERIFY(work->begun > 2);
        const auto before = ownTime();
        QTest::mouseClick(cancel, Qt::LeftButton);
        const int begun = work->begun; // A thread may have checked just before the cancellation.
        QVERIFY(!job.isRunning());
        QCOMPARE(finished.count(), 1); // at once: the click waits for no work
        QVERIFY2(ownTime() - before < std::chrono::milliseconds(100),
                 qPrintable(QString::number((ownTime() - before).count())));
        QTRY_VERIFY(shows(page, QStringLiteral("Nothing is being computed.")));
        QTRY_VERIFY(work->stopped);
        QVERIFY2(work->begun <= begun + 1, qPrintable(QString::number(work->begun - begun)));
        auto* ended = page.findChild<QListWidget*>();
        QCOMPARE(ended->count(), 1);
        QVERIFY(ended->item(0)->text().startsWith(QStringLiteral("Counting: stopped after")));
    }

    void whatIsAskedForGoesBeforeWhatRunsUnasked()
    {
        Workspace workspace;
        const Analysis* unasked = nullptr;
        QStringList running;
        std::vector<const Analysis*> waiting;
        // As soon as the first one has begun; its end is a later event.
        const auto ask = [&] {
            if (unasked || workspace.runs()->waiting().empty())
                return;
            unasked = workspace.runs()->waiting().front();
            workspace.runs()->runAnalysis("skipless");
            running << workspace.runs()->job()->title();
            workspace.runs()->runAnalysis("conditioning");
            running << workspace.runs()->job()->title();
            waiting.assign(workspace.runs()->waiting().begin(), workspace.runs()->waiting().end());
        };
        connect(workspace.runs()->job(), &Job::started, this, ask, Qt::QueuedConnection);
        workspace.opener()->openModel({HEADWISE_DEMO_MODEL, {}, {}});
        QTRY_VERIFY_WITH_TIMEOUT(unasked, 60000);
        for (const QString& title : running)
            QVERIFY2(title.startsWith(QStringLiteral("Skipless merges")), qPrintable(title));
        QVERIFY(waiting.size() > 2);
        QCOMPARE(waiting[0], findAnalysis("conditioning"));
        QVERIFY(waiting[1] != unasked && waiting[2] == unasked); // what was under way begins again
        QTRY_VERIFY_WITH_TIMEOUT(workspace.runs()->waiting().empty() && !workspace.runs()->job()->isRunning()
                                     && !workspace.model()->tokenReader()->job()->isRunning(),
                                 60000);
        QVERIFY(workspace.runs()->inputsOf("skipless") && workspace.runs()->inputsOf("conditioning"));
        QVERIFY(workspace.runs()->inputsOf(waiting[1]->id) && workspace.runs()->inputsOf(unasked->id));
    }

    /// The percentage that the window shows as each analysis begins is the one of the command line's bar.
    void theTotalIsTheOneOfTheCommandLine()
    {
        Workspace workspace;
        JobsPage page(&workspace);
        page.show();
        const auto* total = page.findChild<QLabel*>(QStringLiteral("total"));
        std::vector<RunStatus> begun;
        connect(workspace.runs()->job(), &Job::started, this,
                [&] { begun.push_back(workspace.runs()->status()); });
        bool isSame = true;
        connect(workspace.runs(), &Runs::progressed, this, [&] { // after the page
            const RunStatus status = workspace.runs()->status();
            isSame = isSame && total->isVisible() == (status.index > 0)
                && total->text().endsWith(QString::fromStdString(runStatusText(status)));
        });
        workspace.opener()->openModel({HEADWISE_DEMO_MODEL, {}, {}});
        QTRY_VERIFY_WITH_TIMEOUT(begun.size() == 6 && !workspace.runs()->job()->isRunning(), 60000);
        QVERIFY(isSame && !total->isVisible());

        std::mutex mutex;
        std::vector<std::pair<int, double>> shown; // percent, and the share of its analysis that is done
        std::vector<int> rows;                     // from 0
        Task task;
        task.onProgress = [&](int done, int all, std::string_view step) {
            const QString words = QString::fromUtf8(step.data(), static_cast<qsizetype>(step.size()));
            static const QRegularExpression bar(QStringLiteral(R"(, (\d+) of 6\) · (\d+) %)"));
            const QRegularExpressionMatch match = bar.match(words);
            const std::lock_guard lock(mutex);
            if (!match.hasMatch())
                return; // the embeddings
            rows.push_back(match.captured(1).toInt() - 1);
            shown.emplace_back(match.captured(2).toInt(), static_cast<double>(done) / all);
        };
        const std::shared_ptr<const Circuits> circuits = workspace.model()->circuits();
        std::vector<const Analysis*> chosen = defaultAnalyses(circuits->config(), {});
        std::erase(chosen, findAnalysis("tables")); // the window does not run it unasked
        QCOMPARE(chosen.size(), begun.size());
        const auto results = runAnalyses(*circuits, chosen, workspace.runs()->analysisOptions(), task);
        QVERIFY(results && !shown.empty());
        for (std::size_t i = 0; i < shown.size(); ++i) {
            const auto row = static_cast<std::size_t>(rows[i]);
            const double from = begun[row].fraction;
            const double to = row + 1 < begun.size() ? begun[row + 1].fraction : 1;
            const auto& [percent, share] = shown[i];
            // Steps of one analysis may each begin at 0; the bar then stays where it was.
            QVERIFY(percent >= static_cast<int>(100 * (from + (to - from) * share) - 1e-9));
            QVERIFY(percent <= static_cast<int>(100 * to + 1e-9));
        }
        QCOMPARE(shown.back().first, 100);
    }

    void aJobThatGoesAwayLeavesTheList()
    {
        Workspace workspace;
        JobsPage page(&workspace);
        page.show();
        const auto work = std::make_shared<Work>();
        {
            Job job;
            startEndless(job, QStringLiteral("Short-lived"), work);
            QTRY_VERIFY(shows(page, QStringLiteral("Short-lived")));
        }
        QVERIFY(JobBoard::instance().running().isEmpty());
        QTRY_VERIFY(!shows(page, QStringLiteral("Short-lived")));
    }
};

HEADWISE_TEST(JobsPageTest)
#include "jobs_page_test.moc"
