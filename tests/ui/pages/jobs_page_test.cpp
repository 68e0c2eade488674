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
