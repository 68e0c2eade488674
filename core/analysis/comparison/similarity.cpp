#include "core/analysis/analyses.h"
#include "core/analysis/comparison/all_pairs.h"
#include "core/analysis/comparison/token_overlap.h"
#include "core/base/matrix.h"
#include "core/circuits/clustering.h"
#include "core/circuits/random_matrix.h"
#include "core/circuits/subspace.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace headwise {

namespace {

constexpr int nearestHeads = 5;
constexpr int similarityGaussianHeads = 8;
const std::string similarityFolder = "analyses/similarity/";

/// Name, title, formula, null and range of one array of pairs.
struct About {
    const char* name;
    std::string title, formula;
    double nullMean = 0, nullDeviation = 0;
    std::pair<double, double> range = {0, 1};
    bool isDistance = false; // if false, a larger value means more similar
};

/// Returns the heads in cluster order, similar ones next to each other, as layer · n_heads + head. Skips heads without numbers.
ResultArray leavesOf(const AnalysisContext& context, const Matrix<double>& values, const About& about)
{
    const ModelConfig& config = context.circuits.config();
    const std::vector<HeadId> heads = selectedHeads(config, context.options);
    std::vector<Eigen::Index> rows;
    for (Eigen::Index row = 0; row < values.rows(); ++row) {
        if (!std::isnan(values(row, row)))
            rows.push_back(row);
    }
    Matrix<double> similarityDistances = values(rows, rows);
    if (!about.isDistance)
        similarityDistances = (about.range.second - similarityDistances.array()).matrix();
    similarityDistances = similarityDistances.array()
                              .isNaN()
                              .select(about.range.second, similarityDistances)
                              .eval(); // as far as can be
    similarityDistances.diagonal().setZero();
    std::vector<std::int32_t> flat;
    std::vector<std::string> labels;
    for (const int leaf : averageLinkage(similarityDistances).leaves) {
        const HeadId head = heads[static_cast<std::size_t>(rows[static_cast<std::size_t>(leaf)])];
        flat.push_back(head.layer * config.nHeads + head.head);
        labels.push_back(dottedHead(head));
    }
    const std::size_t count = flat.size();
    ResultArray array =
        wholeArray(similarityFolder + about.name + "_leaves", {count}, std::move(flat), {Axis::Leaf});
    array.title = "Heads in the order of the leaves, " + about.title;
    array.definition = "layer · n_heads + head in the order of the clusters of average linkage of "
        + (about.isDistance ? std::string(about.name)
                            : fmt::format("{:g} − {}", about.range.second, about.name));
    array.attributes["heads"] = std::move(labels);
    return array;
}

void add(ResultSet& results, const AnalysisContext& context, const Matrix<double>& values, About about)
{
    ResultArray leaves = leavesOf(context, values, about);
    ResultArray array = allPairsArray(context, values, similarityFolder + about.name);
    array.title = std::move(about.title);
    array.definition = std::move(about.formula);
    if (!std::isnan(about.nullMean))
        array.nullMean = about.nullMean;
    if (!std::isnan(about.nullDeviation))
        array.nullDeviation = about.nullDeviation;
    array.range = about.range;
    results.arrays.push_back(std::move(array));
    results.arrays.push_back(std::move(leaves));
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

/// Adds each head's most similar heads by cosine, as layer · n_heads + head, falling; −1 if there are fewer.
void addNearest(ResultSet& results, const AnalysisContext& context, const Matrix<double>& cosines,
                const std::string& kind)
{
    const ModelConfig& config = context.circuits.config();
    const std::vector<HeadId> heads = selectedHeads(config, context.options);
    const auto all = static_cast<std::size_t>(config.nLayers) * static_cast<std::size_t>(config.nHeads);
    const auto flat = [&](HeadId head) {
        return static_cast<std::size_t>(head.layer) * config.nHeads + static_cast<std::size_t>(head.head);
    };
    std::vector<std::int32_t> ids(all * nearestHeads, -1);
    std::vector<double> values(all * nearestHeads, notComputed);
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
        for (std::size_t rank = 0; rank < std::min<std::size_t>(others.size(), nearestHeads); ++rank) {
            ids[flat(heads[i]) * nearestHeads + rank] = static_cast<std::int32_t>(flat(heads[others[rank]]));
            values[flat(heads[i]) * nearestHeads + rank] = cosine(others[rank]);
        }
    }
    const auto layers = static_cast<std::size_t>(config.nLayers);
    const auto perLayer = static_cast<std::size_t>(config.nHeads);
    ResultArray array = wholeArray(similarityFolder + "nearest_" + kind, {layers, perLayer, nearestHeads},
                                   std::move(ids), {Axis::Layer, Axis::Head, Axis::Rank});
    array.title = "Nearest heads by " + kind;
    array.definition = "layer · n_heads + head of the heads with the largest cosine_" + kind + ", falling";
    std::vector<std::string> labels;
    labels.reserve(all);
    for (int layer = 0; layer < config.nLayers; ++layer) {
        for (int head = 0; head < config.nHeads; ++head)
            labels.push_back(dottedHead({layer, head}));
    }
    array.attributes["heads"] = std::move(labels);
    array.unit = "head";
    results.arrays.push_back(std::move(array));
    array =
        realArray(context.options.precision, similarityFolder + "nearest_" + kind + "_cosine",
                  {layers, perLayer, nearestHeads}, std::move(values), {Axis::Layer, Axis::Head, Axis::Rank});
    array.title = "Their cosines";
    array.definition = "cosine_" + kind + " of those heads";
    array.nullMean = 0.0;
    array.nullDeviation = 1.0 / config.dModel;
    array.range = {-1.0, 1.0};
    results.arrays.push_back(std::move(array));
}

Result<Done> addCircuits(ResultSet& results, const AnalysisContext& context, const Task& task)
{
    const double d = context.circuits.config().dModel;
    const Sample chance = distancesOfChance(context);
    for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov}) {
        const bool isQk = kind == CircuitKind::Qk;
        const std::string formula = isQk ? "W_QK" : "W_OV";
        const auto cosines = circuitCosines(context, kind, task);
        if (!cosines)
            return cosines.error();
        add(results, context, *cosines,
            {isQk ? "cosine_qk" : "cosine_ov",
             "Cosine of " + formula,
             fmt::format("⟨{0}, {0}'⟩_F / (‖{0}‖_F ‖{0}'‖_F)", formula),
             0,
             1 / d,
             {-1, 1}});
        addNearest(results, context, *cosines, isQk ? "qk" : "ov");
        const auto sigma = spectra(context, kind, task);
        if (!sigma)
            return sigma.error();
        add(results, context, similarityDistances(*sigma),
            {isQk ? "spectrum_distance_qk" : "spectrum_distance_ov",
             "Distance of the spectra of " + formula,
             fmt::format(
                 "‖σ/‖σ‖ − σ'/‖σ'‖‖₂, σ = singular values of {}; the null is between {} heads of Gaussian factors",
                 formula, similarityGaussianHeads),
             chance.mean(),
             chance.deviation(),
             {0, std::sqrt(2.0)},
             true});
    }
    return Done{};
}

