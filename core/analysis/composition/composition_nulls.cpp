#include "core/analysis/analyses.h"
#include "core/analysis/head_pairs.h"
#include "core/base/matrix.h"
#include "core/base/parallel.h"
#include "core/circuits/random_matrix.h"
#include "core/circuits/subspace.h"
#include "core/results/layer_null.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>

namespace headwise {

namespace {

constexpr int compositionNullsSpectrumDraws = 256;
constexpr int gaussianDraws = 64;
constexpr std::array<const char*, 3> compositionNullsModes{"q", "k", "v"};
constexpr std::array<const char*, 3> compositionNullsTitles{"Q-composition", "K-composition",
                                                            "V-composition"};
const std::string compositionNullsFolder = "analyses/composition_nulls/";

std::vector<ArraySpec> compositionNullsArrays()
{
    std::vector<ArraySpec> all;
    for (std::size_t mode = 0; mode < compositionNullsModes.size(); ++mode) {
        const std::string path = compositionNullsFolder + compositionNullsModes[mode];
        const std::string scores = std::string("composition/") + compositionNullsModes[mode];
        const std::string title = compositionNullsTitles[mode];
        all.push_back({path + "_excess", pairAxes(), title + " beyond chance",
                       fmt::format("s − mean of {} pairs of Gaussian factors of the same shapes, s = {}",
                                   gaussianDraws, scores)});
        all.push_back(
            {path + "_z", pairAxes(), title + ", z",
             "(s² − 1/d_model) / deviation of s² if the singular vectors of both circuits were random and their singular values stayed, s = "
                 + scores});
        all.push_back(
            {.path = path + "_percentile",
             .axes = pairAxes(),
             .title = title + ", percentile",
             .definition = fmt::format(
                 "where z stands among {} random pairs of this model with random singular vectors, (smaller + ½ equal) / n, s = {}",
                 compositionNullsSpectrumDraws, scores),
             .range = {{0.0, 1.0}}});
        all.push_back({.path = path + "_layer_median",
                       .axes = {Axis::EarlierLayer, Axis::LaterLayer},
                       .title = title + ", median of two layers",
                       .definition = fmt::format(
                           "median of {} over the requested pairs of heads in different layers", scores),
                       .range = {{0.0, 1.0}}});
    }
    all.push_back(
        {compositionNullsFolder + "gaussian_null",
         {Axis::Draw},
         "Composition of Gaussian heads",
         "‖W_OV¹ W_QK²‖_F / (‖W_OV¹‖_F ‖W_QK²‖_F) of Gaussian W_V, W_O, W_Q, W_K of the model's shapes, ascending"});
    all.push_back(
        {compositionNullsFolder + "spectrum_null",
         {Axis::Draw},
         "z of random singular vectors",
         "z of random pairs whose singular vectors are random and whose singular values are the model's, ascending"});
    return all;
}

using CompositionNullsPair = std::pair<HeadId, HeadId>;

/// Σσ⁴/(Σσ²)² of L Rᵀ from its [r, r] Gram products: no singular value is needed.
double participation(const Matrix<double>& left, const Matrix<double>& right)
{
    const Matrix<double> product = (left.transpose() * left) * (right.transpose() * right);
    const double squares = product.trace();
    return product.cwiseProduct(product.transpose()).sum() / (squares * squares); // 0/0: NaN
}

/// Σσ⁴/(Σσ²)² of every head.
struct Participations {
    RealNumbers qk, ov;
};

/// Returns the distance of a squared score from that of unrelated circuits, in deviations. NaN if those cannot vary.
double deviations(double score, const Moments& null)
{
    return null.deviation > 1e-9 * null.mean ? (score * score - null.mean) / null.deviation : notComputed;
}

/// Draws one pair of circuits with singular values from the model and random singular vectors.
Result<double> spectrumDraw(const Circuits& circuits, const CompositionNullsPair& pair, bool isV,
                            std::uint64_t seed)
{
    const auto written = circuits.ov(pair.first).singularValues();
    const auto read = (isV ? circuits.ov(pair.second) : circuits.qk(pair.second)).singularValues();
    if (!written || !read)
        return written ? read.error() : written.error();
    const Eigen::Map<const Eigen::VectorXd> a(written->data(), static_cast<Eigen::Index>(written->size()));
    const Eigen::Map<const Eigen::VectorXd> b(read->data(), static_cast<Eigen::Index>(read->size()));
    const auto overlap = randomOverlap(circuits.config().dModel, a.size(), b.size(), seed);
    if (!overlap)
        return overlap.error();
    const Eigen::VectorXd aSquares = a.array().square() / a.squaredNorm();
    const Eigen::VectorXd bSquares = b.array().square() / b.squaredNorm();
    const double squared = aSquares.dot(overlap->cwiseAbs2() * bSquares);
    const Moments null =
        overlapMoments(aSquares.squaredNorm(), bSquares.squaredNorm(), circuits.config().dModel);
    return deviations(std::sqrt(squared), null);
}

/// Draws the baseline of `deviations`, over random pairs of the model's circuits.
Result<Sample> spectrumNull(const AnalysisContext& context, const Task& task)
{
    const std::vector<CompositionNullsPair> pairs = pairsAskedFor(context.circuits.config(), context.options);
    std::vector<double> draws(compositionNullsSpectrumDraws, notComputed);
    if (pairs.empty())
        return Sample(draws);
    const auto done = parallelFor(
        compositionNullsSpectrumDraws, task, "random singular vectors", [&](int i) -> Result<Done> {
            // Every draw has its own generator, so the number of threads does not change the results.
            std::mt19937_64 random(context.options.inputs.seed * compositionNullsSpectrumDraws
                                   + static_cast<std::uint64_t>(i));
            const CompositionNullsPair& pair = pairs[static_cast<std::size_t>(random() % pairs.size())];
            const bool isV = random() % compositionNullsModes.size() == 2;
            const auto draw = spectrumDraw(context.circuits, pair, isV, random());
            if (draw)
                draws[static_cast<std::size_t>(i)] = *draw;
            else if (draw.error().code != ErrorCode::Corrupt)
                return draw.error();
            return Done{};
        });
    if (!done)
        return done.error();
    return Sample(draws);
}

/// ‖V O Q Kᵀ‖_F / (‖V O‖_F ‖Q Kᵀ‖_F) of Gaussian factors.
double gaussianScore(const ModelConfig& config, std::uint64_t seed)
{
    const Eigen::Index d = config.dModel;
    const Eigen::Index r = config.dHead;
    const Matrix<double> factors = gaussianMatrix(d, 4 * r, seed);
    const Matrix<double> V = factors.leftCols(r), O = factors.middleCols(r, r),
                         Q = factors.middleCols(2 * r, r), K = factors.rightCols(r);
    const Matrix<double> ofV = V.transpose() * V;
    const Matrix<double> ofK = K.transpose() * K;
    const Matrix<double> meeting = O.transpose() * Q;
    const double product = (ofV * meeting * ofK).cwiseProduct(meeting).sum();
    const double written = ofV.cwiseProduct(O.transpose() * O).sum();
    const double read = ofK.cwiseProduct(Q.transpose() * Q).sum();
    return std::sqrt(std::max(0.0, product) / (written * read));
}

Result<Sample> gaussianNull(const AnalysisContext& context, const Task& task)
{
    std::vector<double> scores(gaussianDraws);
    const auto done = parallelFor(gaussianDraws, withoutProgress(task), "Gaussian heads", [&](int i) {
        const std::uint64_t seed =
            context.options.inputs.seed * gaussianDraws + static_cast<std::uint64_t>(i);
        scores[static_cast<std::size_t>(i)] = gaussianScore(context.circuits.config(), seed);
        return Result<Done>(Done{});
    });
    if (!done)
        return done.error();
    return Sample(scores);
}

double median(std::vector<double> values)
{
    std::erase_if(values, [](double value) { return std::isnan(value); });
    if (values.empty())
        return notComputed;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Returns the median score of every two layers, [n_layers, n_layers].
std::vector<double> layerMedians(const AnalysisContext& context, const RealNumbers& scores)
{
    const ModelConfig& config = context.circuits.config();
    const auto layers = static_cast<std::size_t>(config.nLayers);
    std::vector<std::vector<double>> byLayers(layers * layers);
    for (const auto& [earlier, later] : pairsAskedFor(config, context.options)) {
        byLayers[static_cast<std::size_t>(earlier.layer) * layers + static_cast<std::size_t>(later.layer)]
            .push_back(scores.at(earlier, later));
    }
    std::vector<double> medians;
    medians.reserve(byLayers.size());
    for (const auto& values : byLayers)
        medians.push_back(median(values));
    return medians;
}

struct Nulls {
    Sample gaussian, spectrum;
    Participations participations;
};

void addMode(Results& results, const AnalysisContext& context, const Nulls& nulls, const RealNumbers& scores,
             std::size_t mode)
{
    const ModelConfig& config = context.circuits.config();
    RealNumbers excess = RealNumbers::perPair(config), z = excess, percentile = excess;
    const RealNumbers& reading = mode == 2 ? nulls.participations.ov : nulls.participations.qk;
    for (const auto& [earlier, later] : pairsAskedFor(config, context.options)) {
        const double score = scores.at(earlier, later);
        const Moments null =
            overlapMoments(nulls.participations.ov.at(earlier), reading.at(later), config.dModel);
        const double distance = deviations(score, null);
        excess.set(earlier, later, score - nulls.gaussian.mean());
        z.set(earlier, later, distance);
        percentile.set(earlier, later, nulls.spectrum.share(distance));
    }
    const std::string path = compositionNullsFolder + compositionNullsModes[mode];
    ResultArray& ofExcess = results.put(path + "_excess", std::move(excess));
    ofExcess.nullMean = 0.0;
    ofExcess.nullDeviation = nulls.gaussian.deviation();
    setNullDraws(ofExcess, gaussianDraws);
    ResultArray& ofZ = results.put(path + "_z", std::move(z));
    ofZ.nullMean = 0.0;
    ofZ.nullDeviation = 1.0;
    ResultArray& ofPercentile = results.put(path + "_percentile", std::move(percentile));
    ofPercentile.nullMean = 0.5;
    ofPercentile.nullDeviation = std::sqrt(1.0 / 12);
    const auto layers = static_cast<std::size_t>(config.nLayers);
    results.put(path + "_layer_median", {layers, layers}, layerMedians(context, scores)).nullMean =
        1 / std::sqrt(static_cast<double>(config.dModel));
}

/// Returns the pair scores that the composition analysis computed for this mode.
RealNumbers compositionNullsScoresOf(const ResultSet& composition, const ModelConfig& config,
                                     std::size_t mode)
{
    const ResultArray::Values& values = composition.arrays[mode].values;
    RealNumbers scores = RealNumbers::perPair(config);
    if (const auto* rounded = std::get_if<std::vector<float>>(&values))
        scores.values().assign(rounded->begin(), rounded->end());
    else
        scores.values() = std::get<std::vector<double>>(values);
    return scores;
}

Result<ResultSet> runCompositionNulls(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const auto composition = compositionAnalysis().run(context, task);
    if (!composition)
        return composition.error();
    auto gaussian = gaussianNull(context, task);
    if (!gaussian)
        return gaussian.error();
    auto spectrum = spectrumNull(context, task);
    if (!spectrum)
        return spectrum.error();
    const RealNumbers heads = RealNumbers::perHead(config);
    Nulls nulls{std::move(gaussian).value(), std::move(spectrum).value(), {heads, heads}};
    AnalysisContext ofPairs = context;
    ofPairs.options.heads = headsOfPairs(config, context.options);
    const auto done = forEachHead(ofPairs, task, "spreads of the spectra", [&](HeadId head) -> Result<Done> {
        const HeadWeights<double> w = context.circuits.weights().head<double>(head);
        nulls.participations.qk.set(head, participation(w.W_Q, w.W_K));
        nulls.participations.ov.set(head, participation(w.W_V, w.W_O.transpose()));
        return Done{};
    });
    if (!done)
        return done.error();
    Results results = resultsOf(context, compositionNullsArrays());
    for (std::size_t mode = 0; mode < compositionNullsModes.size(); ++mode)
        addMode(results, context, nulls, compositionNullsScoresOf(*composition, config, mode), mode);
    results.put(compositionNullsFolder + "gaussian_null", nulls.gaussian.values());
    results.put(compositionNullsFolder + "spectrum_null", nulls.spectrum.values());
    return std::move(results).finish();
}

std::string nullsNeedTwoLayers(const ModelConfig& config, const AnalysisOptions&)
{
    return config.nLayers > 1 ? "" : "Composition needs two layers; this model has one.";
}

AnalysisCost compositionNullsCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const AnalysisCost composition = compositionAnalysis().cost(config, options);
    const double d = config.dModel;
    const double r = config.dHead;
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    return {composition.flops + compositionNullsSpectrumDraws * (14 * d * r * r + 40 * r * r * r)
                + (heads + gaussianDraws) * 8 * d * r * r,
            composition.bytes + 9 * all * all * 8};
}

std::vector<Picture> compositionNullsPictures()
{
    using Kind = Picture::Kind;
    std::vector<Picture> pictures;
    for (std::size_t mode = 0; mode < compositionNullsModes.size(); ++mode) {
        const std::string path = compositionNullsFolder + compositionNullsModes[mode];
        const std::string title = compositionNullsTitles[mode];
        pictures.push_back({.kind = Kind::HeadPairs,
                            .title = title + ", z",
                            .arrays = {path + "_z"},
                            .note = "Random singular vectors give 0; beyond 4 is not chance."});
        pictures.push_back({.kind = Kind::Table,
                            .title = title + " of all pairs",
                            .arrays = {std::string("composition/") + compositionNullsModes[mode], path + "_z",
                                       path + "_percentile", path + "_excess"},
                            .signedColors = false,
                            .note = "A click selects both heads."});
        pictures.push_back({.kind = Kind::HeadPairs,
                            .title = title + " beyond chance",
                            .arrays = {path + "_excess"},
                            .note = "The score minus that of Gaussian heads of the same shapes."});
        pictures.push_back({.kind = Kind::Diagram, .title = title + ", largest z", .arrays = {path + "_z"}});
        pictures.push_back({.kind = Kind::Matrix,
                            .title = title + ", median of two layers",
                            .arrays = {path + "_layer_median"},
                            .signedColors = false});
    }
    pictures.push_back({.kind = Kind::Lines,
                        .title = "Composition of random heads",
                        .arrays = {compositionNullsFolder + "gaussian_null"},
                        .note = "Composition of Gaussian heads of the same shapes, ascending."});
    return pictures;
}

} // namespace

Analysis compositionNullsAnalysis()
{
    return {
        .id = "composition_nulls",
        .number = "D2",
        .title = "Composition against chance",
        .formula =
            "s − s of Gaussian heads; z and percentile of s² among random singular vectors of the same singular values",
        .citation = "Elhage et al. 2021, \"Three Kinds of Composition\", baselines",
        .whyNot = nullsNeedTwoLayers,
        .cost = compositionNullsCost,
        .run = runCompositionNulls,
        .arrays = compositionNullsArrays(),
        .pictures = compositionNullsPictures(),
        .followsMetric = true};
}

} // namespace headwise
