#include "core/analysis/pattern_scores.h"

#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/model/forward.h"
#include "core/model/merges.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <utility>

namespace headwise {

namespace {

constexpr int longestCopy = 50;
constexpr int shortestCopy = 3; // below, "the token after the copy" is the current or the previous one
constexpr int mostSequences = 50;
constexpr double flopsBudget = 1e12;

struct Measure {
    double PatternScores::*value;
    const char *name, *title, *definition, *unit;
    bool isShare;
};

constexpr std::array<Measure, 7> measures{
    {{&PatternScores::induction, "induction", "Induction", "α[q, q−N+1]", "", true},
     {&PatternScores::duplicate, "duplicate", "Duplicate token", "α[q, q−N]", "", true},
     {&PatternScores::previous, "previous", "Previous token on random tokens", "α[q, q−1]", "", true},
     {&PatternScores::first, "first", "Attention to the first token", "α[q, 0]", "", true},
     {&PatternScores::current, "current", "Attention to the current token", "α[q, q]", "", true},
     {&PatternScores::entropy, "entropy", "Entropy of the attention", "−Σ_j α[q, j] ln α[q, j]", "nats",
      false},
     {&PatternScores::distance, "distance", "Distance of the attention", "Σ_j α[q, j] |q − j|", "tokens",
      false}}};

const std::string patternScoresFolder = "analyses/pattern_scores/";

std::vector<ArraySpec> patternScoresArrays()
{
    std::vector<ArraySpec> all;
    for (const Measure& measure : measures) {
        all.push_back(
            {.path = patternScoresFolder + measure.name,
             .axes = headAxes(),
             .title = measure.title,
             .definition = fmt::format(
                 "mean of {} over the queries q of the second copy in sequences t₁…t_N t₁…t_N of random tokens",
                 measure.definition),
             .unit = measure.unit});
        if (measure.isShare)
            all.back().range = {0.0, 1.0};
    }
    all.push_back({patternScoresFolder + "null_scores",
                   {Axis::Layer, Axis::Measure},
                   "Scores of even attention",
                   "the measures of a head that attends alike to every key it may see"});
    return all;
}

/// Settings of the random sequences, derived only from the sizes.
struct Plan {
    bool hasBos = false;
    int copyLength = 0;
    int sequences = 0;

    explicit Plan(const ModelConfig& config)
        : hasBos(config.bosTokenId && *config.bosTokenId >= 0 && *config.bosTokenId < config.dVocab)
        , copyLength(std::min(longestCopy, (config.nCtx - hasBos) / 2))
        , sequences(static_cast<int>(
              std::clamp<double>(flopsBudget / flops(config), 1.0, static_cast<double>(mostSequences))))
    {
    }

    int length() const { return 2 * copyLength + hasBos; }
    double flops(ModelConfig config) const
    {
        config.nCtx = std::max(1, length());
        return countFlops(config).perSequence;
    }
};

/// [BOS] t₁ … t_N t₁ … t_N, one after another from one seed.
class RandomTokens {
public:
    RandomTokens(const ModelConfig& config, const AnalysisOptions& options, const Plan& plan)
        : m_plan(plan)
        , m_random(options.inputs.seed)
    {
        if (plan.hasBos)
            m_bos = *config.bosTokenId;
        for (int id = 0; id < config.dVocab; ++id) {
            const bool isUnused = static_cast<std::size_t>(id) < options.unusedTokens.size()
                && options.unusedTokens[static_cast<std::size_t>(id)];
            if (id != m_bos && !isUnused)
                m_ids.push_back(id);
        }
    }

    bool areEnough() const { return m_ids.size() >= 2; }

