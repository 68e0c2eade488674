#include "core/analysis/analyses.h"
#include "core/analysis/comparison/all_pairs.h"
#include "core/analysis/comparison/token_overlap.h"
#include "core/analysis/entry_lists.h"
#include "core/base/matrix.h"
#include "core/circuits/clustering.h"
#include "core/circuits/random_matrix.h"
#include "core/circuits/subspace.h"
#include "core/results/layer_null.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace headwise {

namespace {

constexpr int nearestHeads = 5;
constexpr int similarityGaussianHeads = 8;
const std::string similarityFolder = "analyses/similarity/";

/// Returns the definition of the leaves of one array of pairs.
std::string leavesText(const std::string& distance)
{
    return "layer · n_heads + head in the order of the clusters of average linkage of " + distance;
}

constexpr std::array<std::pair<const char*, const char*>, 4> similarityParts{
    {{"kernel_q", "W_Q"}, {"kernel_k", "W_K"}, {"kernel_v", "W_V"}, {"kernel_o", "W_Oᵀ"}}};

std::vector<ArraySpec> similarityArrays()
{
    std::vector<ArraySpec> all;
    const std::vector<ArrayAxis> axes{Axis::Layer, Axis::Head, Axis::OtherLayer, Axis::OtherHead};
    // `distance` is that of the clusters: "1 − cosine_qk".
    const auto pairs = [&](const std::string& name, const std::string& title, const std::string& formula,
                           std::optional<std::pair<double, double>> range, const std::string& distance) {
        all.push_back({similarityFolder + name, axes, title, formula, "", range});
        all.push_back({.path = similarityFolder + name + "_leaves",
                       .axes = {Axis::Leaf},
                       .title = "Heads in the order of the leaves, " + title,
                       .definition = leavesText(distance),
                       .type = NumberType::Whole});
    };
    for (const std::string kind : {"qk", "ov"}) {
        const std::string formula = kind == "qk" ? "W_QK" : "W_OV";
        const std::string nearest = similarityFolder + "nearest_" + kind;
        pairs("cosine_" + kind, "Cosine of " + formula,
              fmt::format("⟨{0}, {0}'⟩_F / (‖{0}‖_F ‖{0}'‖_F)", formula), std::pair(-1.0, 1.0),
              "1 − cosine_" + kind);
        all.push_back({.path = nearest,
                       .axes = headAxes({Axis::Rank}),
                       .title = std::string("Nearest heads by ") + (kind == "qk" ? "QK" : "OV"),
                       .definition = "layer · n_heads + head of the heads with the largest cosine_" + kind
                           + ", falling",
                       .unit = "head",
                       .type = NumberType::Whole});
        all.push_back({nearest + "_cosine", headAxes({Axis::Rank}), "Cosines of the nearest heads",
                       "cosine_" + kind + " of those heads", "", std::pair(-1.0, 1.0)});
        pairs(
            "spectrum_distance_" + kind, "Distance of the spectra of " + formula,
            fmt::format(
                "‖σ/‖σ‖ − σ'/‖σ'‖‖₂, σ = singular values of {}; the null is between {} heads of Gaussian factors",
                formula, similarityGaussianHeads),
            std::pair(0.0, std::sqrt(2.0)), "spectrum_distance_" + kind);
    }
    for (const auto& [name, matrix] : similarityParts)
        pairs(name, std::string("Projection kernel of ") + matrix,
              std::string("‖UᵀU'‖²_F, U = orthonormal basis of the columns of ") + matrix
                  + " (singular vectors with σ > d_model ε σ₁, ε = 2^-23)",
              std::nullopt, std::string("r − ") + name);
    pairs(
        "token_jaccard", "Shared top outputs",
        fmt::format(
            "mean over {} tokens of |A ∩ B| / |A ∪ B|, A and B = the largest entries of the token's row of E W_OV W_U of both heads",
            overlapTokens),
        std::pair(0.0, 1.0), "1 − token_jaccard");
    pairs(
        "cka_ov", "CKA of outputs",
        fmt::format(
            "⟨K, K'⟩_F / (‖K‖_F ‖K'‖_F), K = X Xᵀ, X = E W_OV of {} tokens less its mean row; the null is between Gaussian heads on the same tokens",
            overlapTokens),
        std::pair(0.0, 1.0), "1 − cka_ov");
    return all;
}

/// Puts the heads in cluster order, similar ones next to each other, as layer · n_heads + head. Skips heads without numbers.
/// \param largest bound of the values
void putLeaves(Results& results, const AnalysisContext& context, const Matrix<double>& values,
               const std::string& name, double largest)
{
    const bool isDistance =
        name.starts_with("spectrum_distance"); // elsewhere a larger value means more similar
    const ModelConfig& config = context.circuits.config();
    const std::vector<HeadId> heads = selectedHeads(config, context.options);
    std::vector<Eigen::Index> rows;
    for (Eigen::Index row = 0; row < values.rows(); ++row) {
        if (!std::isnan(values(row, row)))
            rows.push_back(row);
    }
    Matrix<double> similarityDistances = values(rows, rows);
    if (!isDistance)
        similarityDistances = (largest - similarityDistances.array()).matrix();
    similarityDistances =
        similarityDistances.array().isNaN().select(largest, similarityDistances).eval(); // as far as can be
    similarityDistances.diagonal().setZero();
    std::vector<std::int32_t> flat;
    std::vector<std::string> labels;
    for (const int leaf : averageLinkage(similarityDistances).leaves) {
        const HeadId head = heads[static_cast<std::size_t>(rows[static_cast<std::size_t>(leaf)])];
        flat.push_back(head.layer * config.nHeads + head.head);
        labels.push_back(dottedHead(head));
    }
    ResultArray& array = results.put(similarityFolder + name + "_leaves", std::move(flat));
    array.definition = leavesText(isDistance ? name : fmt::format("{:g} − {}", largest, name));
    array.attributes["heads"] = std::move(labels);
}

/// Null and definition that depend on the run.
struct PairsOfTheRun {
    Moments null;
    std::string definition = {};
    int draws = 0; // independent ones, of the null
};

/// Puts the values of all pairs and the order of the heads by them.
/// \param about null: NaN, unknown; definition: empty, that of the contract
void putPairs(Results& results, const AnalysisContext& context, const Matrix<double>& values,
              const std::string& name, const PairsOfTheRun& about)
{
    const Moments& null = about.null;
    ResultArray& array = results.put(similarityFolder + name, allPairs(context, values));
    if (!about.definition.empty())
        array.definition = about.definition;
    if (!std::isnan(null.mean))
        array.nullMean = null.mean;
    if (!std::isnan(null.deviation))
        array.nullDeviation = null.deviation;
    if (about.draws > 0)
        setNullDraws(array, about.draws);
    const ModelConfig& config = context.circuits.config();
    if (!array.range) // of the projection kernels
        array.range = std::pair(0.0, static_cast<double>(std::min(config.dModel, config.dHead)));
    putLeaves(results, context, values, name, array.range->second);
}

/// Returns σ/‖σ‖₂ of one circuit of every selected head, [singular value, heads].
Result<Matrix<double>> spectra(const AnalysisContext& context, CircuitKind kind, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const std::vector<HeadId> heads = selectedHeads(config, context.options);
    Matrix<double> sigma = Matrix<double>::Constant(std::min(config.dModel, config.dHead),
                                                    static_cast<Eigen::Index>(heads.size()), notComputed);
    const auto done = forEachHead(context, task, "spectra", [&](HeadId head) -> Result<Done> {
        const auto values = context.circuits.circuit<double>(kind, head, nullptr).singularValues();
        if (!values)
            return values.error();
        const auto at = std::lower_bound(heads.begin(), heads.end(), head) - heads.begin();
        sigma.col(at) = Eigen::Map<const Eigen::VectorXd>(values->data(), sigma.rows());
        sigma.col(at) /= sigma.col(at).norm(); // 0/0: NaN
        return Done{};
    });
    if (!done)
        return done.error();
    return sigma;
}

Matrix<double> similarityDistances(const Matrix<double>& columns)
{
    Matrix<double> out(columns.cols(), columns.cols());
    for (Eigen::Index i = 0; i < out.rows(); ++i) {
        for (Eigen::Index j = 0; j < out.cols(); ++j)
            out(i, j) = (columns.col(i) - columns.col(j)).norm();
    }
    return out;
}

/// Returns the distances between the spectra of heads with Gaussian factors of the same shapes.
Sample distancesOfChance(const AnalysisContext& context)
{
    const ModelConfig& config = context.circuits.config();
    const Eigen::Index r = config.dHead;
    std::vector<Eigen::VectorXd> spectra;
    spectra.reserve(similarityGaussianHeads);
    for (int i = 0; i < similarityGaussianHeads; ++i) {
        const std::uint64_t seed =
            context.options.inputs.seed * similarityGaussianHeads + static_cast<std::uint64_t>(i);
        const Matrix<double> factors = gaussianMatrix(config.dModel, 2 * r, seed);
        const auto circuit =
            FactoredMatrix<double>::create(factors.leftCols(r), factors.rightCols(r).transpose());
        const auto sigma = circuit ? circuit->singularValues() : circuit.error();
        if (!sigma)
            return Sample({});
        const Eigen::Map<const Eigen::VectorXd> values(sigma->data(),
                                                       static_cast<Eigen::Index>(sigma->size()));
        spectra.emplace_back(values / values.norm());
    }
    std::vector<double> found;
    for (std::size_t i = 0; i < spectra.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j)
            found.push_back((spectra[i] - spectra[j]).norm());
    }
    return Sample(found);
}

