#include "core/analysis/analyses.h"
#include "core/analysis/inputs/token_counts.h"
#include "core/analysis/position/head_ends.h"
#include "core/analysis/position/token_pairs.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/mean_tokens.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/tokenizer/tokenizer.h"

#include <spdlog/fmt/fmt.h>

#include <optional>

namespace headwise {

namespace {

constexpr const char* detokenizationScoreFormula =
    "ê_i W_Q W_Kᵀ ê_jᵀ, ê = e/mean over positions of σ, i = suffix, j = prefix, without scale, heads of layer 0 only";
constexpr std::size_t sampledSuffixes = 32;
const std::string detokenizationFolder = "analyses/detokenization/";

std::vector<ArraySpec> detokenizationArrays()
{
    const std::string at = detokenizationFolder;
    const std::pair share(0.0, 1.0);
    const std::vector<ArrayAxis> ranks = headAxes({Axis::Rank}), chance{Axis::FalsePositives};
    const std::string area =
        "chance that a prefix which belongs to the suffix scores above one that does not; "
        + ("scores as in " + std::string(detokenizationScoreFormula));
    std::vector<ArraySpec> all = headEndsArrays(
        at,
        {.path = "prefix_",
         .axes = {},
         .title = "prefixes",
         .definition = detokenizationScoreFormula + std::string("; the suffix is the given token"),
         .condition = "with --token"});
    all.push_back(
        {.path = at + "merged_ids",
         .axes = ranks,
         .title = "Prefix plus suffix",
         .definition = "the token whose text is that of the prefix and the suffix; −1: there is none",
         .unit = "token",
         .type = NumberType::Whole,
         .condition = "with --token"});
    for (const char* name : {"prefix_counts", "lowest_prefix_counts"})
        all.push_back({.path = at + name,
                       .axes = ranks,
                       .title = "Count",
                       .definition = "how often the suffix directly follows the prefix in a text",
                       .condition = "with --token and --bigram-counts"});
    all.push_back(
        {.path = at + "score_null_deviation",
         .axes = headAxes(),
         .title = "Size for random directions",
         .definition =
             "‖ê_i‖ √(mean over j of ‖ê_j‖²) ‖W_QK‖_F / d, i = the given token, heads of layer 0 only: scores around 0 where W_QK loses its directions",
         .condition = "with --token"});
    const std::size_t first = all.size();
    all.push_back(
        {at + "mean_auroc", headAxes(), "Mean AUROC", "mean over suffixes of the " + area, "", share});
    all.push_back({at + "auroc", headAxes({Axis::Suffix}), "AUROC by suffix", "the " + area, "", share});
    all.push_back(idsAlong(Axis::Suffix, at + "suffixes", "Suffixes"));
    all.push_back(
        {at + "roc", headAxes({Axis::FalsePositives}), "ROC curve",
         "share of the right prefixes above the score that 0, 1, …, 100 % of the others exceed, mean over suffixes",
         "", share});
    all.push_back(
        {at + "roc_null", chance, "ROC curve of chance", "as many right prefixes as others", "", share});
    for (std::size_t i = first; i < all.size(); ++i)
        all[i].condition = "with a tokenizer or --bigram-counts that have pairs of tokens";
    return all;
}

struct DetokenizationNumbers {
    HeadEnds ends;
    WholeNumbers merged;              // [L, H, k]
    RealNumbers counts, lowestCounts; // [L, H, k], of the prefixes before the suffix
    RealNumbers deviation, bySuffix, mean, curve;

    DetokenizationNumbers(const ModelConfig& config, int k, std::size_t suffixes)
        : ends(EntryLists::perHead(config, k))
        , merged(WholeNumbers::perHead(config, k))
        , counts(RealNumbers::perHead(config, k))
        , lowestCounts(counts)
        , deviation(RealNumbers::perHead(config))
        , bySuffix(RealNumbers::perHead(config, suffixes))
        , mean(deviation)
        , curve(RealNumbers::perHead(config, rocPoints))
    {
    }
};

class Detokenization {
public:
    Detokenization(const AnalysisContext& context, const MeanDivided& tokens)
        : m_weights(context.circuits.weights())
        , m_options(context.options)
        , m_tokens(tokens)
        , m_bigrams(m_options.inputs.bigramCounts.get())
        , m_pairs(pairsOf(m_options, m_weights.config().dVocab))
        , m_suffixes(m_pairs.someSuffixes(sampledSuffixes, m_options.inputs.seed))
        , m_numbers(m_weights.config(), m_options.tableSize, m_suffixes.size())
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

    void put(Results& results) const
    {
        if (m_options.inputs.token) {
            m_numbers.ends.put(results, detokenizationFolder, "prefix_");
            results.put(detokenizationFolder + "merged_ids", m_numbers.merged);
            if (m_bigrams) {
                const auto putCounts = [&](const char* name, const RealNumbers& counts) {
                    results.put(detokenizationFolder + name, counts).attributes["bigram_counts"] =
                        m_bigrams->source();
                };
                putCounts("prefix_counts", m_numbers.counts);
                putCounts("lowest_prefix_counts", m_numbers.lowestCounts);
            }
            results.put(detokenizationFolder + "score_null_deviation", m_numbers.deviation);
            const std::string suffix =
                "; i = " + shownToken(m_options.inputs.tokenizer.get(), *m_options.inputs.token);
            for (ResultArray& array : results.arrays())
                array.definition += suffix;
        }
        if (!m_suffixes.empty())
            putCurves(results);
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
        m_numbers.bySuffix.set(head, std::span<const double>(areas));
        const Eigen::Map<const Eigen::VectorXd> all(areas.data(), static_cast<Eigen::Index>(areas.size()));
        m_numbers.mean.set(head, all.mean());
        setRows(m_numbers.curve, head, curve);
    }

