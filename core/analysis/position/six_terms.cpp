#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/position/position_terms.h"
#include "core/analysis/position/score_terms.h"
#include "core/analysis/shared/positions_shown.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index sixTermsSampledTokens = 100; // as in Kamoda et al.'s pictures

/// All numbers of the heads over the prompt.
struct PromptArrays {
    Eigen::Index n;
    std::array<PerHead, 4> pairs;
    PerHead e, p, constant, bare, score, pattern, sizes, randomSizes, residual;

    PromptArrays(const ModelConfig& config, Eigen::Index tokens)
        : n(tokens)
        , pairs{square(config), square(config), square(config), square(config)}
        , e(config, static_cast<int>(n))
        , p(e)
        , constant(e)
        , bare(square(config))
        , score(bare)
        , pattern(bare)
        , sizes(config, static_cast<int>(TermSizes().size()))
        , randomSizes(sizes)
        , residual(config)
    {
    }

    PerHead square(const ModelConfig& config) const { return PerHead(config, static_cast<int>(n * n)); }

    void set(HeadId head, const ScoreTerms& found, double scale, int window)
    {
        for (std::size_t i = 0; i < pairs.size(); ++i)
            setRows(pairs[i], head, found.pairs[i]);
        setRows(e, head, found.e);
        setRows(p, head, found.p);
        setRows(constant, head, found.constant);
        setRows(bare, head, found.bare);
        setRows(score, head, found.score);
        setRows(pattern, head, maskedSoftmax(found.six() * scale, window));
        sizes.set(head, found.sizes());
        const Matrix<double> seven = found.six().colwise() + found.constant.transpose();
        residual.set(head, (seven - found.score).cwiseAbs().maxCoeff() / found.score.cwiseAbs().maxCoeff());
    }
};

void addPromptArrays(const PromptArrays& kept, const std::vector<int>& ids, Precision precision,
                     ResultSet& results)
{
    const std::string folder = "analyses/six_terms/";
    static constexpr std::array<const char*, 4> names{"ee", "ep", "pe", "pp"};
    static constexpr std::array<const char*, 4> formulas{"e_i W_QK e_jᵀ/(σ_i σ_j)", "e_i W_QK p_jᵀ/(σ_i σ_j)",
                                                         "p_i W_QK e_jᵀ/(σ_i σ_j)",
                                                         "p_i W_QK p_jᵀ/(σ_i σ_j)"};
    const auto square = [&](const PerHead& values, const char* name, const char* title,
                            const std::string& formula) {
        results.arrays.push_back(
            gridArray(values, precision, {folder + name, title, formula}, {kept.n, kept.n}));
    };
    const auto line = [&](const PerHead& values, const char* name, const char* title, const char* formula,
                          std::optional<Axis> axis) {
        results.arrays.push_back(values.array(precision, folder + name, title, formula, axis));
    };
    results.arrays.push_back(idArray(folder + "tokens", "Tokens", ids, Axis::Query));
    for (std::size_t i = 0; i < names.size(); ++i)
        square(kept.pairs[i], names[i], (std::string("T^") + names[i]).c_str(), formulas[i]);
    line(kept.e, "e", "T^e", "b_Q W_Kᵀ e_jᵀ/σ_j", Axis::Key);
    line(kept.p, "p", "T^p", "b_Q W_Kᵀ p_jᵀ/σ_j", Axis::Key);
    line(kept.constant, "query_constant", "T_i",
         "(e_i + p_i) W_Q b_Kᵀ/σ_i + b_Q b_Kᵀ, the same for every key", Axis::Query);
    square(kept.bare, "ee_without_norm", "T^ee without σ", "e_i W_QK e_jᵀ");
    square(kept.score, "score", "Score", "(LN(x_i) W_Q + b_Q)(LN(x_j) W_K + b_K)ᵀ, x = e + p, without scale");
    square(kept.pattern, "pattern", "Attention",
           "softmax over j ≤ i of (T^ee + T^ep + T^pe + T^pp + T^e + T^p) · scale");
    results.arrays.back().range = {0.0, 1.0};
    line(kept.sizes, "size", "Size of the terms", "√(mean over j ≤ i of T²): ee, ep, pe, pp, e, p, T_i",
         Axis::Term);
    line(kept.randomSizes, "size_null", "Size of the terms, random directions",
         "the same on average where W_QK, b_Q W_Kᵀ and W_Q b_Kᵀ keep their norms and lose their directions",
         Axis::Term);
    results.arrays.push_back(kept.residual.array(precision, folder + "residual", "What the terms leave over",
                                                 "max |sum of the seven terms − score| / max |score|"));
}

/// The terms of positions alone, over the σ values of the vocabulary.
struct PositionArrays {
    Eigen::Index n;
    std::vector<int> queries;
    PerHead p, pLow, pHigh, pAtMin, pAtMax;
    PerHead pp, ppLow, ppHigh, ppAtMin, ppAtMax, pattern;

