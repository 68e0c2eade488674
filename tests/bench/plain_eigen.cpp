// Eigen's own product, without BLAS and without -march=native: what the portable program would have without OpenBLAS.

#include <Eigen/Core>

#include <algorithm>
#include <chrono>
#include <cstdio>

int main()
{
    constexpr Eigen::Index n = 1024;
    const Eigen::MatrixXf a = Eigen::MatrixXf::Random(n, n);
    const Eigen::MatrixXf b = Eigen::MatrixXf::Random(n, n);
    Eigen::MatrixXf c(n, n);
    double best = 0;
    for (int i = 0; i < 5; ++i) {
        const auto start = std::chrono::steady_clock::now();
        c.noalias() = a * b;
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        best = std::max(best, 2.0 * n * n * n / seconds);
    }
    std::printf("plain Eigen, one thread: %.1f GFLOP/s (checksum %g)\n", best * 1e-9, double(c.sum()));
    return 0;
}
