#include "core/runs/shard.h"

#include "core/analysis/selected_heads.h"
#include "core/base/fingerprint.h"
#include "core/runs/estimate.h"
#include "core/runs/plan.h"
#include "core/runs/resume.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace headwise {

namespace {

constexpr int leastGroups = 8; // of a shard: with fewer, one group more would be much more work

/// Reads a whole number that fills `text`; 0 if it is none.
int wholeNumber(std::string_view text)
{
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    return read.ec == std::errc() && read.ptr == end ? number : 0;
}

/// Returns, for each of `whole`, the shard that runs it, from 1.
std::vector<int> shardsOf(const std::vector<const Analysis*>& whole, int count, const ModelConfig& config,
                          const AnalysisOptions& options)
{
    std::vector<double> work;
    for (const Analysis* analysis : whole)
        work.push_back(runCost(*analysis, config, options).work());
    std::vector<std::size_t> longestFirst(whole.size());
    for (std::size_t i = 0; i < longestFirst.size(); ++i)
        longestFirst[i] = i;
    std::stable_sort(longestFirst.begin(), longestFirst.end(),
                     [&](std::size_t a, std::size_t b) { return work[a] > work[b]; });
    std::vector<double> loads(static_cast<std::size_t>(count), 0.0);
    std::vector<int> shards(whole.size(), 1);
    for (const std::size_t i : longestFirst) {
        const auto least = std::min_element(loads.begin(), loads.end());
        *least += work[i];
        shards[i] = static_cast<int>(least - loads.begin()) + 1;
    }
    return shards;
}

} // namespace

Result<Shard> parseShard(std::string_view text)
{
    const std::size_t slash = text.find('/');
    Shard shard{0, 0};
    if (slash != std::string_view::npos)
        shard = {wholeNumber(text.substr(0, slash)), wholeNumber(text.substr(slash + 1))};
    if (shard.index >= 1 && shard.index <= shard.count && shard.count <= mostShards)
        return shard;
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("'{}' is not a shard; write i/n with 1 ≤ i ≤ n ≤ {}, as in 2/8.", text, mostShards)};
}

std::string shardName(const Shard& shard)
{
    return fmt::format("{}/{}", shard.index, shard.count);
}

std::vector<HeadId> headsOfShard(const Shard& shard, const ModelConfig& config,
                                 const AnalysisOptions& options)
{
    const std::vector<HeadId> all = selectedHeads(config, options);
    const int perGroup = config.nHeads / std::max(1, config.nKvHeads);
    const auto isNext = [&](std::size_t i, int size) { // the first head of another group of so many
        return i > 0
            && std::pair(all[i].layer, all[i].head / size)
            != std::pair(all[i - 1].layer, all[i - 1].head / size);
    };
    int groups = 1;
    for (std::size_t i = 0; i < all.size(); ++i)
        groups += isNext(i, perGroup) ? 1 : 0;
    const int dealt = groups >= leastGroups * shard.count ? perGroup : 1;
    std::vector<HeadId> heads;
    int group = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        group += isNext(i, dealt) ? 1 : 0;
        if (group % shard.count == shard.index - 1)
            heads.push_back(all[i]);
    }
    return heads;
}

std::vector<const Analysis*> analysesOfShard(const Shard& shard, std::span<const Analysis* const> chosen,
                                             const ModelConfig& config, const AnalysisOptions& options)
{
    const auto isWhole = [&](const Analysis* analysis) {
        return !analysis->isSplit && whyLeftOut(*analysis, config, options).empty();
    };
    std::vector<const Analysis*> whole;
    std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(whole), isWhole);
    const std::vector<int> shards = shardsOf(whole, shard.count, config, options);
    const bool hasHeads = !headsOfShard(shard, config, options).empty();
    std::vector<const Analysis*> own;
    std::size_t next = 0; // in `whole`, which has the order of `chosen`
    for (const Analysis* analysis : chosen) {
        const bool isOwn = isWhole(analysis) ? shards[next++] == shard.index
            : analysis->isSplit              ? hasHeads || !whyLeftOut(*analysis, config, options).empty()
                                             : true;
        if (isOwn)
            own.push_back(analysis);
    }
    return own;
}

std::string runDigest(std::span<const Analysis* const> chosen, const AnalysisOptions& options)
{
    std::string text = optionsText(options);
    for (const Analysis* analysis : chosen)
        text.append("\n").append(analysis->id);
    return fmt::format("{:016x}", Fingerprint(text).value());
}

} // namespace headwise
