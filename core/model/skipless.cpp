#include "core/model/skipless.h"

#include "core/model/forward_pass.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

namespace headwise {

ModelWeights skiplessCounterpart(const ModelWeights& weights)
{
    ModelConfig config = weights.config();
    config.skipless = true;
    config.norm = config.finalNorm = config.embeddingNorm = config.qkNorm = NormKind::None;
    config.normHasParameters = config.rmsUsesOffset = config.qkNormOverAllHeads = false;
    config.latentAttention = false; // its norms are gone, and W_K and W_V are products of matrices
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

/// NaN where a number is not finite, and where all that is expected is 0, as of activations below what a float32 can hold.
double relativeError(const Matrix<double>& logits, const Matrix<double>& expected)
{
    const Matrix<double> difference = (logits - expected).cwiseAbs();
    const double size = expected.cwiseAbs().maxCoeff();
    if (!difference.allFinite() || size == 0)
        return std::numeric_limits<double>::quiet_NaN();
    return difference.maxCoeff() / size;
}

/// Rounded as the numbers of `ProcessedWeights::rounded`.
template <int rows>
Eigen::Matrix<float, rows, Eigen::Dynamic> stored(const Eigen::Matrix<double, rows, Eigen::Dynamic>& exact,
                                                  Rounding rounding)
{
    if (rounding == Rounding::BFloat16)
        return exact.template cast<float>().template cast<Eigen::bfloat16>().template cast<float>();
    return exact.template cast<float>();
}

MlpWeights<float> stored(const MlpWeights<double>& exact, Rounding rounding)
{
    MlpWeights<float> mlp;
    mlp.W_in = stored(exact.W_in, rounding);
    mlp.W_gate = stored(exact.W_gate, rounding);
    mlp.b_in = stored(exact.b_in, rounding);
    mlp.b_gate = stored(exact.b_gate, rounding);
    mlp.b_up = stored(exact.b_up, rounding);
    mlp.W_out = stored(exact.W_out, rounding);
    mlp.b_out = stored(exact.b_out, rounding);
    mlp.ln = {exact.ln.kind, exact.ln.eps, stored(exact.ln.w, rounding), stored(exact.ln.b, rounding)};
    mlp.W_router = stored(exact.W_router, rounding);
    mlp.b_router = stored(exact.b_router, rounding);
    mlp.correction = stored(exact.correction, rounding);
    for (const MlpWeights<double>& expert : exact.experts)
        mlp.experts.push_back(stored(expert, rounding));
    return mlp;
}

/// A model stored in the three precisions, on its way through the same prompt.
struct StoredPasses {
    ForwardPass<double> f64;
    ForwardPass<float> f32, bf16;

    StoredPasses(const ProcessedWeights& weights, std::span<const int> tokens)
        : f64(weights, tokens)
        , f32(weights.rounded(Rounding::Float32), tokens)
        , bf16(weights.rounded(Rounding::BFloat16), tokens)
    {
    }

    Result<Done> step(int layer, const Task& task)
    {
        const ProcessedWeights& weights = f64.weights;
        MlpWeights<double> exact = weights.mlp<double>(layer);
        for (const auto& [pass, rounding] :
             {std::pair(&f32, Rounding::Float32), {&bf16, Rounding::BFloat16}}) {
            if (const auto done = pass->attend(layer, task); !done)
                return done;
            pass->finish(LayerTail<float>(pass->weights, layer, stored(exact, rounding)));
        }
        if (const auto done = f64.attend(layer, task); !done)
            return done;
        f64.finish(LayerTail<double>(weights, layer, std::move(exact)));
        return Done{};
    }

    Result<RoundedLogits> logits(const Task& task) const
    {
        constexpr Eigen::Index block = 2048;
        const Matrix<double> last64 = lastOf(f64);
        const Matrix<float> last32 = lastOf(f32), last16 = lastOf(bf16);
        const Eigen::Index V = f64.weights.config().dVocabOut;
        RoundedLogits all;
        all.fill(Matrix<double>(last64.rows(), V));
        for (Eigen::Index first = 0; first < V; first += block) {
            if (task.cancelled())
                return stopped();
            const Matrix<double> W_U = f64.weights.W_U<double>(first, std::min(block, V - first));
            const auto put = [&](Matrix<double>& out, const auto& logits) {
                out.middleCols(first, logits.cols()) = logits.template cast<double>();
            };
            put(all[0], logitsOf(f64.weights, last64, first, W_U));
            put(all[1], logitsOf(f32.weights, last32, first, stored(W_U, Rounding::Float32)));
            put(all[2], logitsOf(bf16.weights, last16, first, stored(W_U, Rounding::BFloat16)));
        }
        return all;
    }

private:
    template <typename Scalar>
    static Matrix<Scalar> lastOf(const ForwardPass<Scalar>& pass)
    {
        return unembedded(pass.weights, pass.result.residuals.back());
    }
};

} // namespace

Result<RoundedLogits> roundedLogits(const ProcessedWeights& weights, std::span<const int> tokens,
                                    const Task& task)
{
    const ModelConfig& config = weights.config();
    if (const auto checked = checkPrompt(config, tokens, tokens.size()); !checked)
        return checked.error();
    const Task quiet{task.stop, {}, task.threads};
    StoredPasses passes(weights, tokens);
    for (int layer = 0; layer < config.nLayers; ++layer) {
        if (const auto done = passes.step(layer, quiet); !done)
            return done.error();
        task.report(layer + 1, config.nLayers, "layers");
    }
    return passes.logits(task);
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

} // namespace headwise
