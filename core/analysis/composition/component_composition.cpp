#include "core/analysis/analyses.h"
#include "core/analysis/head_pairs.h"
#include "core/base/decompositions.h"
#include "core/base/matrix.h"
#include "core/circuits/subspace.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace headwise {

namespace {

constexpr std::array<const char*, 3> componentCompositionModes{"q", "k", "v"};
constexpr std::array<const char*, 3> componentCompositionTitles{"Q-composition", "K-composition",
                                                                "V-composition"};
constexpr std::array<const char*, 3> circuitsRead{"W_QK²", "W_QK²ᵀ", "W_OV²"};
const std::string componentCompositionFolder = "analyses/component_composition/";

std::vector<ArraySpec> componentCompositionArrays()
{
    const std::string& folder = componentCompositionFolder;
    const std::vector<ArrayAxis> axes{Axis::Component};
    std::vector<ArraySpec> all{{folder + "singular_values", axes, "Singular values of the earlier head",
                                "σ_k of W_OV¹, descending"}};
    for (std::size_t mode = 0; mode < componentCompositionModes.size(); ++mode) {
        const std::string name = componentCompositionModes[mode];
        const std::string title = componentCompositionTitles[mode];
        const std::string read = circuitsRead[mode];
        const std::string where = ", W_OV¹ = Σ σ_k u_k v_kᵀ; NaN where σ_k ≤ d_model ε σ₁, ε = 2^-23";
        all.push_back({.path = folder + name,
                       .axes = axes,
                       .title = title + " by component",
                       .definition = fmt::format("‖σ_k u_k v_kᵀ {0}‖_F / (σ_k ‖{0}‖_F){1}", read, where),
                       .range = {{0.0, 1.0}}});
        all.push_back({.path = folder + name + "_share",
                       .axes = axes,
                       .title = title + ", share by component",
                       .definition = fmt::format("‖σ_k u_k v_kᵀ {0}‖²_F / ‖W_OV¹ {0}‖²_F{1}", read, where),
                       .range = {{0.0, 1.0}}});
    }
    all.push_back({folder + "share_null", axes, "Share by component by chance",
                   "σ_k²/Σσ²: the share of every component if the later head read all directions alike"});
    return all;
}

/// The factors of a later head's circuit W², for measuring how it reads a direction x: ‖x near · coreᵀ‖ = ‖x W²‖.
struct Reading {
    Matrix<double> near;      // [d, r]
    Matrix<double> core;      // R of the far factor, [min(d, r), r]
    double norm = 0;          // ‖W²‖_F
    double participation = 0; // Σσ⁴/(Σσ²)²
};

Result<Reading> readingOf(const Matrix<double>& near, const Matrix<double>& far)
{
    const auto R = triangularFactor(far);
    if (!R)
        return R.error();
    const Matrix<double> squares = (near.transpose() * near) * (R->transpose() * *R);
    const double norm = squares.trace();
    return Reading{near, *R, std::sqrt(norm),
                   squares.cwiseProduct(squares.transpose()).sum() / (norm * norm)};
}

struct Components {
    std::vector<double> scores, shares; // [component], NaN beyond the rank
};

/// \param svd of W_OV of the earlier head
Components components(const Svd<double>& svd, const Reading& reading)
{
    const auto count = static_cast<std::size_t>(svd.S.size());
    Components found{std::vector<double>(count, notComputed), std::vector<double>(count, notComputed)};
    const double smallest = static_cast<double>(svd.V.rows())
        * static_cast<double>(std::numeric_limits<float>::epsilon()) * svd.S(0);
    const Matrix<double> read = (svd.V.transpose() * reading.near) * reading.core.transpose(); // [k, r]
    const double whole = (svd.S.asDiagonal() * read).squaredNorm();
    for (Eigen::Index i = 0; i < svd.S.size() && svd.S(i) > smallest; ++i) {
        const auto index = static_cast<std::size_t>(i);
        found.scores[index] = read.row(i).norm() / reading.norm; // 0/0: NaN
        found.shares[index] = svd.S(i) * svd.S(i) * read.row(i).squaredNorm() / whole;
    }
    return found;
}

Result<ResultSet> runComponentComposition(const AnalysisContext& context, const Task& task)
{
    const auto [earlier, later] = *context.options.inputs.pair;
    const auto svd = context.circuits.ov(earlier).svd();
    if (!svd)
        return svd.error();
    const HeadWeights<double> w = context.circuits.weights().head<double>(later);
    const std::array<std::pair<Matrix<double>, Matrix<double>>, 3> sides{
        {{w.W_Q, w.W_K}, {w.W_K, w.W_Q}, {w.W_V, w.W_O.transpose()}}};
    const double d = context.circuits.config().dModel;
    Results results = resultsOf(context, componentCompositionArrays());
    results.put(componentCompositionFolder + "singular_values",
                std::vector<double>(svd->S.begin(), svd->S.end()));
    for (std::size_t mode = 0; mode < componentCompositionModes.size(); ++mode) {
        if (task.cancelled())
            return stopped();
        const auto reading = readingOf(sides[mode].first, sides[mode].second);
        if (!reading)
            return reading.error();
        Components found = components(*svd, *reading);
        const std::string path = componentCompositionFolder + componentCompositionModes[mode];
        ResultArray& score = results.put(path, std::move(found.scores));
        const Moments null = overlapMoments(1, reading->participation, context.circuits.config().dModel);
        score.nullMean = 1 / std::sqrt(d);
        score.nullDeviation = null.deviation / (2 * std::sqrt(null.mean)); // of a root, to first order
        results.put(path + "_share", std::move(found.shares));
    }
    const double energy = svd->S.squaredNorm();
    std::vector<double> chance;
    for (const double sigma : svd->S)
        chance.push_back(sigma * sigma / energy);
    results.put(componentCompositionFolder + "share_null", std::move(chance));
    for (ResultArray& array : results.arrays())
        array.attributes["pair"] = dottedHead(earlier) + " " + dottedHead(later);
    return std::move(results).finish();
}

AnalysisCost componentCompositionCost(const ModelConfig& config, const AnalysisOptions&)
{
    const double d = config.dModel;
    const double r = config.dHead;
    return {40 * d * r * r + 40 * r * r * r, 12 * d * r * 8};
}

std::vector<Picture> componentCompositionPictures()
{
    using Kind = Picture::Kind;
    return {{.kind = Kind::Bars,
             .title = "Score of every singular component",
             .arrays = {componentCompositionFolder + "q", componentCompositionFolder + "k",
                        componentCompositionFolder + "v"},
             .note = "Where neighbouring singular values are equal, only their sum is meaningful."},
            {.kind = Kind::Bars,
             .title = "Share of every singular component",
             .arrays = {componentCompositionFolder + "q_share", componentCompositionFolder + "k_share",
                        componentCompositionFolder + "v_share", componentCompositionFolder + "share_null"}},
            {.kind = Kind::Lines,
             .title = "Singular values of the earlier head",
             .arrays = {componentCompositionFolder + "singular_values"},
             .logY = true}};
}

} // namespace

Analysis componentCompositionAnalysis()
{
    return {.id = "component_composition",
            .number = "D5",
            .title = "Composition by singular component",
            .formula = "‖v_kᵀ M²‖ / ‖M²‖_F, W_OV¹ = Σ σ_k u_k v_kᵀ, M² = W_QK, W_QKᵀ, W_OV of the later head",
            .citation = "Merullo et al. 2024, arXiv 2406.09519",
            .whyNot = whyNotPair,
            .cost = componentCompositionCost,
            .run = runComponentComposition,
            .arrays = componentCompositionArrays(),
            .needs = {.pair = true},
            .pictures = componentCompositionPictures(),
            .followsMetric = true};
}

} // namespace headwise
