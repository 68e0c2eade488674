#include "app/window.h"

#include <iostream>

namespace headwise::app {

int runWindow(int& /*argc*/, char** /*argv*/, const std::filesystem::path& /*toOpen*/)
{
    std::cerr
        << "headwise: This headwise was built without the window; see headwise --help for what it can do.\n";
    return 4;
}

} // namespace headwise::app
