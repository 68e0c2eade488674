#include "core/analysis/analyses.h"
#include "core/analysis/inputs/token_counts.h"
#include "core/analysis/per_head.h"
#include "core/analysis/position/head_ends.h"
#include "core/analysis/position/token_pairs.h"
#include "core/analysis/shared/mean_tokens.h"
#include "core/analysis/shared/positions_shown.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace headwise {

namespace {

constexpr const char* detokenizationScoreFormula =
    "ê_i W_Q W_Kᵀ ê_jᵀ, ê = e/mean over positions of σ, i = suffix, j = prefix, without scale";
constexpr std::size_t sampledSuffixes = 32;
const std::string detokenizationFolder = "analyses/detokenization/";

struct DetokenizationArrays {
    HeadEnds ends;
    std::vector<std::int32_t> merged; // [L, H, k]
    PerHead counts, lowestCounts;     // [L, H, k], of the prefixes before the suffix
    PerHead deviation, bySuffix, mean, curve;

    DetokenizationArrays(const ModelConfig& config, int k, std::size_t suffixes)
        : ends(config, 1, k)
        , merged(static_cast<std::size_t>(config.nLayers) * config.nHeads * k, -1)
        , counts(config, k)
        , lowestCounts(counts)
        , deviation(config)
        , bySuffix(config, static_cast<int>(std::max<std::size_t>(1, suffixes)))
        , mean(config)
        , curve(config, static_cast<int>(rocPoints))
    {
    }
};

class Detokenization {
public:
    Detokenization(const AnalysisContext& context, const MeanDivided& tokens)
        : m_context(context)
        , m_weights(context.circuits.weights())
        , m_options(context.options)
        , m_tokens(tokens)
        , m_bigrams(m_options.inputs.bigramCounts.get())
        , m_pairs(pairsOf(m_options, m_weights.config().dVocab))
        , m_suffixes(m_pairs.someSuffixes(sampledSuffixes, m_options.inputs.seed))
        , m_arrays(m_weights.config(), m_options.tableSize, m_suffixes.size())
    {
    }

    Result<Done> run(HeadId head, const Task& task)
    {
        if (head.layer > 0)
            return Done{};
        const FoldedHead h = foldedHead(m_weights, head);
        std::vector<int> suffixes = m_suffixes;
        if (m_options.inputs.token)
            suffixes.push_back(*m_options.inputs.token);
        Matrix<double> sought(m_weights.config().dModel, static_cast<Eigen::Index>(suffixes.size()));
        for (std::size_t i = 0; i < suffixes.size(); ++i)
            sought.col(static_cast<Eigen::Index>(i)) =
                h.W_K * (m_tokens.row(suffixes[i]) * h.W_Q).transpose();
        Task single = withoutProgress(task);
        single.threads = 1;                                 // heads run side by side
        const auto scores = m_tokens.times(sought, single); // [V, suffixes]
        if (!scores)
            return scores.error();
        setCurves(head, *scores);
        if (m_options.inputs.token)
            setTable(head, h, scores->col(scores->cols() - 1).transpose());
        return Done{};
    }

    ResultSet results() const
    {
        const Precision precision = m_options.precision;
        ResultSet results;
        if (m_options.inputs.token) {
            m_arrays.ends.addTo(results, precision,
                                {detokenizationFolder + "prefix_", "prefixes", detokenizationScoreFormula},
                                "");
            ResultArray merged = results.arrays[0];
            merged.path = detokenizationFolder + "merged_ids";
            merged.title = "Prefix and suffix together";
            merged.definition =
                "the token whose text is that of the prefix and the suffix; −1: there is none";
            merged.values = m_arrays.merged;
            results.arrays.push_back(std::move(merged));
            if (m_bigrams)
                addCounts(results);
            results.arrays.push_back(m_arrays.deviation.array(
                precision, detokenizationFolder + "score_null_deviation", "Size for random directions",
                "‖ê_i‖ √(mean over j of ‖ê_j‖²) ‖W_QK‖_F / d: scores around 0 where W_QK loses its directions"));
        }
        if (!m_suffixes.empty())
            addCurves(results);
        return results;
    }