Result<Done> addSubspaces(ResultSet& results, const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const double width = std::min(config.dModel, config.dHead);
    const Moments share = overlapMoments(1 / width, 1 / width, config.dModel);
    static constexpr std::array<std::pair<const char*, const char*>, 4> parts{
        {{"kernel_q", "W_Q"}, {"kernel_k", "W_K"}, {"kernel_v", "W_V"}, {"kernel_o", "W_Oᵀ"}}};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto kernels = projectionKernels(context, static_cast<HeadPart>(i), task);
        if (!kernels)
            return kernels.error();
        add(results, context, *kernels,
            {parts[i].first,
             std::string("Projection kernel of ") + parts[i].second,
             std::string("‖UᵀU'‖²_F, U = orthonormal basis of the columns of ") + parts[i].second
                 + " (singular vectors with σ > d_model ε σ₁, ε = 2^-23)",
             width * width * share.mean,
             width * width * share.deviation,
             {0, width}});
    }
    return Done{};
}

Result<Done> addTokens(ResultSet& results, const AnalysisContext& context, const Task& task)
{
    const auto overlap = tokenOverlap(context, task);
    if (!overlap)
        return overlap.error();
    add(results, context, overlap->jaccard,
        {"token_jaccard", "Shared top outputs",
         fmt::format(
             "mean over {} tokens of |A ∩ B| / |A ∪ B|, A and B = the {} largest entries of the token's row of E W_OV W_U of both heads",
             overlapTokens, context.options.tableSize),
         overlap->jaccardOfChance, notComputed});
    add(results, context, overlap->cka,
        {"cka_ov", "CKA of outputs",
         fmt::format(
             "⟨K, K'⟩_F / (‖K‖_F ‖K'‖_F), K = X Xᵀ, X = E W_OV of {} tokens less its mean row; the null is between Gaussian heads on the same tokens",
             overlapTokens),
         overlap->ckaOfChance.mean(), overlap->ckaOfChance.deviation()});
    return Done{};
}

Result<ResultSet> runSimilarity(const AnalysisContext& context, const Task& task)
{
    ResultSet results;
    for (const auto part : {addCircuits, addSubspaces, addTokens}) {
        if (const auto done = part(results, context, task); !done)
            return done.error();
    }
    return results;
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
            10 * all * all * 8 + heads * (2 * d * r + overlapTokens * overlapTokens) * 4};
}

std::vector<Picture> similarityPictures()
{
    using Kind = Picture::Kind;
    const auto pairs = [](const char* title, const char* name, bool isSigned) {
        return Picture{.kind = Kind::HeadPairs,
                       .title = title,
                       .arrays = {similarityFolder + name},
                       .signedColors = isSigned,
                       .note = {}};
    };
    return {pairs("Cosine of W_OV", "cosine_ov", true),
            pairs("Cosine of W_QK", "cosine_qk", true),
            {.kind = Kind::Table,
             .title = "Nearest heads",
             .arrays = {similarityFolder + "nearest_ov", similarityFolder + "nearest_ov_cosine",
                        similarityFolder + "nearest_qk", similarityFolder + "nearest_qk_cosine"},
             .note = {}},
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
            .pictures = similarityPictures(),
            .followsMetric = true,
            .followsFilter = true};
}

} // namespace headwise
