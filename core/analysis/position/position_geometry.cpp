#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/shared/norm_divisors.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/base/decompositions.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>

namespace headwise {

namespace {

const std::string positionGeometryFolder = "analyses/position_geometry/";
constexpr Eigen::Index shownComponents = 6, tailRows = 5, tailKeys = 1024;

ResultArray matrixArray(const Matrix<double>& values, Precision precision, const ArrayName& name,
                        std::vector<ArrayAxis> axes)
{
    const Matrix<double> byRow = values.transpose(); // column-major: rows one after the other
    std::vector<std::size_t> shape{static_cast<std::size_t>(values.rows())};
    if (axes.size() > 1)
        shape.push_back(static_cast<std::size_t>(values.cols()));
    ResultArray array = realArray(precision, positionGeometryFolder + name.path, std::move(shape),
                                  {byRow.data(), byRow.data() + byRow.size()}, std::move(axes));
    array.title = name.title;
    array.definition = name.definition;
    return array;
}

/// Returns how many of the first positions the map of cosines shows, at most 1024.
/// The map skips none of them, because it is read near its diagonal.
Eigen::Index shownCosines(Eigen::Index n)
{
    return std::min<Eigen::Index>(n, 1024);
}

/// Shuffles each column on its own. Keeps the values of each dimension and destroys the order of positions.
Matrix<double> shuffled(Matrix<double> rows, std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    for (Eigen::Index column = 0; column < rows.cols(); ++column)
        for (auto last = static_cast<std::uint64_t>(rows.rows() - 1); last > 0; --last)
            std::swap(rows(static_cast<Eigen::Index>(last), column),
                      rows(static_cast<Eigen::Index>(random() % (last + 1)), column));
    return rows;
}

/// Share of each frequency f ≥ 1 in a series' power: |Σ_t x_t exp(−2πi f t/n)|², f and n − f together.
Eigen::VectorXd powerShares(const Eigen::VectorXd& series)
{
    const Eigen::Index n = series.size();
    Eigen::VectorXd power(n / 2);
    for (Eigen::Index f = 1; f <= n / 2; ++f) {
        double real = 0, imaginary = 0;
        for (Eigen::Index t = 0; t < n; ++t) {
            const double angle =
                2 * std::numbers::pi * static_cast<double>((f * t) % n) / static_cast<double>(n);
            real += series(t) * std::cos(angle);
            imaginary += series(t) * std::sin(angle);
        }
        power(f - 1) = (real * real + imaginary * imaginary) * (2 * f == n ? 1 : 2);
    }
    return power / power.sum();
}

/// Adds each of the first three components as an array, so that they can be plotted against one another.
/// \param scores [position, component]
void addEachComponent(const Matrix<double>& scores, Precision precision, const std::string& rule,
                      ResultSet& results)
{
    for (Eigen::Index i = 0; i < std::min<Eigen::Index>(3, scores.cols()); ++i) {
        const std::string number = std::to_string(i + 1);
        results.arrays.push_back(
            matrixArray(Matrix<double>(scores.col(i)), precision,
                        {"component_" + number, "Component " + number,
                         fmt::format("U_k σ_k of W_pos less its mean row, k = {}{}", number, rule)},
                        {Axis::Position}));
    }
    const Eigen::VectorXd places =
        Eigen::VectorXd::LinSpaced(scores.rows(), 0, static_cast<double>(scores.rows() - 1));
    results.arrays.push_back(matrixArray(places, precision, {"places", "Position", "i"}, {Axis::Position}));
}

Result<Done> addComponents(const AnalysisContext& context, const Matrix<double>& rows, ResultSet& results)
{
    const Precision precision = context.options.precision;
    const Matrix<double> centred = rows.rowwise() - rows.colwise().mean();
    const auto svd = thinSvd(centred);
    if (!svd)
        return svd.error();
    const auto random = singularValues(shuffled(centred, context.options.inputs.seed));
    if (!random)
        return random.error();
    const Eigen::Index count = std::min(shownComponents, svd->S.size());
    Matrix<double> scores = svd->U.leftCols(count) * svd->S.head(count).asDiagonal();
    Matrix<double> shares(count, rows.rows() / 2);
    for (Eigen::Index i = 0; i < count; ++i) {
        Eigen::Index largest = 0;
        scores.col(i).cwiseAbs().maxCoeff(&largest);
        if (scores(largest, i) < 0)
            scores.col(i) *= -1;
        shares.row(i) = powerShares(scores.col(i)).transpose();
    }
    const std::string rule = "; the entry of largest magnitude is positive";
    results.arrays.push_back(
        matrixArray(scores, precision,
                    {"components", "Principal components", "U_k σ_k of W_pos less its mean row" + rule},
                    {Axis::Position, Axis::Component}));
    results.arrays.push_back(
        matrixArray(Matrix<double>(scores.transpose()), precision,
                    {"component_curves", "Components by position", "the same, a row per component"},
                    {Axis::Component, Axis::Position}));
    addEachComponent(scores, precision, rule, results);
    const double total = svd->S.squaredNorm();
    const Matrix<double> explained = svd->S.head(count).array().square() / total;
    const Matrix<double> chance = random->head(count).array().square() / random->squaredNorm();
    results.arrays.push_back(matrixArray(
        explained, precision, {"explained", "Share of the variance", "σ_k²/Σσ² of W_pos less its mean row"},
        {Axis::Component}));
    results.arrays.back().range = {0.0, 1.0};
    results.arrays.push_back(matrixArray(chance, precision,
                                         {"explained_null", "Share of the variance, shuffled",
                                          "the same where each dimension's entries change places at random"},
                                         {Axis::Component}));
    results.arrays.back().range = {0.0, 1.0};
    results.arrays.push_back(
        matrixArray(shares, precision,
                    {"frequencies", "Frequencies of the components",
                     "share of frequency f = 1, 2, … turns per context in the power of U_k σ_k"},
                    {Axis::Component, Axis::Frequency}));
    results.arrays.back().range = {0.0, 1.0};
    results.arrays.back().nullMean = 2.0 / static_cast<double>(rows.rows() - 1);
    return Done{};
}

void addRows(const Matrix<double>& rows, Precision precision, ResultSet& results)
{
    const Eigen::VectorXd means = rows.rowwise().mean();
    const Eigen::VectorXd variances =
        (rows.colwise() - means).rowwise().squaredNorm() / static_cast<double>(rows.cols());
    results.arrays.push_back(matrixArray(
        variances, precision, {"row_variance", "Variance of each row", "Var(p_i), p = W_pos"}, {Axis::Position}));
    results.arrays.back().nullMean = variances.mean();
    results.arrays.back().nullDeviation = std::sqrt((variances.array() - variances.mean()).square().mean());
    const Eigen::Index shown = shownCosines(rows.rows());
    const Matrix<double> some = rows.topRows(shown).rowwise().normalized();
    results.arrays.push_back(
        matrixArray(some * some.transpose(), precision,
                    {"cosines", "Cosine of positions",
                     fmt::format("p_i p_jᵀ/(‖p_i‖ ‖p_j‖), p = W_pos{}",
                                 shown < rows.rows() ? fmt::format(", the first {} positions", shown) : "")},
                    {Axis::Query, Axis::Key}));
    results.arrays.back().range = {-1.0, 1.0};
    results.arrays.back().nullMean = 0.0;
    results.arrays.back().nullDeviation = 1 / std::sqrt(static_cast<double>(rows.cols()));
    results.arrays.push_back(idArray(positionGeometryFolder + "cosine_positions", "Positions of the cosines",
                                     evenlySpaced(shown, shown), Axis::Query, ""));
}

/// Adds the scores of the last positions, which training may rarely have reached.
Result<Done> addTail(const AnalysisContext& context, const Task& task, ResultSet& results)
{
    const ProcessedWeights& weights = context.circuits.weights();
    const ModelConfig& config = weights.config();
    const Matrix<double> p = seenPositions(weights, 0, config.nCtx);
    const Eigen::Index rows = std::min(tailRows, p.rows());
    const std::vector<int> keys = evenlySpaced(p.rows(), tailKeys);
    const Matrix<double> seen = p(keys, Eigen::all);
    PerHead scores(config, static_cast<int>(rows) * static_cast<int>(keys.size()));
    const auto done = forEachHead(context, task, "last positions", [&](HeadId head) -> Result<Done> {
        if (head.layer > 0)
            return Done{};
        const FoldedHead h = foldedHead(weights, head);
        const Matrix<double> q = p.bottomRows(rows) * h.W_Q, k = seen * h.W_K;
        setRows(scores, head, q * k.transpose());
        return Done{};
    });
    if (!done)
        return done.error();
    results.warnings = *done;
    results.arrays.push_back(
        gridArray(scores, context.options.precision,
                  {positionGeometryFolder + "tail_scores", "Scores of the last positions",
                   "p_i W_Q W_Kᵀ p_jᵀ for the last five i, layer 0, without σ and scale"},
                  {rows, static_cast<Eigen::Index>(keys.size())}, {Axis::Query, Axis::Position}));
    results.arrays.push_back(
        idArray(positionGeometryFolder + "tail_keys", "Keys of the last positions", keys, Axis::Position, ""));
    return Done{};
}

Result<ResultSet> runPositionGeometry(const AnalysisContext& context, const Task& task)
{
    const ProcessedWeights& weights = context.circuits.weights();
    const Matrix<double> rows = weights.W_pos<double>(0, weights.config().nCtx);
    ResultSet results;
    addRows(rows, context.options.precision, results);
    if (task.cancelled())
        return stopped();
    if (const auto added = addComponents(context, rows, results); !added)
        return added.error();
    if (const auto added = addTail(context, task, results); !added)
        return added.error();
    return results;
}

std::string whyNotPositionGeometry(const ModelConfig& config, const AnalysisOptions&)
{
    if (config.positional != Positional::Learned)
        return "It needs learned positions.";
    return config.nCtx > 2 ? "" : "There are too few positions for a geometry.";
}

AnalysisCost positionGeometryCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double n = config.nCtx, d = config.dModel, least = std::min(n, d),
                 side = static_cast<double>(shownCosines(config.nCtx));
    return {14 * n * d * least + 12 * n * n + 2 * side * side * d
                + countOfLayer0(config, options) * 2 * n * d * config.dHead,
            40 * n * d + 24 * side * side
                + static_cast<double>(config.nLayers) * config.nHeads * 12 * tailRows * std::min(n, 1024.0)};
}

std::vector<Picture> positionGeometryPictures()
{
    using enum Picture::Kind;
    const auto in = [](std::initializer_list<const char*> names) {
        return pathsOf("position_geometry", names);
    };
    return {
        {Lines, "Principal components by position", in({"component_curves"}), false, false, true,
         "Pairs of equal waves a quarter turn apart are a helix."},
        {Points, "First against second component", in({"component_1", "component_2", "places"}), false, false,
         true, "A helix seen from one side; the line goes from position to position."},
        {Points, "Second against third component", in({"component_2", "component_3", "places"}), false, false,
         true, "The same from another side."},
        {Points, "First against third component", in({"component_1", "component_3", "places"}), false, false,
         true, "And from the third."},
        {Bars, "Share of the variance", in({"explained", "explained_null"}), false, false, true, {}},
        {Lines, "Frequencies of the components", in({"frequencies"}), true, false, true, {}},
        {Matrix, "Cosine of positions", in({"cosines"}), false, false, true, {}},
        {Lines, "Variance of each row", in({"row_variance"}), false, true, true,
         "First and last rows often stand out."},
        {Lines, "Scores of the last positions", in({"tail_scores"}), false, false, true,
         "Positions that training hardly saw."},
    };
}

} // namespace

Analysis positionGeometryAnalysis()
{
    return {
        .id = "position_geometry",
        .number = "C6",
        .title = "Geometry of the positions",
        .formula = "principal components, cosines and row variances of W_pos",
        .citation =
            "Yedidia 2023, \"GPT-2's positional embedding matrix is a helix\"; Kamoda et al. 2025, arXiv 2501.15754",
        .whyNot = whyNotPositionGeometry,
        .cost = positionGeometryCost,
        .run = runPositionGeometry,
        .pictures = positionGeometryPictures()};
}

} // namespace headwise
