#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/norm_divisors.h"
#include "core/analysis/shared/position_vectors.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/circuits/position_scores.h"
#include "core/model/families/layer_parts.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <numeric>

namespace headwise {

namespace {

constexpr const char* positionalCircuitScoreFormula =
    "s_ij = (p_i/σ(p_i) W_Q + b_Q)(p_j/σ(p_j) W_K + b_K)ᵀ · scale, p = W_pos";

const std::string positionalCircuitFolder = "analyses/positional_circuit/";

/// The positions to show out of n. The square holds the first ones side by side, so that an offset appears as a stripe.
/// The lines show three queries over all positions.
struct Shown {
    Eigen::Index n;
    std::vector<int> square, queries;

    explicit Shown(const ModelConfig& config)
        : n(shownPositions(config))
        , square(static_cast<std::size_t>(squareSide(config)))
        , queries(shownQueries(n))
    {
        std::iota(square.begin(), square.end(), 0);
    }

    Eigen::Index side() const { return static_cast<Eigen::Index>(square.size()); }
    Eigen::Index lines() const { return static_cast<Eigen::Index>(queries.size()); }
};

std::vector<ArraySpec> positionalCircuitArrays()
{
    const std::string at = positionalCircuitFolder;
    const std::string formula = positionalCircuitScoreFormula;
    const std::string first = "the first positions";
    const std::pair share(0.0, 1.0);
    const std::vector<ArrayAxis> grid{Axis::Query, Axis::Key}, square = headAxes(grid);
    const std::vector<ArrayAxis> lines = headAxes({Axis::Query, Axis::Position});
    return {
        {at + "scores", square, "Scores of positions", formula + ", " + first},
        {at + "pattern", square, "Attention of positions",
         "softmax over all j ≤ i of s_ij, " + first + "; " + formula, "", share},
        {at + "pattern_null", grid, "Uniform attention", "1/(i + 1) for j ≤ i, without a window", "", share},
        {at + "query_scores", lines, "Scores of three queries", formula},
        {at + "query_pattern", lines, "Attention of three queries", "softmax over j ≤ i of s_ij; " + formula,
         "", share},
        {at + "key_bias", headAxes({Axis::Position}), "Score for any query",
         "b_Q W_Kᵀ (p_j/σ(p_j))ᵀ · scale, the norm folded into b_Q and W_K"},
        {at + "score_null_deviation", headAxes(), "Size of the scores, random directions",
         "‖W_QK‖_F √(mean over j ≤ i of ‖x_i‖² ‖x_j‖²) / d · scale, x = p/σ(p): scores around 0 for directions at random"},
        idsAlong(Axis::Query, at + "positions", "Positions of the squares", ""),
        idsAlong(Axis::Query, at + "query_positions", "Positions of the three queries", "")};
}

struct PositionalCircuitNumbers {
    RealNumbers scores, pattern, keyBias, lines, patternLines, deviation;

