#include "core/analysis/analyses.h"
#include "core/analysis/inputs/token_counts.h"
#include "core/analysis/position/head_ends.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/mean_tokens.h"
#include "core/analysis/shared/norm_divisors.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headwise {

namespace {

constexpr const char* priorFormula = "b_Q W_Kᵀ e_jᵀ/σ̄_j, e = W_E, σ̄_j = mean over positions of σ";
constexpr Eigen::Index tokenPriorSampledTokens = 2048;
constexpr std::size_t valuesAtOnce = 1 << 23; // 64 MB: the heads whose values are computed together

const std::string tokenPriorFolder = "analyses/token_prior/";

/// Returns the ranks of values minus their mean. Equal values share their mean rank.
Eigen::ArrayXd centredRanks(const RowVector<double>& values)
{
    std::vector<Eigen::Index> order(static_cast<std::size_t>(values.size()));
    std::iota(order.begin(), order.end(), Eigen::Index(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](Eigen::Index a, Eigen::Index b) { return values(a) < values(b); });
    Eigen::ArrayXd ranks(values.size());
    for (std::size_t first = 0; first < order.size();) {
        std::size_t end = first + 1;
        while (end < order.size() && values(order[end]) == values(order[first]))
            ++end;
        for (std::size_t i = first; i < end; ++i)
            ranks(order[i]) = static_cast<double>(first + end - 1) / 2;
        first = end;
    }
    return ranks - ranks.mean();
}

/// Returns Spearman's ρ; NaN if all values of one side are equal. \param a, b centred ranks
double correlation(const Eigen::ArrayXd& a, const Eigen::ArrayXd& b)
{
    return (a * b).sum() / std::sqrt(a.square().sum() * b.square().sum());
}

std::vector<ArraySpec> tokenPriorArrays()
{
    const std::string at = tokenPriorFolder;
    const std::string formula = priorFormula;
    const std::pair correlations(-1.0, 1.0);
    std::vector<ArraySpec> all{{at + "count_correlation", headAxes(), "Correlation with the count",
                                "Spearman's ρ of how often a token occurs in a text and " + formula, "",
                                correlations, NumberType::Real, "with --token-counts"},
                               {.path = at + "sampled_counts",
                                .axes = {Axis::Sample},
                                .title = "log₁₀(1 + count)",
                                .definition = "log₁₀(1 + how often the token occurs in a text)",
                                .condition = "with --token-counts"}};
    const std::vector<ArraySpec> ends = headEndsArrays(at, {"", {}, "tokens", formula});
    all.insert(all.end(), ends.begin(), ends.end());
    all.push_back(idsAlong(Axis::Sample, at + "sampled_tokens", "Token ids, evenly spaced"));
    all.push_back({at + "sampled_values", headAxes({Axis::Sample}), "Token prior", formula});
    all.push_back({at + "rank_correlation", headAxes(), "Correlation with the id",
                   "Spearman's ρ of token ids, which follow frequency in BPE, and " + formula, "",
                   correlations});
    all.push_back(
        {at + "null_deviation", headAxes(), "Size for a random direction",
         "‖b_Q W_Kᵀ‖ √(mean over j of ‖e_j/σ̄_j‖²) / √d: values around 0 where b_Q W_Kᵀ loses its direction"});
    return all;
}

struct TokenPriorNumbers {
    HeadEnds ends;
    RealNumbers sampled, correlation, withCounts, deviation;

