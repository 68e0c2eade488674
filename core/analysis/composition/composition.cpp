#include "core/analysis/analyses.h"
#include "core/analysis/composition/composed_pairs.h"
#include "core/analysis/composition/head_sides.h"
#include "core/analysis/composition/product_norms.h"
#include "core/analysis/selected_heads.h"

#include "core/base/memory.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace headwise {

namespace {

/// Returns the heads of a layer that share a key/value head.
int groupSize(const ModelConfig& config)
{
    return config.nHeads / std::max(1, config.nKvHeads);
}

/// Returns how many consecutive heads of a layer have the same keys and values: those of a group, or, of a model that stores the keys of
/// a group once per head, of the first layer's first one.
int headsPerKeys(const ProcessedWeights& weights)
{
    const ModelConfig& config = weights.config();
    if (config.nKvHeads != config.nHeads)
        return groupSize(config);
    const auto first = weights.head<double>({0, 0});
    const auto isSame = [&](int head) {
        const auto other = weights.head<double>({0, head});
        return other.W_K == first.W_K && other.W_V == first.W_V;
    };
    int heads = 1;
    while (heads < config.nHeads && isSame(heads))
        ++heads;
    return heads;
}

/// Bytes of one side of every head of a layer.
double sideBytes(const ModelConfig& config, const AnalysisOptions& options)
{
    const double number = options.precision == Precision::F64 ? 8 : 4;
    return number * config.nHeads * config.dHead * config.dModel;
}

/// Returns the part of all heads that are this process's own as later heads.
double ownPart(const ModelConfig& config, const AnalysisOptions& options)
{
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    return options.share ? std::max(1.0, static_cast<double>(options.share->size())) / all : 1;
}

/// Bytes of what the heads of a later layer read by, on average: a side each, or by products in float32 a factor
/// per group and a root each.
double readingBytesOfLayer(const ModelConfig& config, const AnalysisOptions& options,
                           const ComposedPairs& pairs, int headsPerKeys)
{
    const ModeRoutes routes = pairs.routes();
    const double side = sideBytes(config, options), own = ownPart(config, options);
    const double ofQueries = side * own;
    if (routes.keysAndValues == NormRoute::Grams || options.precision == Precision::F64)
        return ofQueries + 2 * side * own;
    const double factors = std::min(1.0, own * headsPerKeys) / headsPerKeys;
    const double roots = own * config.dHead / config.dModel;
    return ofQueries + 2 * side * (factors + roots);
}

/// Bytes of what the heads of some later layers read by, and of the work on them.
double readingBytes(const ModelConfig& config, const AnalysisOptions& options, const ComposedPairs& pairs,
                    int headsPerKeys, int layers)
{
    const double later = layers * config.nHeads * ownPart(config, options);
    const double byGrams = pairs.routes().count(NormRoute::Grams);
    return layers * readingBytesOfLayer(config, options, pairs, headsPerKeys)
        + (byGrams > 0 ? gramBytes(config.nLayers * config.nHeads, byGrams * later, config.dModel) : 0);
}

/// Returns how many later layers to hold at once. Each block goes through the earlier heads anew, so that few blocks are
/// fast; where memory is short a block is one layer.
int layersAtOnce(const ModelConfig& config, const AnalysisOptions& options, const ComposedPairs& pairs,
                 int headsPerKeys)
{
    constexpr double most = 420e6; // bytes of sides
    const double affordable = most / readingBytesOfLayer(config, options, pairs, headsPerKeys);
    int layers = static_cast<int>(std::clamp<double>(affordable, 1, config.nLayers));
    const auto free = availableMemory();
    const double writing = config.nLayers * sideBytes(config, options);
    while (free && layers > 1
           && writing + readingBytes(config, options, pairs, headsPerKeys, layers) > *free / 2)
        --layers;
    return layers;
}

constexpr std::array<Mode, 3> allModes{Mode::Q, Mode::K, Mode::V};
constexpr std::array<const char*, 3> modeNames{"q", "k", "v"};
constexpr std::array<const char*, 3> modeTitles{"Q-composition", "K-composition", "V-composition"};
constexpr std::array<const char*, 3> modeFormulas{"‖W_OV¹ W_QK²‖_F / (‖W_OV¹‖_F ‖W_QK²‖_F)",
                                                  "‖W_OV¹ W_QK²ᵀ‖_F / (‖W_OV¹‖_F ‖W_QK²‖_F)",
                                                  "‖W_OV¹ W_OV²‖_F / (‖W_OV¹‖_F ‖W_OV²‖_F)"};

std::string compositionPath(std::size_t mode)
{
    return std::string("composition/") + modeNames[mode];
}

std::vector<ArraySpec> compositionArrays()
{
    std::vector<ArraySpec> all;
    for (std::size_t mode = 0; mode < modeNames.size(); ++mode)
        all.push_back({.path = compositionPath(mode),
                       .axes = pairAxes(),
                       .title = modeTitles[mode],
                       .definition = modeFormulas[mode],
                       .range = {{0.0, 1.0}}});
    return all;
}

template <typename Scalar>
class Composition {
public:
    Composition(const AnalysisContext& context, const Task& task)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_task(task)
        , m_headsPerKeys(headsPerKeys(context.circuits.weights()))
        , m_pairs(m_config, context.options, m_headsPerKeys)
        , m_routes(m_pairs.routes())
        , m_scores(modeNames.size(), RealNumbers::perPair(m_config))
    {
    }

