#include "ui/pages/jobs_page.h"

#include <QElapsedTimer>
#include <QLabel>
#include <QListWidget>
#include <QTest>
#include <QToolButton>

#include <atomic>
#include <thread>

using namespace headwise;
using namespace headwise::ui;

namespace {

/// Works until it is told to stop.
void startEndless(Job& job, const QString& title, std::shared_ptr<std::atomic<bool>> stopped)
{
    job.start(
        title,
        [stopped](const Task& task) -> Result<Done> {
            for (int done = 0; !task.cancelled(); ++done) {
                task.report(std::min(done, 999), 1000, "rows");
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
            *stopped = true;
            return headwise::stopped();
        },
        [](const Result<Done>&) {});
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
    void everyJobIsListedAndStopsWithinAHundredMilliseconds()
    {
        Workspace workspace;
        JobsPage page(&workspace);
        page.show();
        QVERIFY(shows(page, QStringLiteral("Nothing is being computed.")));
        const auto stopped = std::make_shared<std::atomic<bool>>(false);
        Job job;
        startEndless(job, QStringLiteral("Counting"), stopped);
        QTRY_VERIFY(shows(page, QStringLiteral("Counting")));
        QVERIFY(!shows(page, QStringLiteral("Nothing is being computed.")));
        QElapsedTimer clock;
        clock.start();
        QToolButton* cancel = buttonNamed(page, QStringLiteral("Cancel Counting"));
        QVERIFY(cancel);
        QTest::mouseClick(cancel, Qt::LeftButton);
        QVERIFY(!job.isRunning());
        QTRY_VERIFY(shows(page, QStringLiteral("Nothing is being computed.")));
        QTRY_VERIFY(*stopped);
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
        // As soon as the first of them has begun; its end is an event that comes later.
        const auto ask = [&] {
            if (unasked || workspace.waiting().empty())
                return;
            unasked = workspace.waiting().front();
            workspace.runAnalysis("skipless");
            running << workspace.analysisJob()->title();
            workspace.runAnalysis("conditioning");
            running << workspace.analysisJob()->title();
            waiting.assign(workspace.waiting().begin(), workspace.waiting().end());
        };
        connect(workspace.analysisJob(), &Job::started, this, ask, Qt::QueuedConnection);
        workspace.openModel({HEADWISE_DEMO_MODEL, {}, {}});
        QTRY_VERIFY_WITH_TIMEOUT(unasked, 60000);
        for (const QString& title : running)
            QVERIFY2(title.startsWith(QStringLiteral("Skipless merges")), qPrintable(title));
        QVERIFY(waiting.size() > 2);
        QCOMPARE(waiting[0], findAnalysis("conditioning"));
        QVERIFY(waiting[1] != unasked && waiting[2] == unasked); // what was under way begins again
        QTRY_VERIFY_WITH_TIMEOUT(workspace.waiting().empty() && !workspace.analysisJob()->isRunning()
                                     && !workspace.tokensJob()->isRunning(),
                                 60000);
        QVERIFY(workspace.inputsOf("skipless") && workspace.inputsOf("conditioning"));
        QVERIFY(workspace.inputsOf(waiting[1]->id) && workspace.inputsOf(unasked->id));
    }

    void aJobThatGoesAwayLeavesTheList()
    {
        Workspace workspace;
        JobsPage page(&workspace);
        page.show();
        const auto stopped = std::make_shared<std::atomic<bool>>(false);
        {
            Job job;
            startEndless(job, QStringLiteral("Short-lived"), stopped);
            QTRY_VERIFY(shows(page, QStringLiteral("Short-lived")));
        }
        QVERIFY(JobBoard::instance().running().isEmpty());
        QTRY_VERIFY(!shows(page, QStringLiteral("Short-lived")));
    }
};

QTEST_MAIN(JobsPageTest)
#include "jobs_page_test.moc"
