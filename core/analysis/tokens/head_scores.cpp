#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/shared/eigenvalue_null.h"
#include "core/base/matrix.h"
#include "core/circuits/spectrum.h"

#include <limits>

namespace headwise {

namespace {

void putEigenvalues(std::vector<std::complex<double>>& out, const ModelConfig& config, HeadId head,
                    const std::vector<std::complex<double>>& values)
{
    const auto index = static_cast<std::ptrdiff_t>(head.layer) * config.nHeads + head.head;
    std::copy(values.begin(), values.end(), out.begin() + index * config.dHead);
}

std::string notSquare(const TokenSide& tokens)
{
    return "Eigenvalues of full OV and copying are left out because the embedding has "
        + std::to_string(tokens.E.rows()) + " tokens and the unembedding " + std::to_string(tokens.W_U.cols())
        + ".";
}

Result<ResultSet> runEigenvalues(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const std::size_t size = static_cast<std::size_t>(config.nLayers) * config.nHeads * config.dHead;
    std::vector<std::vector<std::complex<double>>> lambda(
        circuitKinds.size(),
        std::vector<std::complex<double>>(size, std::complex<double>(notComputed, notComputed)));
    const auto done = forEachHead(context, task, "eigenvalues", [&](HeadId head) -> Result<Done> {
        const HeadWeights<double> weights = context.circuits.weights().head<double>(head);
        Result<Done> state = Done{};
        for (const CircuitKind kind : circuitKinds) {
            if (kind == CircuitKind::FullOv && !context.tokens->isSquare())
                continue;
            const auto values =
                circuitEigenvalues(context.circuits, weights, kind, head, context.tokens.get());
            if (values)
                putEigenvalues(lambda[static_cast<std::size_t>(kind)], config, head, *values);
            else
                state = values.error();
        }
        return state;
    });
    if (!done)
        return done.error();
    ResultSet results;
    results.warnings = *done;
    if (!context.tokens->isSquare())
        results.warnings.push_back(notSquare(*context.tokens));
    for (const CircuitKind kind : circuitKinds) {
        ResultArray array =
            complexArray(context.options.precision, "eigenvalues/" + std::string(circuitName(kind)),
                         {static_cast<std::size_t>(config.nLayers), static_cast<std::size_t>(config.nHeads),
                          static_cast<std::size_t>(config.dHead)},
                         lambda[static_cast<std::size_t>(kind)], {Axis::Layer, Axis::Head, Axis::Eigenvalue});
        array.title = "Eigenvalues of " + std::string(circuitName(kind));
        array.definition = "eigenvalues of " + std::string(circuitFormula(kind))
            + " by falling modulus, then larger real part, then positive imaginary part; padded with 0";
        results.arrays.push_back(std::move(array));
    }
    return results;
}

struct Score {
    CircuitKind kind;
    const char* name;
    const char* title;
};

Result<ResultSet> runPositivity(const AnalysisContext& context, const Score& score, const Task& task)
{
    const auto& [kind, name, title] = score;
    PerHead scores(context.circuits.config());
    ResultSet results;
    if (kind == CircuitKind::FullOv && !context.tokens->isSquare()) {
        results.warnings.push_back(notSquare(*context.tokens));
    } else {
        const auto done = forEachHead(context, task, score.name, [&](HeadId head) -> Result<Done> {
            const HeadWeights<double> weights = context.circuits.weights().head<double>(head);
            const auto values =
                circuitEigenvalues(context.circuits, weights, score.kind, head, context.tokens.get());
            if (!values)
                return values.error();
            scores.set(head, positivity(*values));
            return Done{};
        });
        if (!done)
            return done.error();
        results.warnings = *done;
    }
    ResultArray array = scores.array(context.options.precision, std::string("scores/") + name, title,
                                     "Re Σλ / Σ|λ|, λ = eigenvalues of " + std::string(circuitFormula(kind)));
    array.range = {-1.0, 1.0};
    if (kind != CircuitKind::FullOv || context.tokens->isSquare()) {
        const auto null = addEigenvalueNull(array, context, kind, EigenvalueNumber::Positivity, task);
        if (!null)
            return null.error();
    }
    results.arrays.push_back(std::move(array));
    return results;
}

Result<ResultSet> runCopying(const AnalysisContext& context, const Task& task)
{
    auto full = runPositivity(context, {CircuitKind::FullOv, "copying", "Copying"}, task);
    if (!full)
        return full;
    const auto alone =
        runPositivity(context, {CircuitKind::Ov, "copying_weights", "Copying of the weights alone"}, task);
    if (!alone)
        return alone;
    ResultSet results = std::move(full).value();
    results.arrays.push_back(alone->arrays.front());
    return results;
}

Result<ResultSet> runMatching(const AnalysisContext& context, const Task& task)
{
    return runPositivity(context, {CircuitKind::FullQk, "matching", "Matching"}, task);
}

AnalysisCost oneCircuitCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    return {heads * (2 * d * d * r + 2 * d * r * r + 10 * r * r * r), heads * 8};
}

AnalysisCost matchingCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const AnalysisCost one = oneCircuitCost(config, options);
    return {one.flops + eigenvalueNullFlops(config), one.bytes};
}

