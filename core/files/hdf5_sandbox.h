#pragma once

#include <cstddef>

namespace headwise::hdf5 {

/// Limits the process before it looks at the first byte of its file: memory, processor time, no other files, no
/// processes, no core dump.
/// \param fileBytes size of the file, which is mapped
void limitResources(std::size_t fileBytes);

/// Leaves the calling process only memory and the descriptors it already has: every other system call fails. Has no
/// effect on kernels and processors without support; limitResources() works everywhere.
void forbidSystemCalls();

} // namespace headwise::hdf5
