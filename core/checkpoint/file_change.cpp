#include "core/checkpoint/file_change.h"

namespace headwise {

Error changedWhileRead(const std::filesystem::path& file)
{
    return {ErrorCode::Io,
            file.string() + " changed while it was read; open it again once nothing writes to it."};
}

Result<Done> checkUnchanged(const WeightMap& weights)
{
    if (!weights.changes().empty()) { // all of one adapter, whose tensors are in one file
        const LowRankChange& change = weights.changes().begin()->second;
        if (!change.adapter->isIntact(change.a))
            return changedWhileRead(change.adapter->fileOf(change.a));
    }
    int seen = -1;
    for (int i = 0; i < static_cast<int>(weights.tensors().size()); ++i) {
        const int shard = weights.tensors()[static_cast<std::size_t>(i)].shard;
        if (shard == seen) // neighbours by name are mostly in one file
            continue;
        seen = shard;
        if (!weights.isIntact(i))
            return changedWhileRead(weights.fileOf(i));
    }
    return Done{};
}

} // namespace headwise
