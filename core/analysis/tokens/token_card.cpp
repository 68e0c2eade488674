#include "core/analysis/analyses.h"
#include "core/analysis/tokens/best_relations.h"
#include "core/analysis/tokens/cards.h"
#include "core/base/parallel.h"
#include "core/model/layer_parts.h"

#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

constexpr Eigen::Index tokensPerBlock = 512;

std::string at(const std::string& name)
{
    return "analyses/token_card/" + name;
}

bool isSame(const RowVector<double>& a, const RowVector<double>& b)
{
    return a.size() == b.size() && (a.size() == 0 || a == b);
}

bool isSame(const Norm<double>& a, const Norm<double>& b)
{
    return a.kind == b.kind && a.eps == b.eps && isSame(a.w, b.w) && isSame(a.b, b.b);
}

/// b_Q W_Kᵀ LN(e)ᵀ of all tokens. Layers that read the same LN(E), as all do once norms are folded, share one pass.
class Priors {
public:
    explicit Priors(const AnalysisContext& context)
        : m_context(context)
        , m_prior(context.circuits.config())
        , m_mean(context.circuits.config())
        , m_deviation(context.circuits.config())
    {
        for (const HeadId head : selectedHeads(context.circuits.config(), context.options))
            join(head);
    }

    Result<Done> run(const Task& task)
    {
        for (const Group& group : m_groups) {
            if (const auto done = runGroup(group, task); !done)
                return done.error();
        }
        return Done{};
    }

    void addTo(ResultSet& results) const
    {
        const std::string formula = "T = b_Q W_Kᵀ LN(e)ᵀ, e a row of E, without scale, at offset 0";
        add(results, m_prior, "prior", "Attended to whatever the query", formula + ", of the asked token");
        add(results, m_mean, "prior_null_mean", "The same, mean of all tokens",
            "mean over all tokens of " + formula);
        add(results, m_deviation, "prior_null_deviation", "The same, deviation over all tokens",
            "standard deviation over all tokens of " + formula);
    }

private:
    struct Group {
        Norm<double> norm;
        int layer = 0; // one of them
        std::vector<HeadId> heads;
        std::vector<Eigen::VectorXd> readers; // [d] each: W_K b_Qᵀ
    };

    /// A head without query biases has no such preference, and its number stays NaN.
    void join(HeadId head)
    {
        const auto weights = m_context.circuits.weights().head<double>(head);
        const Eigen::VectorXd reader = weights.W_K * weights.b_Q.transpose();
        if (weights.b_Q.isZero(0) || !reader.allFinite())
            return;
        const Norm<double> norm = m_context.circuits.weights().ln1<double>(head.layer);
        const auto isOurs = [&](const Group& group) {
            return isSame(group.norm, norm)
                && m_context.tokens->isLayer0Special(group.layer)
                == m_context.tokens->isLayer0Special(head.layer);
        };
        auto group = std::find_if(m_groups.begin(), m_groups.end(), isOurs);
        if (group == m_groups.end())
            group = m_groups.insert(group, {norm, head.layer, {}, {}});
        group->heads.push_back(head);
        group->readers.push_back(reader);
    }

    Result<Done> runGroup(const Group& group, const Task& task)
    {
        const TokenSide& tokens = *m_context.tokens;
        const Matrix<float>& E = tokens.embeddingOf(group.layer);
        const auto heads = static_cast<Eigen::Index>(group.heads.size());
        Matrix<double> readers(E.cols(), heads);
        for (Eigen::Index i = 0; i < heads; ++i)
            readers.col(i) = group.readers[static_cast<std::size_t>(i)];
        const RowVector<double> asked =
            normalized(group.norm,
                       Matrix<double>(embeddingRow(tokens, group.layer, *m_context.options.inputs.token)))
            * readers;
        const auto blocks = static_cast<int>((E.rows() + tokensPerBlock - 1) / tokensPerBlock);
        Matrix<double> sums(blocks, heads);
        Matrix<double> squares(blocks, heads); // of the distances from the asked token's number: small
        const auto done = parallelFor(blocks, task, "preferred tokens", [&](int block) -> Result<Done> {
            const Eigen::Index first = block * tokensPerBlock;
            const Matrix<double> rows =
                embeddingRows(tokens, group.layer, first, std::min(tokensPerBlock, E.rows() - first));
            const Matrix<double> all = (normalized(group.norm, rows) * readers).rowwise() - asked;
            sums.row(block) = all.colwise().sum();
            squares.row(block) = all.colwise().squaredNorm();
            return Done{};
        });
        if (!done)
            return done.error();
        for (Eigen::Index i = 0; i < heads; ++i) {
            const HeadId head = group.heads[static_cast<std::size_t>(i)];
            const double n = static_cast<double>(E.rows());
            const double mean = sums.col(i).sum() / n;
            m_prior.set(head, asked(i));
            m_mean.set(head, asked(i) + mean);
            m_deviation.set(head, std::sqrt(std::max(0.0, squares.col(i).sum() / n - mean * mean)));
        }
        return Done{};
    }

