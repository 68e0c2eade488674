#include "core/analysis/analyses.h"
#include "core/analysis/entry_lists.h"
#include "core/analysis/head_pairs.h"
#include "core/analysis/shared/eigenvalue_null.h"
#include "core/base/decompositions.h"
#include "core/circuits/spectrum.h"
#include "core/circuits/subspace.h"
#include "core/circuits/token_table.h"
#include "core/results/layer_null.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise {

namespace {

constexpr int salientTokens = 20;
constexpr int virtualHeadSpectrumDraws = 32;
const std::string virtualHeadFolder = "analyses/virtual_head/";

std::vector<ArraySpec> virtualHeadArrays()
{
    const std::string& folder = virtualHeadFolder;
    const std::string square = "embedding and unembedding of the same tokens";
    return {
        {folder + "singular_values",
         {Axis::SingularValue},
         "Singular values",
         "singular values of W_OV¹ W_OV², descending"},
        {folder + "singular_values_null",
         {Axis::SingularValue},
         "Singular values of chance",
         fmt::format("mean of {} draws with random singular vectors and the heads' own singular values",
                     virtualHeadSpectrumDraws)},
        {.path = folder + "eigenvalues",
         .axes = {Axis::Eigenvalue},
         .title = "Eigenvalues",
         .definition = "eigenvalues of W_OV¹ W_OV² by falling modulus",
         .type = NumberType::Complex},
        {.path = folder + "norm_share",
         .axes = {Axis::Value},
         .title = "Norm",
         .definition = "‖W_OV¹ W_OV²‖_F / (‖W_OV¹‖_F ‖W_OV²‖_F)",
         .range = {{0.0, 1.0}}},
        {.path = folder + "full_eigenvalues",
         .axes = {Axis::Eigenvalue},
         .title = "Eigenvalues of the full circuit",
         .definition = "eigenvalues of E W_OV¹ W_OV² W_U by falling modulus",
         .type = NumberType::Complex,
         .condition = square},
        {.path = folder + "copying",
         .axes = {Axis::Value},
         .title = "Copying",
         .definition = "Re Σλ / Σ|λ|, λ = eigenvalues of E W_OV¹ W_OV² W_U",
         .range = {{-1.0, 1.0}},
         .condition = square},
        {.path = folder + "source_ids",
         .axes = {Axis::Source},
         .title = "Source",
         .definition = "the requested token, or else the tokens with the largest rows of E W_OV¹ W_OV² W_U",
         .unit = "token",
         .type = NumberType::Whole},
        {folder + "source_norms", {Axis::Source}, "Norm of the row", "‖row of E W_OV¹ W_OV² W_U‖₂"},
        {.path = folder + "output_ids",
         .axes = {Axis::Source, Axis::Rank},
         .title = "Output",
         .definition = "the largest entries of the source's row of E W_OV¹ W_OV² W_U, falling",
         .unit = "token",
         .type = NumberType::Whole},
        {.path = folder + "output_values",
         .axes = {Axis::Source, Axis::Rank},
         .title = "Logit",
         .definition = "those entries",
         .unit = "logits"}};
}

/// W_OV¹ W_OV² as one head: W_V = W_V¹ (W_O¹ W_V²), W_O = W_O².
struct VirtualHead {
    FactoredMatrix<double> circuit; // [d, d]
    double norms = 0;               // ‖W_OV¹‖_F ‖W_OV²‖_F
    int layer = 0;                  // where its tokens are read
};

Result<VirtualHead> virtualHead(const AnalysisContext& context)
{
    const auto [earlier, later] = *context.options.inputs.pair;
    const FactoredMatrix<double> first = context.circuits.ov(earlier);
    const FactoredMatrix<double> second = context.circuits.ov(later);
    auto circuit =
        FactoredMatrix<double>::create(first.left() * (first.right() * second.left()), second.right());
    if (!circuit)
        return circuit.error();
    return VirtualHead{std::move(circuit).value(), first.frobeniusNorm() * second.frobeniusNorm(),
                       earlier.layer};
}

/// Returns the first `count` mean singular values of diag(σ¹) Q diag(σ²), where Q belongs to unrelated heads.
Result<std::vector<double>> singularValuesOfChance(const AnalysisContext& context, std::size_t count)
{
    const auto [earlier, later] = *context.options.inputs.pair;
    const auto first = context.circuits.ov(earlier).singularValues();
    const auto second = context.circuits.ov(later).singularValues();
    if (!first || !second)
        return first ? second.error() : first.error();
    const Eigen::Map<const Eigen::VectorXd> a(first->data(), static_cast<Eigen::Index>(first->size()));
    const Eigen::Map<const Eigen::VectorXd> b(second->data(), static_cast<Eigen::Index>(second->size()));
    std::vector<double> mean(count, 0.0);
    for (int i = 0; i < virtualHeadSpectrumDraws; ++i) {
        const auto overlap = randomOverlap(context.circuits.config().dModel, a.size(), b.size(),
                                           context.options.inputs.seed * virtualHeadSpectrumDraws
                                               + static_cast<std::uint64_t>(i));
        const auto sigma =
            overlap ? singularValues(a.asDiagonal() * *overlap * b.asDiagonal()) : overlap.error();
        if (!sigma)
            return sigma.error();
        for (std::size_t k = 0; k < std::min(count, static_cast<std::size_t>(sigma->size())); ++k)
            mean[k] += (*sigma)(static_cast<Eigen::Index>(k)) / virtualHeadSpectrumDraws;
    }
    return mean;
}

Result<Done> addSpectrum(Results& results, const AnalysisContext& context, const VirtualHead& head,
                         const Task&)
{
    const auto sigma = head.circuit.singularValues();
    if (!sigma)
        return sigma.error();
    auto chance = singularValuesOfChance(context, sigma->size());
    if (!chance)
        return chance.error();
    const auto lambda = head.circuit.eigenvalues();
    if (!lambda)
        return lambda.error();
    results.put(virtualHeadFolder + "singular_values", *sigma);
    results.put(virtualHeadFolder + "singular_values_null", std::move(chance).value());
    results.put(virtualHeadFolder + "eigenvalues", {lambda->size()}, *lambda);
    results
        .put(virtualHeadFolder + "norm_share", std::vector<double>{head.circuit.frobeniusNorm() / head.norms})
        .nullMean = 1 / std::sqrt(static_cast<double>(context.circuits.config().dModel));
    return Done{};
}

/// Adds the eigenvalues and the copying score of E W_OV¹ W_OV² W_U.
Result<Done> addFullEigenvalues(Results& results, const AnalysisContext& context, const VirtualHead& head,
                                const Task& task)
{
    const TokenSide& tokens = *context.tokens;
    if (!tokens.isSquare()) {
        results.warn(fmt::format(
            "Copying of the virtual head was skipped because the embedding has {} tokens and the unembedding {}.",
            tokens.E.count(), tokens.W_U.count()));
        return Done{};
    }
    const Matrix<double>& left = head.circuit.left();
    const Matrix<double>& right = head.circuit.right();
    const Eigen::Index r = left.cols();
    const auto lambda = tokens.E.count() < std::min(r, left.rows())
        ? eigenvalues<double>(rowsTimes(tokens.embeddingOf(head.layer), left)
                              * timesColumns(right, tokens.W_U))
        : eigenvalues(smallerProduct<double>(left, right * tokens.unembedEmbedOf(head.layer)));
    if (!lambda)
        return lambda.error();
    const auto null = virtualHeadNull(context, head.layer, task);
    if (!null)
        return null.error();
    std::vector<std::complex<double>> values = inReadingOrder(*lambda);
    const double copying = positivity(values);
    const std::size_t count = values.size();
    results.put(virtualHeadFolder + "full_eigenvalues", {count}, std::move(values));
    ResultArray& score = results.put(virtualHeadFolder + "copying", std::vector<double>{copying});
    score.definition += "; null: pairs of " + gaussianHeads(context) + " between the same E and W_U";
    if (*null) {
        score.nullMean = (*null)->mean;
        score.nullDeviation = (*null)->deviation;
        setNullDraws(score, (*null)->draws, NullMean::Known);
    }
    return Done{};
}

/// Returns the requested token, or by default the tokens with the largest rows.
template <typename Scalar>
std::vector<int> sources(const AnalysisContext& context, const FactoredMatrix<Scalar>& full)
{
    const AnalysisOptions& options = context.options;
    if (options.inputs.token && *options.inputs.token >= 0 && *options.inputs.token < full.rows())
        return {*options.inputs.token};
    std::vector<int> ids;
    for (const TokenEntry& entry :
         ends(lineNorms(full, TableSide::Row), salientTokens, options.unusedTokens).top)
        ids.push_back(entry.id);
    return ids;
}

template <typename Scalar>
Result<Done> addTokensAs(Results& results, const AnalysisContext& context, const VirtualHead& head)
{
    const TokenSide& tokens = *context.tokens;
    const auto full = FactoredMatrix<Scalar>::create(
        rowsTimes<Scalar>(tokens.embeddingOf(head.layer), head.circuit.left().template cast<Scalar>()),
        timesColumns<Scalar>(head.circuit.right().template cast<Scalar>(), tokens.W_U));
    if (!full)
        return full.error();
    const std::vector<int> rows = sources(context, *full);
    const auto k = static_cast<std::size_t>(std::min<Eigen::Index>(context.options.tableSize, full->cols()));
    std::vector<bool> unused = context.options.unusedTokens;
    if (!unused.empty())
        unused.resize(static_cast<std::size_t>(full->cols()), true);
    EntryLists outputs({rows.size(), k});
    std::vector<double> norms;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const RowVector<double> line = full->row(rows[i]).template cast<double>();
        outputs.set(i, ends(line, static_cast<int>(k), unused).top);
        norms.push_back(line.norm());
    }
    results.put(virtualHeadFolder + "source_ids", std::vector<std::int32_t>(rows.begin(), rows.end()))
        .definition = context.options.inputs.token ? "the requested token"
                                                   : "the tokens with the largest rows of E W_OV¹ W_OV² W_U";
    results.put(virtualHeadFolder + "source_norms", std::move(norms));
    results.put(virtualHeadFolder + "output_ids", std::move(outputs.ids));
    results.put(virtualHeadFolder + "output_values", std::move(outputs.values));
    return Done{};
}

