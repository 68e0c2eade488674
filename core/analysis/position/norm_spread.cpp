#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/norm_divisors.h"
#include "core/analysis/shared/positions_shown.h"

namespace headwise {

namespace {

constexpr const char* spreadFormula = "σ(p, e) = √(Var(p) + Var(e) + 2 Cov(p, e) + ε), p = W_pos, e = W_E";
constexpr Eigen::Index sampledPositions = 128, sampledTokens = 256;
const std::string normSpreadFolder = "analyses/norm_spread/";

std::vector<ArraySpec> normSpreadArrays()
{
    const std::string at = normSpreadFolder;
    const std::string formula = std::string(", ") + spreadFormula;
    std::vector<ArraySpec> all;
    for (const bool isToken : {false, true}) {
        const std::string name = isToken ? "token" : "position";
        const std::string over = isToken ? " over positions" : " over tokens";
        const std::vector<ArrayAxis> axes{isToken ? Axis::Token : Axis::Position};
        all.push_back({at + name + "_mean", axes, "σ, mean" + over, "mean" + over + " of σ" + formula});
        all.push_back({at + name + "_min", axes, "σ, smallest" + over, "min" + over + " of σ" + formula});
        all.push_back({at + name + "_max", axes, "σ, largest" + over, "max" + over + " of σ" + formula});
    }
    all.push_back(
        {at + "sigma", {Axis::Position, Axis::Sample}, "σ of sampled positions and tokens", spreadFormula});
    all.push_back(idsAlong(Axis::Position, at + "positions", "Sampled positions", ""));
    all.push_back(idsAlong(Axis::Sample, at + "tokens", "Sampled tokens"));
    const std::vector<ArrayAxis> position{Axis::Position};
    all.push_back({at + "position_null", position, "σ, if they were orthogonal",
                   "√(Var(p) + mean over sampled tokens of Var(e) + ε)" + formula});
    return all;
}

void putLine(Results& results, const char* name, const Eigen::VectorXd& values)
{
    results.put(normSpreadFolder + name, std::vector<double>(values.begin(), values.end()));
}

/// Puts σ at a sample of positions and tokens, and its value if positions and tokens were orthogonal.
void putSample(const AnalysisContext& context, Results& results)
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
    results.put(normSpreadFolder + "sigma", {places.size(), ids.size()}, rowMajor(sigma));
    results.put(normSpreadFolder + "positions", places);
    results.put(normSpreadFolder + "tokens", ids);

    const double width = static_cast<double>(config.dModel);
    const double ofTokens = tokens.squaredNorm() / width / static_cast<double>(ids.size());
    const Matrix<double> all = seenPositions(weights, 0, addedPositions(config));
    const Eigen::VectorXd even = (all.rowwise().squaredNorm().array() / width + ofTokens + norm.eps).sqrt();
    putLine(results, "position_null", even);
}

Result<ResultSet> runNormSpread(const AnalysisContext& context, const Task& task)
{
    const Precision precision = context.options.precision;
    const auto spread =
        divisorSpread(context.circuits.weights(), context.options.unusedTokens, precision, task);
    if (!spread)
        return spread.error();
    Results results = resultsOf(context, normSpreadArrays());
    putLine(results, "position_mean", spread->positionMean);
    putLine(results, "position_min", spread->positionMin);
    putLine(results, "position_max", spread->positionMax);
    putLine(results, "token_mean", spread->tokenMean);
    putLine(results, "token_min", spread->tokenMin);
    putLine(results, "token_max", spread->tokenMax);
    putSample(context, results);
    return std::move(results).finish();
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
        {.kind = Matrix,
         .title = "σ of sampled positions and tokens",
         .arrays = in({"sigma"}),
         .signedColors = false,
         .note = "Rows are positions, columns tokens."},
        {Lines, "Scale σ of the norm by position",
         in({"position_mean", "position_min", "position_max", "position_null"})},
        {Lines, "Scale σ of the norm by token", in({"token_mean", "token_min", "token_max"})},
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
            .arrays = normSpreadArrays(),
            .needs = {.config = {ConfigField::Positions, ConfigField::NormEps}},
            .pictures = normSpreadPictures(),
            .followsFilter = true};
}

} // namespace headwise
