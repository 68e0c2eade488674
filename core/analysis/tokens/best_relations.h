#pragma once

#include "core/analysis/selected_heads.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headwise {

/// Returns how many tokens have a larger number than `token`. \param unused true: a token that is not counted; empty: none
double rankInLine(const RowVector<double>& line, int token, const std::vector<bool>& unused);

/// Contracts of "analyses/token_card/relation_rank" and "…/relation".
std::vector<ArraySpec> bestRelationArrays();

/// The pair (token, target) whose target ranks highest, over all relations, for one token and every head.
class BestRelations {
public:
    /// Collects the pairs of the token. There are none without a tokenizer.
    BestRelations(const AnalysisContext& context, int token);

    /// Ranks the targets of one head. Threads: several at once, one head each. \param line [V] the token's row of full OV
    void put(HeadId head, const RowVector<double>& line, const std::vector<bool>& unused);
    /// Puts the arrays of bestRelationArrays(). Puts nothing if the token is not the source of any pair.
    void putInto(Results& results) const;

private:
    const AnalysisContext& m_context;
    std::vector<std::string> m_names;                    // of all relations, indexed by `relation`
    std::vector<std::pair<std::int32_t, int>> m_targets; // relation, token
    RealNumbers m_rank;
    WholeNumbers m_relation;
};

} // namespace headwise
