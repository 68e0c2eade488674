#pragma once

#include "core/analysis/catalogue.h"
#include "core/analysis/tokens/relation_questions.h"

#include <vector>

namespace headwise {

/// One pair of a relation in one head.
struct RelationPair {
    int source = 0, target = 0; ///< Tokens.
    int rank = 0;       ///< Number of other outputs promoted at least as much as the target; 0: first.
    bool isHit = false; ///< Whether the target is among the k most promoted.
    double value = 0;   ///< Entry (source, target) of E W_V W_O W_U.

    bool operator==(const RelationPair&) const = default;
};

/// Returns the first `count` single-token pairs of a relation, with the ranks of their targets in a head.
/// Ties count against the target, as in the analysis "relations".
/// \param relation index into the relations of `context`, by default the built-in ones
/// Errors: InvalidArgument for a missing relation or head; Cancelled.
/// Cost: 2 V d flops a pair.
Result<std::vector<RelationPair>> relationPairs(const AnalysisContext& context, std::size_t relation,
                                                HeadId head, std::size_t count, const Task& task);

/// Returns one relation as tokens of the model, with the pairs that are left out and the reasons.
/// Errors: InvalidArgument for a missing relation.
Result<AskedRelation> askedRelation(const AnalysisContext& context, std::size_t relation);

} // namespace headwise
