#include "core/analysis/analyses.h"
#include "core/analysis/shared/cards.h"
#include "core/analysis/tokens/best_relations.h"
#include "core/analysis/tokens/card_priors.h"
#include "core/circuits/row_moments.h"

#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

std::string tokenCardAt(const std::string& name)
{
    return "analyses/token_card/" + name;
}

std::vector<ArraySpec> tokenCardArrays()
{
    std::vector<ArraySpec> all{
        {tokenCardAt("row_norm"), headAxes(), "Norm of the row of full OV",
         "‖e W_V W_O W_U‖₂, e the row of E of the given token: a row of E W_V W_O W_U"},
        {tokenCardAt("row_norm_null"), headAxes(), "Norm of the row of full OV, over all tokens",
         "‖E W_V W_O W_U‖_F / √V: root mean square over all tokens"},
        {tokenCardAt("ov_rank"), headAxes(), "Own rank in full OV",
         "how many entries of the given token's row of F = E W_V W_O W_U exceed its own, F[t, t]"},
        {tokenCardAt("qk_rank"), headAxes(), "Own rank in full QK",
         "how many entries of the given token's row of F = E W_Q W_Kᵀ Eᵀ exceed its own, F[t, t]"}};
    for (const std::vector<ArraySpec>& specs :
         {bestRelationArrays(),
          topListSpecs(tokenCardAt("output"), "Output", "the given token's row of E W_V W_O W_U"),
          topListSpecs(tokenCardAt("key"), "Key", "the given token's row of E W_Q W_Kᵀ Eᵀ"),
          cardPriorArrays()})
        all.insert(all.end(), specs.begin(), specs.end());
    return all;
}

class TokenCard {
public:
    TokenCard(const AnalysisContext& context, const Task& task)
        : m_context(context)
        , m_task(task)
        , m_token(*context.options.inputs.token)
        , m_norm(RealNumbers::perHead(context.circuits.config()))
        , m_normNull(m_norm)
        , m_ovRank(m_norm)
        , m_qkRank(m_norm)
        , m_relations(context, m_token)
        , m_outputs(listsOf(context, context.circuits.config().dVocabOut))
        , m_keys(listsOf(context, context.circuits.config().dVocab))
        , m_outputNull(m_outputs.values)
        , m_keyNull(m_keys.values)
    {
    }

    Result<ResultSet> run()
    {
        Results results = resultsOf(m_context, tokenCardArrays());
        for (const auto step : {&TokenCard::runOutputs, &TokenCard::runKeys, &TokenCard::runNull}) {
            const auto warnings = (this->*step)();
            if (!warnings)
                return warnings.error();
            results.warn(*warnings);
        }
        putInto(results);
        const ModelConfig& config = m_context.circuits.config();
        const bool hasPriors =
            config.qkNorm == NormKind::None && !config.latentAttention; // the score is a product
        if (hasPriors)
            if (const auto done = putCardPriors(results, m_context, m_task); !done)
                return done.error();
        return std::move(results).finish();
    }

private:
    static EntryLists listsOf(const AnalysisContext& context, int dVocab)
    {
        return EntryLists::perHead(context.circuits.config(), listSize(context.options, dVocab));
    }

    using Warnings = Result<std::vector<std::string>>;

    RowVector<double> asked(HeadId head) const
    {
        return m_context.tokens->embeddingOf(head.layer).vector(m_token);
    }

    Warnings runOutputs()
    {
        return forEachLine(m_context, m_task,
                           {"outputs", LineEnd::Outputs,
                            [this](HeadId head, const HeadWeights<double>& w) -> RowVector<double> {
                                return (asked(head) * w.W_V) * w.W_O;
                            },
                            [this](HeadId head, const RowVector<double>& line) {
                                const auto unused = unusedOf(m_context.options, line.size());
                                m_norm.set(head, line.norm());
                                if (m_token < line.size() && !line.isZero(0)) // of a zero circuit: NaN
                                    m_ovRank.set(head, rankInLine(line, m_token, unused));
                                putTop(m_outputs, m_outputNull, head, line, m_context.options);
                                m_relations.put(head, line, unused);
                            }});
    }

    Warnings runKeys()
    {
        return forEachLine(m_context, m_task,
                           {"keys", LineEnd::Tokens,
                            [this](HeadId head, const HeadWeights<double>& w) -> RowVector<double> {
                                return (asked(head) * w.W_Q) * w.W_K.transpose();
                            },
                            [this](HeadId head, const RowVector<double>& line) {
                                const auto unused = unusedOf(m_context.options, line.size());
                                if (!line.isZero(0))
                                    m_qkRank.set(head, rankInLine(line, m_token, unused));
                                putTop(m_keys, m_keyNull, head, line, m_context.options);
                            }});
    }

