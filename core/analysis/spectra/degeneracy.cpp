#include "core/analysis/analyses.h"
#include "core/analysis/entry_lists.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/spectra/block_arrays.h"
#include "core/circuits/direction_stability.h"
#include "core/circuits/random_matrix.h"
#include "core/circuits/singular_directions.h"
#include "core/results/layer_null.h"
#include "core/results/picture_of.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise {

namespace {

constexpr int degeneracyMostDirections = 10, nullHeads = 16;
constexpr const char* degeneracyFolder = "analyses/degeneracy/";

std::size_t namedDirections(const ModelConfig& config)
{
    return static_cast<std::size_t>(std::min(degeneracyMostDirections, config.dHead));
}

std::span<const double> spanOf(const Eigen::VectorXd& values)
{
    return {values.data(), static_cast<std::size_t>(values.size())};
}

std::string degeneracyPath(std::string_view name)
{
    return degeneracyFolder + std::string(name);
}

std::vector<ArraySpec> degeneracyArrays()
{
    const std::string rounding =
        "min(1, e / distance), e = ‖δA‖ |B| + |A| ‖δB‖ of M = A B, |A| = √‖AᵀA‖_∞ and |B| = √‖B Bᵀ‖_∞ (largest sum of magnitudes in a row, ≥ ‖·‖₂²), ‖δA‖ = u (largest row norm + largest column norm) of each factor, u = rounding of the file's dtype: 2^-24 for float32, 2^-53 float64, 2^-11 float16, 2^-8 bfloat16; NaN in the null space; distance of ";
    std::vector<ArraySpec> all;
    for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov}) {
        const std::string path = degeneracyPath(circuitName(kind));
        const std::string of = kind == CircuitKind::Qk ? " of QK" : " of OV";
        const std::string where = ", σ = singular values of " + std::string(circuitFormula(kind));
        const auto add = [&](const char* name, std::vector<ArrayAxis> axes, const char* title,
                             const std::string& definition) {
            all.push_back({.path = path + name,
                           .axes = headAxes(std::move(axes)),
                           .title = title + of,
                           .definition = definition,
                           .range = {{0.0, 1.0}}});
        };
        add("_single", {}, "Share of directions that stand alone",
            "directions in a block of one over directions above the null space" + where);
        add("_gap", {Axis::Direction}, "Relative gap to the nearest singular value",
            "min((σ_{k−1} − σ_k)/σ_{k−1}, (σ_k − σ_{k+1})/σ_k), the neighbour that exists" + where);
        add("_error", {Axis::Direction}, "Rounding error of a direction (sine)",
            rounding + "σ_k from its neighbours, and from 0 if d_head < d_model");
        add("_block_error", {Axis::Direction}, "Rounding error of a block's span (sine)",
            rounding + "the block's σ from its neighbours, and from 0 if d_head < d_model");
        addBlockSpecs(all, headAxes({Axis::Direction}), path, of, std::string(circuitFormula(kind)));
    }
    for (const DirectionSide& side : directionSides) {
        const std::string path = degeneracyPath(side.name);
        const std::string title = "Tokens of the block " + std::string(side.title);
        const std::string formula =
            "the largest ‖row‖₂ over the k of one block of " + std::string(side.formula);
        const std::vector<ArrayAxis> axes = headAxes({Axis::Direction, Axis::Rank});
        all.push_back({.path = path + "_ids",
                       .axes = axes,
                       .title = title,
                       .definition = formula,
                       .unit = "token",
                       .type = NumberType::Whole});
        all.push_back({path + "_values", axes, title + ", length", formula});
    }
    return all;
}

struct DegeneracyNull {
    double mean = 0, deviation = 0;
};

double singleShare(const std::vector<int>& blocks, std::size_t rank)
{
    std::size_t alone = 0;
    for (std::size_t k = 0; k < rank; ++k) {
        const bool first = k == 0 || blocks[k - 1] != blocks[k];
        const bool last = k + 1 == blocks.size() || blocks[k + 1] != blocks[k];
        alone += first && last ? 1 : 0;
    }
    return rank > 0 ? static_cast<double>(alone) / static_cast<double>(rank)
                    : std::numeric_limits<double>::quiet_NaN();
}

/// The numbers of one circuit for every head.
struct CircuitNumbers {
    RealNumbers gap, error, blockError, single;
    BlockArrays blocks;

    explicit CircuitNumbers(const ModelConfig& config)
        : gap(RealNumbers::perHead(config, config.dHead))
        , error(gap)
        , blockError(gap)
        , single(RealNumbers::perHead(config))
        , blocks(gap.shape())
    {
    }
};

