#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/tokens/token_factors.h"
#include "core/circuits/token_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise {

namespace {

constexpr int salientTokensMostTokens = 30;
constexpr int mostOutputs = 5;
constexpr const char* salientTokensFolder = "analyses/salient_tokens/";

/// Returns ‖x‖ of every token, [V].
RowVector<double> lengths(const TokenSide& tokens, int layer)
{
    const Matrix<double>& exact = tokens.isLayer0Special(layer) ? tokens.layer0E64 : tokens.E64;
    const Matrix<float>& E = tokens.embeddingOf(layer);
    RowVector<double> out(E.rows());
    for (Eigen::Index token = 0; token < E.rows(); ++token)
        out(token) = exact.size() > 0 ? exact.row(token).norm() : E.row(token).cast<double>().norm();
    return out;
}

class SalientTokens {
public:
    explicit SalientTokens(const AnalysisContext& context)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_tokens(std::min(salientTokensMostTokens, static_cast<int>(context.tokens->E.rows())))
        , m_outputs(std::min(mostOutputs, static_cast<int>(context.tokens->W_U.cols())))
        , m_unusedOutputs(sizedMarks(context.options.unusedTokens, context.tokens->W_U.cols()))
        , m_unused(sizedMarks(context.options.unusedTokens, context.tokens->E.rows()))
        , m_lengths(lengths(*context.tokens, 1))
        , m_layer0Lengths(context.tokens->isLayer0Special(0) ? lengths(*context.tokens, 0) : m_lengths)
        , m_norms(m_config, m_tokens)
        , m_null(m_config)
        , m_values(m_config, m_tokens * m_outputs)
        , m_ids(heads() * static_cast<std::size_t>(m_tokens), -1)
        , m_outputIds(m_ids.size() * static_cast<std::size_t>(m_outputs), -1)
    {
    }

    Result<ResultSet> run(const Task& task)
    {
        const auto done = forEachHead(m_context, task, "salient tokens",
                                      [&](HeadId head) -> Result<Done> { return readHead(head, task); });
        if (!done)
            return done.error();
        ResultSet results;
        results.warnings = *done;
        addArrays(results);
        return results;
    }

private:
    std::size_t heads() const { return static_cast<std::size_t>(m_config.nLayers) * m_config.nHeads; }

    Result<Done> readHead(HeadId head, const Task& task)
    {
        const TokenSide& tokens = *m_context.tokens;
        const HeadWeights<double> weights = m_context.circuits.weights().head<double>(head);
        if (!weights.W_V.allFinite() || !weights.W_O.allFinite())
            return Error{ErrorCode::Corrupt,
                         "A weight of head " + headLabel(head) + " is not a finite number."};
        const Matrix<double> gram = weights.W_O * weights.W_O.transpose(); // ‖z W_O‖² = z gram zᵀ
        m_null.set(head,
                   std::sqrt(std::max(0.0, (weights.W_V.transpose() * weights.W_V).cwiseProduct(gram).sum())
                             / m_config.dModel));
        const Matrix<double> z = throughEmbedding(tokens, head.layer, weights.W_V); // [r, V]
        if (task.cancelled())
            return stopped();
        if (z.isZero(0) || weights.W_O.isZero(0))
            return Done{}; // a zero circuit has no order
        const RowVector<double>& lengths = tokens.isLayer0Special(head.layer) ? m_layer0Lengths : m_lengths;
        RowVector<double> norms = z.cwiseProduct(gram * z).colwise().sum().cwiseMax(0).cwiseSqrt();
        norms.array() /= lengths.array();
        for (double& norm : norms)
            norm = std::isfinite(norm) ? norm : -1; // a token without a vector: not listed
        std::vector<TokenEntry> top = ends(norms, m_tokens, m_unused).top;
        while (!top.empty() && top.back().value < 0)
            top.pop_back();
        Matrix<double> chosen(static_cast<Eigen::Index>(top.size()), z.rows());
        for (Eigen::Index i = 0; i < chosen.rows(); ++i)
            chosen.row(i) = z.col(top[static_cast<std::size_t>(i)].id).transpose();
        put(head, top, throughUnembedding(chosen * weights.W_O, tokens));
        return Done{};
    }

