#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/spectra/block_arrays.h"
#include "core/analysis/spectra/random_list.h"
#include "core/results/picture_of.h"

#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

constexpr int singularTokensMostDirections = 10;
constexpr const char* singularTokensFolder = "analyses/singular_tokens/";
constexpr const char* singularTokensSignRule =
    "; sign of the pair u_k, v_k: the token score of largest magnitude on the first side is positive, ties to the lower id";

std::size_t directionCount(const ModelConfig& config)
{
    return static_cast<std::size_t>(std::min(singularTokensMostDirections, config.dHead));
}

std::string singularTokensPath(std::string_view name)
{
    return singularTokensFolder + std::string(name);
}

std::vector<ArraySpec> singularTokensArrays()
{
    const std::vector<ArrayAxis> axes = headAxes({Axis::Direction});
    std::vector<ArraySpec> all{
        {singularTokensPath("qk_sigma"), axes, "Singular values of QK", "the first σ_k of W_Q W_Kᵀ"},
        {singularTokensPath("ov_sigma"), axes, "Singular values of OV", "the first σ_k of W_V W_O"},
        {.path = singularTokensPath("qk_cosine"),
         .axes = axes,
         .title = "Query and key directions of QK, cosine",
         .definition = "u_k · v_k of W_Q W_Kᵀ = U Σ Vᵀ: 1 attends to similar vectors, −1 to opposite ones",
         .range = {{-1.0, 1.0}}}};
    addBlockSpecs(all, axes, singularTokensPath("qk"), " of QK", "W_Q W_Kᵀ");
    addBlockSpecs(all, axes, singularTokensPath("ov"), " of OV", "W_V W_O");
    for (const DirectionSide& side : directionSides) {
        const std::string title = "Tokens " + std::string(side.title);
        addEndSpecs(all,
                    {singularTokensPath(side.name), headAxes({Axis::Direction, Axis::Rank}), title,
                     std::string(side.formula) + singularTokensSignRule});
        all.push_back({singularTokensPath(side.name) + "_null",
                       {Axis::Rank},
                       title + " of a random direction, score",
                       "mean over 32 random unit directions of their largest token scores, by rank"});
    }
    return all;
}

class SingularTokens {
public:
    SingularTokens(const AnalysisContext& context, const Task& task)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_task(task)
        , m_cosine(RealNumbers::perHead(m_config, width()))
        , m_sigma{m_cosine, m_cosine}
        , m_blocks{BlockArrays(m_cosine.shape()), BlockArrays(m_cosine.shape())}
    {
        m_lists.reserve(directionSides.size());
        for (const DirectionSide& side : directionSides)
            m_lists.emplace_back(RealNumbers::perHead(m_config, width(), length(side)).shape());
    }

    Result<ResultSet> run()
    {
        const auto done =
            forEachHead(m_context, m_task, "singular directions", [&](HeadId head) -> Result<Done> {
                for (const CircuitKind kind : {CircuitKind::Ov, CircuitKind::Qk}) {
                    if (const auto state = readCircuit(kind, head); !state)
                        return state;
                }
                return Done{};
            });
        if (!done)
            return done.error();
        Results results = resultsOf(m_context, singularTokensArrays());
        results.warn(*done);
        putSpectra(results);
        for (std::size_t i = 0; i < m_lists.size(); ++i) {
            if (const auto state = putSide(results, directionSides[i], m_lists[i]); !state)
                return state.error();
        }
        return std::move(results).finish();
    }

private:
    int width() const { return static_cast<int>(directionCount(m_config)); }
    std::size_t length(const DirectionSide& side) const
    {
        const Eigen::Index count = tokenCount(*m_context.tokens, side, 0);
        return static_cast<std::size_t>(std::min<Eigen::Index>(m_context.options.tableSize, count));
    }

    Result<Done> readCircuit(CircuitKind kind, HeadId head)
    {
        const auto svd = singularDirections(m_context.circuits, kind, head);
        if (!svd)
            return svd.error();
        const Eigen::Index shown = std::min<Eigen::Index>(width(), svd->S.size());
        const Eigen::Index named = std::min(shown, svd->rank); // the null space has no directions of its own
        const std::size_t at = kind == CircuitKind::Qk ? 0 : 1;
        const std::span<const double> sigma(svd->S.data(), static_cast<std::size_t>(svd->S.size()));
        m_sigma[at].set(head, sigma.first(static_cast<std::size_t>(shown)));
        m_blocks[at].set(static_cast<std::size_t>(head.layer) * m_config.nHeads + head.head,
                         degenerateBlocks(sigma, svd->rank));
        if (kind == CircuitKind::Qk) {
            const std::span<double> cosine = m_cosine.of(head);
            for (Eigen::Index k = 0; k < named; ++k)
                cosine[static_cast<std::size_t>(k)] = svd->U.col(k).dot(svd->V.col(k));
        }
        return named == 0 ? Done{} : readTokens(kind, head, svd->U.leftCols(named), svd->V.leftCols(named));
    }

