#include "core/analysis/analyses.h"
#include "core/analysis/composition/product_norms.h"
#include "core/analysis/selected_heads.h"

#include "core/base/decompositions.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace headwise {

namespace {

// ‖L R · A B‖_F = ‖(R_L R) (A R_Bᵀ)‖_F, where R_L and R_B are what QR leaves of the outer factors: only thin matrices meet.
// Each side is divided by its circuit's norm, so that the norm of the product is the score (product_norms.h). Permuting cyclically inside the
// norm would be shorter and wrong (Elhage et al. 2021, correction).

/// inner · Rᵀ / ‖inner · Rᵀ‖, [d, r], with outer = Q R: the circuit inner · outerᵀ without the orthonormal factor Q.
/// \param inner [d, r] \param outer [d, r]
Result<Matrix<double>> collapsed(const Matrix<double>& inner, const Matrix<double>& outer)
{
    const auto R = triangularFactor(outer);
    if (!R)
        return R.error();
    Matrix<double> out = Matrix<double>::Zero(inner.rows(), inner.cols()); // R has min(d, r) rows
    out.leftCols(R->rows()).noalias() = inner * R->transpose();
    out /= out.norm(); // 0/0: NaN, as a zero circuit's scores are
    return out;
}

/// The same in float32: a root of outerᵀ outer, which costs a third of R, and a product in float32. Where the product is so much
/// smaller than its factors that a score would lose digits, the one in double, rounded.
Result<Matrix<float>> collapsedFast(const Matrix<double>& inner, const Matrix<double>& outer)
{
    constexpr double least = 1e-3; // ‖inner · Rᵀ‖² / (‖inner‖² ‖R‖²), 1/r for random factors
    if (const auto root = semidefiniteFactor(columnGram(outer))) { // not where a square leaves double's range
        const Matrix<float> left = (inner * (1 / inner.norm())).cast<float>();
        const Matrix<float> right = (*root / root->norm()).cast<float>();
        Matrix<float> out(inner.rows(), inner.cols());
        out.leftCols(right.rows()).noalias() = left * right.transpose();
        out.rightCols(out.cols() - right.rows()).setZero();
        const double share = out.colwise().squaredNorm().template cast<double>().sum();
        if (share >= least) {
            out *= static_cast<float>(1 / std::sqrt(share));
            return out;
        }
    }
    const auto exact = collapsed(inner, outer);
    if (!exact)
        return exact.error();
    return Matrix<float>(exact->cast<float>());
}

/// Selects the head pairs to compute: both heads selected, or (with `oneEndIsEnough`) at least one. A shard computes the pairs
/// whose later head is its own.
class AskedPairs {
public:
    AskedPairs(const ModelConfig& config, const AnalysisOptions& options)
        : m_nHeads(static_cast<std::size_t>(config.nHeads))
        , m_oneEnd(options.oneEndIsEnough)
        , m_isFloat32(options.precision == Precision::F32)
        , m_isAsked(static_cast<std::size_t>(config.nLayers) * m_nHeads, false)
        , m_inLayer(static_cast<std::size_t>(config.nLayers), 0)
        , m_share(options.share)
    {
        for (const HeadId head : selectedHeads(config, options)) {
            m_isAsked[index(head)] = true;
            m_inLayer[static_cast<std::size_t>(head.layer)] += 1;
        }
    }

    bool contains(HeadId earlier, HeadId later) const
    {
        return m_oneEnd ? isAsked(earlier) || isAsked(later) : isAsked(earlier) && isAsked(later);
    }
    /// Returns whether some pair has this head first (last).
    bool hasEarlier(HeadId head) const
    {
        return head.layer + 1 < layers()
            && (isAsked(head) || (m_oneEnd && isAnyAsked(head.layer + 1, layers())));
    }
    bool hasLater(HeadId head) const
    {
        return head.layer > 0 && (isAsked(head) || (m_oneEnd && isAnyAsked(0, head.layer)));
    }
    /// Returns whether this shard computes the pairs with this later head.
    bool isOwn(HeadId later) const
    {
        return !m_share || std::find(m_share->begin(), m_share->end(), later) != m_share->end();
    }

