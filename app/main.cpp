#include "app/commands/commands.h"
#include "app/window.h"

#include <csignal>
#include <iostream>

int main(int argc, char** argv)
{
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
