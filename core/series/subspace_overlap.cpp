#include "core/series/subspace_overlap.h"

#include "core/base/parallel.h"
#include "core/circuits/singular_directions.h"
#include "core/circuits/spectrum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace headwise {
namespace {

constexpr std::array overlapCircuits{CircuitKind::Qk, CircuitKind::Ov};

double meanSquaredCosine(const Matrix<double>& before, const Matrix<double>& after, Eigen::Index k)
{
    const Matrix<double> a = before.leftCols(k), b = after.leftCols(k);
    const Matrix<double> product = a.transpose() * b;
    return product.squaredNorm() / static_cast<double>(k);
}

Result<double> overlapOf(const Circuits& before, const Circuits& after, CircuitKind kind, HeadId head)
{
    const auto old = singularDirections(before, kind, head);
    if (!old)
        return old.error();
    const auto now = singularDirections(after, kind, head);
    if (!now)
        return now.error();
    const RankMeasures measures = rankMeasures({old->S.data(), static_cast<std::size_t>(old->S.size())});
    const Eigen::Index most = std::min(old->rank, now->rank);
    if (most == 0 || !std::isfinite(measures.effectiveRank))
        return std::numeric_limits<double>::quiet_NaN();
    const auto k =
        std::clamp(static_cast<Eigen::Index>(std::lround(measures.effectiveRank)), Eigen::Index(1), most);
    return (meanSquaredCosine(old->U, now->U, k) + meanSquaredCosine(old->V, now->V, k)) / 2;
}

constexpr std::string_view overlapEnding = "_subspace_overlap";

ResultArray overlapArray(CircuitKind kind, const ModelConfig& config, std::vector<float> values)
{
    const bool isQk = kind == CircuitKind::Qk;
    return {
        .path = "scores/" + std::string(circuitName(kind)) + std::string(overlapEnding),
        .shape = {static_cast<std::size_t>(config.nLayers), static_cast<std::size_t>(config.nHeads)},
        .values = std::move(values),
        .axes = {Axis::Layer, Axis::Head},
        .definition = "(‖U_kᵀ U'_k‖² + ‖V_kᵀ V'_k‖²) / 2k, U and V = leading k singular vectors of "
            + std::string(circuitFormula(kind))
            + " at the previous step that could be opened, U' and V' at this one, k = effective rank of the former, rounded",
        .title = isQk ? "QK subspace overlap with the previous step"
                      : "OV subspace overlap with the previous step",
        .unit = {},
        .nullMean = std::nullopt,
        .nullDeviation = std::nullopt,
        .range = std::pair{0.0, 1.0},
        .attributes = {}};
}

} // namespace

Result<std::vector<ResultArray>> subspaceOverlaps(const Circuits& before, const Circuits& after,
                                                  const Task& task)
{
    const ModelConfig &old = before.config(), &config = after.config();
    if (old.nLayers != config.nLayers || old.nHeads != config.nHeads || old.dModel != config.dModel)
        return Error{ErrorCode::InvalidArgument,
                     "Subspaces of models of different sizes cannot be compared."};
    const int heads = config.nLayers * config.nHeads;
    std::array<std::vector<float>, overlapCircuits.size()> values;
    values.fill(std::vector<float>(static_cast<std::size_t>(heads)));
    const auto done = parallelFor(heads, task, "singular vectors", [&](int i) -> Result<Done> {
        const HeadId head{i / config.nHeads, i % config.nHeads};
        for (std::size_t c = 0; c < overlapCircuits.size(); ++c) {
            const auto overlap = overlapOf(before, after, overlapCircuits[c], head);
            if (!overlap)
                return overlap.error();
            values[c][static_cast<std::size_t>(i)] = static_cast<float>(*overlap);
        }
        return Done{};
    });
    if (!done)
        return done.error();
    std::vector<ResultArray> arrays;
    for (std::size_t c = 0; c < overlapCircuits.size(); ++c)
        arrays.push_back(overlapArray(overlapCircuits[c], config, std::move(values[c])));
    return arrays;
}

std::vector<ResultArray> withoutOverlaps(std::vector<ResultArray> arrays)
{
    std::erase_if(arrays, [](const ResultArray& array) { return array.path.ends_with(overlapEnding); });
    return arrays;
}

} // namespace headwise
