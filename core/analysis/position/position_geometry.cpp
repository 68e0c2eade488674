#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
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

constexpr const char* componentRule = "; the entry of largest magnitude is positive";

std::vector<ArraySpec> positionGeometryArrays()
{
    const std::string at = positionGeometryFolder;
    const std::string rule = componentRule;
    const std::pair share(0.0, 1.0);
    const std::vector<ArrayAxis> position{Axis::Position}, component{Axis::Component};
    const std::vector<ArrayAxis> pairs{Axis::Query, Axis::Key}, scores{Axis::Position, Axis::Component};
    const std::vector<ArrayAxis> curves{Axis::Component, Axis::Position},
        waves{Axis::Component, Axis::Frequency};
    std::vector<ArraySpec> all;
    all.push_back({at + "row_variance", position, "Variance of each row", "Var(p_i), p = W_pos"});
    all.push_back({at + "cosines", pairs, "Cosine of positions", "p_i p_jᵀ/(‖p_i‖ ‖p_j‖), p = W_pos", "",
                   std::pair(-1.0, 1.0)});
    all.push_back(idsAlong(Axis::Query, at + "cosine_positions", "Positions of the cosines", ""));
    all.push_back(
        {at + "components", scores, "Principal components", "U_k σ_k of W_pos less its mean row" + rule});
    all.push_back(
        {at + "component_curves", curves, "Components by position", "the same, a row per component"});
    for (const char* number : {"1", "2", "3"}) {
        all.push_back({at + "component_" + number, position, std::string("Component ") + number,
                       fmt::format("U_k σ_k of W_pos less its mean row, k = {}{}", number, rule)});
        if (*number > '1')
            all.back().condition = std::string("d_model of at least ") + number;
    }
    all.push_back({at + "places", position, "Position", "i"});
    all.push_back({at + "explained", component, "Share of the variance",
                   "σ_k²/Σσ² of W_pos less its mean row", "", share});
    all.push_back({at + "explained_null", component, "Share of the variance, shuffled",
                   "the same where each dimension's entries are permuted at random", "", share});
    all.push_back(
        {at + "frequencies", waves, "Frequencies of the components",
         "(|X_f|² + |X_{n−f}|²) / Σ_{f ≥ 1} |X_f|², f = n/2 once: the share of f = 1, 2, … turns per context of n positions; X_f = Σ_t x_t exp(−2πi f t/n), x = U_k σ_k",
         "", share});
    all.push_back({at + "tail_scores", headAxes({Axis::Query, Axis::Position}),
                   "Scores of the last positions",
                   "p_i W_Q W_Kᵀ p_jᵀ for the last five i, layer 0, without σ and scale"});
    all.push_back(idsAlong(Axis::Position, at + "tail_keys", "Keys of the last positions", ""));
    return all;
}

ResultArray& putRows(Results& results, const std::string& name, const Matrix<double>& values)
{
    return results.put(positionGeometryFolder + name,
                       {static_cast<std::size_t>(values.rows()), static_cast<std::size_t>(values.cols())},
                       rowMajor(values));
}

