#pragma once

#include "core/analysis/selected_heads.h"
#include "core/model/forward.h"

#include <string>
#include <vector>

namespace headwise {

/// Returns whether the score is just x_i W_QK x_jᵀ plus bias terms.
bool isBilinear(const ModelConfig& config);

/// The parts of the stream as shown: one by one, or with a layer's heads merged if a model has too many.
struct ScoreComponents {
    std::vector<int> ofPart; // [parts]
    std::vector<std::string> names;
    std::vector<int> firstOfLayer; // [layers], the first component that a layer writes

    explicit ScoreComponents(const ModelConfig& config);

    /// Returns the sum of the rows of every component. \param rows [parts, r]
    Matrix<double> joined(const Matrix<double>& rows) const;
};

/// The split scores of every head.
struct ScoreSources {
    ScoreComponents list;
    RealNumbers components, ofQuery, ofKey; // [components, components], [components], [components]
    RealNumbers directions;                 // [d_head]
    RealNumbers score, bilinear, distance, nullMean, nullDeviation;
    WholeNumbers keys, keyTokens; // −1 where not asked
    std::vector<std::string> warnings;

    explicit ScoreSources(const ModelConfig& config);
};

/// Splits the score of the inputs' query position with their key position, for every selected head.
/// Default positions: the last query, and the key that it attends to most. NaN if the head's window hides the key.
/// \param run a forward pass of these weights on the prompt, which must contain both positions
/// Errors: Cancelled; Internal if the parts do not add up to the score.
/// Source: Elhage et al. 2021; along singular directions: Franco & Crovella 2024, arXiv 2410.00340.
template <typename Scalar>
Result<ScoreSources> splitScores(const AnalysisContext& context, const ForwardResult<Scalar>& run,
                                 const Task& task);

} // namespace headwise
