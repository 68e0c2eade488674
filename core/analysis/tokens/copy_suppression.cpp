#include "core/analysis/analyses.h"
#include "core/analysis/entry_lists.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/random_heads.h"
#include "core/analysis/tokens/diagonal_sample.h"
#include "core/analysis/tokens/entry_ranks.h"
#include "core/analysis/tokens/token_factors.h"
#include "core/base/parallel.h"
#include "core/circuits/random_matrix.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headwise {

namespace {

constexpr int mostLowered = 10;
constexpr std::size_t setSize = 64; // tokens a softmax runs over
constexpr std::size_t setCount = 16;
constexpr std::size_t tokensListed = 20; // tokens of each head's table
constexpr int nullHeads = 64;
constexpr const char* embeddingNote =
    "E is the embedding in use, raw unless chosen otherwise; McDougall et al. 2023 take the effective one";

std::string copySuppressionAt(const std::string& name)
{
    return "analyses/copy_suppression/" + name;
}

std::vector<ArraySpec> copySuppressionArrays()
{
    const std::string note = embeddingNote;
    const auto ints = [](const char* name, const char* title, const char* definition, const char* unit) {
        return ArraySpec{.path = copySuppressionAt(name),
                         .axes = headAxes({Axis::Rank}),
                         .title = title,
                         .definition = definition,
                         .unit = unit,
                         .type = NumberType::Whole};
    };
    return {
        {.path = copySuppressionAt("ov_score"),
         .axes = headAxes(),
         .title = "Tokens that suppress themselves",
         .definition = "share of tokens t with #{j : M[t,j] < M[t,t]} < 10, M = E W_V W_O W_U, over "
             + DiagonalSample::definition() + "; " + note,
         .range = {{0.0, 1.0}}},
        {.path = copySuppressionAt("qk_mass"),
         .axes = headAxes(),
         .title = "Attention of a predicted token to itself",
         .definition =
             "mean over t of softmax_j(W_U[:,t]ᵀ W_Q W_Kᵀ E[j]ᵀ · scale) at j = t, j and t from 16 seeded sets of at most 64 tokens; key vectors from E W_K, without biases, rotation and soft cap; "
             + note,
         .range = {{0.0, 1.0}}},
        {copySuppressionAt("qk_mean_rank"), headAxes(), "Mean rank of a predicted token as its own key",
         "mean over t of #{j : M[t,j] > M[t,t]}, M = W_Uᵀ W_Q W_Kᵀ Eᵀ, keys from E W_K, over the same tokens as ov_score; "
             + note},
        ints("tokens", "Token",
             "tokens of the sample by rising share, ties to the lower id; -1 where there is none", "token"),
        {.path = copySuppressionAt("share"),
         .axes = headAxes({Axis::Rank}),
         .title = "Its own logit over the norm of its row",
         .definition = "M[t,t] / ‖M[t,:]‖, M = E W_V W_O W_U",
         .range = {{-1.0, 1.0}}},
        ints("low_ranks", "Outputs suppressed more",
             "#{j : M[t,j] < M[t,t]}, M = E W_V W_O W_U; -1 where there is none", ""),
        ints("key_ranks", "Keys it attends to more",
             "#{j : M[t,j] > M[t,t]}, M = W_Uᵀ W_Q W_Kᵀ Eᵀ, keys from E W_K; -1 where there is none", "")};
}

/// Seeded sets of tokens, the same for every head.
std::vector<std::vector<int>> tokenSets(const AnalysisContext& context)
{
    std::vector<std::vector<int>> sets;
    for (std::size_t i = 0; i < setCount; ++i)
        sets.push_back(sampledTokens(context.tokens->E.count(), context.options.unusedTokens, setSize,
                                     context.options.inputs.seed + 1 + i));
    return sets;
}

class CopySuppression {
public:
    explicit CopySuppression(const AnalysisContext& context)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_sample(context)
        , m_sets(tokenSets(context))
        , m_ovScore(RealNumbers::perHead(m_config))
        , m_keyRank(m_ovScore)
        , m_mass(m_ovScore)
        , m_squares(m_config)
        , m_table(EntryLists::perHead(m_config, std::min(tokensListed, m_sample.ids.size())))
        , m_lowRanks(m_table.ids)
        , m_keyRanks(m_table.ids)
    {
    }

