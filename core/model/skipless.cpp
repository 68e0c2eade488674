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
    for (int i = 0; i < std::min(count, config.nCtx); ++i)
        tokens.push_back(static_cast<int>(engine() % static_cast<unsigned>(config.dVocab)));
    return tokens;
}

namespace {

/// Logits in double, stored and computed with so many digits.
Result<Matrix<double>> logitsAt(const ProcessedWeights& weights, Rounding rounding,
                                std::span<const int> tokens, const Task& task)
{
    if (rounding == Rounding::None) {
        auto run = forward<double>(weights, tokens, task);
        if (!run)
            return run.error();
        return std::move(run->logits);
    }
    const auto run = forward<float>(weights.rounded(rounding), tokens, task);
    if (!run)
        return run.error();
    return Matrix<double>(run->logits.cast<double>());
}

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

Result<OutputErrors> outputErrors(const ProcessedWeights& merged, const ProcessedWeights& unmerged,
                                  std::span<const int> tokens, const Task& task)
{
    OutputErrors errors;
    for (const auto& [rounding, error] : {std::pair(Rounding::None, &errors.f64),
                                          {Rounding::Float32, &errors.f32},
                                          {Rounding::BFloat16, &errors.bf16}}) {
        const auto logits = logitsAt(merged, rounding, tokens, task);
        if (!logits)
            return logits.error();
        const auto expected = logitsAt(unmerged, rounding, tokens, task);
        if (!expected)
            return expected.error();
        *error = relativeError(*logits, *expected);
    }
    return errors;
}

Result<OutputErrors> roundingErrors(const ProcessedWeights& weights, std::span<const int> tokens,
                                    const Task& task)
{
    const auto expected = logitsAt(weights, Rounding::None, tokens, task);
    if (!expected)
        return expected.error();
    OutputErrors errors;
    for (const auto& [rounding, error] :
         {std::pair(Rounding::Float32, &errors.f32), {Rounding::BFloat16, &errors.bf16}}) {
        const auto logits = logitsAt(weights, rounding, tokens, task);
        if (!logits)
            return logits.error();
        *error = relativeError(*logits, *expected);
    }
    return errors;
}

} // namespace headwise
