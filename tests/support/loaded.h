#pragma once

#include "core/model/architecture.h"
#include "core/model/forward.h"
#include "tests/support/matchers.h"
#include "tests/support/reference_forward.h"

namespace headwise::test {

std::shared_ptr<const ModelWeights> loaded(const std::filesystem::path& folder);

ProcessedWeights processedBy(const std::shared_ptr<const ModelWeights>& model, ProcessingPlan plan);

/// Processes as far as `wish` allows on this model.
ProcessedWeights processed(const std::shared_ptr<const ModelWeights>& model, const ProcessingWish& wish = {});

/// Unprocessed, as in the file.
ProcessedWeights raw(const std::shared_ptr<const ModelWeights>& model);

template <typename Scalar>
ForwardResult<Scalar> ran(const ProcessedWeights& weights, const std::vector<int>& tokens)
{
    auto run = forward<Scalar>(weights, tokens, Task{});
    if (!run)
        qFatal("%s", printed(run.error()).constData());
    return std::move(run).value();
}

Matrix<double> matrixOf(const std::vector<std::vector<double>>& rows);

Matrix<double> logSoftmax(const Matrix<double>& logits);

} // namespace headwise::test
