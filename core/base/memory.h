#pragma once

#include <optional>

namespace headwise {

/// Bytes that this process can still take without another process, or itself, being ended for it: what the system calls
/// available, at most what its limits (address space, the memory of its group) leave. Nothing where the system does not say.
std::optional<double> availableMemory();

} // namespace headwise