class Degeneracy {
public:
    Degeneracy(const AnalysisContext& context, const Task& task)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_task(task)
        , m_numbers{CircuitNumbers(m_config), CircuitNumbers(m_config)}
    {
        for (const DirectionSide& side : directionSides) {
            const Eigen::Index count = tokenCount(*context.tokens, side, 0);
            const auto length =
                static_cast<std::size_t>(std::min<Eigen::Index>(context.options.tableSize, count));
            m_lists.push_back(EntryLists::perHead(m_config, namedDirections(m_config), length));
        }
    }

    Result<ResultSet> run()
    {
        const auto done =
            forEachHead(m_context, m_task, "degeneracy of the spectra", [&](HeadId head) -> Result<Done> {
                for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov}) {
                    if (const auto state = readCircuit(kind, head); !state)
                        return state;
                }
                return Done{};
            });
        if (!done)
            return done.error();
        const auto null = randomShare();
        if (!null)
            return null.error();
        Results results = resultsOf(m_context, degeneracyArrays());
        results.warn(*done);
        for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov})
            putNumbers(results, kind, *null);
        for (std::size_t i = 0; i < m_lists.size(); ++i)
            putLists(results, directionSides[i], m_lists[i]);
        return std::move(results).finish();
    }

private:
    std::size_t index(HeadId head) const
    {
        return static_cast<std::size_t>(head.layer) * m_config.nHeads + head.head;
    }
    CircuitNumbers& numbers(CircuitKind kind) { return m_numbers[kind == CircuitKind::Qk ? 0 : 1]; }

    Result<Done> readCircuit(CircuitKind kind, HeadId head)
    {
        const auto svd = singularDirections(m_context.circuits, kind, head);
        if (!svd)
            return svd.error();
        const auto rank = static_cast<std::size_t>(svd->rank);
        const std::vector<int> blocks = degenerateBlocks(spanOf(svd->S), svd->rank);
        const DirectionStability stable = directionStability(m_context.circuits, kind, head, *svd);
        CircuitNumbers& out = numbers(kind);
        std::copy(stable.gap.begin(), stable.gap.end(), out.gap.of(head).begin());
        std::copy(stable.error.begin(), stable.error.end(), out.error.of(head).begin());
        std::copy(stable.blockError.begin(), stable.blockError.end(), out.blockError.of(head).begin());
        out.single.set(head, singleShare(blocks, rank));
        out.blocks.set(index(head), blocks);
        for (std::size_t i = 0; i < directionSides.size(); ++i) {
            if (directionSides[i].circuit != kind)
                continue;
            if (const auto state = nameBlocks(i, head, *svd, blocks); !state)
                return state;
        }
        return Done{};
    }

    /// Adds the tokens of the subspaces that contain the first directions.
    Result<Done> nameBlocks(std::size_t side, HeadId head, const SingularDirections& svd,
                            const std::vector<int>& blocks)
    {
        const auto named = std::min(namedDirections(m_config), static_cast<std::size_t>(svd.rank));
        if (named == 0)
            return Done{};
        const auto last = std::upper_bound(blocks.begin(), blocks.end(), blocks[named - 1]);
        const auto lengths = spanLengths(
            *m_context.tokens, directionSides[side], head.layer,
            {svd.vectors(directionSides[side].side).leftCols(last - blocks.begin()), {blocks.begin(), last}},
            m_task);
        if (!lengths)
            return lengths.error();
        std::vector<TokenEnds> found;
        for (Eigen::Index block = 0; block < lengths->cols(); ++block)
            found.push_back(ends(lengths->col(block).transpose(), static_cast<int>(m_lists[side].length()),
                                 m_context.options.unusedTokens));
        for (std::size_t k = 0; k < named; ++k)
            m_lists[side].set(index(head) * namedDirections(m_config) + k,
                              found[static_cast<std::size_t>(blocks[k])].top);
        return Done{};
    }

    /// Returns the share of non-degenerate directions in Gaussian heads.
    Result<DegeneracyNull> randomShare() const
    {
        Eigen::ArrayXd shares(nullHeads);
        for (int i = 0; i < nullHeads; ++i) {
            const auto seed = m_context.options.inputs.seed + 2 * static_cast<std::uint64_t>(i);
            const auto circuit =
                FactoredMatrix<double>::create(gaussianMatrix(m_config.dModel, m_config.dHead, seed),
                                               gaussianMatrix(m_config.dHead, m_config.dModel, seed + 1));
            const auto sigma = circuit ? circuit->singularValues() : circuit.error();
            if (!sigma)
                return sigma.error();
            const Eigen::Index rank = numericalRank(*sigma, m_config.dModel);
            shares(i) = singleShare(degenerateBlocks(*sigma, rank), static_cast<std::size_t>(rank));
        }
        const double mean = shares.mean();
        return DegeneracyNull{mean, std::sqrt((shares - mean).square().sum() / (nullHeads - 1))};
    }

    void putNumbers(Results& results, CircuitKind kind, const DegeneracyNull& null)
    {
        const CircuitNumbers& from = numbers(kind);
        const std::string path = degeneracyPath(circuitName(kind));
        ResultArray& single = results.put(path + "_single", from.single);
        single.nullMean = null.mean;
        single.nullDeviation = null.deviation;
        setNullDraws(single, nullHeads);
        results.put(path + "_gap", from.gap);
        results.put(path + "_error", from.error);
        results.put(path + "_block_error", from.blockError);
        putBlocks(results, path, from.blocks);
    }

    void putLists(Results& results, const DirectionSide& side, const EntryLists& lists) const
    {
        const auto embed = [&](ResultArray& array) {
            if (!side.usesUnembedding())
                array.attributes["embedding"] = std::string(embeddingName(m_context.tokens->embedding));
        };
        embed(results.put(degeneracyPath(side.name) + "_ids", lists.ids));
        embed(results.put(degeneracyPath(side.name) + "_values", lists.values));
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    const Task& m_task;
    CircuitNumbers m_numbers[2];     // qk, ov
    std::vector<EntryLists> m_lists; // as directionSides
};

