#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/shared/norm_divisors.h"
#include "core/analysis/shared/positions_shown.h"

#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

constexpr const char* spreadFormula = "σ(p, e) = √(Var(p) + Var(e) + 2 Cov(p, e) + ε), p = W_pos, e = W_E";
constexpr Eigen::Index sampledPositions = 128, sampledTokens = 256;
const std::string normSpreadFolder = "analyses/norm_spread/";

ResultArray line(const Eigen::VectorXd& values, Precision precision, const ArrayName& name, Axis axis)
{
    ResultArray array =
        realArray(precision, normSpreadFolder + name.path, {static_cast<std::size_t>(values.size())},
                  {values.begin(), values.end()}, {axis});
    array.title = name.title;
    array.definition = name.definition + std::string(", ") + spreadFormula;
    return array;
}

/// Adds σ at a sample of positions and tokens, and its value if positions and tokens were orthogonal.
void addSample(const AnalysisContext& context, ResultSet& results)
{
    const ProcessedWeights& weights = context.circuits.weights();
    const ModelConfig& config = weights.config();
    const Norm<double> norm = weights.ln1<double>(0);
    const std::vector<int> places = evenlySpaced(addedPositions(config), sampledPositions);
    const std::vector<int> ids = sampledIds(config, context.options, sampledTokens);
    const Matrix<double> positions = seenPositions(weights, 0, addedPositions(config))(places, Eigen::all);
    Matrix<double> tokens(static_cast<Eigen::Index>(ids.size()), config.dModel);
    for (std::size_t i = 0; i < ids.size(); ++i)
        tokens.row(static_cast<Eigen::Index>(i)) = weights.W_E<double>(ids[i], 1);
    tokens = seenRows(norm, std::move(tokens));
    const Matrix<double> sigma = divisors(norm, positions, tokens);
    const Matrix<double> byRow = sigma.transpose(); // column-major: rows of σ one after the other
    ResultArray array =
        realArray(context.options.precision, normSpreadFolder + "sigma", {places.size(), ids.size()},
                  {byRow.data(), byRow.data() + byRow.size()}, {Axis::Position, Axis::Sample});
    array.title = "σ of sampled positions and tokens";
    array.definition = spreadFormula;
    results.arrays.push_back(std::move(array));
    results.arrays.push_back(
        idArray(normSpreadFolder + "positions", "Sampled positions", places, Axis::Position, ""));
    results.arrays.push_back(idArray(normSpreadFolder + "tokens", "Sampled tokens", ids, Axis::Sample));

    const double width = static_cast<double>(config.dModel);
    const double ofTokens = tokens.squaredNorm() / width / static_cast<double>(ids.size());
    const Matrix<double> all = seenPositions(weights, 0, addedPositions(config));
    const Eigen::VectorXd even = (all.rowwise().squaredNorm().array() / width + ofTokens + norm.eps).sqrt();
    results.arrays.push_back(line(
        even, context.options.precision,
        {"position_null", "Were they at right angles", "√(Var(p) + mean over sampled tokens of Var(e) + ε)"},
        Axis::Position));
}

Result<ResultSet> runNormSpread(const AnalysisContext& context, const Task& task)
{
    const Precision precision = context.options.precision;
    const auto spread =
        divisorSpread(context.circuits.weights(), context.options.unusedTokens, precision, task);
    if (!spread)
        return spread.error();
    ResultSet results;
    const auto add = [&](const Eigen::VectorXd& values, const char* name, const char* title,
                         const char* definition, Axis axis) {
        results.arrays.push_back(line(values, precision, {name, title, definition}, axis));
    };
    add(spread->positionMean, "position_mean", "Mean over tokens", "mean over tokens of σ", Axis::Position);
    add(spread->positionMin, "position_min", "Smallest over tokens", "min over tokens of σ", Axis::Position);
    add(spread->positionMax, "position_max", "Largest over tokens", "max over tokens of σ", Axis::Position);
    add(spread->tokenMean, "token_mean", "Mean over positions", "mean over positions of σ", Axis::Token);
    add(spread->tokenMin, "token_min", "Smallest over positions", "min over positions of σ", Axis::Token);
    add(spread->tokenMax, "token_max", "Largest over positions", "max over positions of σ", Axis::Token);
    addSample(context, results);
    return results;
}

std::string whyNotNormSpread(const ModelConfig& config, const AnalysisOptions&)
{
    if (config.norm == NormKind::None || !config.hasPreNorms)
        return "There is no norm before the attention of layer 0.";
    return whyNotTokenPlusPosition(config);
}

AnalysisCost normSpreadCost(const ModelConfig& config, const AnalysisOptions&)
{
    const double V = config.dVocab, n = config.nCtx, d = config.dModel;
    return {2 * V * n * d + 10 * V * n, 40 * n * V / 256 + 32 * V + 12 * n * d + 256 * (4 * n + 24 * d)};
}

std::vector<Picture> normSpreadPictures()
{
    using enum Picture::Kind;
    const auto in = [](std::initializer_list<const char*> names) { return pathsOf("norm_spread", names); };
    return {
        {Matrix, "σ of sampled positions and tokens", in({"sigma"}), false, false, false,
         "Rows are positions, columns tokens."},
        {Lines,
         "By position",
         in({"position_mean", "position_min", "position_max", "position_null"}),
         false,
         false,
         true,
         {}},
        {Lines, "By token", in({"token_mean", "token_min", "token_max"}), false, false, true, {}},
    };
}

} // namespace

Analysis normSpreadAnalysis()
{
    return {.id = "norm_spread",
            .number = "C7",
            .title = "Spread of the norm",
            .formula = spreadFormula,
            .citation = "Kamoda et al. 2025, arXiv 2501.15754",
            .whyNot = whyNotNormSpread,
            .cost = normSpreadCost,
            .run = runNormSpread,
            .pictures = normSpreadPictures(),
            .followsFilter = true};
}

} // namespace headwise
