#pragma once

#include <optional>
#include <string>

namespace headwise {

/// Where Linux says what is free.
struct MemoryFiles {
    std::string system = "/proc/meminfo";            ///< "MemAvailable: … kB"
    std::string process = "/proc/self/status";       ///< "VmSize: … kB"
    std::string group = "/sys/fs/cgroup/memory.max"; ///< Bytes, or "max".
};

/// Bytes that this process can still take without another process, or itself, being ended for it: what the system calls
/// available, at most what its limits (address space, the memory of its group) leave. Nothing where the system does not say.
std::optional<double> availableMemory(const MemoryFiles& files = {});

/// Lets all threads take memory from two pools. The C library would give each thread its own, and keeps in each what was freed:
/// 10 MB a thread with the demo. Called before threads start.
void limitMemoryPools();

/// Gives the system what was freed and is kept for later: when a model is closed, tens of megabytes.
void returnFreedMemory();

} // namespace headwise
