#include "app/window/window.h"

#include <iostream>

namespace headwise::app {

std::optional<int> runElsewhere(const WindowRequest& /*request*/)
{
    return std::nullopt;
}

int runWindow(int& /*argc*/, char** /*argv*/, const WindowRequest& /*request*/)
{
    std::cerr
        << "headwise: This headwise was built without the window; see headwise --help for what it can do.\n";
    return 4;
}

} // namespace headwise::app