    double count() const
    {
        const double heads = static_cast<double>(m_nHeads);
        double both = 0, neither = 0, all = 0;
        double askedBefore = 0, before = 0;
        for (const double asked : m_inLayer) {
            both += askedBefore * asked;
            neither += (before - askedBefore) * (heads - asked);
            all += before * heads;
            askedBefore += asked;
            before += heads;
        }
        return m_oneEnd ? all - neither : both;
    }
    /// Returns how many heads are read, as the earlier or as the later one.
    double sides() const
    {
        double sum = 0;
        for (int layer = 0; layer < layers(); ++layer) {
            for (int head = 0; head < static_cast<int>(m_nHeads); ++head)
                sum += (hasEarlier({layer, head}) ? 1 : 0) + (hasLater({layer, head}) ? 3 : 0);
        }
        return sum;
    }

    /// Returns the operations between the sides of all heads by each route, in the order of NormRoute.
    std::array<double, 2> operations(const ModelConfig& config) const
    {
        const double r = config.dHead, d = config.dModel;
        double earlier = 0, later = 0, meetings = 0; // a Gram's tile meets all, asked or not
        for (int layer = 0; layer < layers(); ++layer) {
            double own = 0, ownEarlier = 0;
            for (int head = 0; head < static_cast<int>(m_nHeads); ++head) {
                own += hasLater({layer, head}) ? 3 : 0;
                ownEarlier += hasEarlier({layer, head}) ? 1 : 0;
            }
            meetings += earlier * own;
            later += own;
            earlier += ownEarlier;
        }
        return {count() * 3 * 2 * r * r * d, gramOperations(meetings, earlier + later, r, d)};
    }
    /// Returns the route with fewer operations; float64 has one.
    NormRoute route(const ModelConfig& config) const
    {
        const auto [products, grams] = operations(config);
        return m_isFloat32 && grams < products ? NormRoute::Grams : NormRoute::Products;
    }

private:
    int layers() const { return static_cast<int>(m_inLayer.size()); }
    std::size_t index(HeadId head) const
    {
        return static_cast<std::size_t>(head.layer) * m_nHeads + static_cast<std::size_t>(head.head);
    }
    bool isAsked(HeadId head) const { return m_isAsked[index(head)]; }
    bool isAnyAsked(int first, int end) const
    {
        return std::any_of(m_inLayer.begin() + first, m_inLayer.begin() + end,
                           [](double asked) { return asked > 0; });
    }