/// Puts each head's most similar heads by cosine, as layer · n_heads + head, falling; −1 if there are fewer.
void putNearest(Results& results, const AnalysisContext& context, const Matrix<double>& cosines,
                const std::string& kind)
{
    const ModelConfig& config = context.circuits.config();
    const std::vector<HeadId> heads = selectedHeads(config, context.options);
    EntryLists nearest = EntryLists::perHead(config, nearestHeads);
    for (std::size_t i = 0; i < heads.size(); ++i) {
        const auto cosine = [&](std::size_t j) {
            return cosines(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
        };
        std::vector<std::size_t> others;
        for (std::size_t j = 0; j < heads.size(); ++j) {
            if (j != i && !std::isnan(cosine(j)))
                others.push_back(j);
        }
        std::stable_sort(others.begin(), others.end(),
                         [&](std::size_t a, std::size_t b) { return cosine(a) > cosine(b); });
        others.resize(std::min<std::size_t>(others.size(), nearestHeads));
        std::vector<TokenEntry> entries;
        entries.reserve(others.size());
        for (const std::size_t j : others) {
            const HeadId other = heads[j];
            entries.push_back({other.layer * config.nHeads + other.head, cosine(j)});
        }
        nearest.set(heads[i], entries);
    }
    std::vector<std::string> labels;
    for (int layer = 0; layer < config.nLayers; ++layer) {
        for (int head = 0; head < config.nHeads; ++head)
            labels.push_back(dottedHead({layer, head}));
    }
    const std::string path = similarityFolder + "nearest_" + kind;
    results.put(path, std::move(nearest.ids)).attributes["heads"] = std::move(labels);
    ResultArray& array = results.put(path + "_cosine", std::move(nearest.values));
    array.nullMean = 0.0;
    array.nullDeviation = 1.0 / config.dModel;
}

Result<Done> putCircuits(Results& results, const AnalysisContext& context, const Task& task)
{
    const double d = context.circuits.config().dModel;
    const Sample chance = distancesOfChance(context);
    for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov}) {
        const std::string name(circuitName(kind));
        const auto cosines = circuitCosines(context, kind, task);
        if (!cosines)
            return cosines.error();
        putPairs(results, context, *cosines, "cosine_" + name, {{0, 1 / d}});
        putNearest(results, context, *cosines, name);
        const auto sigma = spectra(context, kind, task);
        if (!sigma)
            return sigma.error();
        putPairs(results, context, similarityDistances(*sigma), "spectrum_distance_" + name,
                 {{chance.mean(), chance.deviation()}, {}, similarityGaussianHeads / 2});
    }
    return Done{};
}

