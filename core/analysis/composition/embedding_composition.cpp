#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/base/matrix.h"
#include "core/circuits/subspace.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace headwise {

namespace {

const std::string embeddingCompositionFolder = "analyses/embedding_composition/";

enum Side { ReadsQuery, ReadsKey, ReadsValue, Writes };

struct SideText {
    const char* name;
    const char* title;
    const char* formula;
};

constexpr std::array<SideText, 4> sideTexts{
    {{"reads_query", "Tokens to queries", "‖E W_Q W_Kᵀ‖_F / (‖E‖_F ‖W_Q W_Kᵀ‖_F)"},
     {"reads_key", "Tokens to keys", "‖E W_K W_Qᵀ‖_F / (‖E‖_F ‖W_Q W_Kᵀ‖_F)"},
     {"reads_value", "Tokens to values", "‖E W_V W_O‖_F / (‖E‖_F ‖W_V W_O‖_F)"},
     {"writes", "Outputs to tokens", "‖W_V W_O W_U‖_F / (‖W_V W_O‖_F ‖W_U‖_F)"}}};

std::vector<ArraySpec> embeddingCompositionArrays()
{
    std::vector<ArraySpec> all;
    for (const SideText& side : sideTexts) {
        const std::string path = embeddingCompositionFolder + side.name;
        all.push_back({.path = path,
                       .axes = headAxes(),
                       .title = side.title,
                       .definition = side.formula,
                       .range = {{0.0, 1.0}}});
        all.push_back(
            {path + "_z", headAxes(), std::string(side.title) + ", z",
             "(s² − 1/d_model) / deviation of s² if the singular vectors were random and the singular values stayed, s = "
                 + std::string(side.formula)});
    }
    return all;
}

/// Σ over a Gram matrix's eigenvalues and over their squares.
struct GramSums {
    double trace = 0, squares = 0;

    explicit GramSums(const Matrix<double>& gram)
        : trace(gram.trace())
        , squares(gram.squaredNorm())
    {
    }
    double participation() const { return squares / (trace * trace); }
};

/// ‖A B‖²/(‖A‖²‖B‖²) and how far it is from that of random singular vectors, in deviations.
struct Meeting {
    double share = 0, z = 0;
};

/// \param outer AᵀA or B Bᵀ, [d, d], and its sums \param near, far [d, r]: the circuit is near · farᵀ, and `near` meets `outer`
Meeting meeting(const Matrix<double>& outer, const GramSums& sums, const Matrix<double>& near,
                const Matrix<double>& far)
{
    const Matrix<double> ofFar = far.transpose() * far;
    const Matrix<double> ofCircuit = (near.transpose() * near) * ofFar;
    const double norm = ofCircuit.trace();
    const Matrix<double> inside = near.transpose() * (outer * near);
    const double share = std::max(0.0, inside.cwiseProduct(ofFar).sum() / (norm * sums.trace));
    const double participation = ofCircuit.cwiseProduct(ofCircuit.transpose()).sum() / (norm * norm);
    const Moments null = overlapMoments(sums.participation(), participation, outer.rows());
    if (!(norm > 0 && sums.trace > 0)) // also where a weight is not finite
        return {notComputed, notComputed};
    return {share, null.deviation > 1e-9 * null.mean ? (share - null.mean) / null.deviation : notComputed};
}

Result<ResultSet> runEmbeddingComposition(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const TokenSide& tokens = *context.tokens;
    std::vector<RealNumbers> scores(sideTexts.size(), RealNumbers::perHead(config)), z = scores;
    const GramSums ofE(tokens.EtE), ofLayer0(tokens.embeddingGramOf(0)), ofU(tokens.UUt);
    const auto done = forEachHead(context, task, "embedding composition", [&](HeadId head) -> Result<Done> {
        const HeadWeights<double> w = context.circuits.weights().head<double>(head);
        const Matrix<double>& E = tokens.embeddingGramOf(head.layer);
        const GramSums& sums = head.layer == 0 ? ofLayer0 : ofE;
        const std::array<Meeting, 4> found{meeting(E, sums, w.W_Q, w.W_K), meeting(E, sums, w.W_K, w.W_Q),
                                           meeting(E, sums, w.W_V, w.W_O.transpose()),
                                           meeting(tokens.UUt, ofU, w.W_O.transpose(), w.W_V)};
        for (std::size_t side = 0; side < sideTexts.size(); ++side) {
            scores[side].set(head, std::sqrt(found[side].share));
            z[side].set(head, found[side].z);
        }
        return Done{};
    });
    if (!done)
        return done.error();
    Results results = resultsOf(context, embeddingCompositionArrays());
    results.warn(*done);
    for (std::size_t side = 0; side < sideTexts.size(); ++side) {
        const std::string path = embeddingCompositionFolder + sideTexts[side].name;
        results.put(path, std::move(scores[side])).nullMean =
            1 / std::sqrt(static_cast<double>(config.dModel));
        ResultArray& ofZ = results.put(path + "_z", std::move(z[side]));
        ofZ.nullMean = 0.0;
        ofZ.nullDeviation = 1.0;
    }
    return std::move(results).finish();
}

AnalysisCost embeddingCompositionCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    return {heads * 4 * (2 * d * d * r + 6 * d * r * r), heads * 8 * 8};
}

std::vector<Picture> embeddingCompositionPictures()
{
    using Kind = Picture::Kind;
    const auto all = [](const std::string& suffix) {
        std::vector<std::string> paths;
        paths.reserve(sideTexts.size());
        for (const SideText& side : sideTexts)
            paths.push_back(fmt::format("{}{}{}", embeddingCompositionFolder, side.name, suffix));
        return paths;
    };
    return {{.kind = Kind::HeadGrid,
             .title = "Which heads read and write tokens",
             .arrays = all(""),
             .signedColors = false,
             .note = "Unrelated circuits get 1/√d_model."},
            {.kind = Kind::HeadGrid,
             .title = "z-scores of heads that read and write tokens",
             .arrays = all("_z")},
            {.kind = Kind::HeadPlane,
             .title = "Reading and writing tokens",
             .arrays = {embeddingCompositionFolder + sideTexts[ReadsValue].name,
                        embeddingCompositionFolder + sideTexts[Writes].name}},
            {.kind = Kind::HeadPlane,
             .title = "Queries and keys of tokens",
             .arrays = {embeddingCompositionFolder + sideTexts[ReadsQuery].name,
                        embeddingCompositionFolder + sideTexts[ReadsKey].name}}};
}

} // namespace

Analysis embeddingCompositionAnalysis()
{
    return {.id = "embedding_composition",
            .number = "D8",
            .title = "Composition with embedding and unembedding",
            .formula = "‖E W_QK‖, ‖E W_QKᵀ‖, ‖E W_OV‖, ‖W_OV W_U‖ over the products of the norms",
            .citation = "Elhage et al. 2021, \"Three Kinds of Composition\"",
            .needsTokens = true,
            .whyNot = appliesAlways,
            .cost = embeddingCompositionCost,
            .run = runEmbeddingComposition,
            .arrays = embeddingCompositionArrays(),
            .pictures = embeddingCompositionPictures(),
            .followsMetric = true};
}

} // namespace headwise
