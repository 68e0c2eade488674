#pragma once

#include "core/runs/ranks.h"

#include <functional>
#include <optional>

namespace headwise::app {

/// Returns how mpirun or srun started this process; nothing if it is alone.
std::optional<Launch> launchHere();

/// Steps of each process of a run that mpirun or srun started. Every process waits for the others between two of them.
struct RankSteps {
    std::function<Result<Done>(const Task&)> prepare; ///< Checks everything that can be wrong.
    std::function<Result<Done>(const Task&)> compute; ///< Leaves the part of this process in a file.
    std::function<Result<Done>(const Task&)> join;    ///< Joins the parts; in the first process alone.
};

/// Takes the steps. Only the first process shows progress and warnings; without --threads, the processes of a machine share its cores.
/// \returns the exit code: 0, or that of the first process that failed, which alone has the error
Result<int> runInRanks(const Ranks& ranks, const RankSteps& steps, const Task& task);

/// Joins the other processes. Only one of them has the error; the others end with its exit code.
/// \returns null with \p code set
Result<std::unique_ptr<Ranks>> joinRanks(const Launch& launch, int& code);

} // namespace headwise::app
