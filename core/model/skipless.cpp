#include "core/model/skipless.h"

#include "core/model/forward.h"

#include <algorithm>
#include <limits>
#include <random>

namespace headwise {

ModelWeights skiplessCounterpart(const ModelWeights& weights)
{
    ModelConfig config = weights.config();
    config.skipless = true;
    config.norm = config.finalNorm = config.embeddingNorm = config.qkNorm = NormKind::None;
    config.normHasParameters = config.rmsUsesOffset = config.qkNormOverAllHeads = false;
    config.hasPostNorms = config.hasSumNorms = config.residualFromNorm = false;
    config.embeddingNormSeesPositions = false;
    config.hasPreNorms = true; // the usual placement, of norms that are not there
    return weights.withConfig(std::move(config));
}

std::vector<int> seededTokens(const ModelConfig& config, int count, unsigned seed)
{
    std::mt19937 engine(seed);
    std::vector<int> tokens;
    tokens.reserve(static_cast<std::size_t>(std::max(0, count)));
    for (int i = 0; i < std::min(count, config.nCtx); ++i)
        tokens.push_back(static_cast<int>(engine() % static_cast<unsigned>(config.dVocab)));
    return tokens;
}

namespace {

/// NaN where a number is not finite.
double relativeError(const Matrix<double>& logits, const Matrix<double>& expected)
{
    const Matrix<double> difference = (logits - expected).cwiseAbs();
    if (!difference.allFinite())
        return std::numeric_limits<double>::quiet_NaN();
    const double size = expected.cwiseAbs().maxCoeff();
    return size == 0 ? difference.maxCoeff() : difference.maxCoeff() / size;
}

} // namespace

Result<Matrix<double>> storedLogits(const ProcessedWeights& weights, Stored stored,
                                    std::span<const int> tokens, const Task& task)
{
    if (stored == Stored::Float64) {
        const auto run = forward<double>(weights, tokens, task);
        if (!run)
            return run.error();
        return run->logits;
    }
    const Rounding rounding = stored == Stored::Float32 ? Rounding::Float32 : Rounding::BFloat16;
    const auto run = forward<float>(weights.rounded(rounding), tokens, task);
    if (!run)
        return run.error();
    return Matrix<double>(run->logits.cast<double>());
}

OutputErrors outputErrors(const RoundedLogits& merged, const RoundedLogits& unmerged)
{
    return {relativeError(merged[0], unmerged[0]), relativeError(merged[1], unmerged[1]),
            relativeError(merged[2], unmerged[2])};
}

OutputErrors roundingErrors(const RoundedLogits& logits)
{
    return {0, relativeError(logits[1], logits[0]), relativeError(logits[2], logits[0])};
}

namespace {

Result<RoundedLogits> roundedLogits(const ProcessedWeights& weights, std::span<const int> tokens,
                                    const Task& task)
{
    RoundedLogits all;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto logits = storedLogits(weights, static_cast<Stored>(i), tokens, task);
        if (!logits)
            return logits.error();
        all[i] = *std::move(logits);
    }
    return all;
}

} // namespace

Result<OutputErrors> outputErrors(const ProcessedWeights& merged, const ProcessedWeights& unmerged,
                                  std::span<const int> tokens, const Task& task)
{
    const auto found = roundedLogits(merged, tokens, task);
    if (!found)
        return found.error();
    const auto expected = roundedLogits(unmerged, tokens, task);
    if (!expected)
        return expected.error();
    return outputErrors(*found, *expected);
}

Result<OutputErrors> roundingErrors(const ProcessedWeights& weights, std::span<const int> tokens,
                                    const Task& task)
{
    const auto found = roundedLogits(weights, tokens, task);
    if (!found)
        return found.error();
    return roundingErrors(*found);
}

} // namespace headwise