    /// Draws a copy without repeated tokens if the vocabulary is large enough.
    std::vector<int> next()
    {
        std::vector<int> copy;
        for (int i = 0; i < m_plan.copyLength; ++i) {
            const auto drawn = static_cast<std::size_t>(i) % m_ids.size();
            // Avoids std::uniform_int_distribution, whose results depend on the library.
            const std::size_t at = drawn + m_random() % (m_ids.size() - drawn);
            std::swap(m_ids[drawn], m_ids[at]);
            copy.push_back(m_ids[drawn]);
        }
        std::vector<int> tokens;
        if (m_bos >= 0)
            tokens.push_back(m_bos);
        for (int repeat = 0; repeat < 2; ++repeat)
            tokens.insert(tokens.end(), copy.begin(), copy.end());
        return tokens;
    }

private:
    const Plan& m_plan;
    std::mt19937_64 m_random;
    int m_bos = -1;
    std::vector<int> m_ids;
};

/// Sums of every head's measures over the sequences.
class ScoreSums {
public:
    explicit ScoreSums(const ModelConfig& config)
        : m_config(config)
        , m_sums(static_cast<std::size_t>(config.nLayers) * config.nHeads)
    {
    }

    template <typename Scalar>
    void add(const ForwardResult<Scalar>& run, int copyLength)
    {
        for (int layer = 0; layer < m_config.nLayers; ++layer) {
            for (int head = 0; head < m_config.nHeads; ++head) {
                const PatternScores found = patternScores(
                    run.patterns[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)],
                    copyLength);
                for (const Measure& measure : measures)
                    of({layer, head}).*measure.value += found.*measure.value;
            }
        }
    }

    PatternScores& of(HeadId head)
    {
        return m_sums[static_cast<std::size_t>(head.layer) * m_config.nHeads + head.head];
    }

private:
    const ModelConfig& m_config;
    std::vector<PatternScores> m_sums;
};

template <typename Scalar>
Result<Done> runSequences(const AnalysisContext& context, const Plan& plan, RandomTokens& tokens,
                          ScoreSums& sums, const Task& task)
{
    for (int i = 0; i < plan.sequences; ++i) {
        const auto run = forward<Scalar>(context.circuits.weights(), tokens.next(), withoutProgress(task));
        if (!run)
            return run.error();
        sums.add(*run, plan.copyLength);
        task.report(i + 1, plan.sequences, "sequences of random tokens");
    }
    return Done{};
}

/// Returns the scores of uniform attention for every layer. Layers differ only if their windows differ.
std::vector<PatternScores> nullScores(const ModelConfig& config, const Plan& plan)
{
    std::vector<PatternScores> nulls;
    for (int layer = 0; layer < config.nLayers; ++layer) {
        if (layer > 0 && config.windowOf(layer) == config.windowOf(layer - 1)) {
            nulls.push_back(nulls.back());
            continue;
        }
        nulls.push_back(
            patternScores(uniformPattern(plan.length(), config.windowOf(layer),
                                         config.bidirectional ? Sight::Everything : Sight::Causal),
                          plan.copyLength));
    }
    return nulls;
}

void putNulls(Results& results, const std::vector<PatternScores>& nulls)
{
    std::vector<double> values;
    std::vector<std::string> labels;
    labels.reserve(measures.size());
    for (const PatternScores& null : nulls)
        for (const Measure& measure : measures)
            values.push_back(null.*measure.value);
    for (const Measure& measure : measures)
        labels.emplace_back(measure.name);
    results.put(patternScoresFolder + "null_scores", {nulls.size(), measures.size()}, std::move(values))
        .attributes["labels"] = std::move(labels);
}

void putScores(Results& results, const AnalysisContext& context, const Plan& plan, ScoreSums& sums)
{
    const ModelConfig& config = context.circuits.config();
    const std::vector<PatternScores> nulls = nullScores(config, plan);
    const bool isOneNull = std::all_of(nulls.begin(), nulls.end(),
                                       [&](const PatternScores& null) { return null == nulls.front(); });
    for (const Measure& measure : measures) {
        RealNumbers scores = RealNumbers::perHead(config);
        for (const HeadId head : selectedHeads(config, context.options))
            scores.set(head, sums.of(head).*measure.value / plan.sequences);
        ResultArray& array = results.put(patternScoresFolder + measure.name, std::move(scores));
        array.definition = fmt::format(
            "mean of {} over the queries q of the second copy in {}t₁…t_N t₁…t_N, N = {} random tokens, {} sequences",
            measure.definition, plan.hasBos ? "BOS " : "", plan.copyLength, plan.sequences);
        if (isOneNull && !nulls.empty())
            array.nullMean = nulls.front().*measure.value;
        array.attributes["sequences"] = static_cast<double>(plan.sequences);
        array.attributes["copy_length"] = static_cast<double>(plan.copyLength);
        array.attributes["begins_with_bos"] = plan.hasBos;
    }
    putNulls(results, nulls);
}

Result<ResultSet> runPatternScores(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const Plan plan(config);
    RandomTokens tokens(config, context.options, plan);
    Results results = resultsOf(context, patternScoresArrays());
    if (!tokens.areEnough()) {
        results.warn(
            "The scores on repeated random tokens were left out. Fewer than two ids of this vocabulary have a token.");
        return std::move(results).finish();
    }
    ScoreSums sums(config);
    const auto done = context.options.precision == Precision::F64
        ? runSequences<double>(context, plan, tokens, sums, task)
        : runSequences<float>(context, plan, tokens, sums, task);
    if (!done)
        return done.error();
    putScores(results, context, plan, sums);
    return std::move(results).finish();
}

std::string contextTooShort(const ModelConfig& config, const AnalysisOptions&)
{
    if (Plan(config).copyLength >= shortestCopy)
        return {};
    return fmt::format("It needs a context of two copies of {} tokens; this model's is {}.", shortestCopy,
                       config.nCtx);
}

AnalysisCost patternScoresCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const Plan plan(config);
    const double n = plan.length();
    const double patterns = static_cast<double>(config.nLayers) * config.nHeads * n * n;
    const double scalar = options.precision == Precision::F64 ? 8 : 4;
    const double layer = 2.0 * (config.gatedMlp ? 3 : 2) * config.dModel * std::max(1, config.dMlp);
    return {plan.sequences * plan.flops(config),
            scalar
                * (patterns + n * config.dVocabOut + layer / 2
                   + n * config.dModel * (config.nLayers + config.nHeads + 4.0))};
}

} // namespace

