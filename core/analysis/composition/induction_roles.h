#pragma once

#include "core/analysis/composition/induction_parts.h"

#include <utility>
#include <vector>

namespace headwise {

/// The four numbers of an induction circuit, each from 0 (random weights, or less) to 1, and their product.
class InductionRoles {
public:
    InductionRoles(const AnalysisContext& context, const InductionParts& parts, const InductionNull& null);

    double product(HeadId earlier, HeadId later) const;

    /// Returns the largest product of all pairs for each of `draws` random re-pairings of the roles. Four permutations
    /// of the heads within each layer reassign the previous-token score, the copying score and both ends of the same-token
    /// score. K-composition stays with its pair.
    /// Errors: Cancelled.
    Result<Sample> maximaOfRePaired(int draws, const Task& task) const;

private:
    using Order = std::vector<HeadId>; // by layer · n_heads + head

    std::size_t place(HeadId head) const;
    double drawOne(std::uint64_t seed) const;

    const ModelConfig& m_config;
    std::uint64_t m_seed;
    std::vector<std::vector<HeadId>> m_layers; // the selected heads
    RealNumbers m_previousToken, m_copying, m_composition, m_sameToken;
    double m_largestCopying = 0;
};

} // namespace headwise
