#pragma once

#include "core/base/result.h"

#include <functional>
#include <stop_token>
#include <string_view>

namespace headwise {

/// The caller's side of a long operation: it can cancel the operation and is told of its progress.
///
/// Passed by const reference as the last argument of every core function that can take longer than about 50 ms. Such a
/// function calls `cancelled()` at least that often and returns `stopped()` as soon as it is true. It calls `report()`
/// with `done` never decreasing and ending at `total`.
///
/// `Task{}` is never cancelled and reports to nobody; tests and command-line tools use it. Both functions may be called
/// from several worker threads at once if `onProgress` allows it.
struct Task {
    std::stop_token stop;
    /// (done, total, step). `step` is a short noun phrase, valid during the call only.
    std::function<void(int, int, std::string_view)> onProgress;
    int threads = 0; ///< At most this many at once; 0 means one per core.

    bool cancelled() const { return stop.stop_requested(); }
    void report(int done, int total, std::string_view step) const
    {
        if (onProgress)
            onProgress(done, total, step);
    }
};

/// The value to return from a task that noticed `cancelled()`.
inline Error stopped()
{
    return {ErrorCode::Cancelled, "The operation was cancelled."};
}

} // namespace headwise