    PositionArrays(const ModelConfig& config, Eigen::Index positions)
        : n(positions)
        , queries(shownQueries(n))
        , p(config, static_cast<int>(n))
        , pLow(p)
        , pHigh(p)
        , pAtMin(p)
        , pAtMax(p)
        , pp(config, static_cast<int>(n) * static_cast<int>(queries.size()))
        , ppLow(pp)
        , ppHigh(pp)
        , ppAtMin(pp)
        , ppAtMax(pp)
        , pattern(pp)
    {
    }

    void set(HeadId head, const PositionTerms& terms)
    {
        setRows(p, head, terms.p);
        setRows(pLow, head, terms.pLow);
        setRows(pHigh, head, terms.pHigh);
        setRows(pAtMin, head, terms.pAtMinSigma);
        setRows(pAtMax, head, terms.pAtMaxSigma);
        const auto shown = static_cast<Eigen::Index>(queries.size());
        Matrix<double> mean(shown, n), low(shown, n), high(shown, n), atMin(shown, n), atMax(shown, n),
            seen(shown, n);
        for (Eigen::Index row = 0; row < shown; ++row) {
            const QueryTerms found = terms.at(queries[static_cast<std::size_t>(row)]);
            mean.row(row) = found.pp;
            low.row(row) = found.ppLow;
            high.row(row) = found.ppHigh;
            atMin.row(row) = found.ppAtMinSigma;
            atMax.row(row) = found.ppAtMaxSigma;
            seen.row(row) = found.pattern;
        }
        setRows(pp, head, mean);
        setRows(ppLow, head, low);
        setRows(ppHigh, head, high);
        setRows(ppAtMin, head, atMin);
        setRows(ppAtMax, head, atMax);
        setRows(pattern, head, seen);
    }
};

void addPositionArrays(const PositionArrays& kept, Precision precision, ResultSet& results)
{
    const std::string folder = "analyses/six_terms/";
    const auto line = [&](const PerHead& values, const char* name, const char* title, const char* formula) {
        results.arrays.push_back(values.array(precision, folder + name, title, formula, Axis::Position));
    };
    const auto rows = [&](const PerHead& values, const char* name, const char* title, const char* formula) {
        results.arrays.push_back(gridArray(values, precision, {folder + name, title, formula},
                                           {static_cast<Eigen::Index>(kept.queries.size()), kept.n},
                                           {Axis::Query, Axis::Position}));
        nameQueries(results.arrays.back(), kept.queries);
    };
    line(kept.p, "p_by_position", "T^p", "b_Q W_Kᵀ p_jᵀ · mean over tokens of 1/σ_j");
    line(kept.pLow, "p_by_position_low", "T^p, lower 95 %", "p_by_position − 1.96 deviations over tokens");
    line(kept.pHigh, "p_by_position_high", "T^p, upper 95 %", "p_by_position + 1.96 deviations over tokens");
    line(kept.pAtMin, "p_at_min_sigma", "T^p at the smallest σ", "b_Q W_Kᵀ p_jᵀ / min over tokens of σ_j");
    line(kept.pAtMax, "p_at_max_sigma", "T^p at the largest σ", "b_Q W_Kᵀ p_jᵀ / max over tokens of σ_j");
    rows(kept.pp, "pp_by_position", "T^pp",
         "p_i W_QK p_jᵀ / mean over tokens of σ_i · mean over tokens of 1/σ_j, three queries i");
    rows(kept.ppLow, "pp_by_position_low", "T^pp, lower 95 %",
         "pp_by_position − 1.96 deviations over the key's tokens, at the mean σ_i");
    rows(kept.ppHigh, "pp_by_position_high", "T^pp, upper 95 %",
         "pp_by_position + 1.96 deviations over the key's tokens, at the mean σ_i");
    rows(kept.ppAtMin, "pp_at_min_sigma", "T^pp at the smallest σ_i", "the same with min over tokens of σ_i");
    rows(kept.ppAtMax, "pp_at_max_sigma", "T^pp at the largest σ_i", "the same with max over tokens of σ_i");
    rows(kept.pattern, "position_pattern", "Attention of positions alone",
         "softmax over j ≤ i of (T^pp + T^p) · scale, both averaged over tokens");
    results.arrays.back().range = {0.0, 1.0};
    results.arrays.push_back(
        idArray(folder + "query_positions", "Query positions", kept.queries, Axis::Query, ""));
}

