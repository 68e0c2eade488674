#include "core/checkpoint/tensor_statistics.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise {
namespace {

constexpr std::int64_t tensorStatisticsBlockNumbers = 1 << 18; // in one thread's turn
constexpr std::int64_t tensorStatisticsChunkNumbers = 1
    << 13; // decoded at once: 64 KiB, which fit into the second-level cache

/// Counts and moments of a part of the numbers.
struct Moments {
    std::int64_t nanCount = 0, infinityCount = 0, zeroCount = 0, finiteCount = 0;
    double minimum = std::numeric_limits<double>::infinity();
    double maximum = -std::numeric_limits<double>::infinity();
    double mean = 0;
    double squares = 0; ///< Σ (x − mean)²

    void join(const Moments& other)
    {
        nanCount += other.nanCount;
        infinityCount += other.infinityCount;
        zeroCount += other.zeroCount;
        if (other.finiteCount == 0)
            return;
        const auto mine = static_cast<double>(finiteCount), theirs = static_cast<double>(other.finiteCount);
        const double apart = other.mean - mean, part = theirs / (mine + theirs);
        mean += apart * part;
        squares += other.squares + apart * apart * part * mine;
        finiteCount += other.finiteCount;
        minimum = std::min(minimum, other.minimum);
        maximum = std::max(maximum, other.maximum);
    }
};

Moments momentsOf(const double* numbers, std::int64_t count)
{
    Moments m;
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const double x = numbers[i];
        const bool isNan = x != x, isFinite = x - x == 0;
        m.nanCount += isNan ? 1 : 0;
        m.finiteCount += isFinite ? 1 : 0;
        m.zeroCount += x == 0 ? 1 : 0;
        m.minimum = std::min(m.minimum, isFinite ? x : m.minimum);
        m.maximum = std::max(m.maximum, isFinite ? x : m.maximum);
        sum += isFinite ? x : 0;
    }
    m.infinityCount = count - m.nanCount - m.finiteCount;
    if (m.finiteCount == 0)
        return m;
    m.mean = sum / static_cast<double>(m.finiteCount);
    for (std::int64_t i = 0; i < count; ++i) {
        const double x = numbers[i];
        const double apart = x - x == 0 ? x - m.mean : 0;
        m.squares += apart * apart;
    }
    return m;
}

/// Finds the bin of a finite number within the limits.
class Binning {
public:
    Binning(double low, double high, int bins)
        : m_last(bins - 1)
        // A range too wide for a double is computed in halves, any other range as it is.
        , m_unit(std::isfinite(high - low) ? 1 : 0.5)
        , m_low(low * m_unit)
        , m_range(high * m_unit - m_low)
    {
    }

    std::size_t operator()(double x) const
    {
        const double place = (x * m_unit - m_low) / m_range * (m_last + 1);
        return static_cast<std::size_t>(std::clamp(place, 0.0, m_last));
    }

private:
    double m_last, m_unit, m_low, m_range;
};

/// One tensor that is read block by block.
class Reading {
public:
    Reading(const WeightMap& file, int tensor, const Task& task)
        : m_file(file)
        , m_tensor(tensor)
        , m_task(task)
        , m_count(elementCount(file.tensors()[static_cast<std::size_t>(tensor)]))
    {
    }

    std::int64_t count() const { return m_count; }

    /// Adds up `of(numbers, count)` over the blocks, chunk by chunk, joined by `T::join` in the order of the file.
    template <typename T, typename Of>
    Result<T> joined(const T& empty, const Of& of) const
    {
        // A limited number of blocks at a time, so that the size of a tensor does not matter.
        constexpr std::int64_t together = 1024;
        T all = empty;
        const std::int64_t blocks =
            (m_count + tensorStatisticsBlockNumbers - 1) / tensorStatisticsBlockNumbers;
        for (std::int64_t begin = 0; begin < blocks; begin += together) {
            const int some = static_cast<int>(std::min(together, blocks - begin));
            std::vector<T> parts(static_cast<std::size_t>(some), empty);
            const auto readOne = [&](int i) -> Result<Done> {
                readBlock(begin + i, parts[static_cast<std::size_t>(i)], of);
                return Done{};
            };
            Task inner = m_task;
            inner.onProgress = [&](int done, int, std::string_view) {
                report((begin + done) * tensorStatisticsBlockNumbers);
            };
            if (const Result<Done> read = parallelFor(some, inner, "blocks", readOne); !read)
                return read.error();
            for (const T& part : parts)
                all.join(part);
        }
        return all;
    }

    /// Called with the count of numbers read so far.
    std::function<void(std::int64_t)> onProgress;

private:
    template <typename T, typename Of>
    void readBlock(std::int64_t block, T& part, const Of& of) const
    {
        const std::int64_t first = block * tensorStatisticsBlockNumbers,
                           end = std::min(m_count, first + tensorStatisticsBlockNumbers);
        std::vector<double> numbers(
            static_cast<std::size_t>(std::min(tensorStatisticsChunkNumbers, end - first)));
        for (std::int64_t at = first; at < end; at += tensorStatisticsChunkNumbers) {
            const std::int64_t some = std::min(tensorStatisticsChunkNumbers, end - at);
            m_file.readNumbers(m_tensor, at, some, numbers.data());
            part.join(of(numbers.data(), some));
        }
    }

