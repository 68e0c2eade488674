#include "core/base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

namespace headwise {

namespace {

using DistSink = spdlog::sinks::dist_sink_mt;

DistSink& sinks()
{
    static const auto dist = std::make_shared<DistSink>();
    return *dist;
}

class CallbackSink : public spdlog::sinks::base_sink<std::mutex> {
public:
    explicit CallbackSink(LogLine line)
        : m_line(std::move(line))
    {
    }

protected:
    void sink_it_(const spdlog::details::log_msg& message) override
    {
        spdlog::memory_buf_t text;
        formatter_->format(message, text);
        const auto level = spdlog::level::to_string_view(message.level);
        m_line({level.data(), level.size()}, {text.data(), text.size()});
    }
    void flush_() override { }

private:
    LogLine m_line;
};

/// Creates the folder if possible. A failure is reported by whoever writes into it.
std::filesystem::path privateFolder(const std::filesystem::path& folder)
{
    std::error_code code;
    std::filesystem::create_directories(folder.parent_path(), code);
    struct stat found { };
    if (::mkdir(folder.c_str(), S_IRWXU) != 0 && ::lstat(folder.c_str(), &found) == 0
        && S_ISDIR(found.st_mode) && found.st_uid == ::geteuid()
        && (found.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        ::chmod(folder.c_str(), S_IRWXU); // an earlier version created it readable for all
    return folder;
}

/// In /tmp anybody may have taken the name. Then the folder gets an unpredictable name, for this process alone.
std::filesystem::path folderWithoutHome()
{
    const std::filesystem::path known = "/tmp/headwise-" + std::to_string(::geteuid());
    struct stat found { };
    privateFolder(known);
    if (::lstat(known.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == ::geteuid())
        return known;
    static const std::string own = [] {
        std::string name = "/tmp/headwise-" + std::to_string(::getpid()) + "-XXXXXX";
        return ::mkdtemp(name.data()) ? name : std::string("/nonexistent/headwise");
    }();
    return own;
}

spdlog::logger& logger()
{
    static spdlog::logger& silent = []() -> spdlog::logger& {
        static spdlog::logger instance(
            "headwise", std::shared_ptr<spdlog::sinks::sink>(&sinks(), [](auto*) { /* owned by sinks() */ }));
        instance.set_error_handler([](const std::string&) { /* a full disk is no concern of stderr */ });
        return instance;
    }();
    return silent;
}

void writeLine(spdlog::level::level_enum level, std::string_view words)
{
    logger().log(level, spdlog::string_view_t(words.data(), words.size()));
}

} // namespace

void logInfo(std::string_view words)
{
    writeLine(spdlog::level::info, words);
}

void logWarning(std::string_view words)
{
    writeLine(spdlog::level::warn, words);
}

void logDebug(std::string_view words)
{
    writeLine(spdlog::level::debug, words);
}

void flushLog()
{
    logger().flush();
}

Result<Done> logToFile(const std::filesystem::path& file)
{
    std::error_code code;
    std::filesystem::create_directories(file.parent_path(), code);
    try {
        sinks().add_sink(std::make_shared<spdlog::sinks::rotating_file_sink_mt>(file.string(), 1 << 20, 3));
    } catch (const spdlog::spdlog_ex& e) {
        return Error{ErrorCode::Io, "Cannot write the log file '" + file.string() + "': " + e.what() + "."};
    }
    logger().flush_on(spdlog::level::info);
    return Done{};
}

void logTo(LogLine line)
{
    auto sink = std::make_shared<CallbackSink>(std::move(line));
    sink->set_pattern("%H:%M:%S  %v");
    sinks().add_sink(std::move(sink));
}

Result<Done> setLogLevel(std::string_view level)
{
    const auto value = spdlog::level::from_str(std::string(level));
    if (value == spdlog::level::off && level != "off") {
        return Error{ErrorCode::InvalidArgument,
                     "There is no log level '" + std::string(level)
                         + "'; use trace, debug, info, warning, error or off."};
    }
    logger().set_level(value);
    return Done{};
}

std::filesystem::path stateFolder()
{
    const char* state = std::getenv("XDG_STATE_HOME");
    const char* home = std::getenv("HOME");
    if (state && *state == '/')
        return privateFolder(std::filesystem::path(state) / "headwise");
    if (home && *home == '/')
        return privateFolder(std::filesystem::path(home) / ".local/state/headwise");
    return folderWithoutHome();
}

std::string_view versionText()
{
    return HEADWISE_VERSION;
}

} // namespace headwise