Analysis patternScoresAnalysis()
{
    const std::string& folder = patternScoresFolder;
    return {
        .id = "pattern_scores",
        .number = "G2",
        .title = "Attention on repeated random tokens",
        .formula = "mean over q of α[q, q−N+1], α[q, q−N], α[q, q−1] in the second copy of t₁…t_N t₁…t_N",
        .citation = "Olsson et al. 2022, arXiv 2209.11895; TransformerLens head_detector.py",
        .whyNot = contextTooShort,
        .cost = patternScoresCost,
        .run = runPatternScores,
        .arrays = patternScoresArrays(),
        .pictures =
            {{Picture::Kind::HeadGrid,
              "Induction, previous and duplicate token",
              {folder + "induction", folder + "previous", folder + "duplicate"},
              false,
              false,
              false,
              "Shares of attention in the second copy of a random sequence; even attention gives the null."},
             {Picture::Kind::HeadGrid,
              "Where else attention goes",
              {folder + "first", folder + "current", folder + "entropy", folder + "distance"},
              false,
              false,
              false,
              {}},
             {Picture::Kind::HeadPlane,
              "Previous token: from the weights and on random tokens",
              {"scores/previous_token", folder + "previous"},
              false,
              false,
              true,
              "Heads off the diagonal owe their pattern to tokens or to earlier layers, not to positions alone."},
             {Picture::Kind::HeadPlane,
              "Matching and copying, coloured by induction",
              {"scores/matching", "scores/copying", folder + "induction"},
              false,
              false,
              false,
              "Induction heads match and copy; where both are high and the colour is not, the head does something else on random tokens."},
             {Picture::Kind::Histogram,
              "How many heads score how much",
              {folder + "induction", folder + "previous", folder + "duplicate"},
              false,
              false,
              true,
              {}}},
        .followsFilter = true};
}

} // namespace headwise
