#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/position/token_rows.h"
#include "core/analysis/position_scores.h"

#include <algorithm>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index longestContext = 1024;
constexpr const char* previousTokenFormula = "mean over i = 1…n−1 of softmax_{j ≤ i}(s_ij) at j = i−1";

Eigen::Index contextLength(const ModelConfig& config)
{
    return std::min<Eigen::Index>(config.nCtx, longestContext);
}

/// `positionVectors` of every layer: computed once where no layer's norm has parameters of its own.
class PositionVectors {
public:
    PositionVectors(const ProcessedWeights& weights, Eigen::Index n)
        : m_weights(weights)
        , m_n(n)
    {
        bool isShared = true;
        for (int layer = 0; layer < weights.config().nLayers; ++layer) {
            const Norm<double> norm = weights.ln1<double>(layer);
            isShared = isShared && norm.w.size() == 0 && norm.b.size() == 0;
        }
        if (isShared)
            m_shared = positionVectors(weights, 0, n);
    }

    Matrix<double> of(int layer) const
    {
        return m_shared.size() > 0 ? m_shared : positionVectors(m_weights, layer, m_n);
    }

private:
    const ProcessedWeights& m_weights;
    Eigen::Index m_n;
    Matrix<double> m_shared;
};

Result<ResultSet> runPreviousToken(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const ProcessedWeights& weights = context.circuits.weights();
    const Eigen::Index n = contextLength(config);
    PerHead scores(config);
    ResultSet results;
    std::string formula = std::string(previousTokenFormula) + ", n = min(n_ctx, 1024), ";
    std::string assumption = "raw positions";
    if (config.positional == Positional::Learned) {
        const PositionVectors vectors(weights, n);
        formula += "s_ij = (p_i/σ(p_i) W_Q + b_Q)(p_j/σ(p_j) W_K + b_K)ᵀ · scale, p = W_pos";
        const auto done =
            forEachHead(context, task, "previous-token scores", [&](HeadId head) -> Result<Done> {
                scores.set(head,
                           previousTokenScore(positionScores(weights, head, vectors.of(head.layer)),
                                              config.windowOf(head.layer)));
                return Done{};
            });
        if (!done)
            return done.error();
        results.warnings = *done;
    } else if (config.positional == Positional::Rotary) {
        formula += "s_ij = (x/σ(x) W_Q + b_Q) R(i−j) (x/σ(x) W_K + b_K)ᵀ · scale, x = mean row of E";
        assumption = "mean token";
        const auto tokens = TokenRows::create(context, task);
        if (!tokens)
            return tokens.error();
        const auto means = meanTokens(*tokens, task);
        if (!means)
            return means.error();
        const auto done =
            forEachHead(context, task, "previous-token scores", [&](HeadId head) -> Result<Done> {
                scores.set(head,
                           previousTokenScore(offsetScores(weights, head, means->of(head.layer), n),
                                              config.windowOf(head.layer)));
                return Done{};
            });
        if (!done)
            return done.error();
        results.warnings = *done;
    } else {
        formula += "defined for learned and rotary positions only";
    }
    ResultArray array = scores.array(context.options.precision, "scores/previous_token", "Previous token",
                                     std::move(formula));
    array.range = {0.0, 1.0};
    array.attributes["assumption"] = std::move(assumption);
    results.arrays.push_back(std::move(array));
    return results;
}

std::string onlyLearned(const ModelConfig& config, const AnalysisOptions&)
{
    return config.positional == Positional::Learned ? "" : "The position kernel needs learned positions.";
}

Result<ResultSet> runPositionKernel(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const Eigen::Index n = contextLength(config);
    PerHead mean(config, static_cast<int>(n));
    PerHead centred(config, static_cast<int>(n));
    const PositionVectors vectors(context.circuits.weights(), n);
    const auto done = forEachHead(context, task, "position kernels", [&](HeadId head) -> Result<Done> {
        const PositionKernel kernel =
            positionKernel(positionScores(context.circuits.weights(), head, vectors.of(head.layer)));
        mean.set(head, std::span<const double>(kernel.mean));
        centred.set(head, std::span<const double>(kernel.centred));
        return Done{};
    });
    if (!done)
        return done.error();
    ResultSet results;
    results.warnings = *done;
    const Precision precision = context.options.precision;
    results.arrays.push_back(
        mean.array(precision, "analyses/position_kernel/mean_score", "Mean score by offset",
                   "k(Δ) = mean over i ≥ Δ of s_{i,i−Δ}, s as in scores/previous_token", "offset"));
    results.arrays.push_back(centred.array(
        precision, "analyses/position_kernel/centred_mean_score", "Mean centred score by offset",
        "k(Δ) = mean over i ≥ Δ of s_{i,i−Δ} − mean_{j ≤ i} s_ij", "offset"));
    for (ResultArray& array : results.arrays)
        array.attributes["assumption"] = std::string("raw positions");
    return results;
}

AnalysisCost positionCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double n = static_cast<double>(contextLength(config));
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double perHead = config.positional == Positional::Learned
        ? 4 * n * config.dModel * config.dHead + n * n * (2.0 * config.dHead + 20)
        : n * (20.0 * config.dHead);
    return {heads * perHead, config.positional == Positional::Learned ? 16 * n * n : 8 * n};
}

} // namespace

Analysis previousTokenAnalysis()
{
    return {"previous_token",
            "C2, C8",
            "Previous token",
            previousTokenFormula,
            "Kamoda et al. 2025, arXiv 2501.15754",
            false,
            true,
            appliesAlways,
            positionCost,
            runPreviousToken};
}

Analysis positionKernelAnalysis()
{
    return {"position_kernel",
            "C2",
            "Mean score by offset",
            "k(Δ) = mean over i of s_{i,i−Δ}",
            "Kamoda et al. 2025, arXiv 2501.15754",
            false,
            false,
            onlyLearned,
            positionCost,
            runPositionKernel};
}

} // namespace headwise
