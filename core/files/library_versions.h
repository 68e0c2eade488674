#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headwise {

/// Returns name and version of the numerical libraries on this machine, with the kernel OpenBLAS chose.
std::vector<std::pair<std::string, std::string>> libraryVersions();

} // namespace headwise
