#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/eigenvalue_null.h"
#include "core/circuits/shared_spectra.h"
#include "core/circuits/spectrum.h"

namespace headwise {

namespace {

std::string eigenvaluesPath(CircuitKind kind)
{
    return "eigenvalues/" + std::string(circuitName(kind));
}

std::vector<ArraySpec> eigenvaluesArrays()
{
    std::vector<ArraySpec> all;
    all.reserve(circuitKinds.size());
    for (const CircuitKind kind : circuitKinds)
        all.push_back(
            {.path = eigenvaluesPath(kind),
             .axes = headAxes({Axis::Eigenvalue}),
             .title = "Eigenvalues of " + std::string(circuitTitle(kind)),
             .definition = "eigenvalues of " + std::string(circuitFormula(kind))
                 + " by falling modulus, then larger real part, then positive imaginary part; padded with 0",
             .type = NumberType::Complex});
    return all;
}

std::string notSquare(const TokenSide& tokens)
{
    return "Eigenvalues of full OV and copying were skipped because the embedding has "
        + std::to_string(tokens.E.count()) + " tokens and the unembedding "
        + std::to_string(tokens.W_U.count()) + ".";
}

Result<ResultSet> runEigenvalues(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    std::vector<ComplexNumbers> lambda(circuitKinds.size(), ComplexNumbers::perHead(config, config.dHead));
    const std::shared_ptr<SharedSpectra> shared = spectraOf(context);
    const auto done = forEachHead(context, task, "eigenvalues", [&](HeadId head) -> Result<Done> {
        const HeadWeights<double> weights = context.circuits.weights().head<double>(head);
        Result<Done> state = Done{};
        for (const CircuitKind kind : circuitKinds) {
            if (kind == CircuitKind::FullOv && !context.tokens->isSquare())
                continue;
            const auto values = shared->eigenvalues(kind, head, &weights);
            if (values)
                lambda[static_cast<std::size_t>(kind)].set(head, *values);
            else
                state = values.error();
        }
        return state;
    });
    if (!done)
        return done.error();
    Results results = resultsOf(context, eigenvaluesArrays());
    results.warn(*done);
    if (!context.tokens->isSquare())
        results.warn(notSquare(*context.tokens));
    for (const CircuitKind kind : circuitKinds)
        results.put(eigenvaluesPath(kind), std::move(lambda[static_cast<std::size_t>(kind)]));
    return std::move(results).finish();
}

/// Spec of Re Σλ / Σ|λ| of one circuit.
ArraySpec positivitySpec(CircuitKind kind, const char* path, const char* title)
{
    return {.path = path,
            .axes = headAxes(),
            .title = title,
            .definition = "Re Σλ / Σ|λ|, λ = eigenvalues of " + std::string(circuitFormula(kind)),
            .range = {{-1.0, 1.0}}};
}

std::vector<ArraySpec> copyingArrays()
{
    return {positivitySpec(CircuitKind::FullOv, "scores/copying", "Copying"),
            positivitySpec(CircuitKind::Ov, "scores/copying_weights", "Copying of the weights alone")};
}

std::vector<ArraySpec> matchingArrays()
{
    return {positivitySpec(CircuitKind::FullQk, "scores/matching", "Matching")};
}

/// Puts "scores/NAME" of one circuit. \returns warnings
Result<std::vector<std::string>> putPositivity(Results& results, const AnalysisContext& context,
                                               CircuitKind kind, const std::string& name, const Task& task)
{
    RealNumbers scores = RealNumbers::perHead(context.circuits.config());
    if (kind == CircuitKind::FullOv && !context.tokens->isSquare()) {
        results.put("scores/" + name, std::move(scores));
        return std::vector{notSquare(*context.tokens)};
    }
    const std::shared_ptr<SharedSpectra> shared = spectraOf(context);
    auto done = forEachHead(context, task, name, [&](HeadId head) -> Result<Done> {
        const auto values = shared->eigenvalues(kind, head);
        if (!values)
            return values.error();
        scores.set(head, positivity(*values));
        return Done{};
    });
    if (!done)
        return done;
    ResultArray& array = results.put("scores/" + name, std::move(scores));
    const auto null = addEigenvalueNull(array, context, kind, EigenvalueNumber::Positivity, task);
    if (!null)
        return null.error();
    return done;
}

Result<ResultSet> runCopying(const AnalysisContext& context, const Task& task)
{
    Results results = resultsOf(context, copyingArrays());
    const auto full = putPositivity(results, context, CircuitKind::FullOv, "copying", task);
    if (!full)
        return full.error();
    results.warn(*full);
    const auto alone = putPositivity(results, context, CircuitKind::Ov, "copying_weights", task);
    if (!alone) // its warnings are those of `full`
        return alone.error();
    return std::move(results).finish();
}

Result<ResultSet> runMatching(const AnalysisContext& context, const Task& task)
{
    Results results = resultsOf(context, matchingArrays());
    const auto warnings = putPositivity(results, context, CircuitKind::FullQk, "matching", task);
    if (!warnings)
        return warnings.error();
    results.warn(*warnings);
    return std::move(results).finish();
}

/// The work for the eigenvalues of the selected heads, in flops.
struct EigenvalueWork {
    double heads;   ///< Their number.
    double queries; ///< W_Q times the Gram matrix of the tokens.
    double values;  ///< W_V times W_U E, once per group of query heads.
    double small;   ///< The [r, r] matrix of one circuit and its eigenvalues.

