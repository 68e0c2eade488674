#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace headwise::app {

class TerminalText;

/// Shows "37 of 144 heads" on stderr, at most 25 times a second. On a terminal it rewrites one line, which makes room for any other
/// text of the command; elsewhere it prints one line each. Its functions may be called from any thread.
class ProgressLine {
public:
    enum class Mode { Silent, Terminal, Lines };

    explicit ProgressLine(Mode mode);
    ~ProgressLine(); ///< Clears the terminal's line.
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    bool isOnTerminal() const { return m_mode == Mode::Terminal; }
    void report(int done, int total, std::string_view step);
    /// Shows a bar for a whole run, on a terminal only: "[######      ]  42 %  2 min left  Singular values, norms and rank measures".
    /// \param fraction 0 to 1  \param timeLeft "2 min left"; may be empty
    void showRun(double fraction, std::string_view timeLeft, std::string_view title);
    void clear(); ///< Clears the terminal's line until the next progress.

private:
    void draw(const std::string& text);
    bool isTooEarly(bool isImportant);

    std::mutex m_mutex;
    Mode m_mode;
    std::ostream m_terminal; // stderr without TerminalText
    std::chrono::steady_clock::time_point m_last;
    std::string m_title; // the last one of showRun
    bool m_begun = false, m_shown = false;
    std::unique_ptr<TerminalText> m_out, m_err;
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
