#include "app/screenshot.h"

#include "app/commands/support.h"
#include "app/window/main_window.h"
#include "ui/base/job.h"

#include <QCoreApplication>
#include <QPixmap>

#include <chrono>

namespace headwise::app {

namespace {
using namespace std::chrono_literals;
constexpr auto interval = 100ms;
constexpr int quietEnough = 5;
constexpr int mostLooks = 3000; // five minutes
} // namespace

Screenshot::Screenshot(MainWindow* window, const QString& file)
    : QObject(window)
    , m_window(window)
    , m_file(file)
{
    connect(window->workspace()->opener(), &ui::Opener::openFailed, this, [](const QString& message) {
        printError(message.toStdString());
        QCoreApplication::exit(exitCode(ErrorCode::NotFound));
    });
    for (const auto question : {&ui::Opener::configMissing, &ui::Opener::tensorsUnknown})
        connect(window->workspace()->opener(), question, this,
                [](const ModelSource&, const QStringList&, const QString& message) {
                    printError(message.toStdString());
                    QCoreApplication::exit(exitCode(ErrorCode::NotFound));
                });
    connect(&m_timer, &QTimer::timeout, this, &Screenshot::look);
    m_timer.start(interval);
}

void Screenshot::look()
{
    m_quiet = ui::waitForJobs(0ms) ? m_quiet + 1 : 0;
    if (m_quiet < quietEnough && ++m_looks < mostLooks)
        return;
    m_timer.stop();
    if (!m_window->grab().save(m_file)) {
        printError("'" + m_file.toStdString()
                   + "' could not be written as a picture; name a .png file in an existing folder.");
        return QCoreApplication::exit(exitCode(ErrorCode::Io));
    }
    QCoreApplication::exit(0);
}

} // namespace headwise::app
