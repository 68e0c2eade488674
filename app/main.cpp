#include "app/commands/commands.h"
#include "app/window.h"

#include <csignal>
#include <fcntl.h>
#include <iostream>
#include <unistd.h>

namespace {

/// A file that is opened while standard output is closed would get its number, and with it everything that is printed.
void occupyStandardStreams()
{
    int file = open("/dev/null", O_RDWR);
    while (file >= 0 && file <= STDERR_FILENO)
        file = open("/dev/null", O_RDWR);
    if (file > STDERR_FILENO)
        close(file);
}

} // namespace

int main(int argc, char** argv)
{
    occupyStandardStreams();
    std::signal(SIGXFSZ,
                SIG_IGN); // past a quota of file sizes, writing fails and says so instead of ending here
    const auto toOpen = headwise::app::windowRequest(argc, argv);
    if (!toOpen)
        return headwise::app::runCommandLine(argc, argv);
    if (!headwise::app::hasDisplay()) {
        std::cerr << "headwise: no display; see headwise --help\n";
        return 4;
    }
    return headwise::app::runWindow(argc, argv, *toOpen);
}