    /// ‖F_OV‖_F / √V from the Gram matrices of the token side.
    Warnings runNull()
    {
        const TokenSide& tokens = *m_context.tokens;
        return forEachHead(m_context, m_task, "norms of rows", [&](HeadId head) -> Result<Done> {
            const auto w = m_context.circuits.weights().head<double>(head);
            const Matrix<double> source = w.W_V.transpose() * tokens.embeddingGramOf(head.layer) * w.W_V;
            const Matrix<double> output = w.W_O * tokens.UUt * w.W_O.transpose();
            const double square = source.cwiseProduct(output).sum() / static_cast<double>(tokens.E.count());
            m_normNull.set(head, std::sqrt(square < 0 ? 0 : square));
            return Done{};
        });
    }

    void putInto(Results& results) const
    {
        const ModelConfig& config = m_context.circuits.config();
        results.put(tokenCardAt("row_norm"), m_norm);
        results.put(tokenCardAt("row_norm_null"), m_normNull);
        setRankNull(results.put(tokenCardAt("ov_rank"), m_ovRank), config.dVocabOut);
        setRankNull(results.put(tokenCardAt("qk_rank"), m_qkRank), config.dVocab);
        m_relations.putInto(results);
        putLists(results, tokenCardAt("output"), m_outputs);
        results.put(tokenCardAt("output_null"), m_outputNull);
        putLists(results, tokenCardAt("key"), m_keys);
        results.put(tokenCardAt("key_null"), m_keyNull);
    }

    /// \param count of the tokens that the ranks are among
    void setRankNull(ResultArray& array, int count) const
    {
        const auto n = static_cast<double>(usedIds(unusedOf(m_context.options, count), count).size());
        array.range = {0.0, std::max(0.0, n - 1)};
        array.nullMean = (n - 1) / 2;
        array.nullDeviation = std::sqrt((n * n - 1) / 12);
    }

    const AnalysisContext& m_context;
    const Task& m_task;
    int m_token;
    RealNumbers m_norm, m_normNull, m_ovRank, m_qkRank;
    BestRelations m_relations;
    EntryLists m_outputs, m_keys;
    RealNumbers m_outputNull, m_keyNull;
};

Result<ResultSet> runTokenCard(const AnalysisContext& context, const Task& task)
{
    return TokenCard(context, task).run();
}

AnalysisCost tokenCardCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double V = config.dVocab;
    const double d = config.dModel;
    const double lines = heads * 2 * d * (V + config.dVocabOut);
    return {lines + cardPriorsFlops(config, heads) + heads * 4 * d * d * config.dHead,
            static_cast<double>(config.nHeads) * V * 8 * 2 + heads * options.tableSize * 24};
}

std::string whyNoCard(const ModelConfig& config, const AnalysisOptions& options)
{
    return options.inputs.token ? whyNoToken(config, *options.inputs.token)
                                : ""; // else the row's needs say it
}

} // namespace

Analysis tokenCardAnalysis()
{
    InputNeeds needs;
    needs.token = true;
    needs.config = {ConfigField::Positions, ConfigField::NormEps};
    return {
        .id = "token_card",
        .number = "A10",
        .title = "Token card",
        .formula =
            "one token t through every head: ‖row t of E W_V W_O W_U‖, own ranks in it and in E W_Q W_Kᵀ Eᵀ, its prior (T^e of C4, or b_Q W_Kᵀ LN(e)ᵀ where that does not apply), the largest outputs and keys",
        .citation =
            "Elhage et al. 2021, \"Summarizing OV/QK matrices\"; T^e: Kamoda et al. 2025, arXiv 2501.15754",
        .needsTokens = true,
        .whyNot = whyNoCard,
        .cost = tokenCardCost,
        .run = runTokenCard,
        .arrays = tokenCardArrays(),
        .needs = needs,
        .pictures =
            {{.kind = Picture::Kind::HeadGrid,
              .title = "Norm of its row of full OV",
              .arrays = {tokenCardAt("row_norm"), tokenCardAt("row_norm_null")},
              .signedColors = false,
              .note = "Shown beside the average over the vocabulary."},
             {.kind = Picture::Kind::HeadGrid,
              .title = "Rank of the token itself",
              .arrays = {tokenCardAt("ov_rank"), tokenCardAt("qk_rank")},
              .signedColors = false,
              .note = "0: no other token ranks higher. Random baseline: half the vocabulary."},
             {.kind = Picture::Kind::HeadGrid,
              .title = "Attended to by any query",
              .arrays = {tokenCardAt("prior"), tokenCardAt("prior_null_mean"),
                         tokenCardAt("prior_null_deviation")},
              .note =
                  "Holds for layer 0, on average over positions (as in the token prior), or at offset 0 if no positions are added to the tokens. Later layers read more than embeddings."},
             {.kind = Picture::Kind::HeadGrid,
              .title = "Best relation of the token: rank of the target",
              .arrays = {tokenCardAt("relation_rank")},
              .signedColors = false,
              .note =
                  "0: the head promotes the token's partner in some relation (its capital, its opposite …) most. Only for tokens that begin a pair."},
             {Picture::Kind::Table,
              "Gain of the head on the token",
              {tokenCardAt("output_ids"), tokenCardAt("output_values"), tokenCardAt("output_null"),
               tokenCardAt("key_ids"), tokenCardAt("key_values"), tokenCardAt("key_null")}}},
        .followsFilter = true,
        .uses = {.relations = true}};
}

} // namespace headwise
