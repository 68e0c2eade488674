#include "core/analysis/analyses.h"
#include "core/analysis/inputs/token_counts.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/cards.h"
#include "core/analysis/tokens/skip_trigram_bugs.h"
#include "core/circuits/gaussian_order.h"
#include "core/circuits/row_moments.h"
#include "core/circuits/scan/token_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace headwise {

namespace {

constexpr double skipTrigramsFlopLimit = 2e13; // of the sweeps of all heads: minutes on a small machine
constexpr int mostRanked = 100;
constexpr int nullRuns = 4;

std::string skipTrigramsAt(const std::string& name)
{
    return "analyses/skip_trigrams/" + name;
}

std::vector<ArraySpec> skipTrigramsArrays()
{
    std::vector<ArraySpec> all;
    const auto add = [&](const std::vector<ArraySpec>& specs) {
        all.insert(all.end(), specs.begin(), specs.end());
    };
    for (const bool isOutput : {false, true}) {
        const std::string path = skipTrigramsAt(isOutput ? "output" : "destination");
        const std::string title = isOutput ? "Out" : "Destination";
        const std::string line = isOutput ? "row s of F_OV = E W_V W_O W_U, s the given token"
                                          : "column s of F_QK = E W_Q W_Kᵀ Eᵀ, s the given token";
        add(headListSpecs(path, title, "the largest entries of " + line));
        all.push_back({path + "_z", headAxes({Axis::Rank}), title + ": z",
                       "(value − mean) / standard deviation over the tokens in use of " + line});
        all.push_back({path + "_z_null", {Axis::Rank}, "z of Gaussian numbers", gaussianPlacesFormula});
    }
    all.push_back({.path = skipTrigramsAt("source_ids"),
                   .axes = {Axis::Rank},
                   .title = "Source",
                   .definition = "the given token s",
                   .unit = "token",
                   .type = NumberType::Whole});
    for (ArraySpec& spec : all)
        spec.condition = "with --token";
    const std::string condition = "for sweeps up to 2e13 operations or with --heads";
    const std::string rule = ", sources by falling max z(F_QK[:, s]) · max z(F_OV[s, :])";
    add(headListSpecs(skipTrigramsAt("ranked_source"), "Source",
                      "the sources of F_QK = E W_Q W_Kᵀ Eᵀ and F_OV = E W_V W_O W_U" + rule, condition));
    add(headListSpecs(skipTrigramsAt("ranked_destination"), "Destination",
                      "the largest entry of column s of F_QK = E W_Q W_Kᵀ Eᵀ" + rule, condition));
    add(headListSpecs(skipTrigramsAt("ranked_output"), "Out",
                      "the largest entry of row s of F_OV = E W_V W_O W_U" + rule, condition));
    all.push_back(
        {.path = skipTrigramsAt("ranked_null"),
         .axes = {Axis::Rank},
         .title = "Strength of Gaussian circuits",
         .definition =
             "the same ranking where all entries of the tokens in use are independent and Gaussian, mean of "
             + std::to_string(nullRuns) + " simulations",
         .condition = condition});
    add(skipTrigramBugsArrays());
    return all;
}

/// The largest entry of every row of a scan, and its z-score among the entries in use of its row.
struct Peaks {
    std::vector<int> ids;
    std::vector<double> values, z;
};

/// \param rows [r, n], a row of the product per column \param cols [r, m]
Result<Peaks> peaks(const Matrix<double>& rows, const Matrix<double>& cols, const AnalysisOptions& options,
                    const Task& task)
{
    const Matrix<float> rows32 = rows.cast<float>();
    const Matrix<float> cols32 = cols.cast<float>();
    const std::vector<bool> unusedRows = unusedOf(options, rows.cols());
    const std::vector<bool> unusedCols = unusedOf(options, cols.cols());
    const auto found =
        scanRows({{rows32, rows, unusedRows}, {cols32, cols, unusedCols}, 1, ScanEnds::Largest}, task);
    if (!found)
        return found.error();
    const auto moments = rowMoments(Matrix<double>(rows.transpose()), cols, {unusedRows, unusedCols}, task);
    if (!moments)
        return moments.error();
    Peaks out{found->ids, found->values, {}};
    out.z.reserve(out.values.size());
    for (std::size_t i = 0; i < out.values.size(); ++i) {
        const auto row = static_cast<Eigen::Index>(i);
        out.z.push_back((out.values[i] - moments->mean(row)) / moments->deviation(row));
    }
    return out;
}

/// The sources of one head by falling strength; ties to the lower id.
std::vector<TokenEntry> ranked(const Peaks& destinations, const Peaks& outputs)
{
    std::vector<TokenEntry> sources;
    for (std::size_t s = 0; s < outputs.ids.size(); ++s) {
        const double strength = destinations.z[s] * outputs.z[s];
        if (destinations.ids[s] >= 0 && outputs.ids[s] >= 0 && std::isfinite(strength))
            sources.push_back({static_cast<int>(s), strength});
    }
    std::stable_sort(sources.begin(), sources.end(),
                     [](const TokenEntry& a, const TokenEntry& b) { return a.value > b.value; });
    return sources;
}

/// Returns how many of `count` ids are in use.
std::size_t usedCount(const AnalysisOptions& options, int count)
{
    return usedIds(unusedOf(options, count), count).size();
}

/// Returns the null of the strength by rank, if all entries of both circuits are independent Gaussian numbers.
/// NaN beyond the number of tokens in use.
std::vector<double> rankedNull(const ModelConfig& config, std::size_t count, const AnalysisOptions& options)
{
    std::mt19937_64 random(options.inputs.seed);
    const auto largestOf = [&random](double n) { // Φ⁻¹(U^(1/n))
        const double uniform = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
        return upperQuantile(-std::expm1(std::log(uniform) / n));
    };
    std::vector<double> strengths(usedCount(options, config.dVocab));
    const auto keys = static_cast<double>(strengths.size());
    const auto outputs = static_cast<double>(usedCount(options, config.dVocabOut));
    std::vector<double> mean(std::min(count, strengths.size()), 0);
    for (int run = 0; run < nullRuns; ++run) {
        for (double& strength : strengths)
            strength = largestOf(keys) * largestOf(outputs);
        std::sort(strengths.rbegin(), strengths.rend());
        for (std::size_t i = 0; i < mean.size(); ++i)
            mean[i] += strengths[i] / nullRuns;
    }
    mean.resize(count, std::numeric_limits<double>::quiet_NaN());
    return mean;
}

class Ranking {
public:
    Ranking(const AnalysisContext& context, int count)
        : m_context(context)
        , m_sources(EntryLists::perHead(context.circuits.config(), count))
        , m_destinations(m_sources)
        , m_outputs(m_sources)
    {
    }