Result<ResultSet> runDegeneracy(const AnalysisContext& context, const Task& task)
{
    return Degeneracy(context, task).run();
}

AnalysisCost degeneracyCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel, r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    const double named = static_cast<double>(namedDirections(config));
    return {heads
                * (2 * (16 * d * r * r + 20 * r * r * r)
                   + (flopsPerTokenNumber + 2 * named) * d * (3.0 * config.dVocab + config.dVocabOut)),
            all * (2 * r * 5 + named * 4 * options.tableSize * 2) * 8 + 8 * named * config.dVocab};
}

std::vector<Picture> degeneracyPictures()
{
    using Kind = Picture::Kind;
    const char* note =
        "One direction per row, with the tokens that reach furthest into the span of its block.";
    return {
        pictureOf(degeneracyFolder, Kind::HeadGrid, "Non-degenerate directions", {"qk_single", "ov_single"}),
        pictureOf(
            degeneracyFolder, Kind::Lines, "Relative gap of each direction", {"qk_gap", "ov_gap"},
            "Below 0.01 a direction shares a block with its neighbour, and only their span is meaningful."),
        pictureOf(degeneracyFolder, Kind::Lines, "Rounding error of each direction of QK",
                  {"qk_error", "qk_block_error"}),
        pictureOf(degeneracyFolder, Kind::Lines, "Rounding error of each direction of OV",
                  {"ov_error", "ov_block_error"}),
        pictureOf(degeneracyFolder, Kind::Bars, "Sizes of degenerate blocks",
                  {"qk_block_size", "ov_block_size"}),
        pictureOf(degeneracyFolder, Kind::Table, "What blocks of OV read", {"ov_in_ids", "ov_in_values"},
                  note),
        pictureOf(degeneracyFolder, Kind::Table, "What blocks of OV write", {"ov_out_ids", "ov_out_values"},
                  note),
        pictureOf(degeneracyFolder, Kind::Table, "Queries of blocks of QK",
                  {"qk_query_ids", "qk_query_values"}, note),
        pictureOf(degeneracyFolder, Kind::Table, "Keys of blocks of QK", {"qk_key_ids", "qk_key_values"},
                  note),
    };
}

} // namespace

Analysis degeneracyAnalysis()
{
    return {
        .id = "degeneracy",
        .number = "E7",
        .title = "Degeneracy of the spectra",
        .formula =
            "blocks of neighbours with (σ_k − σ_{k+1})/σ_k < 1e-2; ‖δM‖₂ / distance of σ_k from the others; row norms of E U_block",
        .citation = "TransformerLens, pull request 1768; Wedin 1972",
        .needsTokens = true,
        .whyNot = appliesAlways,
        .cost = degeneracyCost,
        .run = runDegeneracy,
        .arrays = degeneracyArrays(),
        .pictures = degeneracyPictures(),
        .followsFilter = true,
        .takesClassToken = true};
}

} // namespace headwise