    void add(ResultSet& results, const PerHead& values, const char* name, const char* title,
             const std::string& definition) const
    {
        ResultArray array = values.array(m_context.options.precision, at(name), title, definition);
        array.attributes["embedding"] = std::string(embeddingName(m_context.options.embedding));
        results.arrays.push_back(std::move(array));
    }

    const AnalysisContext& m_context;
    PerHead m_prior, m_mean, m_deviation;
    std::vector<Group> m_groups;
};

class TokenCard {
public:
    TokenCard(const AnalysisContext& context, const Task& task)
        : m_context(context)
        , m_task(task)
        , m_token(*context.options.inputs.token)
        , m_norm(context.circuits.config())
        , m_normNull(context.circuits.config())
        , m_ovRank(context.circuits.config())
        , m_qkRank(context.circuits.config())
        , m_relations(context, m_token)
        , m_outputs(context.circuits.config(), listSize(context.options, context.circuits.config().dVocabOut))
        , m_keys(context.circuits.config(), listSize(context.options, context.circuits.config().dVocab))
    {
    }

    Result<ResultSet> run()
    {
        ResultSet results;
        for (const auto step : {&TokenCard::runOutputs, &TokenCard::runKeys, &TokenCard::runNull}) {
            const auto warnings = (this->*step)();
            if (!warnings)
                return warnings.error();
            results.warnings.insert(results.warnings.end(), warnings->begin(), warnings->end());
        }
        addTo(results);
        const ModelConfig& config = m_context.circuits.config();
        if (config.qkNorm != NormKind::None)
            return results; // the score is no product of query bias and key
        Priors priors(m_context);
        if (const auto done = priors.run(m_task); !done)
            return done.error();
        priors.addTo(results);
        return results;
    }

private:
    using Warnings = Result<std::vector<std::string>>;

