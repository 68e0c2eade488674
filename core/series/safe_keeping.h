#pragma once

// Private to core/series.

#include "core/series/series_record.h"
#include "core/session/partial_run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

namespace headwise {

/// Keeps the numbers so far in the side file, as often as a tenth of the time allows.
class SafeKeeping {
public:
    explicit SafeKeeping(const std::filesystem::path& output)
        : m_file(PartialRun::sideFile(output))
        , m_next(Clock::now() + leastPause)
    {
    }

    void keep(const SeriesRecord& record, const Task& task)
    {
        const auto begin = Clock::now();
        if (begin < m_next)
            return;
        keepNow(record, Task{task.stop, {}, task.threads});
        const auto end = Clock::now();
        m_next = end + std::max<Clock::duration>(leastPause, leastShareOfWork * (end - begin));
    }
    /// A failure costs no more than the resumption; the writing of the whole file reports it.
    void keepNow(const SeriesRecord& record, const Task& task = {}) const
    {
        if (!record.entries.empty())
            static_cast<void>(writeSeriesRecord(m_file, record, task));
    }
    void remove() const
    {
        std::error_code code;
        std::filesystem::remove(m_file, code);
    }
    const std::filesystem::path& file() const { return m_file; }

private:
    static constexpr auto leastPause = std::chrono::seconds(2); // between two writings of the numbers so far
    static constexpr int leastShareOfWork = 10;                 // times the last writing

    using Clock = std::chrono::steady_clock;
    std::filesystem::path m_file;
    Clock::time_point m_next;
};

} // namespace headwise
