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
    using namespace headwise::app;
    headwise::restartWithFasterKernels(argv);
    headwise::limitMemoryPools();
    occupyStandardStreams();
    std::signal(SIGXFSZ,
                SIG_IGN); // past a quota of file sizes, writing fails and says so instead of ending here
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