Result<ResultSet> runSixTerms(const AnalysisContext& context, const Task& task)
{
    const ProcessedWeights& weights = context.circuits.weights();
    const ModelConfig& config = weights.config();
    const AnalysisOptions& options = context.options;
    Result<ShownTokens> shown =
        shownTokens(config, options, std::min(sixTermsSampledTokens, squareSide(config)), squareSide(config));
    if (!shown)
        return shown.error();
    const auto spread =
        divisorSpread(weights, options.unusedTokens, options.precision, withoutProgress(task));
    if (!spread)
        return spread.error();
    const PromptParts parts = promptParts(weights, shown->ids);
    const Matrix<double> positions = seenPositions(weights, 0, shownPositions(config));
    PromptArrays prompt(config, parts.e.rows());
    PositionArrays alone(config, positions.rows());
    const double scale = config.attentionScaleOf(0);
    const auto done = forEachHead(context, task, "six terms", [&](HeadId head) -> Result<Done> {
        if (head.layer > 0)
            return Done{};
        prompt.set(head, scoreTerms(weights, head, parts), scale, config.windowOf(0));
        prompt.randomSizes.set(head, randomTermSizes(foldedHead(weights, head), parts));
        alone.set(head, PositionTerms(weights, head, positions, *spread));
        return Done{};
    });
    if (!done)
        return done.error();
    ResultSet results;
    results.warnings = *done;
    if (!shown->warning.empty())
        results.warnings.push_back(shown->warning);
    addPromptArrays(prompt, shown->ids, options.precision, results);
    addPositionArrays(alone, options.precision, results);
    return results;
}

std::string whyNotSixTerms(const ModelConfig& config, const AnalysisOptions& options)
{
    if (std::string reason = whyNotTokenPlusPosition(config); !reason.empty())
        return reason;
    if (config.norm != NormKind::LayerNorm || !config.hasPreNorms)
        return "It needs a LayerNorm before the attention of layer 0.";
    if (config.attentionSoftCap > 0)
        return "The scores of this model go through a soft cap, so they are no sum of terms.";
    if (config.qkNorm != NormKind::None || config.qkvLimit > 0)
        return "Queries and keys of this model are normalised or cut off, so its scores are no sum of terms.";
    return whyNoHeadOfLayer0(options);
}

AnalysisCost sixTermsCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = countOfLayer0(config, options);
    const double n = static_cast<double>(shownPositions(config));
    const double tokens = static_cast<double>(options.inputs.prompt.empty()
                                                  ? std::min(sixTermsSampledTokens, squareSide(config))
                                                  : squareSide(config));
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    const double spread = 2.0 * config.nCtx * config.dVocab * config.dModel;
    return {spread + heads * (8 * tokens + 10 * n) * config.dModel * config.dHead,
            all * 12 * (7 * tokens * tokens + 3 * tokens + 23 * n) + 2e7};
}

std::vector<Picture> sixTermsPictures()
{
    using enum Picture::Kind;
    const auto in = [](std::initializer_list<const char*> names) { return pathsOf("six_terms", names); };
    return {
        {Matrix, "Token to token", in({"ee"}), false, false, true, "Rows are queries, columns keys."},
        {Matrix, "Token to token, without σ", in({"ee_without_norm"}), false, false, true, {}},
        {Matrix, "Token to position", in({"ep"}), false, false, true, {}},
        {Matrix, "Position to token", in({"pe"}), false, false, true, {}},
        {Matrix, "Position to position", in({"pp"}), false, false, true, {}},
        {Lines, "Tokens and positions whatever the query", in({"e", "p"}), false, false, true, {}},
        {Lines, "The same for every key", in({"query_constant"}), false, false, true,
         "The softmax does not see this term."},
        {Lines, "Positions whatever the query, over the vocabulary",
         in({"p_by_position", "p_by_position_low", "p_by_position_high", "p_at_min_sigma", "p_at_max_sigma"}),
         false, false, true, "σ depends on the token: the mean with 95 % of the tokens, and its ends."},
        {Lines, "Position to position, three queries",
         in({"pp_by_position", "pp_by_position_low", "pp_by_position_high"}), false, false, true,
         "At the mean σ of the query; σ of the key depends on its token: the mean with 95 % of the tokens."},
        {Lines, "At the smallest σ of the query", in({"pp_at_min_sigma"}), false, false, true, {}},
        {Lines, "At the largest σ of the query", in({"pp_at_max_sigma"}), false, false, true, {}},
        {Lines,
         "Attention of positions alone, three queries",
         in({"position_pattern"}),
         false,
         false,
         true,
         {}},
        {Bars, "Size of each term: ee, ep, pe, pp, e, p, T_i", in({"size", "size_null"}), false, false, true,
         "The null keeps the norms of the matrices and loses their directions."},
        {Matrix, "Score", in({"score"}), false, false, true, {}},
        {Matrix, "Attention", in({"pattern"}), false, false, false, {}},
        {HeadGrid, "What the terms leave over", in({"residual"}), false, false, false, {}},
    };
}

} // namespace

Analysis sixTermsAnalysis()
{
    return {.id = "six_terms",
            .number = "C3",
            .title = "Six terms of a layer-0 score",
            .formula = "√r · score = T^ee + T^ep + T^pe + T^pp + T^e + T^p + T_i",
            .citation = "Kamoda et al. 2025, arXiv 2501.15754",
            .whyNot = whyNotSixTerms,
            .cost = sixTermsCost,
            .run = runSixTerms,
            .pictures = sixTermsPictures(),
            .followsFilter = true};
}

} // namespace headwise
