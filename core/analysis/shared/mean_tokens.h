#pragma once

#include "core/analysis/shared/norm_divisors.h"

namespace headwise {

/// ê_j = e_j/σ̄_j, σ̄_j = mean over positions of σ: the average input that a token gives a head of layer 0. Read in blocks.
/// Source: Kamoda et al. 2025, arXiv 2501.15754.
class MeanDivided {
public:
    /// Errors: Cancelled. Cost: `divisorSpread`.
    static Result<MeanDivided> create(const ProcessedWeights& weights, const AnalysisOptions& options,
                                      const Task& task);
    /// \param spread of the same weights
    MeanDivided(const ProcessedWeights& weights, const DivisorSpread& spread);

    RowVector<double> row(int token) const; ///< [d]
    /// Returns Ê · right, [V, columns], in parallel over tokens. \param right [d, columns]
    /// Errors: Cancelled. Cost: one pass through W_E, which outweighs a few columns, so pass many columns at once.
    Result<Matrix<double>> times(const Matrix<double>& right, const Task& task) const;
    double meanSquare() const { return m_meanSquare; } ///< Mean over tokens of ‖ê_j‖².
    /// Returns the typical size of scores ê_token W_QK ê_jᵀ if W_QK keeps its norm but has random directions:
    /// ‖ê‖ √(mean over j of ‖ê_j‖²) ‖W_QK‖_F / d.
    double randomScore(int token, const FoldedHead& head) const;

private:
    Matrix<double> rows(Eigen::Index first, Eigen::Index count) const;

    ProcessedWeights m_weights;
    Norm<double> m_norm;
    Eigen::VectorXd m_divisors; // [V]
    double m_meanSquare;
};

/// Returns why the score is not one bilinear form of query and key at all positions; empty if it is.
std::string whyNotOneScore(const ModelConfig& config);

} // namespace headwise
