#pragma once

#include "core/analysis/catalogue.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// One of the processes that share a run.
struct Shard {
    int index = 1; ///< From 1.
    int count = 1;

    bool operator==(const Shard&) const = default;
};

inline constexpr int mostShards = 10'000;

/// Reads "2/8". Errors: InvalidArgument, unless 1 ≤ i ≤ n ≤ mostShards.
Result<Shard> parseShard(std::string_view text);
/// "2/8"
std::string shardName(const Shard& shard);

/// Returns the heads of a shard: every n-th of the selected heads, so that early and late layers are shared evenly. May be empty. Heads
/// that share keys and values stay together, and every n-th group is dealt, where each shard gets at least eight.
std::vector<HeadId> headsOfShard(const Shard& shard, const ModelConfig& config,
                                 const AnalysisOptions& options);

/// Returns the analyses of a shard, in the order of `chosen`: every split analysis (Analysis::isSplit) if the shard has heads, and
/// those of the others that fall to it. The longest of these goes first, each to the shard with the least to do. Analyses that
/// cannot run are in every shard, so that each says why.
std::vector<const Analysis*> analysesOfShard(const Shard& shard, std::span<const Analysis* const> chosen,
                                             const ModelConfig& config, const AnalysisOptions& options);

/// A digest of everything the parts of one run have in common besides the model: the analyses and the options, in 16 hex digits.
std::string runDigest(std::span<const Analysis* const> chosen, const AnalysisOptions& options);

} // namespace headwise