    /// \param U, V [d, n]: the pairs to name
    Result<Done> readTokens(CircuitKind kind, HeadId head, const Matrix<double>& U, const Matrix<double>& V)
    {
        const std::size_t first = kind == CircuitKind::Ov ? 0 : 2; // in directionSides
        Eigen::RowVectorXd signs(U.cols());
        for (const std::size_t at : {first, first + 1}) {
            const DirectionSide& side = directionSides[at];
            const bool isFirst = side.side == VectorSide::First;
            const auto scores = directionScores(*m_context.tokens, side, head.layer, isFirst ? U : V, m_task);
            if (!scores)
                return scores.error();
            for (Eigen::Index k = 0; k < U.cols(); ++k) {
                if (isFirst)
                    signs(k) = jointSign(scores->col(k), m_context.options.unusedTokens);
                const RowVector<double> line = (scores->col(k) * signs(k)).transpose();
                const TokenEnds found =
                    ends(line, static_cast<int>(m_lists[at].top.length()), m_context.options.unusedTokens);
                const std::size_t list = (static_cast<std::size_t>(head.layer) * m_config.nHeads + head.head)
                        * directionCount(m_config)
                    + static_cast<std::size_t>(k);
                m_lists[at].set(list, found);
            }
        }
        return Done{};
    }

    void putSpectra(Results& results) const
    {
        results.put(singularTokensPath("qk_sigma"), m_sigma[0]);
        results.put(singularTokensPath("ov_sigma"), m_sigma[1]);
        ResultArray& cosine = results.put(singularTokensPath("qk_cosine"), m_cosine);
        cosine.nullMean = 0.0;
        cosine.nullDeviation = 1 / std::sqrt(static_cast<double>(m_config.dModel));
        putBlocks(results, singularTokensPath("qk"), m_blocks[0]);
        putBlocks(results, singularTokensPath("ov"), m_blocks[1]);
    }

    Result<Done> putSide(Results& results, const DirectionSide& side, const EndLists& lists) const
    {
        const auto null = randomList(m_context, side, lists.top.length(), m_task);
        if (!null)
            return null.error();
        const std::size_t first = results.arrays().size();
        putEnds(results, singularTokensPath(side.name), lists, null->deviation);
        results.put(singularTokensPath(side.name) + "_null", null->means);
        for (ResultArray& array : std::span(results.arrays()).subspan(first)) {
            if (!side.usesUnembedding())
                array.attributes["embedding"] = std::string(embeddingName(m_context.tokens->embedding));
        }
        return Done{};
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    const Task& m_task;
    RealNumbers m_cosine;
    RealNumbers m_sigma[2];        // qk, ov
    BlockArrays m_blocks[2];       // qk, ov
    std::vector<EndLists> m_lists; // as directionSides
};

Result<ResultSet> runSingularTokens(const AnalysisContext& context, const Task& task)
{
    return SingularTokens(context, task).run();
}

AnalysisCost singularTokensCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    const double scores = (flopsPerTokenNumber + 2 * static_cast<double>(directionCount(config))) * d
        * (3.0 * config.dVocab + config.dVocabOut);
    return {heads * (2 * (16 * d * r * r + 20 * r * r * r) + scores),
            all * 8 * static_cast<double>(directionCount(config)) * options.tableSize * 8
                + 8.0 * listedNullDirections * config.dVocab};
}

std::vector<Picture> singularTokensPictures()
{
    using Kind = Picture::Kind;
    const char* note =
        "One direction per row, its tokens by rank. Directions that share a block are meaningful only together; see the degeneracy of the spectra.";
    const auto table = [note](const char* title, const std::string& circuit, const std::string& list) {
        const std::string path = singularTokensFolder + circuit;
        return Picture{.kind = Kind::Table,
                       .title = title,
                       .arrays = {path + "_sigma", path + "_block_size", singularTokensFolder + list + "_ids",
                                  singularTokensFolder + list + "_values"},
                       .note = note};
    };
    return {
        table("What OV reads", "ov", "ov_in"),
        table("What OV writes", "ov", "ov_out"),
        table("Queries of QK", "qk", "qk_query"),
        table("Keys of QK", "qk", "qk_key"),
        table("What OV reads, the other end", "ov", "ov_in_lowest"),
        table("What OV writes, the other end", "ov", "ov_out_lowest"),
        table("Queries of QK, the other end", "qk", "qk_query_lowest"),
        table("Keys of QK, the other end", "qk", "qk_key_lowest"),
        pictureOf(singularTokensFolder, Kind::Bars, "Largest singular values of QK and OV",
                  {"qk_sigma", "ov_sigma"}),
        pictureOf(singularTokensFolder, Kind::Bars, "Do queries and keys look alike?", {"qk_cosine"}),
        pictureOf(singularTokensFolder, Kind::Lines,
                  "What OV reads, by rank, and what a random direction reads",
                  {"ov_in_values", "ov_in_null"}),
        pictureOf(singularTokensFolder, Kind::Lines,
                  "What OV writes, by rank, and what a random direction writes",
                  {"ov_out_values", "ov_out_null"}),
    };
}

} // namespace

Analysis singularTokensAnalysis()
{
    return {.id = "singular_tokens",
            .number = "E6",
            .title = "Singular directions as tokens",
            .formula =
                "E u_k and v_kᵀ W_U of W_V W_O = U Σ Vᵀ; E u_k, E v_k and u_k · v_k of W_Q W_Kᵀ = U Σ Vᵀ",
            .citation = "Millidge & Black 2022; Pan et al. 2024, arXiv 2405.14880",
            .needsTokens = true,
            .whyNot = appliesAlways,
            .cost = singularTokensCost,
            .run = runSingularTokens,
            .arrays = singularTokensArrays(),
            .pictures = singularTokensPictures(),
            .followsFilter = true,
            .isSplit = true,
            .crossesStreams = true};
}

} // namespace headwise
