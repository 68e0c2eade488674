#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headwise {

/// The libraries the numbers come from, as they are on this machine: name and version, with the kernel OpenBLAS chose.
std::vector<std::pair<std::string, std::string>> libraryVersions();

} // namespace headwise
