#include "app/window.h"

#include "app/main_window.h"
#include "core/base/log.h"
#include "ui/job.h"
#include "ui/text.h"

#include <QApplication>

#include <cstdlib>

namespace headwise::app {

int runWindow(int& argc, char** argv, const std::filesystem::path& toOpen)
{
    QCoreApplication::setApplicationName(QStringLiteral("headwise"));
    QCoreApplication::setOrganizationName(QStringLiteral("headwise"));
    QCoreApplication::setApplicationVersion(ui::text(versionText()));
    QGuiApplication::setApplicationDisplayName(QStringLiteral("Headwise"));
    QGuiApplication::setDesktopFileName(QStringLiteral("org.headwise.Headwise"));
    int code = 0;
    {
        QApplication application(argc, argv);
        ui::applyTheme(application, readSettings().theme);
        MainWindow window;
        window.show();
        if (!toOpen.empty())
            window.openPath(ui::text(toOpen.string()));
        code = QApplication::exec();
    }
    // What cannot be interrupted may still run; there is nobody left to hear its answer.
    if (!ui::waitForJobs(std::chrono::seconds(2)))
        std::_Exit(code);
    return code;
}

} // namespace headwise::app