    Result<Done> run(HeadId head, const Task& task)
    {
        const Circuits& circuits = m_context.circuits;
        const auto qk = circuits.fullQk<double>(head, *m_context.tokens);
        const auto destinations = peaks(qk.right(), qk.left().transpose(), m_context.options, task);
        if (!destinations)
            return destinations.error();
        const auto ov = circuits.fullOv<double>(head, *m_context.tokens);
        const auto outputs = peaks(ov.left().transpose(), ov.right(), m_context.options, task);
        if (!outputs)
            return outputs.error();
        std::vector<TokenEntry> sources = ranked(*destinations, *outputs);
        sources.resize(std::min(sources.size(), m_sources.length()));
        m_sources.set(head, sources);
        m_destinations.set(head, peaksOf(*destinations, sources));
        m_outputs.set(head, peaksOf(*outputs, sources));
        return Done{};
    }

    void putInto(Results& results) const
    {
        putLists(results, skipTrigramsAt("ranked_source"), m_sources);
        putLists(results, skipTrigramsAt("ranked_destination"), m_destinations);
        putLists(results, skipTrigramsAt("ranked_output"), m_outputs);
        results.put(skipTrigramsAt("ranked_null"),
                    rankedNull(m_context.circuits.config(), m_sources.length(), m_context.options));
    }

private:
    static std::vector<TokenEntry> peaksOf(const Peaks& peaks, const std::vector<TokenEntry>& sources)
    {
        std::vector<TokenEntry> entries;
        for (const TokenEntry& source : sources) {
            const auto s = static_cast<std::size_t>(source.id);
            entries.push_back({peaks.ids[s], peaks.values[s]});
        }
        return entries;
    }