Result<Done> putSubspaces(Results& results, const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const double width = std::min(config.dModel, config.dHead);
    const Moments share = overlapMoments(1 / width, 1 / width, config.dModel);
    for (std::size_t i = 0; i < similarityParts.size(); ++i) {
        const auto kernels = projectionKernels(context, static_cast<HeadPart>(i), task);
        if (!kernels)
            return kernels.error();
        putPairs(results, context, *kernels, similarityParts[i].first,
                 {{width * width * share.mean, width * width * share.deviation}});
    }
    return Done{};
}

Result<Done> putTokens(Results& results, const AnalysisContext& context, const Task& task)
{
    const auto overlap = tokenOverlap(context, task);
    if (!overlap)
        return overlap.error();
    putPairs(
        results, context, overlap->jaccard, "token_jaccard",
        {{overlap->jaccardOfChance, notComputed},
         fmt::format(
             "mean over {} tokens of |A ∩ B| / |A ∪ B|, A and B = the {} largest entries of the token's row of E W_OV W_U of both heads",
             overlapTokens, context.options.tableSize)});
    putPairs(results, context, overlap->cka, "cka_ov",
             {{overlap->ckaOfChance.mean(), overlap->ckaOfChance.deviation()}, {}, overlapGaussianHeads / 2});
    return Done{};
}