    Result<std::vector<RealNumbers>> run()
    {
        const int step = layersAtOnce(m_config, m_context.options, m_pairs, m_headsPerKeys);
        for (int first = 0; first < m_config.nLayers; first += step) {
            if (const auto done = runLayers(first, std::min(first + step, m_config.nLayers)); !done)
                return done.error();
        }
        return std::move(m_scores);
    }

private:
    /// A side by which a later head reads.
    struct Side {
        HeadId later;
        Mode mode = Mode::Q;
    };
    /// A factor and the sides that it gives with their roots; without roots it is the one side itself.
    struct Factor {
        Matrix<Scalar> factor;
        std::vector<Matrix<Scalar>> roots;
        std::vector<Side> sides;
    };
    struct Head {
        HeadId id;
        std::optional<std::size_t> earlier; // its place among those that write
        bool isLater = false;
        std::size_t firstGram = 0; // the place of its sides among those that meet by Gram matrices
    };
    /// Heads with the same keys and values.
    struct Group {
        int reach = 0; // how many heads write before it
        std::vector<Head> heads;
        std::vector<Factor> factors; // of the sides that meet by products
    };
    /// The heads of some layers, and the sides that meet by Gram matrices.
    struct Block {
        std::vector<Group> groups;
        std::vector<Strips<float>> grams;
        std::vector<Side> gramSides;
        std::vector<int> gramReach;
    };

    Block blockOf(int first, int end)
    {
        Block block;
        for (HeadId head{first, 0}; head.layer < end; ++head.layer) {
            const auto reach = static_cast<int>(m_earlier.size());
            for (head.head = 0; head.head < m_config.nHeads; ++head.head) {
                if (head.head % m_headsPerKeys == 0)
                    block.groups.push_back({reach, {}, {}});
                Head one{head, std::nullopt, m_pairs.hasLater(head) && m_pairs.isOwn(head),
                         block.gramSides.size()};
                if (m_pairs.hasEarlier(head)) {
                    one.earlier = m_earlier.size();
                    m_earlier.push_back(head);
                }
                for (const Mode mode : allModes) {
                    if (one.isLater && m_routes.of(mode) == NormRoute::Grams) {
                        block.gramSides.push_back({head, mode});
                        block.gramReach.push_back(reach);
                    }
                }
                if (one.earlier || one.isLater)
                    block.groups.back().heads.push_back(one);
            }
        }
        m_writing.resize(m_earlier.size());
        block.grams.resize(block.gramSides.size());
        return block;
    }

    /// Computes all sides of the heads of a group from one reading of each head's weights.
    Result<Done> putSides(Group& group, std::vector<Strips<float>>& grams)
    {
        for (const Head& head : group.heads) {
            const HeadFactors factors(m_context.circuits.weights(), head.id,
                                      head.isLater ? HeadParts::All : HeadParts::ValuesAndOutput);
            if (head.earlier) {
                const auto side = sideOf<Scalar>(writingOf(factors));
                if (!side)
                    return side.error();
                m_writing[*head.earlier] = Strips<Scalar>(*side);
            }
            std::size_t gram = head.firstGram;
            for (std::size_t i = 0; head.isLater && i < allModes.size(); ++i) {
                const Side side{head.id, allModes[i]};
                const ThinCircuit circuit = readingOf(factors, side.mode);
                if (m_routes.of(side.mode) == NormRoute::Products) {
                    if (const auto done = addFactor(circuit, side, group.factors); !done)
                        return done;
                    continue;
                }
                const auto numbers = sideOf<float>(circuit);
                if (!numbers)
                    return numbers.error();
                grams[gram++] = Strips<float>(*numbers);
            }
        }
        return Done{};
    }

