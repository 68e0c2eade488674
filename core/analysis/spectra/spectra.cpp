#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/random_heads.h"
#include "core/analysis/spectra/head_spectra.h"
#include "core/circuits/spectrum.h"

#include <cmath>

namespace headwise {

namespace {

struct CircuitSpectra {
    RealNumbers sigma, norm, effectiveRank, stableRank, participationRatio;

    explicit CircuitSpectra(const ModelConfig& config)
        : sigma(RealNumbers::perHead(config, config.dHead))
        , norm(RealNumbers::perHead(config))
        , effectiveRank(norm)
        , stableRank(norm)
        , participationRatio(norm)
    {
    }

    void set(HeadId head, const std::vector<double>& values)
    {
        const RankMeasures measures = rankMeasures(values);
        sigma.set(head, std::span<const double>(values));
        norm.set(head, measures.frobeniusNorm);
        effectiveRank.set(head, measures.effectiveRank);
        stableRank.set(head, measures.stableRank);
        participationRatio.set(head, measures.participationRatio);
    }
};

std::string spectraFolder(CircuitKind kind)
{
    return "spectra/" + std::string(circuitName(kind)) + "/";
}

std::vector<ArraySpec> spectraArrays()
{
    std::vector<ArraySpec> all;
    for (const CircuitKind kind : circuitKinds) {
        const std::string folder = spectraFolder(kind);
        const std::string of = " of " + std::string(circuitTitle(kind));
        const std::string circuit(circuitFormula(kind));
        const std::string where = ", σ = singular values of " + circuit;
        all.push_back({folder + "singular_values", headAxes({Axis::SingularValue}), "Singular values" + of,
                       "singular values of " + circuit + ", descending, padded with 0"});
        all.push_back({folder + "frobenius_norm", headAxes(), "Norm" + of, "sqrt(Σσ²)" + where});
        all.push_back({folder + "effective_rank", headAxes(), "Effective rank" + of,
                       "exp(−Σ p ln p), p = σ/Σσ" + where});
        all.push_back({folder + "stable_rank", headAxes(), "Stable rank" + of, "Σσ²/σ₁²" + where});
        all.push_back(
            {folder + "participation_ratio", headAxes(), "Participation ratio" + of, "(Σσ²)²/Σσ⁴" + where});
    }
    return all;
}

void putSpectra(Results& results, const CircuitSpectra& spectra, CircuitKind kind, const SpectrumNulls& nulls)
{
    const std::string folder = spectraFolder(kind);
    results.put(folder + "singular_values", spectra.sigma);
    setNull(results.put(folder + "frobenius_norm", spectra.norm), nulls.norm);
    setNull(results.put(folder + "effective_rank", spectra.effectiveRank), nulls.effectiveRank);
    setNull(results.put(folder + "stable_rank", spectra.stableRank), nulls.stableRank);
    setNull(results.put(folder + "participation_ratio", spectra.participationRatio),
            nulls.participationRatio);
}

Result<ResultSet> runSpectra(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    std::vector<CircuitSpectra> spectra(circuitKinds.size(), CircuitSpectra(config));
    EntrySquares squares(config);
    const auto done = visitSpectra(context,
                                   {[&](const HeadFactors& head) { squares.set(head.id, head.weights); },
                                    [&](CircuitKind kind, HeadId head, const std::vector<double>& sigma) {
                                        spectra[static_cast<std::size_t>(kind)].set(head, sigma);
                                    }},
                                   task);
    if (!done)
        return done.error();
    if (const auto others = squares.addOtherHeads(context, task); !others)
        return others.error();
    Results results = resultsOf(context, spectraArrays());
    results.warn(*done);
    Result<SpectrumNulls> nulls = SpectrumNulls{}; // random QK is like random OV
    for (const CircuitKind kind : circuitKinds) {
        if (kind != CircuitKind::Ov)
            nulls = spectrumNulls(context, kind, context.tokens.get(), task);
        if (!nulls)
            return nulls.error();
        SpectrumNulls ofModel = *nulls;
        ofModel.norm = nulls->norm.times(squares.scaleOf(kind));
        putSpectra(results, spectra[static_cast<std::size_t>(kind)], kind, ofModel);
    }
    return std::move(results).finish();
}

constexpr std::array rankedCircuits{CircuitKind::Qk, CircuitKind::Ov};

std::string ranksPath(CircuitKind kind)
{
    return "analyses/ranks/" + std::string(circuitName(kind));
}

std::vector<ArraySpec> ranksArrays()
{
    std::vector<ArraySpec> all;
    for (const CircuitKind kind : rankedCircuits) {
        const std::string of = " of " + std::string(circuitTitle(kind));
        all.push_back({ranksPath(kind) + "_k90", headAxes(), "Components for 90 %" + of,
                       "smallest k with σ₁² + … + σ_k² ≥ 0.9 Σσ²"});
        all.push_back({ranksPath(kind) + "_numerical_rank", headAxes(), "Numerical rank" + of,
                       "number of σ > d_model ε σ₁, ε = 2^-23"});
    }
    return all;
}

Result<ResultSet> runRanks(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    std::array<RealNumbers, 2> k90{RealNumbers::perHead(config), RealNumbers::perHead(config)};
    std::array<RealNumbers, 2> rank = k90;
    const auto done = forEachHead(context, task, "ranks", [&](HeadId head) -> Result<Done> {
        for (std::size_t i = 0; i < rankedCircuits.size(); ++i) {
            const auto sigma =
                context.circuits.circuit<double>(rankedCircuits[i], head, nullptr).singularValues();
            if (!sigma)
                return sigma.error();
            k90[i].set(head, rankMeasures(*sigma).k90);
            rank[i].set(head, numericalRank(config, *sigma));
        }
        return Done{};
    });
    if (!done)
        return done.error();
    const auto nulls = spectrumNulls(context, CircuitKind::Qk, nullptr, task);
    if (!nulls)
        return nulls.error();
    Results results = resultsOf(context, ranksArrays());
    results.warn(*done);
    for (std::size_t i = 0; i < rankedCircuits.size(); ++i) {
        setNull(results.put(ranksPath(rankedCircuits[i]) + "_k90", k90[i]), nulls->k90);
        setNull(results.put(ranksPath(rankedCircuits[i]) + "_numerical_rank", rank[i]), nulls->numericalRank);
    }
    return std::move(results).finish();
}

double headCount(const ModelConfig& config, const AnalysisOptions& options)
{
    return static_cast<double>(selectedHeads(config, options).size());
}

AnalysisCost spectraCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double own = headCount(config, options), heads = own + randomHeads;
    const double groups = own * config.nKvHeads / config.nHeads; // K and V are multiplied once per group
    return {4 * (heads + groups + randomHeads) * d * d * r + heads * (24 * d * r * r + 80 * r * r * r),
            heads * 4 * (r + 4) * 8, 0.92};
}

AnalysisCost ranksCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double r = config.dHead;
    const double heads = headCount(config, options) + randomHeads;
    return {heads * (16.0 * config.dModel * r * r + 20 * r * r * r), heads * 4 * 8};
}

