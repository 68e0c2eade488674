#include "core/runs/ranks.h"
#include "core/series/series_changes.h"
#include "core/series/series_record.h"
#include "core/series/series_run.h"
#include "core/session/partial_run.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <optional>

namespace headwise {
namespace {

Error refused(const std::string& name, const std::string& why)
{
    return {ErrorCode::InvalidArgument, "'" + name + "' " + why};
}

/// The parts of a run, joined one by one.
class SeriesMerge {
public:
    Result<Done> add(SeriesRecord part, const std::string& name)
    {
        if (!part.frame.part)
            return refused(name, "is a whole series, not a part of a sharded run.");
        const Shard shard = part.frame.part->shard;
        if (const auto [same, isNew] = m_names.emplace(shard.index, name); !isNew)
            return refused(name, fmt::format("is part {}, and so is '{}'.", shardName(shard), same->second));
        if (!m_whole) {
            m_whole = std::move(part);
            return Done{};
        }
        const Session& frame = m_whole->frame;
        if (part.question != m_whole->question || part.frame.part->run != frame.part->run
            || shard.count != frame.part->shard.count || part.frame.model != frame.model
            || part.frame.processing != frame.processing)
            return refused(name, "is a part of another run: of other members, analyses or options.");
        for (SeriesEntry& entry : part.entries)
            m_whole->entries.push_back(std::move(entry));
        m_whole->frame.created = std::min(frame.created, part.frame.created);
        for (const std::string& sentence : part.frame.warnings)
            if (std::ranges::find(m_whole->frame.warnings, sentence) == m_whole->frame.warnings.end())
                m_whole->frame.warnings.push_back(sentence);
        return Done{};
    }

    Result<SeriesRecord> finish()
    {
        if (!m_whole)
            return Error{ErrorCode::InvalidArgument, "There is no part to join."};
        const int count = m_whole->frame.part->shard.count;
        for (int index = 1; index <= count; ++index)
            if (!m_names.contains(index))
                return Error{ErrorCode::InvalidArgument,
                             fmt::format("Part {} is missing; {} of {} are there.", shardName({index, count}),
                                         m_names.size(), count)};
        std::ranges::sort(m_whole->entries, {}, &SeriesEntry::step);
        const auto twice = std::ranges::adjacent_find(m_whole->entries, {}, &SeriesEntry::step);
        if (twice != m_whole->entries.end())
            return Error{ErrorCode::InvalidArgument, fmt::format("Two parts have step {}.", twice->step)};
        m_whole->frame.part.reset();
        if (const auto good = checkAnyGood(*m_whole); !good)
            return good.error();
        m_whole->changes = changesOf(*m_whole);
        return *std::move(m_whole);
    }

private:
    std::optional<SeriesRecord> m_whole;
    std::map<int, std::string> m_names; // by index: the parts so far
};

Result<SeriesRecord> mergedRecord(std::span<const std::string> parts, const Task& task)
{
    SeriesMerge merge;
    for (const std::string& name : parts) {
        Result<SeriesRecord> part = readSeriesRecord(name, task);
        if (!part)
            return part.error();
        if (const auto added = merge.add(std::move(part).value(), name); !added)
            return added.error();
    }
    return merge.finish();
}

} // namespace

Result<Series> mergeSeries(std::span<const std::string> parts, const std::filesystem::path& output,
                           const Task& task)
{
    Result<SeriesRecord> whole = mergedRecord(parts, task);
    if (!whole)
        return whole.error();
    if (const auto written = writeSeriesRecord(output, *whole, task); !written)
        return written.error();
    return seriesOf(std::move(whole).value());
}

Result<Series> joinSeries(const SeriesRequest& request, const Task& task)
{
    std::vector<std::string> parts;
    for (Shard shard{1, request.shard->count}; shard.index <= shard.count; ++shard.index)
        parts.push_back(PartialRun::sideFile(rankSession(request.output, shard)).string());
    Result<SeriesRecord> whole = mergedRecord(parts, task);
    if (!whole)
        return whole.error();
    std::ranges::for_each(whole->frame.warnings, request.say);
    for (const SeriesEntry& entry : whole->entries)
        if (!entry.problem.empty())
            request.say(skippedSentence(entry));
    if (const auto written = writeSeriesRecord(request.output, *whole, task); !written)
        return written.error();
    removeRankFiles(request.output);
    return seriesOf(std::move(whole).value());
}

} // namespace headwise