    std::size_t m_nHeads;
    bool m_oneEnd;
    bool m_isFloat32;
    std::vector<bool> m_isAsked;
    std::vector<double> m_inLayer; // how many are asked for
    std::optional<std::vector<HeadId>> m_share;
};

/// Bytes of one side of every head of a layer.
double sideBytes(const ModelConfig& config, const AnalysisOptions& options)
{
    const double number = options.precision == Precision::F64 ? 8 : 4;
    return number * config.nHeads * config.dHead * config.dModel;
}

/// Bytes of the three sides of the heads that read in a later layer, on average: a shard has its own alone.
double readingSideBytes(const ModelConfig& config, const AnalysisOptions& options)
{
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    const double own = options.share ? std::max(1.0, static_cast<double>(options.share->size())) : all;
    return 3 * sideBytes(config, options) * own / all;
}

/// Bytes of the three sides of the heads that read in some later layers, and of the work on them.
double readingBytes(const ModelConfig& config, const AnalysisOptions& options, int layers)
{
    const double ofLayer = readingSideBytes(config, options);
    const double later = layers * ofLayer / sideBytes(config, options) * config.nHeads;
    const bool isByGrams = AskedPairs(config, options).route(config) == NormRoute::Grams;
    return layers * ofLayer
        + (isByGrams ? gramBytes(config.nLayers * config.nHeads, later, config.dModel) : 0);
}

/// Returns how many later layers to hold at once. Each block goes through the earlier heads anew, so that few blocks are
/// fast; where memory is short a block is one layer.
int layersAtOnce(const ModelConfig& config, const AnalysisOptions& options)
{
    constexpr double most = 420e6; // bytes of sides
    const double affordable = most / readingSideBytes(config, options);
    int layers = static_cast<int>(std::clamp<double>(affordable, 1, config.nLayers));
    const auto free = availableMemory();
    const double writing = config.nLayers * sideBytes(config, options);
    while (free && layers > 1 && writing + readingBytes(config, options, layers) > *free / 2)
        --layers;
    return layers;
}

enum Mode { Q, K, V };
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

/// The side of a head that meets another: of a later head in a mode, or what an earlier one writes (no mode).
/// \param W_Ot the transpose of W_O, [d, r]
template <typename Scalar>
Result<Strips<Scalar>> sideOf(const HeadWeights<double>& head, const Matrix<double>& W_Ot,
                              std::optional<Mode> mode)
{
    const auto of = [](const Matrix<double>& inner, const Matrix<double>& outer) {
        const auto side = [&] {
            if constexpr (std::is_same_v<Scalar, float>)
                return collapsedFast(inner, outer);
            else
                return collapsed(inner, outer);
        }();
        return side ? Result(Strips<Scalar>(*side)) : side.error();
    };
    if (!mode)
        return of(W_Ot, head.W_V);
    if (*mode == Mode::Q) // W_Q W_Kᵀ
        return of(head.W_Q, head.W_K);
    if (*mode == Mode::K) // its transpose
        return of(head.W_K, head.W_Q);
    return of(head.W_V, W_Ot);
}

template <typename Scalar>
class Composition {
public:
    Composition(const AnalysisContext& context, const Task& task)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_task(task)
        , m_pairs(m_config, context.options)
        , m_scores(modeNames.size(), RealNumbers::perPair(m_config))
    {
    }

    Result<std::vector<RealNumbers>> run()
    {
        const int step = layersAtOnce(m_config, m_context.options);
        for (int first = 0; first < m_config.nLayers; first += step) {
            if (const auto done = runLayers(first, std::min(first + step, m_config.nLayers)); !done)
                return done.error();
        }
        return std::move(m_scores);
    }

private:
    /// The heads of some layers that write or read, and the sides with which they read.
    struct Block {
        struct Use {
            HeadId head;
            std::optional<std::size_t> earlier, later; // its place among those that write and that read
        };

        std::vector<Use> heads;
        std::vector<HeadId> later;
        std::vector<Strips<Scalar>> reading; // three of each later head, in the order of modes
    };

    Block blockOf(int first, int end)
    {
        Block block;
        for (int layer = first; layer < end; ++layer) {
            for (int head = 0; head < m_config.nHeads; ++head) {
                typename Block::Use use{{layer, head}, std::nullopt, std::nullopt};
                if (m_pairs.hasEarlier(use.head)) {
                    use.earlier = m_earlier.size();
                    m_earlier.push_back(use.head);
                }
                if (m_pairs.hasLater(use.head) && m_pairs.isOwn(use.head)) {
                    use.later = block.later.size();
                    block.later.push_back(use.head);
                }
                if (use.earlier || use.later)
                    block.heads.push_back(use);
            }
        }
        m_writing.resize(m_earlier.size());
        block.reading.resize(block.later.size() * modeNames.size());
        return block;
    }

