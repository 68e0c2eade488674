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

} // namespace headwise
