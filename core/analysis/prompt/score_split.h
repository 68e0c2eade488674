#pragma once

#include "core/analysis/per_head.h"
#include "core/analysis/prompt/prompt_arrays.h"
#include "core/model/forward.h"

#include <string>
#include <vector>

namespace headwise {

/// Whether the score is x_i W_QK x_jᵀ and biases, nothing between.
bool isBilinear(const ModelConfig& config);

/// The parts of the stream as they are shown: one by one, or a layer's heads together where a model has too many.
struct ScoreComponents {
    std::vector<int> ofPart; // [parts]
    std::vector<std::string> names;
    std::vector<int> firstOfLayer; // [layers], the first component that a layer writes

    explicit ScoreComponents(const ModelConfig& config);

    /// Sums of the rows of every component. \param rows [parts, r]
    Matrix<double> joined(const Matrix<double>& rows) const;
};

/// What is found, head by head.
struct ScoreSources {
    ScoreComponents list;
    HeadBlocks components, ofQuery, ofKey; // [components, components], [components], [components]
    HeadBlocks directions;                 // [d_head]
    PerHead score, bilinear, distance, nullMean, nullDeviation;
    std::vector<std::int32_t> keys, keyTokens; // [layers · heads], −1 where not asked
    std::vector<std::string> warnings;

    explicit ScoreSources(const ModelConfig& config);
};

/// Takes apart the score of the inputs' query position with their key position, for every asked head; without them of the
/// last query with the key it attends to most. NaN where the key is behind the head's window.
/// \param run of the same weights and of the prompt, in which both positions are
/// Errors: Cancelled; Internal if the parts do not add up to the score.
/// Source: Elhage et al. 2021; along singular directions: Franco & Crovella 2024, arXiv 2410.00340.
template <typename Scalar>
Result<ScoreSources> splitScores(const AnalysisContext& context, const ForwardResult<Scalar>& run,
                                 const Task& task);

} // namespace headwise
