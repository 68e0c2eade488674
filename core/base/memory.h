#pragma once

#include <optional>
#include <string>

namespace headwise {

/// Files in which Linux reports free memory and limits.
struct MemoryFiles {
    std::string system = "/proc/meminfo";            ///< "MemAvailable: … kB"
    std::string process = "/proc/self/status";       ///< "VmSize: … kB"
    std::string group = "/sys/fs/cgroup/memory.max"; ///< Bytes, or "max".
};

/// Returns the bytes that this process can still allocate before the system ends it or another process: the system's
/// "available", capped by the limits on its address space and on its control group. Nothing if the system does not tell.
std::optional<double> availableMemory(const MemoryFiles& files = {});

/// Makes all threads share two memory pools. By default the C library gives each thread a pool that keeps what was freed,
/// 10 MB a thread with the demo. Call it before any thread starts.
void limitMemoryPools();

/// Returns freed memory to the system: tens of megabytes after a model is closed.
void returnFreedMemory();

} // namespace headwise
