#pragma once

#include <string>
#include <vector>

namespace headwise {

/// The processor as the system describes it.
struct Processor {
    std::string name; ///< Empty if the system does not tell.
    std::vector<std::string>
        units; ///< Instruction sets that matter for products: "AVX2", "AVX-512", "AMX", …

    bool operator==(const Processor&) const = default;
};

/// Reads name and instruction sets of the first processor. \param file of Linux, the place of the description
Processor processorHere(const std::string& file = "/proc/cpuinfo");

} // namespace headwise
