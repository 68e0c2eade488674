#pragma once

namespace headwise::bench {

/// Performance of this machine at this moment, the reference of every figure.
struct Limits {
    double sgemm = 0;     ///< flop/s in float32, every core with its own single-threaded OpenBLAS
    double dgemm = 0;     ///< flop/s in float64
    double bandwidth = 0; ///< bytes/s read by all cores together
};

/// The best of several runs of about 0.2 s each.
Limits measureLimits();

} // namespace headwise::bench
