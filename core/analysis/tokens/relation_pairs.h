#pragma once

#include "core/analysis/catalogue.h"

#include <vector>

namespace headwise {

/// One pair of a relation in one head.
struct RelationPair {
    int source = 0, target = 0; ///< Tokens.
    int rank = 0;       ///< How many outputs are raised at least as much as the target: 0 is the first.
    bool isHit = false; ///< Whether the target is among the k raised most.
    double value = 0;   ///< Entry (source, target) of E W_V W_O W_U.

    bool operator==(const RelationPair&) const = default;
};

/// The first `count` pairs of single tokens of a relation and where their targets stand in a head; ties against the target, as in
/// the analysis "relations".
/// \param relation index into the relations that `context` asks for, else the built-in ones
/// Errors: InvalidArgument for a relation or head that is not there; Cancelled.
/// Cost: 2 V d flops a pair.
Result<std::vector<RelationPair>> relationPairs(const AnalysisContext& context, std::size_t relation,
                                                HeadId head, std::size_t count, const Task& task);

} // namespace headwise