    const AnalysisContext& m_context;
    EntryLists m_sources, m_destinations, m_outputs; // values: strength, score, logit
};

double sweepFlops(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    return heads * 2.0 * config.dVocab * (config.dVocab + config.dVocabOut) * config.dHead;
}

bool isSweepable(const ModelConfig& config, const AnalysisOptions& options)
{
    return !options.heads.empty() || sweepFlops(config, options) <= skipTrigramsFlopLimit;
}

Result<Done> putRanking(Results& results, const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    Ranking ranking(context, std::min(mostRanked, config.dVocab));
    const std::vector<HeadId> heads = selectedHeads(config, context.options);
    int count = 0;
    for (const HeadId head : heads) {
        if (task.cancelled())
            return stopped();
        const auto done = ranking.run(head, withoutProgress(task));
        if (!done && done.error().code != ErrorCode::Corrupt)
            return done.error();
        if (!done)
            results.warn(leftOutWarnings(context, "skip-trigrams", {head}));
        task.report(++count, static_cast<int>(heads.size()), "skip-trigrams");
    }
    ranking.putInto(results);
    return Done{};
}

/// One list of the requested token: ids, values and their z-scores in the line.
struct AskedList {
    EntryLists entries;
    RealNumbers z;

    AskedList(const ModelConfig& config, int k)
        : entries(EntryLists::perHead(config, k))
        , z(entries.values)
    {
    }

    void set(HeadId head, const RowVector<double>& line, const std::vector<bool>& unused)
    {
        const std::vector<TokenEntry> top = ends(line, static_cast<int>(entries.length()), unused).top;
        entries.set(head, top);
        const LineStatistics statistics = lineStatistics(line, unused);
        for (std::size_t i = 0; i < top.size(); ++i)
            z.of(head)[i] = statistics.zScore(top[i].value);
    }

    /// \param dVocab of the line
    void putInto(Results& results, const AnalysisOptions& options, const std::string& name, int dVocab) const
    {
        putLists(results, skipTrigramsAt(name), entries);
        results.put(skipTrigramsAt(name + "_z"), z);
        const auto used = static_cast<Eigen::Index>(usedCount(options, dVocab));
        results.put(skipTrigramsAt(name + "_z_null"),
                    gaussianPlaces(static_cast<int>(entries.length()), used));
    }
};

Result<Done> putAsked(Results& results, const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const TokenSide& tokens = *context.tokens;
    const int token = *context.options.inputs.token;
    const int k = listSize(context.options, config.dVocab);
    AskedList destinations(config, k);
    AskedList outputs(config, listSize(context.options, config.dVocabOut));
    const auto asked = [&](HeadId head) { return tokens.embeddingOf(head.layer).vector(token); };
    const auto byQuery =
        forEachLine(context, task,
                    {"destinations", LineEnd::Tokens,
                     [&](HeadId head, const HeadWeights<double>& w) -> RowVector<double> {
                         return (asked(head) * w.W_K) * w.W_Q.transpose();
                     },
                     [&](HeadId head, const RowVector<double>& line) {
                         destinations.set(head, line, unusedOf(context.options, line.size()));
                     }});
    if (!byQuery)
        return byQuery.error();
    const auto byOutput = forEachLine(context, task,
                                      {"outputs", LineEnd::Outputs,
                                       [&](HeadId head, const HeadWeights<double>& w) -> RowVector<double> {
                                           return (asked(head) * w.W_V) * w.W_O;
                                       },
                                       [&](HeadId head, const RowVector<double>& line) {
                                           outputs.set(head, line, unusedOf(context.options, line.size()));
                                       }});
    if (!byOutput)
        return byOutput.error();
    results.warn(*byQuery);
    results.warn(*byOutput);
    destinations.putInto(results, context.options, "destination", config.dVocab);
    outputs.putInto(results, context.options, "output", config.dVocabOut);
    results.put(skipTrigramsAt("source_ids"), std::vector<std::int32_t>(static_cast<std::size_t>(k), token));
    return Done{};
}

Result<ResultSet> runSkipTrigrams(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    Results results = resultsOf(context, skipTrigramsArrays());
    if (context.options.inputs.token) {
        if (const auto done = putAsked(results, context, task); !done)
            return done.error();
    }
    if (isSweepable(config, context.options)) {
        if (const auto done = putRanking(results, context, task); !done)
            return done.error();
    } else {
        results.warn(
            "The search for the strongest skip-trigrams was skipped: covering every head takes more than 2e13 operations on this model; choose fewer (Heads in the window, --heads on the command line).");
    }
    if (const auto& bigrams = context.options.inputs.bigramCounts)
        putSkipTrigramBugs(results, *bigrams, context.options.tableSize);
    return std::move(results).finish();
}

AnalysisCost skipTrigramsCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double V = config.dVocab;
    const double lines = options.inputs.token ? heads * 4 * V * config.dModel : 0;
    const double sweep = isSweepable(config, options) ? sweepFlops(config, options) : 0;
    return {lines + sweep,
            2 * V * config.dHead * 2 * (8 + 4) + heads * (mostRanked * 6 + options.tableSize * 6) * 8};
}

