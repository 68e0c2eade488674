#include "app/commands/analysis_run/session_target.h"

#include "app/commands/support.h"
#include "core/session/session_addition.h"
#include "core/session/session_file.h"

#include <spdlog/fmt/fmt.h>

#include <filesystem>

namespace headwise::app {
namespace {

bool isThere(const std::string& output)
{
    std::error_code code;
    return std::filesystem::is_regular_file(output, code) && std::filesystem::file_size(output, code) > 0;
}

/// Returns `run` merged into the session file; unchanged if there is no file or with --replace.
/// Errors: InvalidArgument if the two do not belong together; those of readSession.
Result<Session> withStored(const SessionTarget& target, Session run, const Task& task)
{
    if (target.replace || !isThere(target.output))
        return run;
    Result<Session> stored = readSession(target.output, Task{task.stop, {}, task.threads});
    if (!stored) {
        if (stored.error().code == ErrorCode::Cancelled)
            return stored.error();
        return Error{stored.error().code, stored.error().message + " To overwrite it, pass --replace."};
    }
    const std::string why = stored->formatVersion > sessionFormatVersion
        ? "was written by a later version of Headwise"
        : whyNotAdded(*stored, run, target.precision);
    if (!why.empty())
        return Error{ErrorCode::InvalidArgument,
                     "Session '" + target.output + "' " + why
                         + "; name another output file, or pass --replace to start it over."};
    return added(std::move(stored).value(), std::move(run));
}

} // namespace

Result<Done> checkStored(const SessionTarget& target, Session run, const WeightMap& weights, const Task& task)
{
    const auto whole = withStored(target, std::move(run), task);
    if (!whole)
        return whole.error();
    if (const auto file = changedSince(*whole, weights); !file.empty())
        printWarnings({fmt::format(
            "{} is newer than the session '{}'; if its weights have changed, pass --replace to start the session over.",
            file.string(), target.output)});
    return Done{};
}

Result<Session> addedToFile(const SessionTarget& target, Session run, const Task& task)
{
    // Reads the session again, because notes may have been written during a long run.
    auto whole = withStored(target, std::move(run), task);
    if (!whole)
        return whole;
    if (const auto written = writeSession(target.output, *whole, task); !written)
        return written.error();
    return whole;
}

} // namespace headwise::app