    /// Adds a side to a factor that other heads of the group read through too, or to a new one.
    Result<Done> addFactor(const ThinCircuit& circuit, const Side& side, std::vector<Factor>& factors) const
    {
        if constexpr (std::is_same_v<Scalar, float>) {
            if (auto root = unitRoot(circuit)) {
                Matrix<float> factor = unitFactor(circuit.inner);
                const auto same = std::ranges::find_if(factors, [&](const Factor& other) {
                    return !other.roots.empty() && other.sides.front().mode == side.mode
                        && other.factor == factor;
                });
                Factor& shared = same != factors.end() ? *same : factors.emplace_back();
                if (shared.sides.empty())
                    shared.factor = std::move(factor);
                shared.roots.push_back(*std::move(root));
                shared.sides.push_back(side);
                return Done{};
            }
        }
        auto own = sideOf<Scalar>(circuit);
        if (!own)
            return own.error();
        factors.push_back({*std::move(own), {}, {side}});
        return Done{};
    }

    /// Puts the factors of all groups side by side and takes them from the groups.
    static std::pair<SharedSides<Scalar>, std::vector<Side>> takeFactors(std::vector<Group>& groups)
    {
        SharedSides<Scalar> shared;
        std::vector<Side> sides;
        Eigen::Index columns = 0;
        for (const Group& group : groups) {
            for (const Factor& factor : group.factors)
                columns += factor.factor.cols();
        }
        Eigen::Index column = 0;
        for (Group& group : groups) {
            for (Factor& factor : std::exchange(group.factors, {})) {
                const Eigen::Index r = factor.factor.cols();
                if (shared.groups.empty())
                    shared.factors.resize(factor.factor.rows(), columns);
                shared.factors.middleCols(column, r) = factor.factor;
                column += r;
                Matrix<Scalar> roots(r * static_cast<Eigen::Index>(factor.roots.size()), r);
                for (std::size_t i = 0; i < factor.roots.size(); ++i)
                    roots.middleRows(r * static_cast<Eigen::Index>(i), r) = factor.roots[i];
                shared.groups.push_back({group.reach, std::move(roots)});
                sides.insert(sides.end(), factor.sides.begin(), factor.sides.end());
            }
        }
        return {std::move(shared), std::move(sides)};
    }

    /// Computes the scores of all earlier heads with the heads of some layers.
    Result<Done> runLayers(int first, int end)
    {
        Block block = blockOf(first, end);
        const auto read = parallelFor(
            static_cast<int>(block.groups.size()), m_task, "inputs and outputs of heads",
            [&](int i) { return putSides(block.groups[static_cast<std::size_t>(i)], block.grams); });
        if (!read)
            return read;
        const auto [shared, sharedSides] = takeFactors(block.groups);
        const auto products = normsByProducts(m_writing, shared, requestOf(sharedSides), m_task);
        if (!products)
            return products.error();
        putScores(*products, sharedSides);
        if constexpr (std::is_same_v<Scalar, float>) {
            const auto norms =
                normsByGrams({m_writing, block.grams, block.gramReach, requestOf(block.gramSides)}, m_task);
            if (!norms)
                return norms.error();
            putScores(*norms, block.gramSides);
        }
        return Done{};
    }

