#pragma once

#include "core/analysis/per_head.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headwise {

/// Returns how many tokens have a larger number than `token`. \param unused true: a token that is not counted; empty: none
double rankInLine(const RowVector<double>& line, int token, const std::vector<bool>& unused);

/// The pair (token, target) whose target ranks highest, over all relations, for one token and every head.
class BestRelations {
public:
    /// Collects the pairs of the token. There are none without a tokenizer.
    BestRelations(const AnalysisContext& context, int token);

    /// Ranks the targets of one head. Threads: several at once, one head each. \param line [V] the token's row of full OV
    void put(HeadId head, const RowVector<double>& line, const std::vector<bool>& unused);
    /// Adds "analyses/token_card/relation_rank" and "…/relation". Adds nothing if the token is not the source of any pair.
    void addTo(ResultSet& results) const;

private:
    const AnalysisContext& m_context;
    std::vector<std::string> m_names;                    // of all relations, indexed by `relation`
    std::vector<std::pair<std::int32_t, int>> m_targets; // relation, token
    PerHead m_rank;
    std::vector<std::int32_t> m_relation; // [n_layers, n_heads], −1
};

} // namespace headwise
