#include "tests/reliability/check.h"
#include "tests/reliability/job_sequences.h"

#include "app/window/main_window.h"
#include "ui/base/job.h"
#include "ui/base/theme.h"
#include "ui/widgets/job_bar.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QProcess>
#include <QTimer>

#include <cstdio>
#include <memory>
#include <random>

// Jobs as the program shows them, and windows that close in the middle of computations.

namespace headwise::reliability {

namespace {

constexpr int patience = 60'000;     // ms, on a loaded machine
constexpr qint64 mostToClose = 1000; // ms

/// Closes windows in processes of their own while they open the demo and run its analyses.
bool checkClosing(int count, unsigned seed)
{
    std::mt19937 random(seed);
    qint64 longest = 0;
    int running = 0;
    bool isGood = true;
    for (int i = 0; isGood && i < count; ++i) {
        QProcess child;
        child.setProcessChannelMode(QProcess::ForwardedErrorChannel);
        child.start(
            QCoreApplication::applicationFilePath(),
            {QStringLiteral("part"), QStringLiteral("close-midway"), QString::number(random() % 500)});
        while (!child.canReadLine() && child.waitForReadyRead(patience)) { }
        QElapsedTimer timer;
        timer.start();
        running += child.readLine().trimmed().toInt() > 0;
        isGood = child.waitForFinished(patience) && child.exitStatus() == QProcess::NormalExit
            && child.exitCode() == 0;
        longest = std::max(longest, timer.elapsed());
        isGood = isGood && longest <= mostToClose;
    }
    return report(isGood && running > 0, "windows closed while they open a model and analyse it", count,
                  std::to_string(running)
                      + " with a job under way; longest closing, to the end of the process, "
                      + std::to_string(longest) + " ms");
}

} // namespace

int closeMidway(int milliseconds)
{
    app::MainWindow window;
    window.show();
    window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
    QTimer::singleShot(milliseconds, &window, [&window] {
        std::printf("%d\n", static_cast<int>(ui::JobBoard::instance().running().size()));
        std::fflush(stdout);
        window.close();
    });
    return QApplication::exec();
}

bool checkJobs(int count, unsigned seed)
{
    const JobSurroundings surroundings{
        .show =
            [](ui::Job& job) {
                auto* bar = new ui::JobBar(&job);
                QObject::connect(&job, &QObject::destroyed, bar, [bar] { delete bar; });
                bar->setVisible(true);
            },
        .changeTheme =
            [](int theme) {
                ui::applyTheme(*qApp, theme % 2 == 0 ? ui::ThemeMode::Light : ui::ThemeMode::Dark);
            }};
    const bool isGood = checkJobSequences(count, seed, surroundings);
    return checkClosing(std::max(1, count / 200), seed) && isGood;
}

} // namespace headwise::reliability
