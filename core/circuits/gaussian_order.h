#pragma once

namespace headwise {

// Order statistics of independent Gaussian numbers: the null for everything that is ranked.

/// Φ⁻¹(1 − upper): the value that a standard Gaussian number exceeds with probability `upper`, in (0, 1).
double upperQuantile(double upper);

/// Expected position of the largest (rank 0), second largest (1) … of n independent standard Gaussian numbers: Φ⁻¹(1 −
/// (rank + ½)/n), the median of the largest to within a few per cent.
double expectedPlace(double rank, double n);

} // namespace headwise
