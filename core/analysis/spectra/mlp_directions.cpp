#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/spectra/block_arrays.h"
#include "core/analysis/spectra/random_list.h"
#include "core/base/decompositions.h"
#include "core/base/parallel.h"
#include "core/circuits/mlp_tokens.h"
#include "core/results/picture_of.h"

#include <algorithm>
#include <span>

namespace headwise {

namespace {

constexpr int mlpDirectionsMostDirections = 10;
constexpr const char* mlpDirectionsFolder = "analyses/mlp_directions/";
constexpr const char* mlpDirectionsSignRule =
    "; the sign of each is that of its token score of largest magnitude, ties to the lower id";

/// A matrix of the MLP and the side of its singular vectors that lies in the residual stream.
struct MlpDirectionsPart {
    const char* name;
    const char* title;
    const char* formula;
    bool writes;
    bool isGate = false;
};
constexpr std::array<MlpDirectionsPart, 3> mlpDirectionsParts{
    {{"in", "read by the MLP", "E u_k, W_in = U Σ Vᵀ", false},
     {"gate", "read by the MLP's gate", "E u_k, W_gate = U Σ Vᵀ", false, true},
     {"out", "written by the MLP", "v_kᵀ W_U, W_out = U Σ Vᵀ", true}}};

std::string mlpDirectionsPath(const MlpDirectionsPart& part)
{
    return mlpDirectionsFolder + std::string(part.name);
}

std::vector<ArraySpec> mlpDirectionsArrays()
{
    std::vector<ArraySpec> all;
    for (const MlpDirectionsPart& part : mlpDirectionsParts) {
        const std::size_t first = all.size();
        const std::string path = mlpDirectionsPath(part);
        const std::string title = "Tokens " + std::string(part.title);
        const std::string matrix = "W_" + std::string(part.name);
        addEndSpecs(all,
                    {path,
                     {Axis::Layer, Axis::Direction, Axis::Rank},
                     title,
                     part.formula + std::string(mlpDirectionsSignRule)});
        all.push_back({path + "_null",
                       {Axis::Rank},
                       title + ", of a random direction, score",
                       "mean over 32 random unit directions of their largest token scores, by rank"});
        all.push_back({path + "_sigma",
                       {Axis::Layer, Axis::Direction},
                       "Singular values, " + std::string(part.title),
                       "the first σ_k of " + matrix});
        addBlockSpecs(all, {Axis::Layer, Axis::Direction}, path, ", " + std::string(part.title), matrix);
        for (ArraySpec& spec : std::span(all).subspan(first))
            spec.condition = part.isGate ? "gated MLPs" : "";
    }
    return all;
}

const DirectionSide& mlpDirectionsSideOf(const MlpDirectionsPart& part)
{
    return directionSides[part.writes ? 1 : 0]; // W_U, E
}

struct Directions {
    Matrix<double> vectors;  // [d, k], orthonormal columns
    Eigen::VectorXd sigma;   // all of them, falling
    Eigen::Index rank = 0;   // of sigma
    std::vector<int> blocks; // of sigma
};

/// The longest directions of W Wᵀ. \param W [d, f]
Result<Directions> longestDirections(const Matrix<double>& W)
{
    const auto eigen = symmetricEigen(W * W.transpose());
    if (!eigen)
        return eigen.error();
    const Eigen::Index all = std::min(W.rows(), W.cols());
    const Eigen::Index count = std::min<Eigen::Index>(mlpDirectionsMostDirections, all);
    Directions found{eigen->vectors.rightCols(count).rowwise().reverse(),
                     eigen->values.tail(all).reverse().cwiseMax(0).cwiseSqrt(),
                     0,
                     {}};
    const std::span<const double> sigma(found.sigma.data(), static_cast<std::size_t>(all));
    found.rank = numericalRank(sigma, static_cast<int>(W.rows()));
    found.blocks = degenerateBlocks(sigma, found.rank);
    return found;
}

class MlpDirections {
public:
    MlpDirections(const AnalysisContext& context, const Task& task)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_task(task)
        , m_count(static_cast<std::size_t>(
              std::min({mlpDirectionsMostDirections, m_config.dModel, m_config.dMlp})))
        , m_isAsked(static_cast<std::size_t>(m_config.nLayers), false)
    {
        for (const HeadId head : selectedHeads(m_config, context.options))
            m_isAsked[static_cast<std::size_t>(head.layer)] = true;
        const auto layers = static_cast<std::size_t>(m_config.nLayers);
        m_lists.reserve(mlpDirectionsParts.size());
        for (const MlpDirectionsPart& part : mlpDirectionsParts) {
            const Eigen::Index tokens = tokenCount(*context.tokens, mlpDirectionsSideOf(part), 1);
            const auto length =
                static_cast<std::size_t>(std::min<Eigen::Index>(context.options.tableSize, tokens));
            m_lists.push_back({EndLists({layers, m_count, length}), RealNumbers({layers, m_count}),
                               BlockArrays({layers, m_count})});
        }
    }

