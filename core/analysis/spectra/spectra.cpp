#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/spectrum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace headwise {

namespace {

/// Average and deviation of a rank measure over heads of Gaussian weights of the same shape.
struct Null {
    double mean = 0, deviation = 0;
};

struct RankNulls {
    Null effectiveRank, stableRank, participationRatio;
};

Null nullOf(const std::vector<double>& samples)
{
    const Eigen::Map<const Eigen::ArrayXd> values(samples.data(), static_cast<Eigen::Index>(samples.size()));
    const double mean = values.mean();
    return {mean, std::sqrt((values - mean).square().sum() / static_cast<double>(samples.size() - 1))};
}

/// Eight heads from seed 0: the measures of random heads hardly vary.
RankNulls rankNulls(const ModelConfig& config)
{
    constexpr int heads = 8;
    std::mt19937 random(0);
    std::normal_distribution<float> normal;
    const auto gaussian = [&] {
        return Matrix<float>::NullaryExpr(config.dModel, config.dHead, [&] { return normal(random); }).eval();
    };
    std::vector<double> effective, stable, participation;
    for (int head = 0; head < heads; ++head) {
        const Matrix<float> left = gaussian();
        const Matrix<float> right = gaussian().transpose();
        const auto circuit = FactoredMatrix<float>::create(left, right);
        const auto sigma = circuit ? circuit->singularValues() : circuit.error();
        if (!sigma)
            return {};
        const RankMeasures measures = rankMeasures(*sigma);
        effective.push_back(measures.effectiveRank);
        stable.push_back(measures.stableRank);
        participation.push_back(measures.participationRatio);
    }
    return {nullOf(effective), nullOf(stable), nullOf(participation)};
}

struct CircuitSpectra {
    PerHead sigma, norm, effectiveRank, stableRank, participationRatio;

