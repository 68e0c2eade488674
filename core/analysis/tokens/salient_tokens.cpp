#include "core/analysis/analyses.h"
#include "core/analysis/entry_lists.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/tokens/token_factors.h"
#include "core/circuits/token_table.h"

#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

constexpr int salientTokensMostTokens = 30;
constexpr int mostOutputs = 5;

std::string salientTokensAt(const std::string& name)
{
    return "analyses/salient_tokens/" + name;
}

std::vector<ArraySpec> salientTokensArrays()
{
    const std::vector<ArrayAxis> outputs = headAxes({Axis::Rank, Axis::OutputRank});
    return {
        {.path = salientTokensAt("ids"),
         .axes = headAxes({Axis::Rank}),
         .title = "Token",
         .definition =
             "the tokens t of largest ‖E[t] W_V W_O‖ / ‖E[t]‖, rows of E W_V W_O, falling, ties to the lower id; -1 where there is none",
         .unit = "token",
         .type = NumberType::Whole},
        {salientTokensAt("norms"), headAxes({Axis::Rank}), "Gain of the head on the token",
         "‖E[t] W_V W_O‖ / ‖E[t]‖, rows of E W_V W_O"},
        {.path = salientTokensAt("output_ids"),
         .axes = outputs,
         .title = "Outputs it promotes most",
         .definition =
             "ids of the largest entries of row t of E W_V W_O W_U, ties to the lower id; -1 where there is none",
         .unit = "token",
         .type = NumberType::Whole},
        {.path = salientTokensAt("output_values"),
         .axes = outputs,
         .title = "Logits of the promoted outputs",
         .definition = "largest entries of row t of E W_V W_O W_U",
         .unit = "logits"},
        {salientTokensAt("null_norm"), headAxes(), "Gain on a random direction",
         "‖W_V W_O‖_F / √d_model: √mean of ‖x W_V W_O‖² / ‖x‖² over random directions x"},
        {salientTokensAt("largest_by_null"), headAxes(), "Most salient token against the null",
         "norms of rank 0 / null_norm, of E W_V W_O"}};
}

class SalientTokens {
public:
    explicit SalientTokens(const AnalysisContext& context)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_unusedOutputs(sizedMarks(context.options.unusedTokens, context.tokens->W_U.count()))
        , m_unused(sizedMarks(context.options.unusedTokens, context.tokens->E.count()))
        , m_tokens(EntryLists::perHead(
              m_config, std::min<Eigen::Index>(salientTokensMostTokens, context.tokens->E.count())))
        , m_outputs(EntryLists::perHead(m_config, m_tokens.length(),
                                        std::min<Eigen::Index>(mostOutputs, context.tokens->W_U.count())))
        , m_null(RealNumbers::perHead(m_config))
    {
    }

