#include "core/analysis/position/position_kernel.h"

#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/position_vectors.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/base/matrix.h"
#include "core/circuits/position_scores.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index longestContext = 1024;

/// Scores of two positions do not depend on tokens.
bool hasPositionScores(const ModelConfig& config)
{
    return config.positional == Positional::Learned || config.positional == Positional::Relative;
}

std::string onlyLearned(const ModelConfig& config, const AnalysisOptions&)
{
    return hasPositionScores(config)
        ? whyNoCausalMask(config)
        : "The position kernel needs learned positions or a learned bias by distance.";
}

const std::string positionKernelFolder = "analyses/position_kernel/";

/// Mean attention at fixed places relative to the query, and at the first token.
struct Masses {
    double current = 0, previous = 0, twoBack = 0, first = 0;
};

/// Averages over the queries that have such a key: i ≥ 0, 1, 2, and 1 for the first token. \param pattern [n, n], row = query
Masses massesOf(const Matrix<double>& pattern)
{
    const Eigen::Index n = pattern.rows();
    const auto back = [&](Eigen::Index offset) {
        return n > offset ? pattern.diagonal(-offset).mean() : notComputed;
    };
    return {back(0), back(1), back(2), n > 1 ? pattern.col(0).tail(n - 1).mean() : notComputed};
}

struct MassArray {
    const char *name, *title, *where;
    double Masses::*mass;
};
constexpr std::array massArrays{
    MassArray{"current_token", "Current token", "j = i", &Masses::current},
    MassArray{"previous_token", "Previous token", "j = i−1", &Masses::previous},
    MassArray{"second_previous_token", "Second previous token", "j = i−2", &Masses::twoBack},
    MassArray{"first_token", "First token", "j = 0, i ≥ 1", &Masses::first}};

std::vector<ArraySpec> positionKernelArrays()
{
    const std::string at = positionKernelFolder;
    const std::vector<ArrayAxis> axes = headAxes({Axis::Offset});
    std::vector<ArraySpec> all{{at + "mean_score", axes, "Mean score by offset",
                                "k(Δ) = mean over i ≥ Δ of s_{i,i−Δ}, s as in scores/previous_token"},
                               {at + "centred_mean_score", axes, "Mean centred score by offset",
                                "k(Δ) = mean over i ≥ Δ of s_{i,i−Δ} − mean_{j ≤ i} s_ij"},
                               {at + "score_low", axes, "Mean score minus one deviation",
                                "k(Δ) − deviation over i ≥ Δ of s_{i,i−Δ}"},
                               {at + "score_high", axes, "Mean score plus one deviation",
                                "k(Δ) + deviation over i ≥ Δ of s_{i,i−Δ}"}};
    for (const MassArray& mass : massArrays)
        all.push_back({at + mass.name, headAxes(), mass.title,
                       std::string("mean over i of softmax_{j ≤ i}(s_ij) at ") + mass.where
                           + ", s as in scores/previous_token",
                       "", std::pair(0.0, 1.0)});
    all.push_back(
        {.path = at + "mass_null",
         .axes = {Axis::Layer, Axis::Mass},
         .title = "Masses of uniform attention",
         .definition =
             "current, previous, second previous and first token where every key seen gets the same",
         .condition = "layers with different windows"});
    return all;
}

/// The kernel of every head with its band, and the masses of its attention.
struct PositionKernelNumbers {
    RealNumbers mean, centred, low, high;
    std::array<RealNumbers, massArrays.size()> masses;

    PositionKernelNumbers(const ModelConfig& config, Eigen::Index n)
        : mean(RealNumbers::perHead(config, n))
        , centred(mean)
        , low(mean)
        , high(mean)
        , masses{RealNumbers::perHead(config), RealNumbers::perHead(config), RealNumbers::perHead(config),
                 RealNumbers::perHead(config)}
    {
    }

    void set(HeadId head, const Matrix<double>& scores, int window)
    {
        const PositionKernel kernel = positionKernel(scores);
        mean.set(head, std::span<const double>(kernel.mean));
        centred.set(head, std::span<const double>(kernel.centred));
        for (Eigen::Index offset = 0; offset < scores.rows(); ++offset) {
            const auto at = static_cast<std::size_t>(offset);
            low.of(head)[at] = kernel.mean[at] - kernel.deviation[at];
            high.of(head)[at] = kernel.mean[at] + kernel.deviation[at];
        }
        const Masses found = massesOf(maskedSoftmax(scores.transpose(), window));
        for (std::size_t i = 0; i < masses.size(); ++i)
            masses[i].set(head, found.*massArrays[i].mass);
    }
};

