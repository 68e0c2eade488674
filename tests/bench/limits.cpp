#include "tests/bench/limits.h"

#include "core/base/matrix.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace headwise::bench {
namespace {

constexpr int repetitions = 3;

int cores()
{
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

template <typename Body>
double secondsOf(int count, Body body)
{
    const auto start = std::chrono::steady_clock::now();
    (void)parallelFor(count, Task{}, "limit", [&](int i) -> Result<Done> {
        body(i);
        return Done{};
    });
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <typename Scalar>
double productRate()
{
    constexpr Eigen::Index n = 1024;
    constexpr int perCore = 6;
    const Matrix<Scalar> a = Matrix<Scalar>::Random(n, n);
    const Matrix<Scalar> b = Matrix<Scalar>::Random(n, n);
    std::vector<Matrix<Scalar>> out(static_cast<std::size_t>(cores()), Matrix<Scalar>(n, n));
    double best = 0;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        const double seconds = secondsOf(cores(), [&](int core) {
            for (int i = 0; i < perCore; ++i)
                out[static_cast<std::size_t>(core)].noalias() = a * b;
        });
        best = std::max(best, 2.0 * n * n * n * perCore * cores() / seconds);
    }
    return best;
}

double readRate()
{
    constexpr Eigen::Index count = 32 * 1024 * 1024; // 128 MiB a core: beyond every cache
    std::vector<Eigen::VectorXf> data(static_cast<std::size_t>(cores()), Eigen::VectorXf::Ones(count));
    std::vector<float> sums(data.size());
    double best = 0;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        const double seconds = secondsOf(cores(), [&](int core) {
            sums[static_cast<std::size_t>(core)] += data[static_cast<std::size_t>(core)].sum();
        });
        best = std::max(best, 4.0 * count * cores() / seconds);
    }
    return sums[0] > 0 ? best : 0;
}

} // namespace

Limits measureLimits()
{
    return {productRate<float>(), productRate<double>(), readRate()};
}

} // namespace headwise::bench
