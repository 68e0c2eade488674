#pragma once

#include "core/analysis/catalogue.h"
#include "core/model/forward.h"
#include "core/results/results.h"

#include <vector>

namespace headwise {

/// Returns the logits of the final norm and unembedding, applied to the stream at the last position.
/// The stream is taken before every layer and after the last.
/// \returns [n_layers + 1, V out], soft-capped if the model is
/// Errors: Cancelled.
/// Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
template <typename Scalar>
Result<Matrix<double>> lensLogits(const ProcessedWeights& weights, const ForwardResult<Scalar>& run,
                                  const Task& task);

/// Returns the contracts of the arrays analyses/logit_attribution/lens_*.
std::vector<ArraySpec> lensArrays();

/// Puts those arrays.
/// \param logits as `lensLogits` gives them  \param target the token whose rank is tracked
void addLens(const AnalysisContext& context, const Matrix<double>& logits, int target, Results& results);

} // namespace headwise
