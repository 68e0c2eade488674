#include "app/window/window.h"

#include <iostream>

namespace headwise::app {

std::optional<int> runElsewhere(const WindowRequest& /*request*/)
{
    return std::nullopt;
}

int runWindow(int& /*argc*/, char** /*argv*/, const WindowRequest& /*request*/)
{
    std::cerr << "headwise: this program was built without the window; headwise --help lists its commands.\n";
    return 4;
}

} // namespace headwise::app