std::vector<std::string> ofCircuits(const std::string& start, std::span<const CircuitKind> kinds,
                                    const std::string& end)
{
    std::vector<std::string> paths;
    paths.reserve(kinds.size());
    for (const CircuitKind kind : kinds)
        paths.push_back(std::string(start).append(circuitName(kind)).append(end));
    return paths;
}

std::vector<Picture> spectraPictures()
{
    using Kind = Picture::Kind;
    const auto all = [](const char* name) {
        return ofCircuits("spectra/", circuitKinds, std::string("/") + name);
    };
    const std::array residual{CircuitKind::Qk, CircuitKind::Ov};
    const std::array full{CircuitKind::FullQk, CircuitKind::FullOv};
    const auto grid = [](const char* title, std::vector<std::string> arrays, const char* note) {
        return Picture{.kind = Kind::HeadGrid,
                       .title = title,
                       .arrays = std::move(arrays),
                       .signedColors = false,
                       .note = note};
    };
    return {
        {.kind = Kind::Lines,
         .title = "Singular values of QK and OV, selected head",
         .arrays = ofCircuits("spectra/", residual, "/singular_values")},
        {.kind = Kind::Lines,
         .title = "Singular values of QK and OV on a log axis, selected head",
         .arrays = ofCircuits("spectra/", residual, "/singular_values"),
         .logY = true,
         .note = "Zeros beyond the rank are not shown."},
        {.kind = Kind::Lines,
         .title = "Singular values of full QK and full OV, selected head",
         .arrays = ofCircuits("spectra/", full, "/singular_values"),
         .logY = true,
         .note = "Full QK maps tokens to scores and full OV maps tokens to logits, so their units differ."},
        grid(
            "Norms", all("frobenius_norm"),
            "A norm grows with the weights. The null is the norm of random heads with the same mean square."),
        grid("Effective ranks", all("effective_rank"),
             "At most d_head. The null is the value of random heads."),
        grid("Stable ranks", all("stable_rank"), ""),
        grid("Participation ratios", all("participation_ratio"), ""),
        {.kind = Kind::Histogram,
         .title = "Heads by effective rank",
         .arrays = ofCircuits("spectra/", residual, "/effective_rank")},
        {.kind = Kind::HeadPlane,
         .title = "Effective ranks of QK and OV",
         .arrays = ofCircuits("spectra/", residual, "/effective_rank"),
         .note = "One point per head."}};
}