    /// \param logits [tokens, V out]
    void put(HeadId head, const std::vector<TokenEntry>& top, const Matrix<double>& logits)
    {
        const std::size_t at = (static_cast<std::size_t>(head.layer) * m_config.nHeads + head.head)
            * static_cast<std::size_t>(m_tokens);
        for (std::size_t i = 0; i < top.size(); ++i) {
            m_ids[at + i] = top[i].id;
            m_norms.row(head)[i] = top[i].value;
            const auto outputs =
                ends(logits.row(static_cast<Eigen::Index>(i)), m_outputs, m_unusedOutputs).top;
            for (std::size_t j = 0; j < outputs.size(); ++j) {
                const std::size_t place = i * static_cast<std::size_t>(m_outputs) + j;
                m_outputIds[at * static_cast<std::size_t>(m_outputs) + place] = outputs[j].id;
                m_values.row(head)[place] = outputs[j].value;
            }
        }
    }

    ResultArray idArray(const char* name, const std::vector<std::int32_t>& ids, bool isOutput) const
    {
        ResultArray array;
        array.path = std::string(salientTokensFolder) + name;
        array.shape = {static_cast<std::size_t>(m_config.nLayers), static_cast<std::size_t>(m_config.nHeads),
                       static_cast<std::size_t>(m_tokens)};
        array.axes = {Axis::Layer, Axis::Head, Axis::Rank};
        if (isOutput) {
            array.shape.push_back(static_cast<std::size_t>(m_outputs));
            array.axes.emplace_back(Axis::OutputRank);
        }
        array.values = ids;
        array.unit = "token";
        return array;
    }

    void addArrays(ResultSet& results)
    {
        const Precision precision = m_context.options.precision;
        ResultArray ids = idArray("ids", m_ids, false);
        ids.title = "Token";
        ids.definition =
            "the tokens t of largest ‖E[t] W_V W_O‖ / ‖E[t]‖, rows of E W_V W_O, falling, ties to the lower id; -1 where there is none";
        results.arrays.push_back(std::move(ids));
        ResultArray norms =
            m_norms.array(precision, std::string(salientTokensFolder) + "norms", "What the head makes of it",
                          "‖E[t] W_V W_O‖ / ‖E[t]‖, rows of E W_V W_O", Axis::Rank);
        results.arrays.push_back(std::move(norms));
        ResultArray outputs = idArray("output_ids", m_outputIds, true);
        outputs.title = "Outputs it raises most";
        outputs.definition =
            "ids of the largest entries of row t of E W_V W_O W_U, ties to the lower id; -1 where there is none";
        ResultArray values =
            m_values.array(precision, std::string(salientTokensFolder) + "output_values", "Their logits",
                           "largest entries of row t of E W_V W_O W_U", Axis::OutputRank);
        values.shape = outputs.shape;
        values.axes = outputs.axes;
        values.unit = "logits";
        results.arrays.push_back(std::move(outputs));
        results.arrays.push_back(std::move(values));
        ResultArray null =
            m_null.array(precision, std::string(salientTokensFolder) + "null_norm", "Of a token by chance",
                         "‖W_V W_O‖_F / √d_model: √mean of ‖x W_V W_O‖² / ‖x‖² over random directions x");
        results.arrays.push_back(std::move(null));
        PerHead largest(m_config);
        for (const HeadId head : selectedHeads(m_config, m_context.options))
            largest.set(head, m_norms.row(head)[0] / m_null.row(head)[0]);
        results.arrays.push_back(
            largest.array(precision, std::string(salientTokensFolder) + "largest_by_null",
                          "Most salient token, by chance", "norms of rank 0 / null_norm, of E W_V W_O"));
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    int m_tokens, m_outputs;
    std::vector<bool> m_unusedOutputs, m_unused;
    RowVector<double> m_lengths, m_layer0Lengths; // [V]
    PerHead m_norms, m_null, m_values;
    std::vector<std::int32_t> m_ids;       // [n_layers, n_heads, tokens]
    std::vector<std::int32_t> m_outputIds; // [n_layers, n_heads, tokens, outputs]
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
        .needs = {},
        .pictures =
            {
                {.kind = Kind::Table,
                 .title = "What the selected head does most",
                 .arrays = {"analyses/salient_tokens/ids", "analyses/salient_tokens/norms",
                            "analyses/salient_tokens/output_ids"},
                 .note =
                     "A token and the outputs it raises most. The paper reads the embedding mlp0, also in layer 0."},
                {.kind = Kind::HeadGrid,
                 .title = "Most salient token, by chance",
                 .arrays = {"analyses/salient_tokens/largest_by_null"},
                 .signedColors = false,
                 .note = "1: no token means more to the head than a random direction."},
            },
        .followsFilter = true};
}

} // namespace headwise