Result<Done> addTokens(Results& results, const AnalysisContext& context, const VirtualHead& head, const Task&)
{
    return context.options.precision == Precision::F64 ? addTokensAs<double>(results, context, head)
                                                       : addTokensAs<float>(results, context, head);
}

Result<ResultSet> runVirtualHead(const AnalysisContext& context, const Task& task)
{
    const auto head = virtualHead(context);
    if (!head)
        return head.error();
    Results results = resultsOf(context, virtualHeadArrays());
    for (const auto part : {addSpectrum, addFullEigenvalues, addTokens}) {
        if (task.cancelled())
            return stopped();
        if (const auto done = part(results, context, *head, task); !done)
            return done.error();
    }
    const auto [earlier, later] = *context.options.inputs.pair;
    for (ResultArray& array : results.arrays())
        array.attributes["pair"] = dottedHead(earlier) + " " + dottedHead(later);
    return std::move(results).finish();
}

AnalysisCost virtualHeadCost(const ModelConfig& config, const AnalysisOptions&)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double v = config.dVocab;
    return {4 * v * d * r + 2 * d * d * r + virtualHeadSpectrumDraws * (4 * d * r * r + 20 * r * r * r)
                + eigenvalueNullFlops(config),
            8 * v * r + salientTokens * v * 8};
}