    bool hasPairs() const { return !m_suffixes.empty(); }

private:
    static TokenPairs pairsOf(const AnalysisOptions& options, int dVocab)
    {
        const Tokenizer* tokenizer = options.inputs.tokenizer.get();
        if (options.inputs.bigramCounts)
            return {*options.inputs.bigramCounts, tokenizer, dVocab, options.unusedTokens};
        return tokenizer ? TokenPairs(*tokenizer, dVocab, options.unusedTokens) : TokenPairs();
    }

    void addCounts(ResultSet& results) const
    {
        for (const bool isLowest : {false, true}) {
            ResultArray array =
                (isLowest ? m_arrays.lowestCounts : m_arrays.counts)
                    .array(m_options.precision,
                           detokenizationFolder + (isLowest ? "lowest_prefix_counts" : "prefix_counts"),
                           "Count", "how often the suffix directly follows the prefix in a text", Axis::Rank);
            array.attributes["bigram_counts"] = m_bigrams->source();
            results.arrays.push_back(std::move(array));
        }
    }

    void setCurves(HeadId head, const Matrix<double>& scores)
    {
        std::vector<double> areas;
        Eigen::VectorXd curve = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(rocPoints));
        for (std::size_t i = 0; i < m_suffixes.size(); ++i) {
            const Roc roc = m_pairs.rocOf(m_suffixes[i], scores.col(static_cast<Eigen::Index>(i)));
            areas.push_back(roc.area);
            curve += roc.curve / static_cast<double>(m_suffixes.size());
        }
        if (areas.empty())
            return;
        m_arrays.bySuffix.set(head, areas);
        const Eigen::Map<const Eigen::VectorXd> all(areas.data(), static_cast<Eigen::Index>(areas.size()));
        m_arrays.mean.set(head, all.mean());
        setRows(m_arrays.curve, head, curve);
    }

    void setTable(HeadId head, const FoldedHead& h, const RowVector<double>& scores)
    {
        const TokenEnds found = ends(scores, m_options.tableSize, m_options.unusedTokens);
        m_arrays.ends.set(head, 0, found);
        const std::size_t at = (static_cast<std::size_t>(head.layer) * m_weights.config().nHeads + head.head)
            * static_cast<std::size_t>(m_options.tableSize);
        for (std::size_t rank = 0; rank < found.top.size(); ++rank)
            m_arrays.merged[at + rank] = m_pairs.merged(found.top[rank].id, *m_options.inputs.token);
        for (std::size_t rank = 0; m_bigrams && rank < found.top.size(); ++rank) {
            m_arrays.counts.row(head)[rank] = m_bigrams->of(found.top[rank].id, *m_options.inputs.token);
            m_arrays.lowestCounts.row(head)[rank] =
                m_bigrams->of(found.bottom[rank].id, *m_options.inputs.token);
        }
        m_arrays.deviation.set(head, m_tokens.randomScore(*m_options.inputs.token, h));
    }

    void addCurves(ResultSet& results) const
    {
        const Precision precision = m_options.precision;
        const std::size_t first = results.arrays.size();
        const std::string area =
            (m_bigrams
                 ? "chance that a prefix which the suffix follows in a text, drawn as often as it does, scores above one which it never follows; "
                 : "chance that a prefix which forms a token with the suffix scores above one that does not; ")
            + ("scores as in " + std::string(detokenizationScoreFormula));
        results.arrays.push_back(m_arrays.mean.array(precision, detokenizationFolder + "mean_auroc",
                                                     "Mean AUROC", "mean over suffixes of the " + area));
        ResultArray& mean = results.arrays.back();
        mean.range = {0.0, 1.0};
        mean.nullMean = 0.5;
        mean.nullDeviation = m_pairs.randomDeviation(m_suffixes);
        results.arrays.push_back(m_arrays.bySuffix.array(precision, detokenizationFolder + "auroc",
                                                         "AUROC by suffix", "the " + area, Axis::Suffix));
        results.arrays.back().range = {0.0, 1.0};
        results.arrays.back().nullMean = 0.5;
        results.arrays.push_back(
            idArray(detokenizationFolder + "suffixes", "Suffixes", m_suffixes, Axis::Suffix));
        results.arrays.push_back(m_arrays.curve.array(
            precision, detokenizationFolder + "roc", "ROC curve",
            "share of the right prefixes above the score that 0, 1, …, 100 % of the others exceed, mean over suffixes",
            Axis::FalsePositives));
        results.arrays.back().range = {0.0, 1.0};
        std::vector<double> diagonal;
        for (std::size_t i = 0; i < rocPoints; ++i)
            diagonal.push_back(static_cast<double>(i) / static_cast<double>(rocPoints - 1));
        ResultArray null = realArray(precision, detokenizationFolder + "roc_null", {rocPoints},
                                     std::move(diagonal), {Axis::FalsePositives});
        null.title = "ROC curve of chance";
        null.definition = "as many right prefixes as others";
        null.range = {0.0, 1.0};
        results.arrays.push_back(std::move(null));
        for (std::size_t i = first; m_bigrams && i < results.arrays.size(); ++i)
            results.arrays[i].attributes["bigram_counts"] = m_bigrams->source();
    }

