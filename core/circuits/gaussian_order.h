#pragma once

namespace headwise {

// What independent Gaussian numbers would show where a largest one is looked for: the null of everything that is ranked.

/// Φ⁻¹(1 − upper): the number that a standard Gaussian one exceeds with probability `upper`, in (0, 1).
double upperQuantile(double upper);

/// Where the largest (rank 0), second largest (1) … of n independent standard Gaussian numbers lies:
/// Φ⁻¹(1 − (rank + ½)/n), the median of the largest to within a few per cent.
double expectedPlace(double rank, double n);

} // namespace headwise
