#pragma once

#include <chrono>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace headwise::app {

/// Shows "37 of 144 heads" on stderr, at most 25 times a second. On a terminal it rewrites one line, elsewhere it prints
/// one line each. `report` may be called from any thread.
class ProgressLine {
public:
    enum class Mode { Silent, Terminal, Lines };

    explicit ProgressLine(Mode mode);
    ~ProgressLine(); ///< Clears the terminal's line.
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void report(int done, int total, std::string_view step);

private:
    std::mutex m_mutex;
    Mode m_mode;
    std::chrono::steady_clock::time_point m_last;
    bool m_shown = false;
};

/// During its lifetime the first SIGINT or SIGTERM stops `token()`; a second one exits with 130 at once.
class Interruption {
public:
    Interruption();
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    std::stop_token token() const { return m_stop.get_token(); }

private:
    std::stop_source m_stop;
    std::thread m_watcher;
};

} // namespace headwise::app
