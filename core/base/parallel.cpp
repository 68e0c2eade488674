#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <optional>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#ifdef HEADWISE_PARALLEL_STD
#include <thread>
#include <vector>
#else
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

extern "C" void openblas_set_num_threads(int);
// OpenBLAS exports this function but declares it in no header. It is weak: another BLAS has no idle threads to end.
extern "C" __attribute__((weak)) int blas_thread_shutdown_(); // NOLINT(readability-identifier-naming)

namespace headwise {

namespace {

// Runs before main, so that OpenBLAS never splits a product by itself. Its threads, one per further core, would only be idle.
[[maybe_unused]] const bool blasIsSerial = [] {
    openblas_set_num_threads(1);
    if (blas_thread_shutdown_)
        blas_thread_shutdown_();
    return true;
}();

#ifdef __GLIBC__
// Keeps freed memory for the worker, which soon needs it again. Otherwise the kernel clears every temporary of some MB
// anew, a third of the time in analyses with many of them. Temporaries above this size still go back at once.
constexpr int keptBytes = 32 * 1024 * 1024;
[[maybe_unused]] const bool temporariesAreKept =
    mallopt(M_MMAP_THRESHOLD, keptBytes) == 1 && mallopt(M_TRIM_THRESHOLD, keptBytes) == 1;
#endif

#ifdef HEADWISE_PARALLEL_STD
std::atomic<int> threadLimit = 0; // 0: none
#endif

int threadCount(const Task& task)
{
#ifdef HEADWISE_PARALLEL_STD
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    const int wanted = task.threads > 0 ? task.threads : cores;
    const int limit = threadLimit;
    return limit > 0 ? std::min(wanted, limit) : wanted;
#else
    const int cores =
        tbb::info::default_concurrency(); // otherwise TBB warns on stderr that it ignores further ones
    return task.threads > 0 ? std::min(task.threads, cores) : cores;
#endif
}

/// The progress count that all workers share.
class Progress {
public:
    Progress(int count, const Task& task, std::string_view step)
        : m_count(count)
        , m_task(task)
        , m_step(step)
    {
    }

    void runOne(const std::function<Result<Done>(int)>& body, int index)
    {
        if (m_failed || m_task.cancelled())
            return;
        std::optional<Error> error;
        try {
            const Result<Done> result = body(index);
            if (!result)
                error = result.error();
        } catch (const std::bad_alloc&) {
            error = Error{ErrorCode::OutOfMemory, "There is not enough memory for this operation."};
        }
        const std::lock_guard lock(m_mutex);
        if (error && !m_error) {
            m_error = std::move(error);
            m_failed = true;
        } else if (!error) {
            m_task.report(++m_done, m_count, m_step);
        }
    }

    Result<Done> result() const
    {
        if (m_error)
            return *m_error;
        if (m_done < m_count)
            return stopped();
        return Done{};
    }

private:
    int m_count;
    const Task& m_task;
    std::string_view m_step;
    std::mutex m_mutex;
    std::atomic<bool> m_failed = false;
    std::optional<Error> m_error;
    int m_done = 0;
};

} // namespace

#ifdef HEADWISE_PARALLEL_STD

struct ThreadLimit::Control {
    ~Control() { threadLimit = 0; }
};

ThreadLimit::ThreadLimit(int threads)
    : m_control(new Control)
{
    threadLimit = threads;
}

Result<Done> parallelFor(int count, const Task& task, std::string_view step,
                         const std::function<Result<Done>(int)>& body)
{
    Progress progress(count, task, step);
    std::atomic<int> next = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < std::min(count, threadCount(task)); ++i) {
            threads.emplace_back([&] {
                for (int index = next++; index < count; index = next++)
                    progress.runOne(body, index);
            });
        }
    }
    return progress.result();
}

#else

struct ThreadLimit::Control {
    tbb::global_control control;
};

ThreadLimit::ThreadLimit(int threads)
{
    if (threads > 0 && threads < tbb::info::default_concurrency())
        m_control.reset(new Control{tbb::global_control(tbb::global_control::max_allowed_parallelism,
                                                        static_cast<std::size_t>(threads))});
}

Result<Done> parallelFor(int count, const Task& task, std::string_view step,
                         const std::function<Result<Done>(int)>& body)
{
    Progress progress(count, task, step);
    tbb::task_arena arena(threadCount(task));
    arena.execute([&] { tbb::parallel_for(0, count, [&](int index) { progress.runOne(body, index); }); });
    return progress.result();
}

#endif

ThreadLimit::~ThreadLimit() = default;

} // namespace headwise
