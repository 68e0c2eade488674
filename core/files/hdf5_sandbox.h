#pragma once

#include <cstddef>

namespace headwise::hdf5 {

/// Limits of the process that reads one file, before it looks at the first byte: memory, processor time, no files, no
/// processes, no core dump.
/// \param fileBytes size of the file, which is mapped
void limitResources(std::size_t fileBytes);

/// Leaves the calling process nothing but memory and the descriptors it already has: any other call to the system fails.
/// Without effect on kernels and processors that do not offer it; the limits hold everywhere.
void forbidSystemCalls();

} // namespace headwise::hdf5