std::string whyNoSkipTrigrams(const ModelConfig& config, const AnalysisOptions& options)
{
    if (options.inputs.token)
        return whyNoToken(config, *options.inputs.token);
    if (isSweepable(config, options))
        return {};
    return "Covering every head takes more than 2e13 operations on this model; choose fewer (Heads in the window, --heads on the command line) or a source token (--token).";
}

} // namespace

Analysis skipTrigramsAnalysis()
{
    return {
        .id = "skip_trigrams",
        .number = "A8, A9",
        .title = "Skip-trigrams",
        .formula =
            "[s] … [dst] → [out]: F_QK[dst, s] of E W_Q W_Kᵀ Eᵀ and F_OV[s, out] of E W_V W_O W_U; sources by max z(F_QK[:, s]) · max z(F_OV[s, :])",
        .citation = "Elhage et al. 2021, \"Interpretation as Skip-Trigrams\"",
        .needsTokens = true,
        .whyNot = whyNoSkipTrigrams,
        .cost = skipTrigramsCost,
        .run = runSkipTrigrams,
        .arrays = skipTrigramsArrays(),
        .pictures =
            {{.kind = Picture::Kind::Table,
              .title = "Skip-trigrams of the token",
              .arrays = {skipTrigramsAt("source_ids"), skipTrigramsAt("destination_ids"),
                         skipTrigramsAt("output_ids"), skipTrigramsAt("destination_values"),
                         skipTrigramsAt("destination_z"), skipTrigramsAt("destination_z_null"),
                         skipTrigramsAt("output_values"), skipTrigramsAt("output_z"),
                         skipTrigramsAt("output_z_null")},
              .note = "Destinations and outs are independent lists: any destination pairs with any out."},
             {.kind = Picture::Kind::Table,
              .title = "Strongest skip-trigrams",
              .arrays = {skipTrigramsAt("ranked_source_ids"), skipTrigramsAt("ranked_destination_ids"),
                         skipTrigramsAt("ranked_output_ids"), skipTrigramsAt("ranked_destination_values"),
                         skipTrigramsAt("ranked_output_values"), skipTrigramsAt("ranked_source_values"),
                         skipTrigramsAt("ranked_null"), skipTrigramsAt("ranked_count")},
              .note =
                  "Strength is the product of the two largest z; the null is that of Gaussian circuits. Count: how often the out directly follows the destination, if bigram counts are known."},
             {.kind = Picture::Kind::Table,
              .title = "Skip-trigrams of the token, absent from the text",
              .arrays = {skipTrigramsAt("absent_destination_ids"), skipTrigramsAt("absent_output_ids"),
                         skipTrigramsAt("absent_strength")},
              .note =
                  "Pairs from both lists that never follow each other in the text of the bigram counts. The head promotes them as a side effect of others."},
             {.kind = Picture::Kind::HeadGrid,
              .title = "Share of its skip-trigrams absent from the text",
              .arrays = {skipTrigramsAt("absent_share")},
              .signedColors = false}},
        .followsFilter = true,
        .uses = {.bigramCounts = true}};
}

} // namespace headwise