    void setTable(HeadId head, const FoldedHead& h, const RowVector<double>& scores)
    {
        const TokenEnds found = ends(scores, m_options.tableSize, m_options.unusedTokens);
        m_numbers.ends.set(head, found);
        for (std::size_t rank = 0; rank < found.top.size(); ++rank)
            m_numbers.merged.of(head)[rank] = m_pairs.merged(found.top[rank].id, *m_options.inputs.token);
        for (std::size_t rank = 0; m_bigrams && rank < found.top.size(); ++rank) {
            m_numbers.counts.of(head)[rank] = m_bigrams->of(found.top[rank].id, *m_options.inputs.token);
            m_numbers.lowestCounts.of(head)[rank] =
                m_bigrams->of(found.bottom[rank].id, *m_options.inputs.token);
        }
        m_numbers.deviation.set(head, m_tokens.randomScore(*m_options.inputs.token, h));
    }

    void putCurves(Results& results) const
    {
        const std::size_t first = results.arrays().size();
        const std::string area =
            (m_bigrams
                 ? "chance that a prefix which the suffix follows in a text, drawn as often as it does, scores above one which it never follows; "
                 : "chance that a prefix which forms a token with the suffix scores above one that does not; ")
            + ("scores as in " + std::string(detokenizationScoreFormula));
        ResultArray& mean = results.put(detokenizationFolder + "mean_auroc", m_numbers.mean);
        mean.definition = "mean over suffixes of the " + area;
        mean.nullMean = 0.5;
        mean.nullDeviation = m_pairs.randomDeviation(m_suffixes);
        ResultArray& bySuffix = results.put(detokenizationFolder + "auroc", m_numbers.bySuffix);
        bySuffix.definition = "the " + area;
        bySuffix.nullMean = 0.5;
        results.put(detokenizationFolder + "suffixes", m_suffixes);
        results.put(detokenizationFolder + "roc", m_numbers.curve);
        std::vector<double> diagonal;
        for (std::size_t i = 0; i < rocPoints; ++i)
            diagonal.push_back(static_cast<double>(i) / static_cast<double>(rocPoints - 1));
        results.put(detokenizationFolder + "roc_null", std::move(diagonal));
        for (std::size_t i = first; m_bigrams && i < results.arrays().size(); ++i)
            results.arrays()[i].attributes["bigram_counts"] = m_bigrams->source();
    }

    const ProcessedWeights& m_weights;
    const AnalysisOptions& m_options;
    const MeanDivided& m_tokens;
    const BigramCounts* m_bigrams; // null: unknown
    TokenPairs m_pairs;
    std::vector<int> m_suffixes;
    DetokenizationNumbers m_numbers;
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
    Results results = resultsOf(context, detokenizationArrays());
    results.warn(*done);
    run.put(results);
    if (!run.hasPairs()) {
        results.warn(
            context.options.inputs.bigramCounts
                ? "Detokenization has no AUROC: the bigram counts contain no pair of tokens in use."
                : "Detokenization has no AUROC: no two tokens with a text of their own form a third, or there is no tokenizer.");
    }
    return std::move(results).finish();
}

std::string whyNotDetokenization(const ModelConfig& config, const AnalysisOptions& options)
{
    if (std::string reason = whyNotOneScore(config); !reason.empty())
        return reason;
    if (std::string reason = whyNoHeadOfLayer0(options); !reason.empty())
        return reason;
    return options.inputs.token || options.inputs.tokenizer || options.inputs.bigramCounts
        ? ""
        : "It needs a token (--token) as the suffix, the model's tokenizer, or the bigram counts of a text.";
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
        {.kind = Table,
         .title = "Prefixes the suffix looks for",
         .arrays = in({"prefix_ids", "prefix_values", "prefix_counts", "merged_ids"}),
         .note = "The last column is the token that prefix and suffix form."},
        {Table, "Prefixes it avoids",
         in({"lowest_prefix_ids", "lowest_prefix_values", "lowest_prefix_counts"})},
        {.kind = Lines,
         .title = "ROC curve, mean over suffixes",
         .arrays = in({"roc", "roc_null"}),
         .note =
             "Correct prefixes are followed by the suffix in the text of the bigram counts, weighted by count. Without counts, they form a token of the vocabulary with the suffix."},
        {.kind = HeadGrid, .title = "Mean AUROC", .arrays = in({"mean_auroc"}), .signedColors = false},
        {Bars, "AUROC by suffix", in({"auroc"})},
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
            .arrays = detokenizationArrays(),
            .needs = {.config = {ConfigField::Positions, ConfigField::NormEps}},
            .pictures = detokenizationPictures(),
            .followsFilter = true,
            .uses = {.token = true, .bigramCounts = true}};
}

} // namespace headwise
