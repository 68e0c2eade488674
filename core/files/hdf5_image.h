#pragma once

#include "core/files/hdf5_handle.h"

#include <cstddef>
#include <span>

namespace headwise::hdf5 {

/// Opens a file that is in memory, for reading. A process has one at a time.
/// \param bytes must outlive the file
Handle openedImage(std::span<const std::byte> bytes);

} // namespace headwise::hdf5