std::vector<Picture> virtualHeadPictures()
{
    using Kind = Picture::Kind;
    return {{.kind = Kind::Lines,
             .title = "Singular values of the virtual head",
             .arrays = {virtualHeadFolder + "singular_values", virtualHeadFolder + "singular_values_null"},
             .logY = true,
             .note = "Shown beside those of the same two heads with unrelated directions."},
            {.kind = Kind::Table,
             .title = "Outputs of the virtual head for tokens",
             .arrays = {virtualHeadFolder + "source_ids", virtualHeadFolder + "source_norms",
                        virtualHeadFolder + "output_ids", virtualHeadFolder + "output_values"}},
            {.kind = Kind::Table,
             .title = "Copying and norm of the virtual head",
             .arrays = {virtualHeadFolder + "copying", virtualHeadFolder + "norm_share"}},
            {.kind = Kind::Points,
             .title = "Eigenvalues of the virtual head",
             .arrays = {virtualHeadFolder + "full_eigenvalues"}}};
}

} // namespace

Analysis virtualHeadAnalysis()
{
    return {.id = "virtual_head",
            .number = "D6",
            .title = "Virtual head",
            .formula = "W_OV¹ W_OV² as a head: spectrum, copying, tokens",
            .citation = "Elhage et al. 2021, \"Virtual Attention Heads\"",
            .needsTokens = true,
            .whyNot = whyNotPair,
            .cost = virtualHeadCost,
            .run = runVirtualHead,
            .arrays = virtualHeadArrays(),
            .needs = {.pair = true},
            .pictures = virtualHeadPictures(),
            .followsFilter = true};
}

} // namespace headwise
