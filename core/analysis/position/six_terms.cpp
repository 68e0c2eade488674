#include "core/analysis/analyses.h"
#include "core/analysis/position/position_terms.h"
#include "core/analysis/position/score_terms.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/positions_shown.h"

#include <algorithm>
#include <array>
#include <utility>

namespace headwise {

namespace {

constexpr Eigen::Index sixTermsSampledTokens = 100; // as in Kamoda et al.'s pictures

const std::string sixTermsFolder = "analyses/six_terms/";
constexpr std::array<const char*, 4> sixTermsPairs{"ee", "ep", "pe", "pp"};

std::vector<ArraySpec> sixTermsPromptArrays()
{
    static constexpr std::array<const char*, 4> formulas{"e_i W_QK e_jᵀ/(σ_i σ_j)", "e_i W_QK p_jᵀ/(σ_i σ_j)",
                                                         "p_i W_QK e_jᵀ/(σ_i σ_j)",
                                                         "p_i W_QK p_jᵀ/(σ_i σ_j)"};
    const std::string at = sixTermsFolder;
    const std::vector<ArrayAxis> square = headAxes({Axis::Query, Axis::Key});
    std::vector<ArraySpec> all{idsAlong(Axis::Query, at + "tokens", "Tokens")};
    for (std::size_t i = 0; i < sixTermsPairs.size(); ++i)
        all.push_back({at + sixTermsPairs[i], square, std::string("T^") + sixTermsPairs[i], formulas[i]});
    all.push_back({at + "e", headAxes({Axis::Key}), "T^e", "b_Q W_Kᵀ e_jᵀ/σ_j"});
    all.push_back({at + "p", headAxes({Axis::Key}), "T^p", "b_Q W_Kᵀ p_jᵀ/σ_j"});
    all.push_back({at + "query_constant", headAxes({Axis::Query}), "T_i",
                   "(e_i + p_i) W_Q b_Kᵀ/σ_i + b_Q b_Kᵀ, the same for every key"});
    all.push_back({at + "ee_without_norm", square, "T^ee without σ", "e_i W_QK e_jᵀ"});
    all.push_back(
        {at + "score", square, "Score", "(LN(x_i) W_Q + b_Q)(LN(x_j) W_K + b_K)ᵀ, x = e + p, without scale"});
    all.push_back({at + "pattern", square, "Attention",
                   "softmax over j ≤ i of (T^ee + T^ep + T^pe + T^pp + T^e + T^p) · scale", "",
                   std::pair(0.0, 1.0)});
    all.push_back({at + "size", headAxes({Axis::Term}), "Size of the terms",
                   "√(mean over j ≤ i of T²): ee, ep, pe, pp, e, p, T_i"});
    all.push_back(
        {at + "size_null", headAxes({Axis::Term}), "Size of the terms, random directions",
         "the same on average where W_QK, b_Q W_Kᵀ and W_Q b_Kᵀ keep their norms and lose their directions"});
    all.push_back({at + "residual", headAxes(), "Error of the sum",
                   "max |sum of the seven terms − score| / max |score|"});
    return all;
}

std::vector<ArraySpec> sixTermsPositionArrays()
{
    const std::string at = sixTermsFolder;
    const std::vector<ArrayAxis> line = headAxes({Axis::Position});
    const std::vector<ArrayAxis> rows = headAxes({Axis::Query, Axis::Position});
    return {
        {at + "p_by_position", line, "T^p", "b_Q W_Kᵀ p_jᵀ · mean over tokens of 1/σ_j"},
        {at + "p_by_position_low", line, "T^p, lower 95 %", "p_by_position − 1.96 deviations over tokens"},
        {at + "p_by_position_high", line, "T^p, upper 95 %", "p_by_position + 1.96 deviations over tokens"},
        {at + "p_at_min_sigma", line, "T^p at the smallest σ", "b_Q W_Kᵀ p_jᵀ / min over tokens of σ_j"},
        {at + "p_at_max_sigma", line, "T^p at the largest σ", "b_Q W_Kᵀ p_jᵀ / max over tokens of σ_j"},
        {at + "pp_by_position", rows, "T^pp",
         "p_i W_QK p_jᵀ / mean over tokens of σ_i · mean over tokens of 1/σ_j, three queries i"},
        {at + "pp_by_position_low", rows, "T^pp, lower 95 %",
         "pp_by_position − 1.96 deviations over the key's tokens, at the mean σ_i"},
        {at + "pp_by_position_high", rows, "T^pp, upper 95 %",
         "pp_by_position + 1.96 deviations over the key's tokens, at the mean σ_i"},
        {at + "pp_at_min_sigma", rows, "T^pp at the smallest σ_i", "the same with min over tokens of σ_i"},
        {at + "pp_at_max_sigma", rows, "T^pp at the largest σ_i", "the same with max over tokens of σ_i"},
        {at + "position_pattern", rows, "Attention by position alone",
         "softmax over j ≤ i of (T^pp + T^p) · scale, both averaged over tokens", "", std::pair(0.0, 1.0)},
        idsAlong(Axis::Query, at + "query_positions", "Query positions", "")};
}

std::vector<ArraySpec> sixTermsArrays()
{
    std::vector<ArraySpec> all = sixTermsPromptArrays();
    const std::vector<ArraySpec> rest = sixTermsPositionArrays();
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
}

/// All numbers of the heads over the prompt.
struct PromptNumbers {
    std::array<RealNumbers, 4> pairs;
    RealNumbers e, p, constant, bare, score, pattern, sizes, randomSizes, residual;

