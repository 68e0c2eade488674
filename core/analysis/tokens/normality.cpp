#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/eigenvalue_null.h"
#include "core/base/decompositions.h"

#include <limits>

namespace headwise {

namespace {

/// The [r, r] products from which the normality of a circuit L · R is computed.
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

/// Returns Σ|λ|² / ‖W‖_F², W one circuit of a head; NaN for a zero circuit.
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

std::string normalityPath(CircuitKind kind)
{
    return "analyses/normality/" + std::string(circuitName(kind));
}

std::vector<ArraySpec> normalityArrays()
{
    std::vector<ArraySpec> all;
    for (const CircuitKind kind : circuitKinds)
        all.push_back(
            {.path = normalityPath(kind),
             .axes = headAxes(),
             .title = "Normality of " + std::string(circuitTitle(kind)),
             .definition = "Σ|λ|² / ‖W‖_F², λ the eigenvalues of W = " + std::string(circuitFormula(kind)),
             .range = {{0.0, 1.0}},
             .condition = kind == CircuitKind::FullOv ? "one vocabulary on both sides" : ""});
    return all;
}

Result<ResultSet> runNormality(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    std::vector<RealNumbers> ratios(circuitKinds.size(), RealNumbers::perHead(config));
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
    Results results = resultsOf(context, normalityArrays());
    results.warn(*done);
    for (const CircuitKind kind : circuitKinds) {
        if (!hasEigenvalues(kind, *context.tokens))
            continue;
        ResultArray& array =
            results.put(normalityPath(kind), std::move(ratios[static_cast<std::size_t>(kind)]));
        const auto null = addEigenvalueNull(array, context, kind, EigenvalueNumber::Normality, task);
        if (!null)
            return null.error();
    }
    return std::move(results).finish();
}

AnalysisCost normalityCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    return {heads * (2 * 3 * (2 * d * d * r) + 4 * (4 * d * r * r + 15 * r * r * r))
                + 4 * eigenvalueNullFlops(config),
            heads * 4 * 8};
}

} // namespace

Analysis normalityAnalysis()
{
    const std::string note =
        "1: normal, fully described by the eigenvalues. Below 0.1 they describe little of the map, and copying and matching are weak evidence.";
    return {.id = "normality",
            .number = "B1",
            .title = "Normality of the circuits",
            .formula = "Σ|λ|² / ‖W‖_F² of W_Q W_Kᵀ, W_V W_O, E W_Q W_Kᵀ Eᵀ, E W_V W_O W_U",
            .citation = "Elhage et al. 2021, \"Summarizing OV/QK matrices\"; Henrici 1962, Numer. Math. 4",
            .needsTokens = true,
            .whyNot = appliesAlways,
            .cost = normalityCost,
            .run = runNormality,
            .arrays = normalityArrays(),
            .pictures = {{.kind = Picture::Kind::HeadGrid,
                          .title = "Normality",
                          .arrays = {"analyses/normality/full_ov", "analyses/normality/full_qk",
                                     "analyses/normality/ov", "analyses/normality/qk"},
                          .signedColors = false,
                          .note = note},
                         {.kind = Picture::Kind::HeadPlane,
                          .title = "Copying against normality",
                          .arrays = {"analyses/normality/full_ov", "scores/copying"},
                          .logX = true,
                          .note = note},
                         {.kind = Picture::Kind::Histogram,
                          .title = "Heads by normality",
                          .arrays = {"analyses/normality/full_ov", "analyses/normality/full_qk"},
                          .signedColors = false,
                          .note = note}}};
}

} // namespace headwise