AnalysisCost copyingCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const AnalysisCost one = matchingCost(config, options);
    return {2 * one.flops, 2 * one.bytes};
}

AnalysisCost eigenvaluesCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const AnalysisCost one = oneCircuitCost(config, options);
    return {4 * one.flops, 4 * one.bytes * config.dHead};
}

using Kind = Picture::Kind;
constexpr const char* positivityNote =
    "Positive eigenvalues are evidence, not proof: a matrix far from normal does more than they tell. By chance 0, as far off as Gaussian weights between this model's own tokens get: the null.";

std::vector<Picture> eigenvaluePictures()
{
    std::vector<Picture> pictures;
    for (const CircuitKind kind :
         {CircuitKind::FullOv, CircuitKind::FullQk, CircuitKind::Ov, CircuitKind::Qk}) {
        const std::string name(circuitName(kind));
        pictures.push_back(
            {.kind = Kind::Points,
             .title = "Eigenvalues of " + std::string(circuitFormula(kind)) + ", selected head",
             .arrays = {"eigenvalues/" + name},
             .note =
                 "To the right of zero a direction is kept, to the left turned round; above and below it is rotated."});
    }
    return pictures;
}

std::vector<Picture> copyingPictures()
{
    return {
        {.kind = Kind::HeadGrid, .title = "Copying", .arrays = {"scores/copying"}, .note = positivityNote},
        {.kind = Kind::Points,
         .title = "Eigenvalues of full OV, selected head",
         .arrays = {"eigenvalues/full_ov"},
         .note = "1: all eigenvalues are positive; −1: all are negative."},
        {.kind = Kind::HeadPlane,
         .title = "Copying by the weights alone and with the tokens",
         .arrays = {"scores/copying_weights", "scores/copying"},
         .note = "A point per head. Far from the diagonal the embeddings decide what the head copies."},
        {.kind = Kind::Histogram, .title = "Heads by copying", .arrays = {"scores/copying"}, .note = {}}};
}

std::vector<Picture> matchingPictures()
{
    return {
        {.kind = Kind::HeadPlane,
         .title = "QK and OV positivity",
         .arrays = {"scores/matching", "scores/copying"},
         .note =
             "A point per head. Heads that attend to the same token and copy it stand in the right upper corner; of induction heads it is their K-composed QK that does."},
        {.kind = Kind::HeadGrid,
         .title = "Matching and copying",
         .arrays = {"scores/matching", "scores/copying"},
         .note = positivityNote},
        {.kind = Kind::Histogram,
         .title = "Heads by matching and copying",
         .arrays = {"scores/matching", "scores/copying"},
         .note = {}}};
}

} // namespace

Analysis eigenvaluesAnalysis()
{
    return {.id = "eigenvalues",
            .number = "B1",
            .title = "Eigenvalues of the four circuits",
            .formula = "λ of W_Q W_Kᵀ, W_V W_O, E W_Q W_Kᵀ Eᵀ, E W_V W_O W_U",
            .citation = "Elhage et al. 2021, \"Summarizing OV/QK matrices\"",
            .needsTokens = true,
            .isDefault = true,
            .whyNot = appliesAlways,
            .cost = eigenvaluesCost,
            .run = runEigenvalues,
            .pictures = eigenvaluePictures()};
}

Analysis copyingAnalysis()
{
    return {.id = "copying",
            .number = "B1",
            .title = "Copying",
            .formula = "Re Σλ / Σ|λ| over the eigenvalues of E W_V W_O W_U",
            .citation = "Elhage et al. 2021, \"Summarizing OV/QK matrices\"",
            .needsTokens = true,
            .isDefault = true,
            .whyNot = appliesAlways,
            .cost = copyingCost,
            .run = runCopying,
            .pictures = copyingPictures()};
}

Analysis matchingAnalysis()
{
    return {.id = "matching",
            .number = "B2",
            .title = "Matching",
            .formula = "Re Σλ / Σ|λ| over the eigenvalues of E W_Q W_Kᵀ Eᵀ",
            .citation = "Elhage et al. 2021, \"Summarizing OV/QK matrices\"",
            .needsTokens = true,
            .isDefault = true,
            .whyNot = appliesAlways,
            .cost = matchingCost,
            .run = runMatching,
            .pictures = matchingPictures()};
}

} // namespace headwise