    PromptNumbers(const ModelConfig& config, Eigen::Index n)
        : pairs{square(config, n), square(config, n), square(config, n), square(config, n)}
        , e(RealNumbers::perHead(config, n))
        , p(e)
        , constant(e)
        , bare(pairs[0])
        , score(bare)
        , pattern(bare)
        , sizes(RealNumbers::perHead(config, TermSizes().size()))
        , randomSizes(sizes)
        , residual(RealNumbers::perHead(config))
    {
    }

    static RealNumbers square(const ModelConfig& config, Eigen::Index n)
    {
        return RealNumbers::perHead(config, n, n);
    }

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
        sizes.set(head, std::span<const double>(found.sizes()));
        const Matrix<double> seven = found.six().colwise() + found.constant.transpose();
        residual.set(head, (seven - found.score).cwiseAbs().maxCoeff() / found.score.cwiseAbs().maxCoeff());
    }
};

void putPromptArrays(Results& results, const PromptNumbers& numbers, const std::vector<int>& ids)
{
    const std::string at = sixTermsFolder;
    results.put(at + "tokens", ids);
    for (std::size_t i = 0; i < sixTermsPairs.size(); ++i)
        results.put(at + sixTermsPairs[i], numbers.pairs[i]);
    results.put(at + "e", numbers.e);
    results.put(at + "p", numbers.p);
    results.put(at + "query_constant", numbers.constant);
    results.put(at + "ee_without_norm", numbers.bare);
    results.put(at + "score", numbers.score);
    results.put(at + "pattern", numbers.pattern);
    results.put(at + "size", numbers.sizes);
    results.put(at + "size_null", numbers.randomSizes);
    results.put(at + "residual", numbers.residual);
}

/// The terms of positions alone, over the σ values of the vocabulary.
struct PositionNumbers {
    Eigen::Index n;
    std::vector<int> queries;
    RealNumbers p, pLow, pHigh, pAtMin, pAtMax;
    RealNumbers pp, ppLow, ppHigh, ppAtMin, ppAtMax, pattern;

