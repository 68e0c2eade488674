#pragma once

#include "core/base/task.h"

#include <functional>
#include <memory>
#include <string_view>

namespace headwise {

/// Runs `body(0) … body(count − 1)`, in any order, on at most `task.threads` threads (0: one per core), and reports
/// progress as "`step`".
///
/// This is the only place where core starts threads. Inside it OpenBLAS runs on one thread, which measured a quarter
/// faster than its own threading. `body` must not depend on the order or the number of threads.
/// Errors: the first error a body returned (the remaining bodies do not start); Cancelled.
Result<Done> parallelFor(int count, const Task& task, std::string_view step,
                         const std::function<Result<Done>(int)>& body);

/// Limits the threads of this process during its lifetime: all parallelFor together, also one inside another, whose limits would
/// otherwise multiply.
class ThreadLimit {
public:
    explicit ThreadLimit(int threads); ///< 0: no limit but the number of cores.
    ~ThreadLimit();
    ThreadLimit(const ThreadLimit&) = delete;
    ThreadLimit& operator=(const ThreadLimit&) = delete;

private:
    struct Control;
    std::unique_ptr<Control> m_control;
};

} // namespace headwise