    Result<ResultSet> run(const Task& task)
    {
        Results results = resultsOf(m_context, copySuppressionArrays());
        if (m_sample.ids.empty()) {
            results.warn("Copy suppression was skipped because no id of this model has a token.");
            return std::move(results).finish();
        }
        const auto done = forEachHead(m_context, task, "copy suppression",
                                      [&](HeadId head) { return readHead(head, withoutProgress(task)); });
        if (!done)
            return done.error();
        results.warn(*done);
        const auto null = massNull(task);
        if (!null)
            return null.error();
        putScores(results, *null);
        results.put(copySuppressionAt("tokens"), m_table.ids);
        results.put(copySuppressionAt("share"), m_table.values);
        results.put(copySuppressionAt("low_ranks"), m_lowRanks);
        results.put(copySuppressionAt("key_ranks"), m_keyRanks);
        m_sample.describe(results);
        return std::move(results).finish();
    }

private:
    Result<Done> readHead(HeadId head, const Task& task)
    {
        const TokenSide& tokens = *m_context.tokens;
        const HeadWeights<double> weights = m_context.circuits.weights().head<double>(head);
        m_squares.set(head, weights);
        const Matrix<double> rows =
            (tokens.embeddingOf(head.layer).of<double>(m_sample.ids) * weights.W_V).transpose();
        const auto cols = timesTokens(weights.W_O, tokens.W_U, task);
        if (!cols)
            return cols.error();
        const auto outputs = entryRanks({rows, RankColumns(*cols, m_sample.unused), m_sample.ids}, task);
        if (!outputs)
            return outputs.error();
        const Matrix<double> queries =
            (tokens.W_U.of<double>(m_sample.ids).transpose() * weights.W_Q).transpose();
        const auto keys = timesTokens(weights.W_K.transpose(), tokens.embeddingOf(head.layer), task);
        if (!keys)
            return keys.error();
        const auto scores = entryRanks({queries, RankColumns(*keys, m_sample.unused), m_sample.ids}, task);
        if (!scores)
            return scores.error();
        if (!queries.isZero(0) && !keys->isZero(0)) {
            m_keyRank.set(head,
                          std::accumulate(scores->begin(), scores->end(), 0.0,
                                          [](double sum, const EntryRank& rank) { return sum + rank.above; })
                              / static_cast<double>(scores->size()));
            m_mass.set(head, meanMass(weights.W_Q, weights.W_K, head.layer));
        }
        if (rows.isZero(0) || cols->isZero(0))
            return Done{};
        const auto isLowered = [](const EntryRank& rank) { return rank.below < mostLowered; };
        m_ovScore.set(head,
                      static_cast<double>(std::count_if(outputs->begin(), outputs->end(), isLowered))
                          / static_cast<double>(outputs->size()));
        const Matrix<double> gram = *cols * cols->transpose(); // [r, r]: ‖row‖² = z gram zᵀ
        const RowVector<double> norms =
            rows.cwiseProduct(gram * rows).colwise().sum().cwiseMax(0).cwiseSqrt();
        list(head, *outputs, *scores, norms);
        return Done{};
    }

    /// Computes the mean attention of every predicted token to itself among the tokens of a set, over all sets.
    double meanMass(const Matrix<double>& W_Q, const Matrix<double>& W_K, int layer) const
    {
        const TokenSide& tokens = *m_context.tokens;
        double sum = 0;
        double count = 0;
        for (const std::vector<int>& set : m_sets) {
            const Matrix<double> queries = tokens.W_U.of<double>(set).transpose() * W_Q;
            const Matrix<double> keys = tokens.embeddingOf(layer).of<double>(set) * W_K;
            const Matrix<double> scores = queries * keys.transpose() * m_config.attentionScaleOf(layer);
            for (Eigen::Index i = 0; i < scores.rows(); ++i) {
                sum += 1 / (scores.row(i).array() - scores(i, i)).exp().sum();
                count += 1;
            }
        }
        return sum / count;
    }

    /// Returns `meanMass` of Gaussian heads with the scale of the model's weights, in the last layer. Mean 0 if there is no null.
    Result<HeadNull> massNull(const Task& task) const
    {
        const double scale = std::sqrt(m_squares.scaleOf(CircuitKind::Qk));
        std::vector<double> masses(nullHeads);
        const auto done = parallelFor(nullHeads, withoutProgress(task), "random heads", [&](int i) {
            const std::uint64_t seed = 2
                * (m_context.options.inputs.seed * std::uint64_t{nullHeads} + static_cast<std::uint64_t>(i));
            masses[static_cast<std::size_t>(i)] = meanMass(
                scale * gaussianMatrix(m_config.dModel, m_config.dHead, seed),
                scale * gaussianMatrix(m_config.dModel, m_config.dHead, seed + 1), m_config.nLayers - 1);
            return Result<Done>(Done{});
        });
        if (!done)
            return done.error();
        const HeadNull null = nullOf(masses);
        return scale > 0 && std::isfinite(null.mean) ? null : HeadNull{};
    }