    explicit CircuitSpectra(const ModelConfig& config)
        : sigma(config, config.dHead)
        , norm(config)
        , effectiveRank(config)
        , stableRank(config)
        , participationRatio(config)
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

std::string_view peopleName(CircuitKind kind)
{
    static constexpr std::array<std::string_view, 4> names{"QK", "OV", "full QK", "full OV"};
    return names[static_cast<std::size_t>(kind)];
}

void addArrays(ResultSet& results, const CircuitSpectra& spectra, CircuitKind kind, Precision precision,
               const RankNulls& nulls)
{
    const std::string folder = "spectra/" + std::string(circuitName(kind)) + "/";
    const std::string of = " of " + std::string(peopleName(kind));
    const std::string where = ", σ = singular values of " + std::string(circuitFormula(kind));
    const auto add = [&](const PerHead& numbers, const char* name, const char* title, const char* formula,
                         const Null& null) {
        ResultArray array = numbers.array(precision, folder + name, title + of, formula + where);
        if (!isFull(kind) && null.mean > 0) {
            array.nullMean = null.mean;
            array.nullDeviation = null.deviation;
        }
        results.arrays.push_back(std::move(array));
    };
    results.arrays.push_back(spectra.sigma.array(
        precision, folder + "singular_values", "Singular values" + of,
        "singular values of " + std::string(circuitFormula(kind)) + ", descending, padded with 0",
        "singular value"));
    add(spectra.norm, "frobenius_norm", "Norm", "sqrt(Σσ²)", {});
    add(spectra.effectiveRank, "effective_rank", "Effective rank", "exp(−Σ p ln p), p = σ/Σσ",
        nulls.effectiveRank);
    add(spectra.stableRank, "stable_rank", "Stable rank", "Σσ²/σ₁²", nulls.stableRank);
    add(spectra.participationRatio, "participation_ratio", "Participation ratio", "(Σσ²)²/Σσ⁴",
        nulls.participationRatio);
}

Result<ResultSet> runSpectra(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    std::vector<CircuitSpectra> spectra(circuitKinds.size(), CircuitSpectra(config));
    const auto done = forEachHead(context, task, "spectra", [&](HeadId head) -> Result<Done> {
        const HeadWeights<double> weights = context.circuits.weights().head<double>(head);
        Result<Done> state = Done{};
        for (const CircuitKind kind : circuitKinds) {
            if (task.cancelled())
                return stopped();
            const auto sigma =
                circuitSingularValues(context.circuits, weights, kind, head, context.tokens.get());
            if (sigma)
                spectra[static_cast<std::size_t>(kind)].set(head, *sigma);
            else
                state = sigma.error(); // the other circuits of this head may still be good
        }
        return state;
    });
    if (!done)
        return done.error();
    ResultSet results;
    results.warnings = *done;
    const RankNulls nulls = rankNulls(config);
    for (const CircuitKind kind : circuitKinds)
        addArrays(results, spectra[static_cast<std::size_t>(kind)], kind, context.options.precision, nulls);
    return results;
}

Result<ResultSet> runRanks(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    PerHead k90[2]{PerHead(config), PerHead(config)};
    PerHead rank[2]{PerHead(config), PerHead(config)};
    const auto done = forEachHead(context, task, "ranks", [&](HeadId head) -> Result<Done> {
        for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov}) {
            const auto sigma = context.circuits.circuit<double>(kind, head, nullptr).singularValues();
            if (!sigma)
                return sigma.error();
            const int index = kind == CircuitKind::Qk ? 0 : 1;
            const double smallest =
                config.dModel * double(std::numeric_limits<float>::epsilon()) * sigma->front();
            k90[index].set(head, rankMeasures(*sigma).k90);
            rank[index].set(head,
                            static_cast<double>(std::count_if(sigma->begin(), sigma->end(),
                                                              [&](double s) { return s > smallest; })));
        }
        return Done{};
    });
    if (!done)
        return done.error();
    ResultSet results;
    results.warnings = *done;
    const Precision precision = context.options.precision;
    for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov}) {
        const int index = kind == CircuitKind::Qk ? 0 : 1;
        const std::string path = "analyses/ranks/" + std::string(circuitName(kind));
        const std::string of = " of " + std::string(peopleName(kind));
        results.arrays.push_back(k90[index].array(precision, path + "_k90", "Components for 90 %" + of,
                                                  "smallest k with σ₁² + … + σ_k² ≥ 0.9 Σσ²"));
        results.arrays.push_back(rank[index].array(precision, path + "_numerical_rank", "Numerical rank" + of,
                                                   "number of σ > d_model ε σ₁, ε = 2^-23"));
    }
    return results;
}

double headCount(const ModelConfig& config, const AnalysisOptions& options)
{
    return static_cast<double>(selectedHeads(config, options).size());
}

AnalysisCost spectraCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = headCount(config, options);
    return {heads * (8 * d * d * r + 24 * d * r * r + 80 * r * r * r), heads * 4 * (r + 4) * 8};
}

AnalysisCost ranksCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double r = config.dHead;
    const double heads = headCount(config, options);
    return {heads * (16.0 * config.dModel * r * r + 20 * r * r * r), heads * 4 * 8};
}

} // namespace

Analysis spectraAnalysis()
{
    return {"spectra",
            "E1–E3",
            "Singular values, norms and rank measures",
            "σ of W_Q W_Kᵀ, W_V W_O, E W_Q W_Kᵀ Eᵀ, E W_V W_O W_U; √Σσ²; exp(−Σ p ln p), p = σ/Σσ; Σσ²/σ₁²; "
            "(Σσ²)²/Σσ⁴",
            "Elhage et al. 2021; Roy & Vetterli 2007",
            true,
            true,
            appliesAlways,
            spectraCost,
            runSpectra};
}

Analysis ranksAnalysis()
{
    return {"ranks",
            "E3",
            "Components for 90 % of the energy, numerical rank",
            "k90: smallest k with σ₁² + … + σ_k² ≥ 0.9 Σσ²; rank: number of σ > d_model ε σ₁",
            "Golub & Van Loan, Matrix Computations, 4th ed., §5.4",
            false,
            false,
            appliesAlways,
            ranksCost,
            runRanks};
}

} // namespace headwise