    PositionNumbers(const ModelConfig& config, Eigen::Index positions)
        : n(positions)
        , queries(shownQueries(n))
        , p(RealNumbers::perHead(config, n))
        , pLow(p)
        , pHigh(p)
        , pAtMin(p)
        , pAtMax(p)
        , pp(RealNumbers::perHead(config, queries.size(), n))
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

void putPositionArrays(Results& results, const PositionNumbers& numbers)
{
    const std::string at = sixTermsFolder;
    results.put(at + "p_by_position", numbers.p);
    results.put(at + "p_by_position_low", numbers.pLow);
    results.put(at + "p_by_position_high", numbers.pHigh);
    results.put(at + "p_at_min_sigma", numbers.pAtMin);
    results.put(at + "p_at_max_sigma", numbers.pAtMax);
    const auto rows = [&](const char* name, const RealNumbers& values) {
        nameQueries(results.put(at + name, values), numbers.queries);
    };
    rows("pp_by_position", numbers.pp);
    rows("pp_by_position_low", numbers.ppLow);
    rows("pp_by_position_high", numbers.ppHigh);
    rows("pp_at_min_sigma", numbers.ppAtMin);
    rows("pp_at_max_sigma", numbers.ppAtMax);
    rows("position_pattern", numbers.pattern);
    results.put(at + "query_positions", numbers.queries);
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
    PromptNumbers prompt(config, parts.e.rows());
    PositionNumbers alone(config, positions.rows());
    const double scale = config.attentionScaleOf(0);
    const auto done = forEachHead(context, task, "six terms", [&](HeadId head) -> Result<Done> {
        if (head.layer > 0)
            return Done{};
        prompt.set(head, scoreTerms(weights, head, parts), scale, config.windowOf(0));
        prompt.randomSizes.set(head,
                               std::span<const double>(randomTermSizes(foldedHead(weights, head), parts)));
        alone.set(head, PositionTerms(weights, head, positions, *spread));
        return Done{};
    });
    if (!done)
        return done.error();
    Results results = resultsOf(context, sixTermsArrays());
    results.warn(*done);
    if (!shown->warning.empty())
        results.warn(shown->warning);
    putPromptArrays(results, prompt, shown->ids);
    putPositionArrays(results, alone);
    return std::move(results).finish();
}

std::string whyNotSixTerms(const ModelConfig& config, const AnalysisOptions& options)
{
    if (std::string reason = whyNotTokenPlusPosition(config); !reason.empty())
        return reason;
    if (config.norm != NormKind::LayerNorm || !config.hasPreNorms)
        return "The six terms need a LayerNorm before the attention of layer 0; this model has none.";
    if (config.attentionSoftCap > 0)
        return "This model soft-caps its scores, so they are not a sum of terms.";
    if (config.qkNorm != NormKind::None || config.qkvLimit > 0)
        return "This model normalises or clips queries and keys, so its scores are not a sum of terms.";
    if (std::string reason = whyNoCausalMask(config); !reason.empty())
        return reason;
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
        {.kind = Matrix,
         .title = "Token to token",
         .arrays = in({"ee"}),
         .note = "Rows are queries, columns keys."},
        {Matrix, "Token to token, without σ", in({"ee_without_norm"})},
        {Matrix, "Token to position", in({"ep"})},
        {Matrix, "Position to token", in({"pe"})},
        {Matrix, "Position to position", in({"pp"})},
        {Lines, "Tokens and positions, any query", in({"e", "p"})},
        {.kind = Lines,
         .title = "Score terms that are equal for every key",
         .arrays = in({"query_constant"}),
         .note = "The softmax does not see this term."},
        {.kind = Lines,
         .title = "Positions, any query, over the vocabulary",
         .arrays = in({"p_by_position", "p_by_position_low", "p_by_position_high", "p_at_min_sigma",
                       "p_at_max_sigma"}),
         .note = "σ depends on the token: the mean, 95 % of the tokens, and the extremes."},
        {.kind = Lines,
         .title = "Position to position, three queries",
         .arrays = in({"pp_by_position", "pp_by_position_low", "pp_by_position_high"}),
         .note = "At the query's mean σ. The key's σ depends on its token: the mean and 95 % of the tokens."},
        {Lines, "Position to position, smallest σ of the query", in({"pp_at_min_sigma"})},
        {Lines, "Position to position, largest σ of the query", in({"pp_at_max_sigma"})},
        {Lines, "Attention by position alone, three queries", in({"position_pattern"})},
        {.kind = Bars,
         .title = "Size of each term: ee, ep, pe, pp, e, p, T_i",
         .arrays = in({"size", "size_null"}),
         .note = "The null keeps the norms of the matrices and randomises their directions."},
        {Matrix, "Score", in({"score"})},
        {.kind = Matrix, .title = "Attention", .arrays = in({"pattern"}), .signedColors = false},
        {.kind = HeadGrid,
         .title = "Error of the sum of the six terms",
         .arrays = in({"residual"}),
         .signedColors = false},
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
            .arrays = sixTermsArrays(),
            .needs = {.config = {ConfigField::Positions, ConfigField::NormEps}},
            .pictures = sixTermsPictures(),
            .followsFilter = true,
            .uses = {.prompt = true}};
}

} // namespace headwise
