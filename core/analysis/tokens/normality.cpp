#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/base/decompositions.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

namespace headwise {

namespace {

constexpr int nullHeads = 8;

/// What [r, r] products say of a circuit L · R.
struct Core {
    Matrix<double> inside;      // R L: the eigenvalues of L R but for zeros
    Matrix<double> left, right; // Lᵀ L, R Rᵀ
};

Core coreOf(const HeadWeights<double>& w, CircuitKind kind, int layer, const TokenSide& tokens)
{
    switch (kind) {
    case CircuitKind::Qk:
        return {w.W_K.transpose() * w.W_Q, w.W_Q.transpose() * w.W_Q, w.W_K.transpose() * w.W_K};
    case CircuitKind::Ov: return {w.W_O * w.W_V, w.W_V.transpose() * w.W_V, w.W_O * w.W_O.transpose()};
    case CircuitKind::FullQk: {
        const Matrix<double> queries = tokens.embeddingGramOf(layer) * w.W_Q;
        const Matrix<double> keys = tokens.embeddingGramOf(layer) * w.W_K;
        return {w.W_K.transpose() * queries, w.W_Q.transpose() * queries, w.W_K.transpose() * keys};
    }
    case CircuitKind::FullOv: break;
    }
    return {w.W_O * (tokens.unembedEmbedOf(layer) * w.W_V),
            w.W_V.transpose() * (tokens.embeddingGramOf(layer) * w.W_V),
            w.W_O * (tokens.UUt * w.W_O.transpose())};
}

/// Σ|λ|² / ‖W‖_F², W one circuit of a head; NaN for a zero circuit.
Result<double> normality(const HeadWeights<double>& weights, CircuitKind kind, int layer,
                         const TokenSide& tokens)
{
    const Core core = coreOf(weights, kind, layer, tokens);
    const double norm = core.left.cwiseProduct(core.right).sum(); // ‖L R‖² = ⟨Lᵀ L, R Rᵀ⟩
    if (norm <= 0)
        return std::numeric_limits<double>::quiet_NaN();
    const auto lambda = eigenvalues(core.inside);
    if (!lambda)
        return lambda.error();
    return lambda->squaredNorm() / norm;
}

bool hasEigenvalues(CircuitKind kind, const TokenSide& tokens)
{
    return kind != CircuitKind::FullOv || tokens.isSquare();
}

/// Gaussian numbers by Box and Muller's transform.
class Gaussian {
public:
    explicit Gaussian(std::uint64_t seed)
        : m_random(seed)
    {
    }
    Matrix<double> matrix(Eigen::Index rows, Eigen::Index cols)
    {
        Matrix<double> out(rows, cols);
        for (double& value : out.reshaped())
            value = std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
        return out;
    }

private:
    double uniform() { return (static_cast<double>(m_random() >> 11) + 0.5) * 0x1p-53; }

    std::mt19937_64 m_random;
};

struct Null {
    double mean = std::numeric_limits<double>::quiet_NaN();
    double deviation = std::numeric_limits<double>::quiet_NaN();
};

/// Of heads of Gaussian weights between this model's own token matrices, in its last layer.
Result<Null> gaussianNull(const AnalysisContext& context, CircuitKind kind, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    Gaussian random(context.options.inputs.seed);
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < nullHeads; ++i) {
        if (task.cancelled())
            return stopped();
        HeadWeights<double> head;
        head.W_Q = random.matrix(config.dModel, config.dHead);
        head.W_K = random.matrix(config.dModel, config.dHead);
        head.W_V = random.matrix(config.dModel, config.dHead);
        head.W_O = random.matrix(config.dHead, config.dModel);
        head.b_Q = head.b_K = head.b_V = RowVector<double>::Zero(config.dHead);
        const auto value = normality(head, kind, config.nLayers - 1, *context.tokens);
        if (!value
            && value.error().code == ErrorCode::Corrupt) // of the token side: no head has a number either
            return Null{};
        if (!value)
            return value.error();
        sum += *value;
        squares += *value * *value;
    }
    const double mean = sum / nullHeads;
    return Null{mean, std::sqrt(std::max(0.0, (squares - nullHeads * mean * mean) / (nullHeads - 1)))};
}

Result<ResultSet> runNormality(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    std::vector<PerHead> ratios(circuitKinds.size(), PerHead(config));
    const auto done = forEachHead(context, task, "normality", [&](HeadId head) -> Result<Done> {
        const auto weights = context.circuits.weights().head<double>(head);
        for (const CircuitKind kind : circuitKinds) {
            if (!hasEigenvalues(kind, *context.tokens))
                continue;
            const auto value = normality(weights, kind, head.layer, *context.tokens);
            if (!value)
                return value.error();
            ratios[static_cast<std::size_t>(kind)].set(head, *value);
        }
        return Done{};
    });
    if (!done)
        return done.error();
    ResultSet results;
    results.warnings = *done;
    for (const CircuitKind kind : circuitKinds) {
        if (!hasEigenvalues(kind, *context.tokens))
            continue;
        const auto null = gaussianNull(context, kind, task);
        if (!null)
            return null.error();
        const std::string name(circuitName(kind));
        ResultArray array = ratios[static_cast<std::size_t>(kind)].array(
            context.options.precision, "analyses/normality/" + name, "Normality of " + name,
            "Σ|λ|² / ‖W‖_F², λ the eigenvalues of W = " + std::string(circuitFormula(kind)));
        array.range = {0.0, 1.0};
        if (std::isfinite(null->mean)) {
            array.nullMean = null->mean;
            array.nullDeviation = null->deviation;
            array.attributes["null_heads"] = static_cast<double>(nullHeads);
        }
        results.arrays.push_back(std::move(array));
    }
    return results;
}

AnalysisCost normalityCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size()) + nullHeads;
    return {heads * (2 * 3 * (2 * d * d * r) + 4 * (4 * d * r * r + 15 * r * r * r)), heads * 4 * 8};
}

} // namespace

Analysis normalityAnalysis()
{
    const std::string note =
        "1: normal, the eigenvalues are all there is; below 0.1 they describe little of the "
        "map, and copying and matching are weak evidence.";
    return {.id = "normality",
            .number = "B1",
            .title = "How much the eigenvalues tell",
            .formula = "Σ|λ|² / ‖W‖_F² of W_Q W_Kᵀ, W_V W_O, E W_Q W_Kᵀ Eᵀ, E W_V W_O W_U",
            .citation = "Elhage et al. 2021, \"Summarizing OV/QK matrices\"; Henrici 1962, Numer. Math. 4",
            .needsTokens = true,
            .whyNot = appliesAlways,
            .cost = normalityCost,
            .run = runNormality,
            .pictures = {{Picture::Kind::HeadGrid,
                          "Normality",
                          {"analyses/normality/full_ov", "analyses/normality/full_qk",
                           "analyses/normality/ov", "analyses/normality/qk"},
                          false,
                          false,
                          false,
                          note},
                         {Picture::Kind::HeadPlane,
                          "Copying against normality",
                          {"analyses/normality/full_ov", "scores/copying"},
                          true,
                          false,
                          true,
                          note},
                         {Picture::Kind::Histogram,
                          "Heads by normality",
                          {"analyses/normality/full_ov", "analyses/normality/full_qk"},
                          false,
                          false,
                          false,
                          note}}};
}

} // namespace headwise
