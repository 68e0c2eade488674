#include "app/commands/commands.h"
#include "app/window.h"

#include <iostream>

int main(int argc, char** argv)
{
    const auto toOpen = headwise::app::windowRequest(argc, argv);
    if (!toOpen)
        return headwise::app::runCommandLine(argc, argv);
    if (!headwise::app::hasDisplay()) {
        std::cerr << "headwise: no display; see headwise --help\n";
        return 4;
    }
    return headwise::app::runWindow(argc, argv, *toOpen);
}
