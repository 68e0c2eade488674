#pragma once

#include "core/analysis/catalogue.h"

#include <random>
#include <vector>

namespace headwise {

/// Shortest N of the sequences. Below, "the token after the copy" is the current or the previous one.
inline constexpr int shortestRepetition = 3;

/// Settings of the sequences of repeated random tokens, derived only from the model's sizes.
struct RepetitionPlan {
    bool hasBos = false;
    std::vector<int>
        periods;       ///< N, falling. No two have a common divisor, so no fixed distance suits two of them.
    int sequences = 0; ///< Number of sequences of each period; as many controls are run.

    explicit RepetitionPlan(const ModelConfig& config);

    int length(int period) const { return 2 * period + hasBos; }
    double flops(ModelConfig config) const; ///< One sequence and one control of each period.
};

/// [BOS] t₁ … t_N t₁ … t_N and its control [BOS] u₁ … u_N t₁ … t_N: the queries of the second copy read the same tokens at the
/// same positions.
struct RepeatedSequences {
    std::vector<int> repeated, control;
};

/// Random sequences, one after another from options.inputs.seed.
class RepeatedTokens {
public:
    RepeatedTokens(const ModelConfig& config, const AnalysisOptions& options, const RepetitionPlan& plan);

    bool areEnough() const { return m_ids.size() >= 2; }

    /// Draws 2 N different tokens if the vocabulary is large enough. uᵢ is never tᵢ.
    RepeatedSequences next(int period);

private:
    std::vector<int> joined(const std::vector<int>& first, const std::vector<int>& second) const;

    std::mt19937_64 m_random;
    int m_bos = -1;
    std::vector<int> m_ids;
};

} // namespace headwise