    RowVector<double> asked(HeadId head) const
    {
        return embeddingRow(*m_context.tokens, head.layer, m_token);
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
                                if (m_token < line.size())
                                    m_ovRank.set(head, rankInLine(line, m_token, unused));
                                m_outputs.putTop(head, line, m_context.options);
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
                                m_qkRank.set(head, rankInLine(line, m_token, unused));
                                m_keys.putTop(head, line, m_context.options);
                            }});
    }

    /// ‖F_OV‖_F / √V from the Gram matrices of the token side.
    Warnings runNull()
    {
        const TokenSide& tokens = *m_context.tokens;
        return forEachHead(m_context, m_task, "lengths of rows", [&](HeadId head) -> Result<Done> {
            const auto w = m_context.circuits.weights().head<double>(head);
            const Matrix<double> source = w.W_V.transpose() * tokens.embeddingGramOf(head.layer) * w.W_V;
            const Matrix<double> output = w.W_O * tokens.UUt * w.W_O.transpose();
            const double square = source.cwiseProduct(output).sum() / static_cast<double>(tokens.E.rows());
            m_normNull.set(head, std::sqrt(square < 0 ? 0 : square));
            return Done{};
        });
    }

    void addTo(ResultSet& results) const
    {
        const Precision precision = m_context.options.precision;
        results.arrays.push_back(
            m_norm.array(precision, at("row_norm"), "Length of the row of full OV",
                         "‖e W_V W_O W_U‖₂, e the row of E of the asked token: a row of E W_V W_O W_U"));
        results.arrays.push_back(
            m_normNull.array(precision, at("row_norm_null"), "Length of the row of full OV, over all tokens",
                             "‖E W_V W_O W_U‖_F / √V: root mean square over all tokens"));
        addRank(results, m_ovRank, "ov_rank", "Own rank in full OV", "E W_V W_O W_U");
        addRank(results, m_qkRank, "qk_rank", "Own rank in full QK", "E W_Q W_Kᵀ Eᵀ");
        m_relations.addTo(results);
        m_outputs.addTo(results, precision, at("output"), "Output",
                        "the largest entries of the asked token's row of E W_V W_O W_U");
        m_outputs.addNullTo(results, precision, at("output"), "the asked token's row of E W_V W_O W_U");
        m_keys.addTo(results, precision, at("key"), "Key",
                     "the largest entries of the asked token's row of E W_Q W_Kᵀ Eᵀ");
        m_keys.addNullTo(results, precision, at("key"), "the asked token's row of E W_Q W_Kᵀ Eᵀ");
    }

    void addRank(ResultSet& results, const PerHead& ranks, const char* name, const char* title,
                 const std::string& matrix) const
    {
        const auto& unused = m_context.options.unusedTokens;
        const auto n = static_cast<double>(m_context.circuits.config().dVocab
                                           - std::count(unused.begin(), unused.end(), true));
        ResultArray array = ranks.array(m_context.options.precision, at(name), title,
                                        "how many entries of the asked token's row of F = " + matrix
                                            + " exceed its own, F[t, t]");
        array.range = {0.0, std::max(0.0, n - 1)};
        array.nullMean = (n - 1) / 2;
        array.nullDeviation = std::sqrt((n * n - 1) / 12);
        results.arrays.push_back(std::move(array));
    }

    const AnalysisContext& m_context;
    const Task& m_task;
    int m_token;
    PerHead m_norm, m_normNull, m_ovRank, m_qkRank;
    BestRelations m_relations;
    HeadLists m_outputs, m_keys;
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
    return {lines + heads * (2 * V * d + 4 * d * d * config.dHead),
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
    return {
        .id = "token_card",
        .number = "A10",
        .title = "Token card",
        .formula =
            "one token t through every head: ‖row t of E W_V W_O W_U‖, own ranks in it and in E W_Q W_Kᵀ Eᵀ, "
            "b_Q W_Kᵀ LN(e)ᵀ, the largest outputs and keys",
        .citation =
            "Elhage et al. 2021, \"Summarizing OV/QK matrices\"; T^e: Kamoda et al. 2025, arXiv 2501.15754",
        .needsTokens = true,
        .whyNot = whyNoCard,
        .cost = tokenCardCost,
        .run = runTokenCard,
        .needs = needs,
        .pictures =
            {{Picture::Kind::HeadGrid,
              "Length of its row of full OV",
              {at("row_norm"), at("row_norm_null")},
              false,
              false,
              false,
              "Beside it, what the tokens of the vocabulary have on average."},
             {Picture::Kind::HeadGrid,
              "Its own rank",
              {at("ov_rank"), at("qk_rank")},
              false,
              false,
              false,
              "0: no other token comes before it. Half the vocabulary is chance."},
             {Picture::Kind::HeadGrid,
              "Attended to whatever the query",
              {at("prior"), at("prior_null_mean"), at("prior_null_deviation")},
              false,
              false,
              true,
              "True of E alone: no positions, and later layers read more than embeddings."},
             {Picture::Kind::HeadGrid,
              "Its best relation: rank of the target",
              {at("relation_rank")},
              false,
              false,
              false,
              "0: the head raises the word that the token stands to in some relation (its capital, its "
              "opposite …) most. "
              "Only where the token begins a pair of the relations."},
             {Picture::Kind::Table,
              "What the head makes of it",
              {at("output_ids"), at("output_values"), at("output_null"), at("key_ids"), at("key_values"),
               at("key_null")},
              false,
              false,
              true,
              ""}},
        .followsFilter = true};
}

} // namespace headwise