    EigenvalueWork(const ModelConfig& config, const AnalysisOptions& options)
        : heads(static_cast<double>(selectedHeads(config, options).size()))
    {
        const double d = config.dModel, r = config.dHead;
        queries = heads * 2 * d * d * r;
        values = queries * config.nKvHeads / config.nHeads;
        small = heads * (2 * d * r * r + 10 * r * r * r);
    }
};

constexpr double eigenvalueSpeed = 0.62;

AnalysisCost matchingCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const EigenvalueWork work(config, options);
    return {work.queries + work.small + eigenvalueNullFlops(config), work.heads * 8, eigenvalueSpeed};
}

AnalysisCost matchingCostAfter(const ModelConfig& config, const AnalysisOptions& options)
{
    return {eigenvalueNullFlops(config), EigenvalueWork(config, options).heads * 8, eigenvalueSpeed};
}

AnalysisCost copyingCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const EigenvalueWork work(config, options);
    return {work.values + 2 * work.small + 2 * eigenvalueNullFlops(config), work.heads * 16, eigenvalueSpeed};
}

AnalysisCost copyingCostAfter(const ModelConfig& config, const AnalysisOptions& options)
{
    return {2 * eigenvalueNullFlops(config), EigenvalueWork(config, options).heads * 16, eigenvalueSpeed};
}

AnalysisCost eigenvaluesCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const EigenvalueWork work(config, options);
    return {work.queries + work.values + 4 * work.small, work.heads * 32 * config.dHead, eigenvalueSpeed};
}

AnalysisCost eigenvaluesCostAfter(const ModelConfig& config, const AnalysisOptions& options)
{
    const EigenvalueWork work(config, options);
    return {work.values + 4 * work.small, work.heads * 32 * config.dHead, eigenvalueSpeed};
}

constexpr const char* positivityNote =
    "Positive eigenvalues are evidence, not proof: in a matrix far from normal they miss much. By chance 0; the null is the spread for Gaussian weights between this model's own tokens.";

std::vector<Picture> eigenvaluePictures()
{
    std::vector<Picture> pictures;
    for (const CircuitKind kind :
         {CircuitKind::FullOv, CircuitKind::FullQk, CircuitKind::Ov, CircuitKind::Qk}) {
        const std::string name(circuitName(kind));
        pictures.push_back(
            {.kind = Picture::Kind::Points,
             .title = "Eigenvalues of " + std::string(circuitFormula(kind)) + ", selected head",
             .arrays = {"eigenvalues/" + name},
             .note =
                 "Eigenvalues right of zero keep a direction, left of zero they flip it. Above and below they rotate it."});
    }
    return pictures;
}

std::vector<Picture> copyingPictures()
{
    return {
        {.kind = Picture::Kind::HeadGrid,
         .title = "Copying",
         .arrays = {"scores/copying"},
         .note = positivityNote},
        {.kind = Picture::Kind::Points,
         .title = "Eigenvalues of full OV, selected head",
         .arrays = {"eigenvalues/full_ov"},
         .note = "1: all eigenvalues are positive; −1: all are negative."},
        {.kind = Picture::Kind::HeadPlane,
         .title = "Copying by the weights alone and with the tokens",
         .arrays = {"scores/copying_weights", "scores/copying"},
         .note = "One point per head. Far from the diagonal, the embeddings decide what the head copies."},
        {.kind = Picture::Kind::Histogram, .title = "Heads by copying", .arrays = {"scores/copying"}}};
}

std::vector<Picture> matchingPictures()
{
    return {
        {.kind = Picture::Kind::HeadPlane,
         .title = "QK and OV positivity",
         .arrays = {"scores/matching", "scores/copying"},
         .note =
             "One point per head. Heads that attend to the same token and copy it are at the upper right. In induction heads, the K-composed QK attends to the same token."},
        {.kind = Picture::Kind::HeadGrid,
         .title = "Matching and copying",
         .arrays = {"scores/matching", "scores/copying"},
         .note = positivityNote},
        {.kind = Picture::Kind::Histogram,
         .title = "Heads by matching and copying",
         .arrays = {"scores/matching", "scores/copying"}}};
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
            .arrays = eigenvaluesArrays(),
            .pictures = eigenvaluePictures(),
            .isSplit = true,
            .needsGramsAlone = true,
            .after = "spectra",
            .costAfter = eigenvaluesCostAfter};
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
            .arrays = copyingArrays(),
            .pictures = copyingPictures(),
            .isSplit = true,
            .needsGramsAlone = true,
            .after = "eigenvalues",
            .costAfter = copyingCostAfter};
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
            .arrays = matchingArrays(),
            .pictures = matchingPictures(),
            .isSplit = true,
            .needsGramsAlone = true,
            .after = "eigenvalues",
            .costAfter = matchingCostAfter};
}

} // namespace headwise
