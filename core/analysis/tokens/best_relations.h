#pragma once

#include "core/analysis/per_head.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headwise {

/// How many of the tokens that count have a larger number than `token`. \param unused true: does not count; empty: all do
double rankInLine(const RowVector<double>& line, int token, const std::vector<bool>& unused);

/// For one token and every head, the pair (token, target) of any relation whose target the head ranks highest.
class BestRelations {
public:
    /// No pairs without a tokenizer.
    BestRelations(const AnalysisContext& context, int token);

    /// \param line [V] the token's row of full OV; from several threads at once, a head each
    void put(HeadId head, const RowVector<double>& line, const std::vector<bool>& unused);
    /// "analyses/token_card/relation_rank" and "…/relation"; nothing where the token is the source of no pair.
    void addTo(ResultSet& results) const;

private:
    const AnalysisContext& m_context;
    std::vector<std::string> m_names;                    // of all relations, which `relation` counts into
    std::vector<std::pair<std::int32_t, int>> m_targets; // relation, token
    PerHead m_rank;
    std::vector<std::int32_t> m_relation; // [n_layers, n_heads], −1
};

} // namespace headwise
