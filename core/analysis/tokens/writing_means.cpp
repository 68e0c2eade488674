#include "core/analysis/tokens/writing_means.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace headwise {

namespace {

constexpr Eigen::Index writingMeansTokensPerBlock = 128;

double largestMean(const Matrix<double>& rows)
{
    return rows.size() > 0 ? rows.rowwise().mean().cwiseAbs().maxCoeff() : 0;
}

double embeddingMean(const ProcessedWeights& weights)
{
    double worst = 0;
    const Eigen::Index V = weights.config().dVocab;
    for (Eigen::Index first = 0; first < V; first += writingMeansTokensPerBlock)
        worst = std::max(
            worst, largestMean(weights.W_E<double>(first, std::min(writingMeansTokensPerBlock, V - first))));
    return worst;
}

double unembeddingMean(const ProcessedWeights& weights)
{
    const Eigen::Index V = weights.config().dVocabOut;
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(weights.config().dModel);
    for (Eigen::Index first = 0; first < V; first += writingMeansTokensPerBlock)
        sum += weights.W_U<double>(first, std::min(writingMeansTokensPerBlock, V - first)).rowwise().sum();
    return sum.cwiseAbs().maxCoeff() / static_cast<double>(V);
}

double writingMean(const ProcessedWeights& weights, int layer)
{
    double worst = 0;
    for (int head = 0; head < weights.config().nHeads; ++head)
        worst = std::max(worst, largestMean(weights.head<double>({layer, head}).W_O));
    return worst;
}

} // namespace

Result<WritingMeans> writingMeans(const ProcessedWeights& before, const ProcessedWeights& after,
                                  const Task& task)
{
    const ModelConfig& config = after.config();
    WritingMeans means;
    const auto add = [&](std::string label, const auto& mean) {
        means.labels.push_back(std::move(label));
        means.before.push_back(mean(before));
        means.after.push_back(mean(after));
        return !task.cancelled();
    };
    bool goesOn = add("W_E, over d_model", embeddingMean);
    if (after.original().has(TensorKind::W_pos))
        goesOn = goesOn && add("W_pos, over d_model", [&](const ProcessedWeights& weights) {
                     return largestMean(weights.W_pos<double>(0, config.nCtx));
                 });
    for (int layer = 0; goesOn && layer < config.nLayers; ++layer)
        goesOn = add(fmt::format("layer {}: W_O, over d_model", layer),
                     [layer](const ProcessedWeights& weights) { return writingMean(weights, layer); });
    if (!goesOn || !add("W_U, over the vocabulary", unembeddingMean))
        return stopped();
    return means;
}

} // namespace headwise