    const AnalysisContext& m_context;
    const ProcessedWeights& m_weights;
    const AnalysisOptions& m_options;
    const MeanDivided& m_tokens;
    const BigramCounts* m_bigrams; // null: unknown
    TokenPairs m_pairs;
    std::vector<int> m_suffixes;
    DetokenizationArrays m_arrays;
};

Result<ResultSet> runDetokenization(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const std::optional<int> token = context.options.inputs.token;
    if (token && (*token < 0 || *token >= config.dVocab))
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("There is no token {}: the ids of this model are 0 to {}.", *token,
                                 config.dVocab - 1)};
    const auto tokens = MeanDivided::create(context.circuits.weights(), context.options, task);
    if (!tokens)
        return tokens.error();
    Detokenization run(context, *tokens);
    const auto done =
        forEachHead(context, task, "detokenization scores", [&](HeadId head) { return run.run(head, task); });
    if (!done)
        return done.error();
    ResultSet results = run.results();
    results.warnings = *done;
    if (!run.hasPairs()) {
        results.warnings.emplace_back(
            context.options.inputs.bigramCounts
                ? "Detokenization has no AUROC: the bigram counts have no pair of tokens in use."
                : "Detokenization has no AUROC: no two tokens with a text of their own form a third, or there is no tokenizer.");
    }
    return results;
}

std::string whyNotDetokenization(const ModelConfig& config, const AnalysisOptions& options)
{
    if (std::string reason = whyNotOneScore(config); !reason.empty())
        return reason;
    if (std::string reason = whyNoHeadOfLayer0(options); !reason.empty())
        return reason;
    return options.inputs.token || options.inputs.tokenizer || options.inputs.bigramCounts
        ? ""
        : "It needs a token (--token), the suffix, the model's tokenizer, or the bigram counts of a text.";
}

AnalysisCost detokenizationCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = countOfLayer0(config, options);
    const double V = config.dVocab, d = config.dModel, S = static_cast<double>(sampledSuffixes) + 1;
    return {2 * V * d * (static_cast<double>(addedPositions(config)) + heads * S) + heads * S * V * 50,
            V * (8 * S * 2 + 200) + 1024 * d * 24};
}

std::vector<Picture> detokenizationPictures()
{
    using enum Picture::Kind;
    const auto in = [](std::initializer_list<const char*> names) { return pathsOf("detokenization", names); };
    return {
        {Table, "Prefixes the suffix looks for",
         in({"prefix_ids", "prefix_values", "prefix_counts", "merged_ids"}), false, false, true,
         "The last column is the token that both form together."},
        {Table,
         "Prefixes it avoids",
         in({"lowest_prefix_ids", "lowest_prefix_values", "lowest_prefix_counts"}),
         false,
         false,
         true,
         {}},
        {Lines, "ROC curve, mean over suffixes", in({"roc", "roc_null"}), false, false, true,
         "Right prefixes are those that the suffix follows in the text of the bigram counts, each as often as it does; without counts, those that form a token of the vocabulary with the suffix."},
        {HeadGrid, "Mean AUROC", in({"mean_auroc"}), false, false, false, {}},
        {Bars, "AUROC by suffix", in({"auroc"}), false, false, true, {}},
    };
}

} // namespace

Analysis detokenizationAnalysis()
{
    return {.id = "detokenization",
            .number = "C5",
            .title = "Detokenization",
            .formula = detokenizationScoreFormula,
            .citation = "Kamoda et al. 2025, arXiv 2501.15754",
            .whyNot = whyNotDetokenization,
            .cost = detokenizationCost,
            .run = runDetokenization,
            .pictures = detokenizationPictures(),
            .followsFilter = true};
}

} // namespace headwise