    Result<ResultSet> run()
    {
        std::vector<std::string> broken(static_cast<std::size_t>(m_config.nLayers));
        if (const auto done = readTokens(); !done)
            return done.error();
        const auto done =
            parallelFor(m_config.nLayers, m_task, "directions of the MLPs", [&](int layer) -> Result<Done> {
                if (!m_isAsked[static_cast<std::size_t>(layer)])
                    return Done{};
                const auto state = readLayer(layer);
                if (state || state.error().code != ErrorCode::Corrupt)
                    return state;
                const MlpWeights<double> mlp = m_context.circuits.weights().mlp<double>(layer);
                const bool isFinite = mlp.W_in.allFinite() && mlp.W_gate.allFinite() && mlp.W_out.allFinite();
                broken[static_cast<std::size_t>(layer)] = "The directions of the MLP of layer "
                    + std::to_string(layer) + " were left out because a "
                    + (isFinite ? "product of weights, all of them finite, is too large."
                                : "weight is NaN or infinite.");
                return Done{};
            });
        if (!done)
            return done.error();
        Results results = resultsOf(m_context, mlpDirectionsArrays());
        for (std::string& warning : broken) {
            if (!warning.empty())
                results.warn(std::move(warning));
        }
        for (std::size_t i = 0; i < mlpDirectionsParts.size(); ++i) {
            if (mlpDirectionsParts[i].isGate && !m_config.gatedMlp)
                continue;
            if (const auto put = putPart(results, mlpDirectionsParts[i], m_lists[i]); !put)
                return put.error();
        }
        return std::move(results).finish();
    }

private:
    struct Lists {
        EndLists tokens;
        RealNumbers sigma; // [n_layers, direction]
        BlockArrays blocks;
    };

    Result<Done> readTokens()
    {
        if (!m_isAsked.front())
            return Done{};
        auto tokens = tokensOfMlp(m_context.circuits, m_context.tokens, 0, m_task);
        if (!tokens)
            return tokens.error();
        m_readByMlp0 = std::move(tokens).value();
        return Done{};
    }

    const TokenSide& tokensOf(const MlpDirectionsPart& part, int layer) const
    {
        return part.writes || layer > 0 ? *m_context.tokens : *m_readByMlp0;
    }

    Result<Done> readLayer(int layer)
    {
        const MlpWeights<double> mlp = m_context.circuits.weights().mlp<double>(layer);
        const std::array<Matrix<double>, 3> matrices{mlp.W_in, mlp.W_gate, mlp.W_out.transpose()};
        for (std::size_t i = 0; i < mlpDirectionsParts.size(); ++i) {
            if (matrices[i].size() == 0)
                continue;
            const auto directions = longestDirections(matrices[i]);
            if (!directions)
                return directions.error();
            if (const auto named = nameTokens(mlpDirectionsParts[i], m_lists[i], layer, *directions); !named)
                return named;
        }
        return Done{};
    }

    Result<Done> nameTokens(const MlpDirectionsPart& part, Lists& lists, int layer,
                            const Directions& directions)
    {
        const std::size_t first = static_cast<std::size_t>(layer) * m_count;
        std::copy_n(directions.sigma.begin(), m_count,
                    lists.sigma.list(static_cast<std::size_t>(layer)).begin());
        lists.blocks.set(static_cast<std::size_t>(layer), directions.blocks);
        const Eigen::Index named = std::min(directions.rank, static_cast<Eigen::Index>(m_count));
        if (named == 0)
            return Done{};
        // MLPs come after their layer's attention, so they never read the E of layer 0's heads. Hence layer 1.
        const auto scores = directionScores(tokensOf(part, layer), mlpDirectionsSideOf(part), 1,
                                            directions.vectors.leftCols(named), m_task);
        if (!scores)
            return scores.error();
        for (Eigen::Index k = 0; k < named; ++k) {
            const auto& unused = m_context.options.unusedTokens;
            const RowVector<double> line = (scores->col(k) * jointSign(scores->col(k), unused)).transpose();
            lists.tokens.set(first + static_cast<std::size_t>(k),
                             ends(line, static_cast<int>(lists.tokens.top.length()), unused));
        }
        return Done{};
    }

