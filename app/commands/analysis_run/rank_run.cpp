#include "app/commands/analysis_run/rank_run.h"

#include "app/commands/support.h"
#include "core/base/parallel.h"

#include <spdlog/fmt/fmt.h>

#include <cstdlib>

namespace headwise::app {
namespace {

constexpr int cancelledCode = 130;

/// Ends a process whose run was stopped; the first one says so.
Result<int> endedEarly(const Ranks& ranks)
{
    if (ranks.rank() > 0)
        return cancelledCode;
    return Error{
        ErrorCode::Cancelled,
        fmt::format(
            "This run of {} processes ended early: it was stopped, or one of them was. The same command resumes from the parts so far (the output's name with .rank-….partial).",
            ranks.size())};
}

/// Waits for the other processes after a step. \returns the end of this process if it failed in one of them
std::optional<Result<int>> endAfter(const Ranks& ranks, const Result<Done>& step, const Task& task)
{
    if (!step && step.error().code == ErrorCode::Cancelled)
        return endedEarly(ranks);
    const auto common = ranks.meet(step ? 0 : exitCode(step.error().code), task);
    if (!common)
        return endedEarly(ranks);
    if (common->rank < 0)
        return std::nullopt;
    ranks.leave();
    if (common->rank == ranks.rank())
        return Result<int>(step.error());
    return Result<int>(common->code);
}

/// Ends all processes, because this one cannot go on and the others would compute to their end.
int endAll(const Ranks& ranks, const Error& error)
{
    printError(fmt::format("Process {} of {}: {} The same command resumes from the parts so far.",
                           ranks.rank() + 1, ranks.size(), error.message));
    ranks.abort(exitCode(error.code));
    return exitCode(error.code);
}

Result<int> takeSteps(const Ranks& ranks, RankPart& part, const Task& task)
{
    Task own = task;
    if (own.threads == 0)
        own.threads = ranks.threads();
    const ThreadLimit limit(own.threads);
    if (ranks.rank() > 0) {
        own.onProgress = {};
        silenceWarnings();
    }
    if (const auto end = endAfter(ranks, part.prepare(own), own))
        return *end;
    if (const auto computed = part.compute(own); !computed) {
        if (computed.error().code == ErrorCode::Cancelled)
            return endedEarly(ranks);
        return endAll(ranks, computed.error());
    }
    if (const auto end = endAfter(ranks, Done{}, own))
        return *end;
    const Result<Done> joined = ranks.rank() == 0 ? part.join(own) : Result<Done>(Done{});
    if (const auto end = endAfter(ranks, joined, own))
        return *end;
    ranks.leave();
    return 0;
}

} // namespace

std::optional<Launch> launchHere()
{
    return launchOf([](const char* name) { return static_cast<const char*>(std::getenv(name)); });
}

Result<int> runInRanks(const Launch& launch,
                       const std::function<std::unique_ptr<RankPart>(const Ranks&)>& makePart,
                       const Task& task)
{
    const auto ranks = Ranks::join(launch, moduleFolders());
    if (!ranks && launch.rank > 0)
        return exitCode(ranks.error().code); // the first process has the error
    if (!ranks)
        return ranks.error();
    return takeSteps(**ranks, *makePart(**ranks), task);
}

} // namespace headwise::app
