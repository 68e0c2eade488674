#pragma once

#include "core/base/result.h"

#include <functional>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>

namespace headwise {

/// The processes that share one operation, each of which calls it with the same arguments.
struct Peers {
    int index = 0; ///< The place of this process, from 0.
    int count = 1;
    /// Adds up the numbers of all processes in place, the same result in each. Waits for the others.
    /// Errors: Cancelled.
    std::function<Result<Done>(std::span<double>)> sum;
};

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
    /// Null: this process is alone. Only sums over the vocabulary follow it (`tokenSide`).
    const Peers* peers = nullptr;

    bool cancelled() const { return stop.stop_requested(); }
    void report(int done, int total, std::string_view step) const
    {
        if (onProgress)
            onProgress(done, total, step);
    }

    /// The blocks [first, second) of `count` that this process computes.
    std::pair<int, int> ownBlocks(int count) const
    {
        const auto bound = [&](int index) {
            return static_cast<int>(static_cast<long>(count) * index / peers->count);
        };
        return peers ? std::pair(bound(peers->index), bound(peers->index + 1)) : std::pair(0, count);
    }
    /// Adds up what each process computed of its blocks, in place. Errors: Cancelled.
    Result<Done> sumOverPeers(std::span<double> numbers) const
    {
        return peers ? peers->sum(numbers) : Done{};
    }
};

/// The value to return from a task that noticed `cancelled()`.
inline Error stopped()
{
    return {ErrorCode::Cancelled, "The operation was cancelled."};
}

} // namespace headwise
