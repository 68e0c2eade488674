#pragma once

#include <span>

namespace headwise::hdf5 {

/// The program that reads HDF5 files (hdf5_child.cpp), as the linker put it into this one.
std::span<const char> childProgram();

} // namespace headwise::hdf5
