#include "app/commands/progress.h"

#include <atomic>
#include <csignal>
#include <iostream>

#include <semaphore.h>
#include <unistd.h>

namespace headwise::app {
namespace {

// A signal handler may do little more than post this; the watcher's thread does the rest.
sem_t signalled;
std::atomic<bool> alreadySignalled = false;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void onSignal(int)
{
    if (alreadySignalled.exchange(true))
        _exit(130);
    sem_post(&signalled);
}

} // namespace

ProgressLine::ProgressLine(Mode mode)
    : m_mode(mode)
{
}

ProgressLine::~ProgressLine()
{
    if (m_mode == Mode::Terminal && m_shown)
        std::cerr << "\r\x1b[K" << std::flush;
}

void ProgressLine::report(int done, int total, std::string_view step)
{
    if (m_mode == Mode::Silent)
        return;
    const std::scoped_lock lock(m_mutex);
    const auto now = std::chrono::steady_clock::now();
    if (m_shown && done < total && now - m_last < std::chrono::milliseconds(40))
        return;
    m_last = now;
    m_shown = true;
    const std::string text = std::to_string(done) + " of " + std::to_string(total) + " " + std::string(step);
    std::cerr << (m_mode == Mode::Terminal ? "\r\x1b[K" + text : text + "\n") << std::flush;
}

Interruption::Interruption()
{
    sem_init(&signalled, 0, 0);
    alreadySignalled = false;
    m_watcher = std::thread([this] {
        while (sem_wait(&signalled) != 0) { } // interrupted by the signal itself
        m_stop.request_stop();
    });
    struct sigaction action = {};
    action.sa_handler = onSignal;
    action.sa_flags = SA_RESTART;
    for (const int signal : {SIGINT, SIGTERM})
        sigaction(signal, &action, nullptr);
}

Interruption::~Interruption()
{
    for (const int signal : {SIGINT, SIGTERM})
        std::signal(signal, SIG_DFL);
    sem_post(&signalled);
    m_watcher.join();
    sem_destroy(&signalled);
}

} // namespace headwise::app