    TokenPriorNumbers(const ModelConfig& config, int k, std::size_t sample)
        : ends(EntryLists::perHead(config, k))
        , sampled(RealNumbers::perHead(config, sample))
        , correlation(RealNumbers::perHead(config))
        , withCounts(correlation)
        , deviation(correlation)
    {
    }
};

/// Puts a rank correlation over this many tokens, with its null.
ResultArray& putCorrelation(Results& results, const char* name, const RealNumbers& numbers,
                            std::size_t tokens)
{
    ResultArray& array = results.put(tokenPriorFolder + name, numbers);
    array.nullMean = 0.0;
    array.nullDeviation = 1 / std::sqrt(static_cast<double>(tokens) - 1);
    return array;
}

/// Puts the correlation of the priors with the token counts of a text.
/// \param used number of tokens in the correlation
void putCounts(Results& results, const TokenPriorNumbers& numbers, const TokenCounts& counts,
               const std::vector<int>& sample, std::size_t used)
{
    std::vector<double> logs;
    logs.reserve(sample.size());
    for (const int id : sample)
        logs.push_back(std::log10(1 + counts.of(id)));
    putCorrelation(results, "count_correlation", numbers.withCounts, used).attributes["token_counts"] =
        counts.source();
    results.put(tokenPriorFolder + "sampled_counts", std::move(logs)).attributes["token_counts"] =
        counts.source();
}

void putTokenPrior(Results& results, const TokenPriorNumbers& numbers, const std::vector<int>& sample,
                   std::size_t used)
{
    numbers.ends.put(results, tokenPriorFolder, "");
    results.put(tokenPriorFolder + "sampled_tokens", sample);
    results.put(tokenPriorFolder + "sampled_values", numbers.sampled);
    putCorrelation(results, "rank_correlation", numbers.correlation, used);
    results.put(tokenPriorFolder + "null_deviation", numbers.deviation);
    for (ResultArray& array : results.arrays())
        array.attributes["assumption"] = std::string("raw tokens, as layer 0 reads them");
}

/// The priors b_Q W_Kᵀ of the selected heads, with their values over the vocabulary for many heads at once.
class Priors {
public:
    Priors(const AnalysisContext& context, const MeanDivided& tokens)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_tokens(tokens)
        , m_used(sampledIds(m_config, context.options, m_config.dVocab)) // all of them
        , m_sample(sampleOf(m_used))
        , m_counts(context.options.inputs.tokenCounts.get())
        , m_idRanks(centredRanks(RowVector<double>::LinSpaced(static_cast<Eigen::Index>(m_used.size()), 0.0,
                                                              static_cast<double>(m_used.size()) - 1)))
        , m_numbers(m_config, context.options.tableSize, m_sample.size())
    {
        if (!m_counts)
            return;
        RowVector<double> counts(static_cast<Eigen::Index>(m_used.size()));
        std::transform(m_used.begin(), m_used.end(), counts.begin(),
                       [this](int id) { return m_counts->of(id); });
        m_countRanks = centredRanks(counts);
    }

    Result<ResultSet> run(const Task& task)
    {
        Matrix<double> priors(m_config.dModel, Eigen::Index(m_config.nLayers) * m_config.nHeads);
        std::vector<char> isGood(static_cast<std::size_t>(priors.cols()), 0);
        const auto done = forEachHead(m_context, withoutProgress(task), "", [&](HeadId head) -> Result<Done> {
            const FoldedHead h = foldedHead(m_context.circuits.weights(), head);
            const Eigen::VectorXd prior = h.W_K * h.b_Q.transpose();
            if (!prior.allFinite())
                return Error{ErrorCode::Corrupt, headLabel(head) + " holds NaN or infinity."};
            priors.col(placeOf(head)) = prior;
            isGood[static_cast<std::size_t>(placeOf(head))] = 1;
            return Done{};
        });
        if (!done)
            return done.error();
        std::vector<HeadId> heads = selectedHeads(m_config, m_context.options);
        std::erase_if(heads, [&](HeadId head) { return !isGood[static_cast<std::size_t>(placeOf(head))]; });
        const std::size_t atOnce =
            std::max<std::size_t>(1, valuesAtOnce / static_cast<std::size_t>(m_config.dVocab));
        for (std::size_t first = 0; first < heads.size(); first += atOnce) {
            const std::span<const HeadId> some(heads.data() + first, std::min(atOnce, heads.size() - first));
            if (const auto state = readSome(some, priors, task); !state)
                return state.error();
            task.report(static_cast<int>(first + some.size()), static_cast<int>(heads.size()),
                        "token priors");
        }
        Results results = resultsOf(m_context, tokenPriorArrays());
        results.warn(*done);
        if (m_counts)
            putCounts(results, m_numbers, *m_counts, m_sample, m_used.size());
        putTokenPrior(results, m_numbers, m_sample, m_used.size());
        return std::move(results).finish();
    }

private:
    static std::vector<int> sampleOf(const std::vector<int>& used)
    {
        std::vector<int> sample;
        for (const int place : evenlySpaced(static_cast<Eigen::Index>(used.size()), tokenPriorSampledTokens))
            sample.push_back(used[static_cast<std::size_t>(place)]);
        return sample;
    }

    Eigen::Index placeOf(HeadId head) const { return Eigen::Index(head.layer) * m_config.nHeads + head.head; }

