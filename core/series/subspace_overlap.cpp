#include "core/series/subspace_overlap.h"

#include "core/base/parallel.h"
#include "core/circuits/singular_directions.h"
#include "core/circuits/spectrum.h"
#include "core/series/vector_tracks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace headwise {
namespace {

constexpr std::array overlapCircuits{CircuitKind::Qk, CircuitKind::Ov};

/// One head's circuit at two steps.
struct DirectionPair {
    SingularDirections before, after;
};

Result<DirectionPair> directionsOf(const Circuits& before, const Circuits& after, CircuitKind kind,
                                   HeadId head)
{
    auto old = singularDirections(before, kind, head);
    if (!old)
        return old.error();
    auto now = singularDirections(after, kind, head);
    if (!now)
        return now.error();
    return DirectionPair{std::move(old).value(), std::move(now).value()};
}

/// Cosines of the angles between the leading k vectors before, by row, and after.
Matrix<double> cosines(const DirectionPair& pair, VectorSide side, Eigen::Index k)
{
    const Matrix<double> a = pair.before.vectors(side).leftCols(k), b = pair.after.vectors(side).leftCols(k);
    return a.transpose() * b;
}

double subspaceOverlap(const DirectionPair& pair)
{
    const Eigen::VectorXd& sigma = pair.before.S;
    const RankMeasures measures = rankMeasures({sigma.data(), static_cast<std::size_t>(sigma.size())});
    const Eigen::Index most = std::min(pair.before.rank, pair.after.rank);
    if (most == 0 || !std::isfinite(measures.effectiveRank))
        return std::numeric_limits<double>::quiet_NaN();
    const auto k =
        std::clamp(static_cast<Eigen::Index>(std::lround(measures.effectiveRank)), Eigen::Index(1), most);
    return (cosines(pair, VectorSide::First, k).squaredNorm()
            + cosines(pair, VectorSide::Second, k).squaredNorm())
        / static_cast<double>(2 * k);
}

/// Fills [n, n] with the squared cosines of the leading n vectors; those past the rank stay as they are.
void putVectorOverlaps(const DirectionPair& pair, VectorSide side, Eigen::Index n, float* out)
{
    const Matrix<double> found = cosines(pair, side, std::min(n, pair.before.S.size()));
    for (Eigen::Index i = 0; i < std::min(found.rows(), pair.before.rank); ++i)
        for (Eigen::Index j = 0; j < std::min(found.cols(), pair.after.rank); ++j)
            out[i * n + j] = static_cast<float>(found(i, j) * found(i, j));
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
        .range = std::pair{0.0, 1.0}};
}

ResultArray vectorOverlapArray(const DirectionSide& side, const ModelConfig& config, std::size_t n,
                               std::vector<float> values)
{
    return {
        .path = vectorOverlapPath(side.name),
        .shape = {static_cast<std::size_t>(config.nLayers), static_cast<std::size_t>(config.nHeads), n, n},
        .values = std::move(values),
        .axes = {Axis::Layer, Axis::Head, Axis::OldDirection, Axis::NewDirection},
        .definition = std::string(side.side == VectorSide::First ? "(u_i · u'_j)²" : "(v_i · v'_j)²")
            + ", leading singular vectors of " + std::string(circuitFormula(side.circuit))
            + " at the previous step that could be opened (i) and at this one (j)",
        .title = "Overlap of singular vectors with the previous step, " + std::string(side.title),
        .range = std::pair{0.0, 1.0}};
}

/// Squared cosines of one side of all heads, [heads, n, n].
std::vector<float> unknownOverlaps(int heads, std::size_t n)
{
    return std::vector<float>(static_cast<std::size_t>(heads) * n * n,
                              std::numeric_limits<float>::quiet_NaN());
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
    const auto n = static_cast<std::size_t>(std::min(mostFollowedVectors, config.dHead));
    std::array<std::vector<float>, overlapCircuits.size()> values;
    values.fill(std::vector<float>(static_cast<std::size_t>(heads)));
    std::array<std::vector<float>, directionSides.size()> ofVectors;
    ofVectors.fill(unknownOverlaps(heads, n));
    const auto done = parallelFor(heads, task, "singular vectors", [&](int i) -> Result<Done> {
        const HeadId head{i / config.nHeads, i % config.nHeads};
        const auto place = static_cast<std::size_t>(i);
        for (std::size_t c = 0; c < overlapCircuits.size(); ++c) {
            const auto pair = directionsOf(before, after, overlapCircuits[c], head);
            if (!pair)
                return pair.error();
            values[c][place] = static_cast<float>(subspaceOverlap(*pair));
            for (std::size_t s = 0; s < directionSides.size(); ++s)
                if (directionSides[s].circuit == overlapCircuits[c])
                    putVectorOverlaps(*pair, directionSides[s].side, static_cast<Eigen::Index>(n),
                                      ofVectors[s].data() + place * n * n);
        }
        return Done{};
    });
    if (!done)
        return done.error();
    std::vector<ResultArray> arrays;
    for (std::size_t c = 0; c < overlapCircuits.size(); ++c)
        arrays.push_back(overlapArray(overlapCircuits[c], config, std::move(values[c])));
    for (std::size_t s = 0; s < directionSides.size(); ++s)
        arrays.push_back(vectorOverlapArray(directionSides[s], config, n, std::move(ofVectors[s])));
    return arrays;
}

std::vector<ResultArray> withoutOverlaps(std::vector<ResultArray> arrays)
{
    std::erase_if(arrays, [](const ResultArray& array) {
        return array.path.ends_with(overlapEnding) || isVectorOverlap(array);
    });
    return arrays;
}

} // namespace headwise