    /// Finds the tokens whose diagonal entry is lowest relative to the length of their row.
    void list(HeadId head, const std::vector<EntryRank>& outputs, const std::vector<EntryRank>& scores,
              const RowVector<double>& norms)
    {
        std::vector<std::size_t> order;
        const auto share = [&](std::size_t i) {
            return outputs[i].value / norms(static_cast<Eigen::Index>(i));
        };
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (!std::isnan(share(i)))
                order.push_back(i);
        }
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return share(a) < share(b); });
        order.resize(std::min(m_table.length(), order.size()));
        std::vector<TokenEntry> lowest;
        for (std::size_t i = 0; i < order.size(); ++i) {
            lowest.push_back({m_sample.ids[order[i]], share(order[i])});
            m_lowRanks.of(head)[i] = outputs[order[i]].below;
            m_keyRanks.of(head)[i] = scores[order[i]].above;
        }
        m_table.set(head, lowest);
    }

    /// \param null of qk_mass
    void putScores(Results& results, const HeadNull& null) const
    {
        const auto n = static_cast<double>(m_sample.ids.size());
        ResultArray& ov = results.put(copySuppressionAt("ov_score"), m_ovScore);
        const double p = std::min(1.0, mostLowered / m_sample.among);
        ov.nullMean = p;
        ov.nullDeviation = std::sqrt(p * (1 - p) / n);
        ResultArray& mass = results.put(copySuppressionAt("qk_mass"), m_mass);
        mass.definition += fmt::format(
            "; null: {} Gaussian heads of seed {}, their entries as large as the model's, in its last layer",
            nullHeads, m_context.options.inputs.seed);
        setNull(mass, null);
        ResultArray& rank = results.put(copySuppressionAt("qk_mean_rank"), m_keyRank);
        rank.range = {0.0, m_sample.among - 1};
        rank.nullMean = (m_sample.among - 1) / 2;
        rank.nullDeviation = m_sample.among / std::sqrt(12 * n);
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    DiagonalSample m_sample;
    std::vector<std::vector<int>> m_sets;
    RealNumbers m_ovScore, m_keyRank, m_mass;
    EntrySquares m_squares;
    EntryLists m_table; // values: share
    WholeNumbers m_lowRanks, m_keyRanks;
};

Result<ResultSet> runCopySuppression(const AnalysisContext& context, const Task& task)
{
    return CopySuppression(context).run(task);
}

AnalysisCost copySuppressionCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double V = config.dVocab;
    const double d = config.dModel;
    const double r = config.dHead;
    const double n = std::min(V, static_cast<double>(DiagonalSample::largest));
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double sets = static_cast<double>(setCount * setSize);
    return {heads * (4 * V * d * r + 4 * n * r * (V + d) + 2 * V * r * r)
                + (heads + nullHeads) * 4 * sets * d * r,
            20 * r * V + 16 * n * d + heads * static_cast<double>(tokensListed) * 20};
}

} // namespace

Analysis copySuppressionAnalysis()
{
    using Kind = Picture::Kind;
    return {
        .id = "copy_suppression",
        .number = "B4",
        .title = "Copy suppression",
        .formula =
            "share of tokens among their own 10 lowest of E W_V W_O W_U; rank and softmax mass of the diagonal of W_Uᵀ W_Q W_Kᵀ Eᵀ; E the embedding in use (the paper's is the effective one)",
        .citation = "McDougall et al. 2023, arXiv 2310.04625",
        .needsTokens = true,
        .whyNot = whyNoDiagonal,
        .cost = copySuppressionCost,
        .run = runCopySuppression,
        .arrays = copySuppressionArrays(),
        .pictures =
            {
                {.kind = Kind::HeadGrid,
                 .title = "Suppresses attended tokens; attends to predicted tokens",
                 .arrays = {"analyses/copy_suppression/ov_score", "analyses/copy_suppression/qk_mass"},
                 .signedColors = false,
                 .note =
                     "A copy suppressor attends to the predicted token and suppresses it. The paper uses the effective embedding; here it is the chosen one, raw by default."},
                {.kind = Kind::HeadGrid,
                 .title = "Mean rank of a predicted token as its own key",
                 .arrays = {"analyses/copy_suppression/qk_mean_rank"},
                 .signedColors = false,
                 .note = "0: every predicted token attends most to itself. Random baseline: (V − 1)/2."},
                {.kind = Kind::HeadPlane,
                 .title = "Copy suppression by QK and by OV",
                 .arrays = {"analyses/copy_suppression/qk_mass", "analyses/copy_suppression/ov_score"},
                 .note = "One point per head. Copy suppressors are at the upper right."},
                {.kind = Kind::Table,
                 .title = "Most suppressed tokens relative to row norm",
                 .arrays = {"analyses/copy_suppression/tokens", "analyses/copy_suppression/share",
                            "analyses/copy_suppression/low_ranks", "analyses/copy_suppression/key_ranks"},
                 .note = "From a sample of at most 2048 tokens, drawn by their counts if known."},
            },
        .followsFilter = true,
        .uses = {.tokenCounts = true}};
}

} // namespace headwise