    Result<ResultSet> run(const Task& task)
    {
        const auto done = forEachHead(m_context, task, "salient tokens",
                                      [&](HeadId head) -> Result<Done> { return readHead(head, task); });
        if (!done)
            return done.error();
        Results results = resultsOf(m_context, salientTokensArrays());
        results.warn(*done);
        results.put(salientTokensAt("ids"), m_tokens.ids);
        results.put(salientTokensAt("norms"), m_tokens.values);
        results.put(salientTokensAt("output_ids"), m_outputs.ids);
        results.put(salientTokensAt("output_values"), m_outputs.values);
        results.put(salientTokensAt("null_norm"), m_null);
        RealNumbers largest = RealNumbers::perHead(m_config);
        for (const HeadId head : selectedHeads(m_config, m_context.options))
            largest.set(head, m_tokens.values.at(head) / m_null.at(head));
        results.put(salientTokensAt("largest_by_null"), std::move(largest));
        return std::move(results).finish();
    }

private:
    Result<Done> readHead(HeadId head, const Task& task)
    {
        const TokenSide& tokens = *m_context.tokens;
        const HeadWeights<double> weights = m_context.circuits.weights().head<double>(head);
        if (!weights.W_V.allFinite() || !weights.W_O.allFinite())
            return Error{ErrorCode::Corrupt, "A weight of head " + headLabel(head) + " is NaN or infinite."};
        const Matrix<double> gram = weights.W_O * weights.W_O.transpose(); // ‖z W_O‖² = z gram zᵀ
        m_null.set(head,
                   std::sqrt(std::max(0.0, (weights.W_V.transpose() * weights.W_V).cwiseProduct(gram).sum())
                             / m_config.dModel));
        const auto projected = timesTokens(weights.W_V.transpose(), tokens.embeddingOf(head.layer), task);
        if (!projected)
            return projected.error();
        const Matrix<double>& z = *projected; // [r, V]
        if (z.isZero(0) || weights.W_O.isZero(0))
            return Done{}; // a zero circuit has no order
        const auto statistics = tokens.embeddingOf(head.layer).statistics(withoutProgress(task), {});
        if (!statistics)
            return statistics.error();
        RowVector<double> norms = z.cwiseProduct(gram * z).colwise().sum().cwiseMax(0).cwiseSqrt();
        norms.array() /= (*statistics)->lengths.array();
        for (double& norm : norms)
            norm = std::isfinite(norm) ? norm : -1; // a token without a vector: not listed
        std::vector<TokenEntry> top = ends(norms, static_cast<int>(m_tokens.length()), m_unused).top;
        while (!top.empty() && top.back().value < 0)
            top.pop_back();
        Matrix<double> chosen(static_cast<Eigen::Index>(top.size()), z.rows());
        for (Eigen::Index i = 0; i < chosen.rows(); ++i)
            chosen.row(i) = z.col(top[static_cast<std::size_t>(i)].id).transpose();
        m_tokens.set(head, top);
        const auto logits = timesTokens(chosen * weights.W_O, tokens.W_U, task); // [tokens, V out]
        if (!logits)
            return logits.error();
        for (std::size_t i = 0; i < top.size(); ++i) {
            const RowVector<double> line = logits->row(static_cast<Eigen::Index>(i));
            m_outputs.set(head, ends(line, static_cast<int>(m_outputs.length()), m_unusedOutputs).top, i);
        }
        return Done{};
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    std::vector<bool> m_unusedOutputs, m_unused;
    EntryLists m_tokens, m_outputs; // values: norms; [n_layers, n_heads, tokens, outputs] logits
    RealNumbers m_null;
};

Result<ResultSet> runSalientTokens(const AnalysisContext& context, const Task& task)
{
    return SalientTokens(context).run(task);
}

AnalysisCost salientTokensCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double V = config.dVocab;
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    return {heads * (2 * V * r * (d + r) + 2 * salientTokensMostTokens * d * (r + config.dVocabOut)),
            24 * r * V + 8.0 * salientTokensMostTokens * config.dVocabOut
                + heads * salientTokensMostTokens * (8 + mostOutputs * 8)};
}

} // namespace

Analysis salientTokensAnalysis()
{
    using Kind = Picture::Kind;
    return {
        .id = "salient_tokens",
        .number = "B7",
        .title = "Salient tokens",
        .formula =
            "the 30 tokens of largest ‖x W_V W_O‖ / ‖x‖, x = E[t], each with its 5 largest outputs of E W_V W_O W_U",
        .citation = "Elhelo & Geva 2024, arXiv 2412.11965",
        .needsTokens = true,
        .whyNot = appliesAlways,
        .cost = salientTokensCost,
        .run = runSalientTokens,
        .arrays = salientTokensArrays(),
        .pictures =
            {
                {.kind = Kind::Table,
                 .title = "Salient tokens, selected head",
                 .arrays = {"analyses/salient_tokens/ids", "analyses/salient_tokens/norms",
                            "analyses/salient_tokens/output_ids"},
                 .note =
                     "Each token with the outputs it promotes most. The paper uses the embedding mlp0, also in layer 0."},
                {.kind = Kind::HeadGrid,
                 .title = "Most salient token against the null",
                 .arrays = {"analyses/salient_tokens/largest_by_null"},
                 .signedColors = false,
                 .note = "1: no token has a larger gain than a random direction."},
            },
        .followsFilter = true};
}

} // namespace headwise