ResultArray& putColumn(Results& results, const std::string& name, const Eigen::VectorXd& values)
{
    return results.put(positionGeometryFolder + name, std::vector<double>(values.begin(), values.end()));
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

Result<Done> putComponents(const AnalysisContext& context, const Matrix<double>& rows, Results& results)
{
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
    putRows(results, "components", scores);
    putRows(results, "component_curves", scores.transpose());
    for (Eigen::Index i = 0; i < std::min<Eigen::Index>(3, count); ++i)
        putColumn(results, "component_" + std::to_string(i + 1), scores.col(i));
    putColumn(results, "places",
              Eigen::VectorXd::LinSpaced(scores.rows(), 0, static_cast<double>(scores.rows() - 1)));
    const double total = svd->S.squaredNorm();
    putColumn(results, "explained", svd->S.head(count).array().square() / total);
    putColumn(results, "explained_null", random->head(count).array().square() / random->squaredNorm());
    putRows(results, "frequencies", shares).nullMean = 2.0 / static_cast<double>(rows.rows() - 1);
    return Done{};
}

void putGeometryOfRows(const Matrix<double>& rows, Results& results)
{
    const Eigen::VectorXd means = rows.rowwise().mean();
    const Eigen::VectorXd variances =
        (rows.colwise() - means).rowwise().squaredNorm() / static_cast<double>(rows.cols());
    ResultArray& array = putColumn(results, "row_variance", variances);
    array.nullMean = variances.mean();
    array.nullDeviation = std::sqrt((variances.array() - variances.mean()).square().mean());
    const Eigen::Index shown = shownCosines(rows.rows());
    const Matrix<double> some = rows.topRows(shown).rowwise().normalized();
    ResultArray& cosines = putRows(results, "cosines", some * some.transpose());
    if (shown < rows.rows())
        cosines.definition += fmt::format(", the first {} positions", shown);
    cosines.nullMean = 0.0;
    cosines.nullDeviation = 1 / std::sqrt(static_cast<double>(rows.cols()));
    results.put(positionGeometryFolder + "cosine_positions", evenlySpaced(shown, shown));
}

/// Puts the scores of the last positions, which training may rarely have reached.
Result<Done> putTail(const AnalysisContext& context, const Task& task, Results& results)
{
    const ProcessedWeights& weights = context.circuits.weights();
    const ModelConfig& config = weights.config();
    const Matrix<double> p = seenPositions(weights, 0, config.nCtx);
    const Eigen::Index rows = std::min(tailRows, p.rows());
    const std::vector<int> keys = evenlySpaced(p.rows(), tailKeys);
    const Matrix<double> seen = p(keys, Eigen::all);
    RealNumbers scores = RealNumbers::perHead(config, rows, keys.size());
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
    results.warn(*done);
    results.put(positionGeometryFolder + "tail_scores", std::move(scores));
    results.put(positionGeometryFolder + "tail_keys", keys);
    return Done{};
}

Result<ResultSet> runPositionGeometry(const AnalysisContext& context, const Task& task)
{
    const ProcessedWeights& weights = context.circuits.weights();
    const Matrix<double> rows = weights.W_pos<double>(0, weights.config().nCtx);
    Results results = resultsOf(context, positionGeometryArrays());
    putGeometryOfRows(rows, results);
    if (task.cancelled())
        return stopped();
    if (const auto added = putComponents(context, rows, results); !added)
        return added.error();
    if (const auto added = putTail(context, task, results); !added)
        return added.error();
    return std::move(results).finish();
}

std::string whyNotPositionGeometry(const ModelConfig& config, const AnalysisOptions&)
{
    if (config.positional != Positional::Learned)
        return "It needs learned positions.";
    return config.nCtx > 2 ? "" : "This model has too few positions for this analysis.";
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
        {.kind = Lines,
         .title = "Principal components by position",
         .arrays = in({"component_curves"}),
         .note = "Two equal waves a quarter turn apart form a helix."},
        {.kind = Points,
         .title = "Positions in components 1 and 2",
         .arrays = in({"component_1", "component_2", "places"}),
         .note = "A side view of the helix; the line goes from position to position."},
        {.kind = Points,
         .title = "Positions in components 2 and 3",
         .arrays = in({"component_2", "component_3", "places"}),
         .note = "The same helix from another side."},
        {.kind = Points,
         .title = "Positions in components 1 and 3",
         .arrays = in({"component_1", "component_3", "places"}),
         .note = "The same helix from a third side."},
        {Bars, "Share of the variance", in({"explained", "explained_null"})},
        {.kind = Lines,
         .title = "Frequencies of the components",
         .arrays = in({"frequencies"}),
         .logX = true},
        {Matrix, "Cosine of positions", in({"cosines"})},
        {.kind = Lines,
         .title = "Variance of each row",
         .arrays = in({"row_variance"}),
         .logY = true,
         .note = "The first and last rows often stand out."},
        {.kind = Lines,
         .title = "Scores of the last positions",
         .arrays = in({"tail_scores"}),
         .note = "Training rarely saw these positions."},
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
        .arrays = positionGeometryArrays(),
        .needs = {.config = {ConfigField::Positions, ConfigField::NormEps}},
        .pictures = positionGeometryPictures()};
}

} // namespace headwise