std::vector<Picture> ranksPictures()
{
    using Kind = Picture::Kind;
    const std::array residual{CircuitKind::Qk, CircuitKind::Ov};
    const std::vector<std::string> k90 = ofCircuits("analyses/ranks/", residual, "_k90");
    return {{.kind = Kind::HeadGrid,
             .title = "Components for 90 % of the energy",
             .arrays = k90,
             .signedColors = false,
             .note = "At most d_head. The null is the value of random heads."},
            {.kind = Kind::HeadGrid,
             .title = "Numerical rank",
             .arrays = ofCircuits("analyses/ranks/", residual, "_numerical_rank"),
             .signedColors = false,
             .note = "Below d_head the head does not use all of its dimensions."},
            {.kind = Kind::Histogram, .title = "Heads by components", .arrays = k90}};
}

} // namespace

Analysis spectraAnalysis()
{
    return {
        .id = "spectra",
        .number = "E1–E3",
        .title = "Singular values, norms and rank measures",
        .formula =
            "σ of W_Q W_Kᵀ, W_V W_O, E W_Q W_Kᵀ Eᵀ, E W_V W_O W_U; √Σσ²; exp(−Σ p ln p), p = σ/Σσ; Σσ²/σ₁²; (Σσ²)²/Σσ⁴",
        .citation = "Elhage et al. 2021; Roy & Vetterli 2007",
        .needsTokens = true,
        .isDefault = true,
        .whyNot = appliesAlways,
        .cost = spectraCost,
        .run = runSpectra,
        .arrays = spectraArrays(),
        .pictures = spectraPictures(),
        .followsMetric = true,
        .isSplit = true,
        .crossesStreams = true,
        .takesClassToken = true,
        .needsGramsAlone = true};
}

Analysis ranksAnalysis()
{
    return {.id = "ranks",
            .number = "E3",
            .title = "Components for 90 % of the energy, numerical rank",
            .formula = "k90: smallest k with σ₁² + … + σ_k² ≥ 0.9 Σσ²; rank: number of σ > d_model ε σ₁",
            .citation = "Golub & Van Loan, Matrix Computations, 4th ed., §5.4",
            .whyNot = appliesAlways,
            .cost = ranksCost,
            .run = runRanks,
            .arrays = ranksArrays(),
            .pictures = ranksPictures(),
            .followsMetric = true,
            .isSplit = true,
            .crossesStreams = true};
}

} // namespace headwise
