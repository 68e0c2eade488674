#pragma once

#include <filesystem>

namespace headwise::bench {

/// Runs five sets of analyses and compares their processor time with what `headwise plan` says, at the speed that sgemm has
/// in this process at that time. Prints a row each.
/// \returns an exit code: 1 if one of them is off by more than 30 %
int checkPlan(const std::filesystem::path& folder);

/// Measures analyses of random models over a decade of layers, heads, d_model and vocabulary each. Prints the fitted exponent of
/// the processor time beside that of the flops.
/// \returns an exit code: 1 if one of them grows faster than its flops
int checkScaling();

} // namespace headwise::bench
