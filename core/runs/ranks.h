#pragma once

#include "core/base/task.h"
#include "core/runs/mpi_module.h"
#include "core/runs/shard.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// The start of this process as one of several, read from its environment.
struct Launch {
    std::string program; ///< "mpirun"
    int rank = 0;        ///< From 0.
    int size = 1;

    bool operator==(const Launch&) const = default;
};

/// Returns the value of an environment variable; null if it is not set.
using Variables = std::function<const char*(const char* name)>;

/// Tells whether mpirun, mpiexec or srun started this process together with others. A Slurm batch script counts as alone, however
/// many tasks its job has.
std::optional<Launch> launchOf(const Variables& variables);

/// Result of a step that all processes of a run took.
struct CommonStep {
    int rank = -1; ///< First process in which it failed; -1: none.
    int code = 0;  ///< Its code.
};

/// This process among the others of a run (MPI). One thread at a time.
class Ranks {
public:
    /// Loads the module and joins the other processes.
    /// \param folders  of the module, in order
    /// Errors: InvalidArgument if there is no module, or MPI sees other processes than the launch says.
    static Result<std::unique_ptr<Ranks>> join(const Launch& launch,
                                               const std::vector<std::filesystem::path>& folders);

    int rank() const { return m_place.rank; }
    int size() const { return m_place.size; }
    int localSize() const { return m_place.localSize; } ///< Processes on this machine.
    Shard shard() const { return {m_place.rank + 1, m_place.size}; }
    int threads() const; ///< This process's share of the cores of its machine, at least 1.

    /// Waits until every process has taken a step. \param code 0: it was good here; at most 255
    /// Errors: Cancelled.
    Result<CommonStep> meet(int code, const Task& task) const;
    /// Adds up the numbers of all processes in place. \param numbers as many in each process
    /// Errors: Cancelled.
    Result<Done> sum(std::span<double> numbers, const Task& task) const;
    void leave() const;         ///< Waits for the others. The last call.
    void abort(int code) const; ///< Ends all processes, this one too.

private:
    struct Functions {
        MpiBegin begin = nullptr;
        MpiOffer offer = nullptr;
        MpiLargest largest = nullptr;
        MpiAdd add = nullptr;
        MpiSums sums = nullptr;
        MpiEnd end = nullptr;
        MpiAbort abort = nullptr;
    };
    explicit Ranks(const Functions& functions)
        : m_functions(functions)
    {
    }
    /// Waits until `isThere` returns true. Errors: Cancelled.
    static Result<Done> waitFor(const std::function<bool()>& isThere, const Task& task);
    static Functions functionsOf(const std::vector<std::filesystem::path>& folders);

    Functions m_functions;
    MpiPlace m_place{0, 1, 1, 1};
};

/// Folders that may hold the module: that of the program, and lib/headwise beside the program's folder.
std::vector<std::filesystem::path> moduleFolders();

/// "SESSION.h5.rank-2-of-4", the session of one process; its side file is where the others find it.
std::filesystem::path rankSession(const std::filesystem::path& session, const Shard& shard);

/// Removes the side files of all processes beside `session`, also those of earlier runs of more or fewer processes.
void removeRankFiles(const std::filesystem::path& session);

} // namespace headwise
