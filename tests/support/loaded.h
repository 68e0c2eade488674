#pragma once

#include "core/model/architecture.h"
#include "core/model/forward.h"
#include "tests/support/matchers.h"
#include "tests/support/reference_forward.h"

#include <cmath>

namespace headwise::test {

inline std::shared_ptr<const ModelWeights> loaded(const std::filesystem::path& folder)
{
    const auto model = loadModel({folder, std::nullopt, {}}, Task{});
    if (!model)
        qFatal("%s", printed(model.error()).constData());
    return *model;
}

inline ProcessedWeights processedBy(const std::shared_ptr<const ModelWeights>& model, ProcessingPlan plan)
{
    const auto weights = process(model, std::move(plan), Task{});
    if (!weights)
        qFatal("%s", printed(weights.error()).constData());
    return **weights;
}

/// With what `wish` allows on this model.
inline ProcessedWeights processed(const std::shared_ptr<const ModelWeights>& model,
                                  const ProcessingWish& wish = {})
{
    auto plan = planProcessing(*model, wish);
    if (!plan)
        qFatal("%s", printed(plan.error()).constData());
    return processedBy(model, *std::move(plan));
}

/// As it is in the file.
inline ProcessedWeights raw(const std::shared_ptr<const ModelWeights>& model)
{
    return processedBy(model, {});
}

template <typename Scalar>
ForwardResult<Scalar> ran(const ProcessedWeights& weights, const std::vector<int>& tokens)
{
    auto run = forward<Scalar>(weights, tokens, Task{});
    if (!run)
        qFatal("%s", printed(run.error()).constData());
    return std::move(run).value();
}

inline Matrix<double> matrixOf(const std::vector<std::vector<double>>& rows)
{
    Matrix<double> m(rows.size(), rows.empty() ? 0 : rows[0].size());
    for (Eigen::Index i = 0; i < m.rows(); ++i)
        for (Eigen::Index j = 0; j < m.cols(); ++j)
            m(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
    return m;
}

inline Matrix<double> logSoftmax(const Matrix<double>& logits)
{
    Matrix<double> out = logits;
    for (Eigen::Index i = 0; i < out.rows(); ++i)
        out.row(i).array() -= std::log(logits.row(i).array().exp().sum());
    return out;
}

} // namespace headwise::test