    Result<Done> putPart(Results& results, const MlpDirectionsPart& part, const Lists& lists) const
    {
        const AnalysisContext last{m_context.circuits,
                                   part.writes || m_config.nLayers > 1 ? m_context.tokens : m_readByMlp0,
                                   m_context.options};
        const auto null = randomList(last, {mlpDirectionsSideOf(part), 1}, lists.tokens.top.length(), m_task);
        if (!null)
            return null.error();
        const std::string path = mlpDirectionsPath(part);
        const std::size_t first = results.arrays().size();
        putEnds(results, path, lists.tokens, null->deviation);
        for (ResultArray& array : std::span(results.arrays()).subspan(first)) {
            if (!part.writes)
                array.definition += mlp0Reads(m_context.tokens->embedding, m_config);
        }
        results.put(path + "_null", null->means);
        for (ResultArray& array : std::span(results.arrays()).subspan(first)) {
            if (!part.writes)
                array.attributes["embedding"] = std::string(embeddingName(m_context.tokens->embedding));
        }
        results.put(path + "_sigma", lists.sigma);
        putBlocks(results, path, lists.blocks);
        return Done{};
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    const Task& m_task;
    std::size_t m_count; // directions of each matrix
    std::vector<bool> m_isAsked;
    std::shared_ptr<const TokenSide> m_readByMlp0; // null if it is not asked
    std::vector<Lists> m_lists;                    // as parts
};

Result<ResultSet> runMlpDirections(const AnalysisContext& context, const Task& task)
{
    return MlpDirections(context, task).run();
}

std::string whyNoMlps(const ModelConfig& config, const AnalysisOptions&)
{
    if (config.attentionOnly)
        return "This model has no MLPs.";
    if (config.nExperts > 0)
        return "Its MLPs are mixtures of experts, each with its own directions.";
    if (config.merged)
        return "Its output projections are merged into the MLPs, which no longer read the residual stream.";
    return {};
}

AnalysisCost mlpDirectionsCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel, f = config.dMlp, V = config.dVocab;
    const double matrices = config.gatedMlp ? 3 : 2;
    const double layers = config.nLayers;
    return {layers * matrices * (2 * d * d * f + 9 * d * d * d + 2 * mlpDirectionsMostDirections * V * d)
                + matrices * 2 * listedNullDirections * V * d,
            8 * (3 * d * f + 3 * d * d + V * listedNullDirections)
                + mlp0TokensBytes(config, options.embedding, options.precision)};
}

} // namespace

Analysis mlpDirectionsAnalysis()
{
    using Kind = Picture::Kind;
    const char* note =
        "One direction per row, its tokens by rank. Directions that share a block are meaningful only together. The basis is that of the singular values, not of the neurons.";
    const auto table = [note](const char* title, const std::string& part, const std::string& end = {}) {
        const std::string path = mlpDirectionsFolder + part;
        return Picture{
            .kind = Kind::Table,
            .title = title,
            .arrays = {path + "_sigma", path + "_block_size", path + end + "_ids", path + end + "_values"},
            .note = note};
    };
    return {.id = "mlp_directions",
            .number = "E6",
            .title = "Singular directions of the MLPs as tokens",
            .formula = "E u_k of W_in (and W_gate) = U Σ Vᵀ, v_kᵀ W_U of W_out = U Σ Vᵀ",
            .citation = "Millidge & Black 2022",
            .needsTokens = true,
            .whyNot = whyNoMlps,
            .cost = mlpDirectionsCost,
            .run = runMlpDirections,
            .arrays = mlpDirectionsArrays(),
            .pictures = {table("What MLPs read", "in"), table("What MLPs write", "out"),
                         table("What their gates read", "gate"),
                         table("What MLPs read, the other end", "in", "_lowest"),
                         table("What MLPs write, the other end", "out", "_lowest"),
                         table("What their gates read, the other end", "gate", "_lowest"),
                         pictureOf(mlpDirectionsFolder, Kind::Lines, "Singular values, one line per layer",
                                   {"in_sigma"}),
                         pictureOf(mlpDirectionsFolder, Kind::Lines,
                                   "Singular values of what MLPs write, one line per layer", {"out_sigma"}),
                         pictureOf(mlpDirectionsFolder, Kind::Lines, "The list of a random direction",
                                   {"in_null", "out_null"})},
            .followsFilter = true};
}

} // namespace headwise
