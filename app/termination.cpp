#include "app/termination.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace headwise::app {

namespace {

int terminationPipe = -1;

extern "C" void writeTermination(int signal)
{
    const int before = errno;
    const auto byte = static_cast<unsigned char>(signal);
    [[maybe_unused]] const ssize_t written = ::write(terminationPipe, &byte, 1);
    // The next signal ends the program at once.
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGHUP, SIG_DFL);
    errno = before;
}

} // namespace

Termination::Termination(QObject* parent)
    : QObject(parent)
    , m_notifier(QSocketNotifier::Read)
{
    if (::pipe2(m_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return; // signals keep their default action
    terminationPipe = m_pipe[1];
    connect(&m_notifier, &QSocketNotifier::activated, this, [this] {
        unsigned char signal = 0;
        if (::read(m_pipe[0], &signal, 1) == 1)
            emit asked(signal);
    });
    m_notifier.setSocket(m_pipe[0]);
    m_notifier.setEnabled(true);
    std::signal(SIGTERM, writeTermination);
    struct sigaction hangUp { };
    if (::sigaction(SIGHUP, nullptr, &hangUp) == 0 && hangUp.sa_handler != SIG_IGN) // ignored, as under nohup
        std::signal(SIGHUP, writeTermination);
}

Termination::~Termination()
{
    if (m_pipe[0] < 0)
        return;
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGHUP, SIG_DFL);
    m_notifier.setEnabled(false);
    terminationPipe = -1;
    ::close(m_pipe[0]);
    ::close(m_pipe[1]);
}

} // namespace headwise::app