    PositionalCircuitNumbers(const ModelConfig& config, const Shown& shown)
        : scores(RealNumbers::perHead(config, shown.side(), shown.side()))
        , pattern(scores)
        , keyBias(RealNumbers::perHead(config, shown.n))
        , lines(RealNumbers::perHead(config, shown.lines(), shown.n))
        , patternLines(lines)
        , deviation(RealNumbers::perHead(config))
    {
    }
};

/// ‖W_QK‖_F ‖x_i‖ ‖x_j‖ / d, √(mean of squares) over j ≤ i, times the scale.
double randomSize(const FoldedHead& head, const Matrix<double>& x, double scale)
{
    const Matrix<double> Q = head.W_Q.transpose() * head.W_Q;
    const Matrix<double> K = head.W_K.transpose() * head.W_K;
    const Eigen::VectorXd squares = x.rowwise().squaredNorm();
    double keys = 0, sum = 0;
    for (Eigen::Index i = 0; i < squares.size(); ++i) {
        keys += squares(i);
        sum += squares(i) * keys;
    }
    const double n = static_cast<double>(squares.size());
    return scale * std::sqrt(Q.cwiseProduct(K).sum() * sum / (n * (n + 1) / 2))
        / static_cast<double>(x.cols());
}

/// Returns p/σ(p), the input of `foldedHead`. \param x LN(p), which equals p/σ(p) if the norm's factor and bias are folded
Matrix<double> dividedPositions(const ProcessedWeights& weights, int layer, const Matrix<double>& x)
{
    Norm<double> norm = weights.ln1<double>(layer);
    if (norm.w.size() == 0 && norm.b.size() == 0)
        return x;
    norm.w.resize(0);
    norm.b.resize(0);
    return normalized(norm, weights.W_pos<double>(0, x.rows()));
}

void setPositionalCircuitHead(PositionalCircuitNumbers& numbers, const ProcessedWeights& weights, HeadId head,
                              const Matrix<double>& x, const Shown& shown)
{
    const ModelConfig& config = weights.config();
    const double scale = config.attentionScaleOf(head.layer);
    const Matrix<double> scores = positionScores(weights, head, x).transpose(); // row = query
    const Matrix<double> pattern = maskedSoftmax(scores, config.windowOf(head.layer));
    setRows(numbers.scores, head, scores(shown.square, shown.square));
    setRows(numbers.pattern, head, pattern(shown.square, shown.square));
    setRows(numbers.lines, head, scores(shown.queries, Eigen::all));
    setRows(numbers.patternLines, head, pattern(shown.queries, Eigen::all));
    const FoldedHead h = foldedHead(weights, head);
    const Matrix<double> divided = dividedPositions(weights, head.layer, x);
    setRows(numbers.keyBias, head, (divided * (h.W_K * h.b_Q.transpose())) * scale);
    numbers.deviation.set(head, randomSize(h, divided, scale));
}

/// Returns uniform attention over the visible keys, at the shown positions of a layer without a window.
std::vector<double> evenPattern(const Shown& shown)
{
    std::vector<double> values;
    for (const int query : shown.square)
        for (const int key : shown.square)
            values.push_back(key <= query ? 1.0 / (query + 1) : 0.0);
    return values;
}

void putPositionalCircuit(Results& results, const PositionalCircuitNumbers& numbers, const Shown& shown)
{
    const std::string at = positionalCircuitFolder;
    const std::string formula = positionalCircuitScoreFormula;
    const std::string first = fmt::format("the first {} positions", shown.side());
    results.put(at + "scores", numbers.scores).definition = formula + ", " + first;
    results.put(at + "pattern", numbers.pattern).definition =
        "softmax over all j ≤ i of s_ij, " + first + "; " + formula;
    results.put(at + "pattern_null", {shown.square.size(), shown.square.size()}, evenPattern(shown));
    nameQueries(results.put(at + "query_scores", numbers.lines), shown.queries);
    nameQueries(results.put(at + "query_pattern", numbers.patternLines), shown.queries);
    results.put(at + "key_bias", numbers.keyBias);
    results.put(at + "score_null_deviation", numbers.deviation);
    for (ResultArray& array : results.arrays())
        array.attributes["assumption"] =
            std::string("raw positions, as layer 0 reads them without tokens; later layers read moved ones");
    results.put(at + "positions", shown.square);
    results.put(at + "query_positions", shown.queries);
}

Result<ResultSet> runPositionalCircuit(const AnalysisContext& context, const Task& task)
{
    const ProcessedWeights& weights = context.circuits.weights();
    const Shown shown(weights.config());
    const PositionVectors<> vectors(weights, shown.n);
    PositionalCircuitNumbers numbers(weights.config(), shown);
    const auto done = forEachHead(context, task, "positional circuits", [&](HeadId head) -> Result<Done> {
        setPositionalCircuitHead(numbers, weights, head, *vectors.of(head.layer), shown);
        return Done{};
    });
    if (!done)
        return done.error();
    Results results = resultsOf(context, positionalCircuitArrays());
    results.warn(*done);
    putPositionalCircuit(results, numbers, shown);
    return std::move(results).finish();
}

std::string whyNotPositionalCircuit(const ModelConfig& config, const AnalysisOptions&)
{
    return config.positional == Positional::Learned
        ? whyNoCausalMask(config)
        : "It needs learned positions; for rotary ones see the analysis 'rotary'.";
}

AnalysisCost positionalCircuitCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    const double n = static_cast<double>(shownPositions(config)),
                 side = static_cast<double>(squareSide(config));
    return {heads * (4 * n * config.dModel * config.dHead + n * n * (2.0 * config.dHead + 10)),
            all * 12 * (2 * side * side + 7 * n) + 16 * n * n};
}

std::vector<Picture> positionalCircuitPictures()
{
    using enum Picture::Kind;
    const auto in = [](std::initializer_list<const char*> names) {
        return pathsOf("positional_circuit", names);
    };
    const std::string later = "Only layer 0 reads positions unchanged; for later layers this is a guess.";
    return {
        {.kind = Matrix, .title = "Scores of positions", .arrays = in({"scores"}), .note = later},
        {.kind = Matrix,
         .title = "Attention of positions",
         .arrays = in({"pattern"}),
         .signedColors = false,
         .note = later},
        {.kind = Lines, .title = "Scores of three queries", .arrays = in({"query_scores"}), .note = later},
        {.kind = Lines,
         .title = "Attention of three queries",
         .arrays = in({"query_pattern"}),
         .note = later},
        {.kind = Lines, .title = "Position score for any query", .arrays = in({"key_bias"}), .note = later},
        {.kind = HeadGrid,
         .title = "Size of the scores for random directions",
         .arrays = in({"score_null_deviation"}),
         .signedColors = false},
        {.kind = Matrix, .title = "Uniform attention", .arrays = in({"pattern_null"}), .signedColors = false},
    };
}

} // namespace

Analysis positionalCircuitAnalysis()
{
    return {.id = "positional_circuit",
            .number = "C1",
            .title = "Positional circuit",
            .formula = positionalCircuitScoreFormula,
            .citation = "Elhage et al. 2021; Kamoda et al. 2025, arXiv 2501.15754",
            .whyNot = whyNotPositionalCircuit,
            .cost = positionalCircuitCost,
            .run = runPositionalCircuit,
            .arrays = positionalCircuitArrays(),
            .needs = {.config = {ConfigField::Positions, ConfigField::NormEps}},
            .pictures = positionalCircuitPictures()};
}

} // namespace headwise
