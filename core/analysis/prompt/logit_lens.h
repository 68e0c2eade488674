#pragma once

#include "core/analysis/catalogue.h"
#include "core/model/forward.h"

namespace headwise {

/// What the final norm and the unembedding read from the stream at the last position, before every layer and after the last.
/// \returns [n_layers + 1, V out], soft-capped where the model is
/// Errors: Cancelled.
/// Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
template <typename Scalar>
Result<Matrix<double>> lensLogits(const ProcessedWeights& weights, const ForwardResult<Scalar>& run,
                                  const Task& task);

/// The arrays analyses/logit_attribution/lens_*.
/// \param logits as `lensLogits` gives them  \param target the token whose rank is followed
void addLens(const AnalysisContext& context, const Matrix<double>& logits, int target, ResultSet& results);

} // namespace headwise
