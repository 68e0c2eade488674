#include "tests/support/loaded.h"

#include <cmath>

namespace headwise::test {

std::shared_ptr<const ModelWeights> loaded(const std::filesystem::path& folder)
{
    const auto model = loadModel({folder, std::nullopt, {}}, Task{});
    if (!model)
        qFatal("%s", printed(model.error()).constData());
    return *model;
}

ProcessedWeights processedBy(const std::shared_ptr<const ModelWeights>& model, ProcessingPlan plan)
{
    const auto weights = process(model, std::move(plan), Task{});
    if (!weights)
        qFatal("%s", printed(weights.error()).constData());
    return **weights;
}

ProcessedWeights processed(const std::shared_ptr<const ModelWeights>& model, const ProcessingWish& wish)
{
    auto plan = planProcessing(*model, wish);
    if (!plan)
        qFatal("%s", printed(plan.error()).constData());
    return processedBy(model, *std::move(plan));
}

ProcessedWeights raw(const std::shared_ptr<const ModelWeights>& model)
{
    return processedBy(model, {});
}

Matrix<double> matrixOf(const std::vector<std::vector<double>>& rows)
{
    Matrix<double> m(rows.size(), rows.empty() ? 0 : rows[0].size());
    for (Eigen::Index i = 0; i < m.rows(); ++i)
        for (Eigen::Index j = 0; j < m.cols(); ++j)
            m(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
    return m;
}

Matrix<double> logSoftmax(const Matrix<double>& logits)
{
    Matrix<double> out = logits;
    for (Eigen::Index i = 0; i < out.rows(); ++i)
        out.row(i).array() -= std::log(logits.row(i).array().exp().sum());
    return out;
}

} // namespace headwise::test