/// Returns the masses of uniform attention, shared by all layers. Returns nothing if layers have different windows.
std::optional<Masses> evenMasses(const ModelConfig& config, Eigen::Index n)
{
    for (int layer = 1; layer < config.nLayers; ++layer)
        if (config.windowOf(layer) != config.windowOf(0))
            return std::nullopt;
    return massesOf(maskedSoftmax(Matrix<double>::Zero(n, n), config.windowOf(0)));
}

/// Puts the masses with their null, or with an array of nulls by layer where windows differ.
void putMasses(Results& results, const PositionKernelNumbers& numbers, const ModelConfig& config,
               Eigen::Index n)
{
    const std::optional<Masses> even = evenMasses(config, n);
    for (std::size_t i = 0; i < massArrays.size(); ++i) {
        ResultArray& array = results.put(positionKernelFolder + massArrays[i].name, numbers.masses[i]);
        if (even)
            array.nullMean = (*even).*massArrays[i].mass;
    }
    if (even)
        return;
    std::vector<double> values;
    for (int layer = 0; layer < config.nLayers; ++layer) {
        const Masses ofLayer = massesOf(maskedSoftmax(Matrix<double>::Zero(n, n), config.windowOf(layer)));
        for (const MassArray& mass : massArrays)
            values.push_back(ofLayer.*mass.mass);
    }
    results.put(positionKernelFolder + "mass_null",
                {static_cast<std::size_t>(config.nLayers), massArrays.size()}, std::move(values));
}

Result<ResultSet> runPositionKernel(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const Eigen::Index n = scoredPositions(config);
    const ProcessedWeights& weights = context.circuits.weights();
    PositionKernelNumbers numbers(config, n);
    std::optional<PositionVectors<>> vectors;
    if (config.positional == Positional::Learned)
        vectors.emplace(weights, n);
    const auto done = forEachHead(context, task, "position kernels", [&](HeadId head) -> Result<Done> {
        numbers.set(head,
                    vectors ? positionScores(weights, head, *vectors->of(head.layer))
                            : distanceScores(weights, head, n),
                    config.windowOf(head.layer));
        return Done{};
    });
    if (!done)
        return done.error();
    Results results = resultsOf(context, positionKernelArrays());
    results.warn(*done);
    results.put(positionKernelFolder + "mean_score", numbers.mean);
    results.put(positionKernelFolder + "centred_mean_score", numbers.centred).nullMean = 0.0;
    results.put(positionKernelFolder + "score_low", numbers.low);
    results.put(positionKernelFolder + "score_high", numbers.high);
    putMasses(results, numbers, config, n);
    for (ResultArray& array : results.arrays())
        array.attributes["assumption"] =
            std::string(vectors ? "raw positions" : "s_ij is the learned bias of the distance i − j alone");
    return std::move(results).finish();
}

std::vector<Picture> positionKernelPictures()
{
    using enum Picture::Kind;
    const auto in = [](std::initializer_list<const char*> names) {
        return pathsOf("position_kernel", names);
    };
    const std::string later =
        "Only layer 0 reads position vectors unchanged; for later layers this is a guess.";
    return {
        {.kind = Lines,
         .title = "Mean score by offset",
         .arrays = in({"mean_score", "score_low", "score_high"}),
         .note = later},
        {.kind = Lines,
         .title = "Mean centred score by offset",
         .arrays = in({"centred_mean_score"}),
         .note = later},
        {.kind = HeadGrid,
         .title = "Attention by position alone",
         .arrays = in({"previous_token", "current_token", "second_previous_token", "first_token"}),
         .signedColors = false,
         .note = later},
        {HeadPlane,
         "Previous-token scores with and without tokens",
         {"analyses/position_kernel/previous_token", "analyses/pattern_scores/previous"}},
    };
}

} // namespace

Eigen::Index scoredPositions(const ModelConfig& config)
{
    return std::min<Eigen::Index>(config.nCtx, longestContext);
}

AnalysisCost positionScoresCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double n = static_cast<double>(scoredPositions(config));
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double perHead = hasPositionScores(config)
        ? 4 * n * config.dModel * config.dHead + n * n * (2.0 * config.dHead + 20)
        : n * (20.0 * config.dHead);
    return {heads * perHead, hasPositionScores(config) ? 16 * n * n : 8 * n};
}

Analysis positionKernelAnalysis()
{
    return {.id = "position_kernel",
            .number = "C2",
            .title = "Mean score by offset",
            .formula = "k(Δ) = mean over i of s_{i,i−Δ}",
            .citation = "Kamoda et al. 2025, arXiv 2501.15754",
            .whyNot = onlyLearned,
            .cost = positionScoresCost,
            .run = runPositionKernel,
            .arrays = positionKernelArrays(),
            .needs = {.config = {ConfigField::Positions, ConfigField::NormEps}},
            .pictures = positionKernelPictures()};
}

} // namespace headwise
