#include "ui/widgets/job_bar.h"

#include "tests/support/program.h"

#include "ui/base/job.h"

#include <QLabel>
#include <QProgressBar>
#include <QTest>
#include <QToolButton>
#include <QVBoxLayout>

#include <atomic>
#include <thread>

using namespace headwise;
using namespace headwise::ui;

namespace {

class PaintCount : public QObject {
public:
    int count = 0;

    bool eventFilter(QObject* watched, QEvent* event) override
    {
        count += event->type() == QEvent::Paint ? 1 : 0;
        return QObject::eventFilter(watched, event);
    }
};

} // namespace

class JobBarTest : public QObject {
    Q_OBJECT

private slots:
    void isThereWhileTheJobRunsAndGoneAfterwards()
    {
        QWidget window;
        Job job;
        JobBar bar(&job, &window);
        window.show();
        QVERIFY(!bar.isVisible());
        std::atomic<bool> go = false;
        job.start(
            QStringLiteral("Counting heads"),
            [&go](const Task& task) -> Result<int> {
                task.report(37, 144, "heads");
                while (!go)
                    std::this_thread::yield();
                return 1;
            },
            [](const Result<int>&) {});
        QVERIFY(bar.isVisible());
        QCOMPARE(bar.findChildren<QLabel*>().first()->text(), QStringLiteral("Counting heads"));
        QTRY_COMPARE(bar.findChild<QProgressBar*>()->value(), 256);
        go = true;
        QTRY_VERIFY(!bar.isVisible());
    }

    void aJobDoesNotMoveThePage()
    {
        QWidget window;
        Job job;
        auto* bar = new JobBar(&job, &window);
        auto* below = new QLabel(QStringLiteral("below"), &window);
        auto* layout = new QVBoxLayout(&window);
        layout->addWidget(bar);
        layout->addWidget(below, 1);
        window.resize(400, 300);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        const QRect before = below->geometry();
        std::atomic<bool> go = false;
        job.start(
            QStringLiteral("Counting heads"),
            [&go](const Task&) -> Result<int> {
                while (!go)
                    std::this_thread::yield();
                return 1;
            },
            [](const Result<int>&) {});
        QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
        const QRect during = below->geometry();
        const bool isShown = bar->isVisible() && bar->height() > 8;
        go = true;
        QTRY_VERIFY(!bar->isVisible());
        QVERIFY(isShown);
        QCOMPARE(during, before);
        QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
        QCOMPARE(below->geometry(), before);
    }

    void progressIsPaintedWithTheRestOfTheWindow()
    {
        QWidget window;
        Job job;
        JobBar bar(&job, &window);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        emit job.started(QStringLiteral("Counting heads"));
        auto* progress = bar.findChild<QProgressBar*>();
        QTRY_VERIFY(progress->isVisible());
        QCoreApplication::processEvents();
        PaintCount paints;
        progress->installEventFilter(&paints);
        emit job.progressed(500, QStringLiteral("72 of 144 heads"));
        QCOMPARE(progress->value(), 500);
        QCOMPARE(paints.count, 0);
        QTRY_VERIFY(paints.count > 0);
        emit job.finished();
    }

    void itsButtonCancelsTheJob()
    {
        QWidget window;
        Job job;
        JobBar bar(&job, &window);
        window.show();
        bool answered = false;
        job.start(
            QStringLiteral("Waiting"),
            [](const Task& task) -> Result<int> {
                while (!task.cancelled())
                    std::this_thread::yield();
                return stopped();
            },
            [&answered](const Result<int>&) { answered = true; });
        QVERIFY(job.isRunning());
        QTest::mouseClick(bar.findChild<QToolButton*>(), Qt::LeftButton);
        QVERIFY(!job.isRunning());
        QVERIFY(!bar.isVisible());
        QVERIFY(!answered);
    }
};

HEADWISE_TEST(JobBarTest)
#include "job_bar_test.moc"
