#include "app/commands/commands.h"

namespace headwise::app {

int runCommandLine(int /*argc*/, char** /*argv*/)
{
    return 2;
}

} // namespace headwise::app