    void report(std::int64_t done) const
    {
        if (onProgress)
            onProgress(std::min(done, m_count));
    }

    const WeightMap& m_file;
    int m_tensor;
    const Task& m_task;
    std::int64_t m_count;
};

struct Counts {
    std::vector<std::int64_t> bins;

    void join(const Counts& other)
    {
        for (std::size_t i = 0; i < bins.size(); ++i)
            bins[i] += other.bins[i];
    }
};

Result<Histogram> histogramOf(const Reading& reading, double low, double high, int bins)
{
    Histogram histogram{low, high, {}};
    if (low == high) {
        histogram.low = low - 0.5;
        histogram.high = low + 0.5;
        if (histogram.low == low || histogram.high == low) {
            histogram.low = std::min(low, std::nextafter(low, 0));
            histogram.high = std::max(low, std::nextafter(low, 0));
        }
    }
    const Binning bin(histogram.low, histogram.high, bins);
    const Counts empty{std::vector<std::int64_t>(static_cast<std::size_t>(bins))};
    Result<Counts> counts = reading.joined(empty, [&](const double* numbers, std::int64_t count) {
        Counts some = empty;
        for (std::int64_t i = 0; i < count; ++i)
            if (std::isfinite(numbers[i]))
                ++some.bins[bin(numbers[i])];
        return some;
    });
    if (!counts)
        return counts.error();
    histogram.counts = (*std::move(counts)).bins;
    return histogram;
}

Result<std::optional<TensorStatistics>> statisticsOf(const WeightMap& file, int tensor, int bins,
                                                     Reading& reading,
                                                     const std::function<void(std::int64_t)>& report)
{
    if (!file.holdsNumbers(tensor))
        return std::optional<TensorStatistics>();
    reading.onProgress = report;
    const Result<Moments> all = reading.joined(Moments(), momentsOf);
    if (!all)
        return all.error();
    TensorStatistics found{.count = reading.count(),
                           .nanCount = all->nanCount,
                           .infinityCount = all->infinityCount,
                           .zeroCount = all->zeroCount,
                           .minimum = all->minimum,
                           .maximum = all->maximum,
                           .mean = all->mean,
                           .deviation = 0,
                           .histogram = {}};
    if (all->finiteCount == 0) {
        found.minimum = found.maximum = found.mean = found.deviation =
            std::numeric_limits<double>::quiet_NaN();
        return std::optional(found);
    }
    found.deviation = std::sqrt(all->squares / static_cast<double>(all->finiteCount));
    if (bins > 0) {
        reading.onProgress = [&](std::int64_t done) { report(reading.count() + done); };
        Result<Histogram> histogram = histogramOf(reading, found.minimum, found.maximum, bins);
        if (!histogram)
            return histogram.error();
        found.histogram = *std::move(histogram);
    }
    return std::optional(std::move(found));
}

} // namespace

Result<Done>
tensorStatistics(const WeightMap& file, const std::vector<int>& tensors, int bins,
                 const std::function<void(int tensor, const std::optional<TensorStatistics>&)>& take,
                 const Task& task)
{
    constexpr double megabyte = 1e6;
    const auto bytesOf = [&](int tensor) {
        return static_cast<double>(file.tensors()[static_cast<std::size_t>(tensor)].byteCount);
    };
    const double readings = bins > 0 ? 2 : 1;
    double total = 0, before = 0;
    for (const int tensor : tensors)
        total += bytesOf(tensor);
    const int end = static_cast<int>(std::ceil(total / megabyte));
    for (const int tensor : tensors) {
        if (task.cancelled())
            return stopped();
        Reading reading(file, tensor, task);
        const double share = bytesOf(tensor) / std::max(1.0, readings * static_cast<double>(reading.count()));
        const Result<std::optional<TensorStatistics>> found =
            statisticsOf(file, tensor, bins, reading, [&](std::int64_t done) {
                task.report(static_cast<int>((before + static_cast<double>(done) * share) / megabyte), end,
                            "MB");
            });
        if (!found)
            return found.error();
        if (!file.isIntact(tensor))
            return Error{ErrorCode::Io,
                         "File '" + file.fileOf(tensor).string()
                             + "' was shortened while it was read; open it again."};
        take(tensor, *found);
        before += bytesOf(tensor);
    }
    task.report(end, end, "MB");
    return Done{};
}

Result<std::optional<TensorStatistics>> tensorStatistics(const WeightMap& file, int tensor, int bins,
                                                         const Task& task)
{
    std::optional<TensorStatistics> found;
    const Result<Done> done = tensorStatistics(
        file, std::vector{tensor}, bins,
        [&](int, const std::optional<TensorStatistics>& statistics) { found = statistics; }, task);
    if (!done)
        return done.error();
    return found;
}

} // namespace headwise
