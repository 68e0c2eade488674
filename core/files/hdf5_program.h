#pragma once

#include <span>

namespace headwise::hdf5 {

/// Returns the program that reads HDF5 files (hdf5_child.cpp), which the linker embeds into this one.
std::span<const char> childProgram();

} // namespace headwise::hdf5