    /// Computes a side; NaN for weights that are not finite.
    Result<Done> putSide(const HeadWeights<double>& head, const Matrix<double>& W_Ot,
                         std::optional<Mode> mode, Strips<Scalar>& out) const
    {
        auto side = sideOf<Scalar>(head, W_Ot, mode);
        if (!side && side.error().code != ErrorCode::Corrupt)
            return side.error();
        out = side ? *std::move(side)
                   : Strips<Scalar>(Matrix<Scalar>::Constant(m_config.dModel, m_config.dHead,
                                                             std::numeric_limits<Scalar>::quiet_NaN()));
        return Done{};
    }

    /// Computes all sides of a head from one reading of its weights.
    Result<Done> putSides(const typename Block::Use& use, std::vector<Strips<Scalar>>& reading)
    {
        const auto weights = m_context.circuits.weights().template head<double>(
            use.head, use.later ? HeadParts::All : HeadParts::ValuesAndOutput);
        const Matrix<double> W_Ot = weights.W_O.transpose();
        if (use.earlier) {
            if (const auto done = putSide(weights, W_Ot, std::nullopt, m_writing[*use.earlier]); !done)
                return done;
        }
        for (std::size_t mode = 0; use.later && mode < modeNames.size(); ++mode) {
            const auto done = putSide(weights, W_Ot, static_cast<Mode>(mode),
                                      reading[*use.later * modeNames.size() + mode]);
            if (!done)
                return done;
        }
        return Done{};
    }

    /// Computes the scores of all earlier heads with the heads of some layers.
    Result<Done> runLayers(int first, int end)
    {
        Block block = blockOf(first, end);
        const auto read = parallelFor(
            static_cast<int>(block.heads.size()), m_task, "inputs and outputs of heads",
            [&](int i) { return putSides(block.heads[static_cast<std::size_t>(i)], block.reading); });
        if (!read)
            return read;
        std::vector<int> reach;
        for (const HeadId head : block.later) {
            const auto earlier =
                std::ranges::lower_bound(m_earlier, head.layer, {}, &HeadId::layer) - m_earlier.begin();
            reach.insert(reach.end(), modeNames.size(), static_cast<int>(earlier));
        }
        const auto laterOf = [&](std::size_t j) { return block.later[j / modeNames.size()]; };
        const auto isAsked = [&](int i, int j) {
            return m_pairs.contains(m_earlier[static_cast<std::size_t>(i)],
                                    laterOf(static_cast<std::size_t>(j)));
        };
        const auto norms =
            productNorms<Scalar>({m_writing, block.reading, reach, isAsked}, m_pairs.route(m_config), m_task);
        if (!norms)
            return norms.error();
        for (std::size_t j = 0; j < reach.size(); ++j) {
            for (int i = 0; i < reach[j]; ++i) {
                if (isAsked(i, static_cast<int>(j)))
                    m_scores[j % modeNames.size()].set(m_earlier[static_cast<std::size_t>(i)], laterOf(j),
                                                       (*norms)(i, static_cast<Eigen::Index>(j)));
            }
        }
        return Done{};
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    const Task& m_task;
    AskedPairs m_pairs;
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
    if (AskedPairs(config, context.options).count() == 0 && config.nLayers > 1)
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
    const AskedPairs pairs(config, options);
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    const bool isByGrams = pairs.route(config) == NormRoute::Grams;
    const double operations = pairs.operations(config)[isByGrams ? 1 : 0];
    const double reading = readingBytes(config, options, layersAtOnce(config, options));
    // Sides are thin and in double, a Gram matrix's tiles are products over d_head, and pairs are as fast as sgemm.
    constexpr double sideSpeed = 0.55, tileSpeed = 2.4, pairSpeed = 3.2, productSpeed = 2.5;
    const double ofSides = pairs.sides() * 6 * r * r * d;
    const double ofTiles = isByGrams ? gramOperations(0, pairs.sides(), r, d) : 0;
    const double ofPairs = operations - ofTiles;
    const double flops = ofSides + operations;
    const double work =
        ofSides / sideSpeed + ofTiles / tileSpeed + ofPairs / (isByGrams ? pairSpeed : productSpeed);
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
