#include "app/commands/commands.h"
#include "app/commands/support.h"
#include "app/window/window.h"
#include "core/base/blas_kernels.h"
#include "core/base/memory.h"

#include <csignal>
#include <fcntl.h>
#include <iostream>
#include <unistd.h>

namespace {

/// Occupies closed standard streams. Otherwise the next opened file gets the number of standard output, and everything
/// printed goes into it.
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
    using namespace headwise::app;
    headwise::restartWithFasterKernels(argv);
    headwise::limitMemoryPools();
    occupyStandardStreams();
    std::signal(SIGXFSZ,
                // a write past a file size limit then fails with a message instead of ending the program
                SIG_IGN);
    const auto request = windowRequest(argc, argv);
    if (!request)
        return runCommandLine(argc, argv);
    if (!*request) {
        printError(request->error().message);
        return exitCode(request->error().code);
    }
    if (const auto code = runElsewhere(**request))
        return *code;
    if (HEADWISE_GUI && !hasDisplay()) {
        std::cerr << "headwise: no display; see headwise --help\n";
        return 4;
    }
    if (const auto log = startLog((*request)->logLevel); !log) {
        printError(log.error().message);
        return exitCode(log.error().code);
    }
    return runWindow(argc, argv, **request);
}
