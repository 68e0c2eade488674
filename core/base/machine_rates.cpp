#include "core/base/machine_rates.h"

#include "core/base/blas_memory.h"
#include "core/base/matrix.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

namespace headwise {

namespace {

constexpr double usualSgemmRate = 1.2e11; // flop/s, where it cannot be measured

double secondsSince(std::chrono::steady_clock::time_point start)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double measuredSgemmRate()
{
    constexpr Eigen::Index n = 512;
    constexpr double budget = 0.025; // s
    constexpr int least = 3;
    if (!reserveBlasBuffers(1)) // OpenBLAS would wait for memory for ever
        return usualSgemmRate;
    const Matrix<float> a = Matrix<float>::Constant(n, n, 0.5F);
    const Matrix<float> b = Matrix<float>::Constant(n, n, 0.25F);
    Matrix<float> out = Matrix<float>::Zero(n, n);
    const auto begin = std::chrono::steady_clock::now();
    double best = 0;
    for (int i = 0; i < least || secondsSince(begin) < budget; ++i) {
        const auto start = std::chrono::steady_clock::now();
        out.noalias() = a * b;
        best = std::max(best, 2.0 * n * n * n / std::max(secondsSince(start), 1e-9));
    }
    return out(0, 0) > 0 ? best : usualSgemmRate;
}

} // namespace

double coreSgemmRate()
{
    static const double rate = [] {
        try {
            return measuredSgemmRate();
        } catch (const std::bad_alloc&) {
            return usualSgemmRate;
        }
    }();
    return rate;
}

double memoryReadRate(const Task& task)
{
    constexpr std::size_t mebibyte = std::size_t(1) << 20;
    constexpr int mostThreads = 16, repetitions = 3;
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    const int threads = std::min(task.threads > 0 ? std::min(task.threads, cores) : cores, mostThreads);
    const std::size_t bytes = std::max<std::size_t>(32, 128 / static_cast<std::size_t>(threads)) * mebibyte;
    const auto free = availableMemory();
    if (free && *free < 2.0 * static_cast<double>(bytes) * threads)
        return 0;
    try {
        std::vector<Eigen::VectorXf> data(
            static_cast<std::size_t>(threads),
            Eigen::VectorXf::Ones(static_cast<Eigen::Index>(bytes / sizeof(float))));
        std::vector<float> sums(data.size());
        double best = 0;
        for (int i = 0; i < repetitions; ++i) {
            const auto start = std::chrono::steady_clock::now();
            const auto done = parallelFor(threads, Task{task.stop, {}, threads}, "memory", [&](int core) {
                const auto at = static_cast<std::size_t>(core);
                sums[at] = data[at].sum();
                return Result<Done>(Done{});
            });
            if (!done)
                return 0;
            best = std::max(best, static_cast<double>(bytes) * threads / std::max(secondsSince(start), 1e-9));
        }
        return sums.front() > 0 ? best : 0;
    } catch (const std::bad_alloc&) {
        return 0;
    }
}

} // namespace headwise
