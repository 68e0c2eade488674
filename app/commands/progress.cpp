#include "app/commands/progress.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iostream>

#include <semaphore.h>
#include <sys/ioctl.h>
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

constexpr const char* clearLine = "\r\x1b[K";
constexpr std::size_t barCells = 24;

/// Returns the width of the terminal on stderr, or the usual one.
std::size_t terminalColumns()
{
    winsize size = {};
    constexpr std::size_t usual = 80;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

/// Cuts UTF-8 text so that it does not fill the last of these columns; a wrapped line cannot be cleared.
std::string fitted(const std::string& text, std::size_t columns)
{
    std::size_t used = 0, end = 0;
    for (; end < text.size(); ++end) {
        const bool isFirstByte = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
        if (isFirstByte && ++used >= columns)
            break;
    }
    return text.substr(0, end);
}

} // namespace

/// Passes text on to a stream, after it has cleared the line of progress.
class TerminalText : public std::streambuf {
public:
    TerminalText(std::ostream& stream, ProgressLine& line)
        : m_stream(stream)
        , m_target(stream.rdbuf())
        , m_line(line)
    {
        m_stream.rdbuf(this);
    }
    ~TerminalText() override { m_stream.rdbuf(m_target); }
    TerminalText(const TerminalText&) = delete;
    TerminalText& operator=(const TerminalText&) = delete;

protected:
    int_type overflow(int_type c) override
    {
        if (traits_type::eq_int_type(c, traits_type::eof()))
            return traits_type::not_eof(c);
        m_line.clear();
        return m_target->sputc(traits_type::to_char_type(c));
    }
    std::streamsize xsputn(const char* text, std::streamsize count) override
    {
        m_line.clear();
        return m_target->sputn(text, count);
    }
    int sync() override { return m_target->pubsync(); }

private:
    std::ostream& m_stream;
    std::streambuf* m_target;
    ProgressLine& m_line;
};

ProgressLine::ProgressLine(Mode mode)
    : m_mode(mode)
    , m_terminal(std::cerr.rdbuf())
{
    if (m_mode != Mode::Terminal)
        return;
    m_err = std::make_unique<TerminalText>(std::cerr, *this);
    if (isatty(STDOUT_FILENO) == 1)
        m_out = std::make_unique<TerminalText>(std::cout, *this);
}

ProgressLine::~ProgressLine()
{
    clear();
}

void ProgressLine::clear()
{
    const std::scoped_lock lock(m_mutex);
    if (m_mode == Mode::Terminal && m_shown)
        m_terminal << clearLine << std::flush;
    m_shown = false;
}

/// Tells whether the last progress is under 40 ms ago, and otherwise takes this one for the last.
bool ProgressLine::isTooEarly(bool isImportant)
{
    const auto now = std::chrono::steady_clock::now();
    if (m_begun && !isImportant && now - m_last < std::chrono::milliseconds(40))
        return true;
    m_last = now;
    m_begun = true;
    return false;
}

void ProgressLine::draw(const std::string& text)
{
    m_shown = true;
    if (m_mode == Mode::Terminal)
        m_terminal << clearLine << fitted(text, terminalColumns()) << std::flush;
    else
        m_terminal << text << '\n' << std::flush;
}

void ProgressLine::report(int done, int total, std::string_view step)
{
    if (m_mode == Mode::Silent)
        return;
    const std::scoped_lock lock(m_mutex);
    if (!isTooEarly(done >= total))
        draw(std::to_string(done) + " of " + std::to_string(total) + " " + std::string(step));
}

void ProgressLine::showRun(double fraction, std::string_view timeLeft, std::string_view title)
{
    if (m_mode != Mode::Terminal)
        return;
    const std::scoped_lock lock(m_mutex);
    if (isTooEarly(title != m_title))
        return;
    m_title = title;
    fraction = std::clamp(fraction, 0.0, 1.0);
    const auto full = static_cast<std::size_t>(fraction * barCells);
    const std::string percent = std::to_string(static_cast<int>(100 * fraction));
    std::string text = "[" + std::string(full, '#') + std::string(barCells - full, '.') + "] "
        + std::string(percent.size() < 3 ? 3 - percent.size() : 0, ' ') + percent + " %  ";
    if (!timeLeft.empty())
        text += std::string(timeLeft) + "  ";
    draw(text + std::string(title));
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