    Result<Done> readSome(std::span<const HeadId> heads, const Matrix<double>& priors, const Task& task)
    {
        std::vector<Eigen::Index> places;
        places.reserve(heads.size());
        for (const HeadId head : heads)
            places.push_back(placeOf(head));
        const Matrix<double> asked = priors(Eigen::all, places);
        const auto product = m_tokens.times(asked, task); // [V, heads]
        if (!product)
            return product.error();
        return parallelFor(
            static_cast<int>(heads.size()), withoutProgress(task), "", [&](int i) -> Result<Done> {
                put(heads[static_cast<std::size_t>(i)], product->col(i).transpose(), asked.col(i).norm());
                return Done{};
            });
    }

    /// \param values of the vocabulary
    void put(HeadId head, const RowVector<double>& values, double norm)
    {
        const AnalysisOptions& options = m_context.options;
        m_numbers.ends.set(head, ends(values, options.tableSize, options.unusedTokens));
        setRows(m_numbers.sampled, head, values(m_sample));
        const Eigen::ArrayXd ranks = centredRanks(values(m_used));
        m_numbers.correlation.set(head, correlation(m_idRanks, ranks));
        if (m_counts)
            m_numbers.withCounts.set(head, correlation(m_countRanks, ranks));
        m_numbers.deviation.set(
            head, norm * std::sqrt(m_tokens.meanSquare() / static_cast<double>(m_config.dModel)));
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    const MeanDivided& m_tokens;
    std::vector<int> m_used, m_sample; // token ids
    const TokenCounts* m_counts;       // null: unknown
    Eigen::ArrayXd m_idRanks, m_countRanks;
    TokenPriorNumbers m_numbers;
};

Result<ResultSet> runTokenPrior(const AnalysisContext& context, const Task& task)
{
    const auto tokens = MeanDivided::create(context.circuits.weights(), context.options, task);
    if (!tokens)
        return tokens.error();
    return Priors(context, *tokens).run(task);
}

std::string whyNotTokenPrior(const ModelConfig& config, const AnalysisOptions&)
{
    if (std::string reason = whyNotOneScore(config); !reason.empty())
        return reason;
    if (config.norm != NormKind::LayerNorm && config.attentionBiases == false)
        return "Its queries have no bias, so no token is preferred by every query.";
    return {};
}

AnalysisCost tokenPriorCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double V = config.dVocab, d = config.dModel;
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    return {2 * V * d * (static_cast<double>(addedPositions(config)) + heads) + heads * 20 * V,
            all * 12 * (static_cast<double>(tokenPriorSampledTokens) + 4.0 * options.tableSize) + 40 * V
                + 8 * std::max(V, static_cast<double>(valuesAtOnce))};
}

std::vector<Picture> tokenPriorPictures()
{
    using enum Picture::Kind;
    const auto in = [](std::initializer_list<const char*> names) { return pathsOf("token_prior", names); };
    return {
        {Table, "Tokens that any query attends to", in({"ids", "values"})},
        {Table, "Tokens that any query avoids", in({"lowest_ids", "lowest_values"})},
        {.kind = Points,
         .title = "Token prior against the frequency of tokens",
         .arrays = in({"sampled_counts", "sampled_values"}),
         .note = "In the text of the token counts: log₁₀(1 + count)."},
        {HeadGrid, "Rank correlation with the count", in({"count_correlation"})},
        {.kind = Points,
         .title = "Token prior against the token id",
         .arrays = in({"sampled_tokens", "sampled_values"}),
         .logX = true,
         .note = "The id stands in for unknown counts: in BPE vocabularies it ranks tokens by frequency."},
        {HeadGrid, "Rank correlation with the token id", in({"rank_correlation"})},
        {.kind = HeadGrid,
         .title = "Token prior of a random direction",
         .arrays = in({"null_deviation"}),
         .signedColors = false},
    };
}

} // namespace

Analysis tokenPriorAnalysis()
{
    return {.id = "token_prior",
            .number = "C4",
            .title = "Token prior",
            .formula = priorFormula,
            .citation = "Kamoda et al. 2025, arXiv 2501.15754",
            .whyNot = whyNotTokenPrior,
            .cost = tokenPriorCost,
            .run = runTokenPrior,
            .arrays = tokenPriorArrays(),
            .needs = {.config = {ConfigField::Positions, ConfigField::NormEps}},
            .pictures = tokenPriorPictures(),
            .followsFilter = true,
            .uses = {.tokenCounts = true}};
}

} // namespace headwise
