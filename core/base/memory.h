#pragma once

#include <optional>
#include <string>

namespace headwise {

/// Files in which Linux reports free memory and limits.
struct MemoryFiles {
    std::string system = "/proc/meminfo";      ///< "MemAvailable: … kB"
    std::string process = "/proc/self/status"; ///< "VmSize: … kB"
    std::string groups = "/proc/self/cgroup";  ///< Control groups of the process: "0::/path".
    std::string groupRoot = "/sys/fs/cgroup";  ///< Folder of all control groups, of either version.
};

/// Returns the bytes that this process can still allocate before the system ends it or another process: the system's
/// "available", capped by the limits on its address space and by what its control groups have left (Slurm, containers).
/// Nothing if the system does not tell.
std::optional<double> availableMemory(const MemoryFiles& files = {});

/// Returns the bytes of address space left under the limit of the process (RLIMIT_AS, ulimit -v); infinite without a limit.
/// Mapped files take address space too.
double addressSpaceLeft(const MemoryFiles& files = {});

/// Makes all threads share two memory pools. By default the C library gives each thread a pool that keeps what was freed,
/// 10 MB a thread with the demo. Call it before any thread starts.
void limitMemoryPools();

/// Returns freed memory to the system: tens of megabytes after a model is closed.
void returnFreedMemory();

} // namespace headwise
