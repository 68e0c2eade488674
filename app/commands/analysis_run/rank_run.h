#pragma once

#include "core/runs/ranks.h"

#include <functional>
#include <memory>
#include <optional>

namespace headwise::app {

/// Returns how mpirun or srun started this process; nothing if it is alone.
std::optional<Launch> launchHere();

/// The part of one process in a run that mpirun or srun started. Every process waits for the others between two steps.
class RankPart {
public:
    virtual ~RankPart() = default;
    virtual Result<Done> prepare(const Task& task) = 0;    ///< Checks everything that can be wrong.
    virtual Result<Done> compute(const Task& task) = 0;    ///< Leaves the part of this process in a file.
    virtual Result<Done> join(const Task& task) const = 0; ///< Joins the parts; in the first process alone.
};

/// Joins the other processes and takes the steps of the part that `makePart` returns. Only the first process shows progress and
/// warnings; without --threads, the processes of a machine share its cores.
/// \returns the exit code: 0, or that of the first process that failed, which alone has the error
Result<int> runInRanks(const Launch& launch,
                       const std::function<std::unique_ptr<RankPart>(const Ranks&)>& makePart,
                       const Task& task);

} // namespace headwise::app