Result<ResultSet> runSimilarity(const AnalysisContext& context, const Task& task)
{
    Results results = resultsOf(context, similarityArrays());
    for (const auto part : {putCircuits, putSubspaces, putTokens}) {
        if (const auto done = part(results, context, task); !done)
            return done.error();
    }
    return std::move(results).finish();
}

AnalysisCost similarityCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double v = config.dVocab;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    return {heads * heads / 2 * (16 * r * r * d + 2.0 * overlapTokens * overlapTokens)
                + heads * (2 * r * v * (d + overlapTokens) + 150 * d * r * r) + 300 * heads * heads * heads,
            10 * all * all * 8 + heads * (2 * d * r + 2 * overlapTokens * overlapTokens) * 4};
}

std::vector<Picture> similarityPictures()
{
    using Kind = Picture::Kind;
    const auto pairs = [](const char* title, const char* name, bool isSigned) {
        return Picture{.kind = Kind::HeadPairs,
                       .title = title,
                       .arrays = {similarityFolder + name},
                       .signedColors = isSigned};
    };
    return {pairs("Cosine of W_OV", "cosine_ov", true),
            pairs("Cosine of W_QK", "cosine_qk", true),
            {.kind = Kind::Table,
             .title = "Nearest heads",
             .arrays = {similarityFolder + "nearest_ov", similarityFolder + "nearest_ov_cosine",
                        similarityFolder + "nearest_qk", similarityFolder + "nearest_qk_cosine"}},
            pairs("CKA of outputs", "cka_ov", false),
            pairs("Shared top outputs", "token_jaccard", false),
            pairs("Subspaces of queries", "kernel_q", false),
            pairs("Subspaces of keys", "kernel_k", false),
            pairs("Subspaces of values", "kernel_v", false),
            pairs("Subspaces of outputs", "kernel_o", false),
            pairs("Distance of the spectra of W_QK", "spectrum_distance_qk", false),
            pairs("Distance of the spectra of W_OV", "spectrum_distance_ov", false)};
}

} // namespace

Analysis similarityAnalysis()
{
    return {.id = "similarity",
            .number = "F1",
            .title = "Similarity of heads",
            .formula = "cosine, projection kernels, CKA, shared outputs and spectra of every pair of heads",
            .citation =
                "Kornblith et al. 2019, arXiv 1905.00414 (CKA); Yamagiwa et al. 2026, arXiv 2601.10266",
            .needsTokens = true,
            .whyNot = appliesAlways,
            .cost = similarityCost,
            .run = runSimilarity,
            .arrays = similarityArrays(),
            .pictures = similarityPictures(),
            .followsMetric = true,
            .followsFilter = true,
            .takesClassToken = true};
}

} // namespace headwise