    /// \param sides outlives what is returned
    MeetingChoice requestOf(const std::vector<Side>& sides) const
    {
        return [this, &sides](int i, int j) {
            return m_pairs.contains(m_earlier[static_cast<std::size_t>(i)],
                                    sides[static_cast<std::size_t>(j)].later);
        };
    }
    /// \param norms [earlier heads, sides]
    void putScores(const Matrix<double>& norms, const std::vector<Side>& sides)
    {
        for (std::size_t j = 0; j < sides.size(); ++j) {
            for (std::size_t i = 0; i < m_earlier.size() && m_earlier[i].layer < sides[j].later.layer; ++i) {
                if (m_pairs.contains(m_earlier[i], sides[j].later))
                    m_scores[static_cast<std::size_t>(sides[j].mode)].set(
                        m_earlier[i], sides[j].later,
                        norms(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)));
            }
        }
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    const Task& m_task;
    int m_headsPerKeys;
    ComposedPairs m_pairs;
    ModeRoutes m_routes;
    std::vector<HeadId> m_earlier;         // of the layers so far
    std::vector<Strips<Scalar>> m_writing; // what they write
    std::vector<RealNumbers> m_scores;     // one per mode
};

Result<ResultSet> runComposition(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    auto scores = context.options.precision == Precision::F64 ? Composition<double>(context, task).run()
                                                              : Composition<float>(context, task).run();
    if (!scores)
        return scores.error();
    Results results = resultsOf(context, compositionArrays());
    if (ComposedPairs(config, context.options, 1).count() == 0 && config.nLayers > 1)
        results.warn(
            "All requested heads are in one layer, so no pair was composed; --one-end takes every pair with one end among them.");
    for (std::size_t mode = 0; mode < scores->size(); ++mode) {
        ResultArray& array = results.put(compositionPath(mode), (*scores)[mode]);
        array.nullMean = 1 / std::sqrt(static_cast<double>(config.dModel));
        array.attributes["baseline"] = *array.nullMean;
    }
    return std::move(results).finish();
}

AnalysisCost compositionCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double r = config.dHead;
    const double d = config.dModel;
    const int sharing = groupSize(config);
    const ComposedPairs pairs(config, options, sharing);
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    const PairOperations operations = pairs.operations(pairs.routes());
    const double reading =
        readingBytes(config, options, pairs, sharing, layersAtOnce(config, options, pairs, sharing));
    // Sides are thin and in double, and the tiles of a Gram matrix are products over d_head; the others are near sgemm.
    constexpr double sideSpeed = 0.55, tileSpeed = 2.4, pairSpeed = 3.2, productSpeed = 3.7;
    const double ofSides = pairs.sides() * 6 * r * r * d;
    const double flops = ofSides + operations.sum();
    const double work = ofSides / sideSpeed + operations.tiles / tileSpeed + operations.pairs / pairSpeed
        + operations.products / productSpeed;
    const double speed = work > 0 ? flops / work : 1; // no pair in a single layer
    return {flops, 3 * all * all * 4 + config.nLayers * sideBytes(config, options) + reading, speed};
}

std::vector<Picture> compositionPictures()
{
    using Kind = Picture::Kind;
    std::vector<Picture> pictures;
    for (std::size_t mode = 0; mode < modeNames.size(); ++mode) {
        pictures.push_back(
            {.kind = Kind::HeadPairs,
             .title = modeTitles[mode],
             .arrays = {compositionPath(mode)},
             .signedColors = false,
             .note = "Rows: the earlier head, columns: the later one; random heads get 1/√d_model."});
    }
    for (std::size_t mode = 0; mode < modeNames.size(); ++mode) {
        pictures.push_back(
            {.kind = Kind::Table,
             .title = std::string("All pairs, ") + modeTitles[mode],
             .arrays = {compositionPath(mode)},
             .signedColors = false,
             .note = "A click selects both heads; z and percentile: Composition against chance."});
    }
    for (std::size_t mode = 0; mode < modeNames.size(); ++mode) {
        pictures.push_back({.kind = Kind::Diagram,
                            .title = std::string("Strongest pairs, ") + modeTitles[mode],
                            .arrays = {compositionPath(mode)},
                            .signedColors = false});
    }
    pictures.push_back({.kind = Kind::Diagram,
                        .title = "Strongest pairs of all kinds",
                        .arrays = {"composition/q", "composition/k", "composition/v"},
                        .signedColors = false});
    return pictures;
}

} // namespace

Analysis compositionAnalysis()
{
    return {.id = "composition",
            .number = "D1",
            .title = "Q-, K- and V-composition",
            .formula = "‖W_OV¹ M²‖_F / (‖W_OV¹‖_F ‖M²‖_F), M² = W_QK, W_QKᵀ, W_OV of the later head",
            .citation = "Elhage et al. 2021, \"Three Kinds of Composition\"",
            .isDefault = true,
            .whyNot = appliesAlways,
            .cost = compositionCost,
            .run = runComposition,
            .arrays = compositionArrays(),
            .pictures = compositionPictures(),
            .followsMetric = true,
            .isSplit = true};
}

} // namespace headwise
