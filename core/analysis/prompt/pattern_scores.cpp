#include "core/analysis/pattern_scores.h"

#include "core/analysis/analyses.h"
#include "core/analysis/prompt/repeated_tokens.h"
#include "core/analysis/selected_heads.h"
#include "core/model/forward.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace headwise {

namespace {

struct Measure {
    double PatternScores::*value;
    const char *name, *title, *definition, *unit;
    bool isShare;
    bool comparesCopies; ///< About the earlier copy, so unrepeated tokens are its control.
};

constexpr std::array<Measure, 7> measures{
    {{&PatternScores::induction, "induction", "Induction", "α[q, q−N+1]", "", true, true},
     {&PatternScores::duplicate, "duplicate", "Duplicate token", "α[q, q−N]", "", true, true},
     {&PatternScores::previous, "previous", "Previous token on random tokens", "α[q, q−1]", "", true, false},
     {&PatternScores::first, "first", "Attention to the first token", "α[q, 0]", "", true, false},
     {&PatternScores::current, "current", "Attention to the current token", "α[q, q]", "", true, false},
     {&PatternScores::entropy, "entropy", "Entropy of the attention", "−Σ_j α[q, j] ln α[q, j]", "nats",
      false, false},
     {&PatternScores::distance, "distance", "Distance of the attention", "Σ_j α[q, j] |q − j|", "tokens",
      false, false}}};

const std::string patternScoresFolder = "analyses/pattern_scores/";

enum class Tokens { Repeated, Control, Difference };

std::string nameOf(const Measure& measure, Tokens tokens)
{
    if (!measure.comparesCopies || tokens == Tokens::Difference)
        return measure.name;
    return std::string(measure.name) + (tokens == Tokens::Repeated ? "_repeated" : "_control");
}

std::string titleOf(const Measure& measure, Tokens tokens)
{
    if (!measure.comparesCopies || tokens == Tokens::Difference)
        return measure.title;
    return std::string(measure.title)
        + (tokens == Tokens::Repeated ? " on repeated tokens" : " on unrepeated tokens");
}

/// \param bos "BOS " or nothing
std::string definitionOf(const Measure& measure, Tokens tokens, const std::string& bos)
{
    const std::string repeated = fmt::format("{0}t₁…t_N t₁…t_N", bos);
    const std::string control = fmt::format("{0}u₁…u_N t₁…t_N", bos);
    if (!measure.comparesCopies || tokens == Tokens::Repeated)
        return fmt::format("mean of {} over the queries q of the second copy in {}", measure.definition,
                           repeated);
    if (tokens == Tokens::Control)
        return fmt::format("mean of {} over the last N queries q in {}", measure.definition, control);
    return fmt::format("mean of {} over the last N queries q in {}, less the same in {}", measure.definition,
                       repeated, control);
}

/// Every array but the null, in the order of the file.
template <typename Add>
void forEachScore(const Add& add)
{
    for (const Measure& measure : measures) {
        add(measure, measure.comparesCopies ? Tokens::Difference : Tokens::Repeated);
        if (measure.comparesCopies) {
            add(measure, Tokens::Repeated);
            add(measure, Tokens::Control);
        }
    }
}

std::vector<ArraySpec> patternScoresArrays()
{
    std::vector<ArraySpec> all;
    forEachScore([&](const Measure& measure, Tokens tokens) {
        all.push_back({.path = patternScoresFolder + nameOf(measure, tokens),
                       .axes = headAxes(),
                       .title = titleOf(measure, tokens),
                       .definition = definitionOf(measure, tokens, "") + ", random tokens, several N",
                       .unit = measure.unit});
        if (measure.isShare)
            all.back().range = {tokens == Tokens::Difference ? -1.0 : 0.0, 1.0};
    });
    all.push_back({patternScoresFolder + "null_scores",
                   {Axis::Layer, Axis::Measure},
                   "Scores of uniform attention",
                   "the scores of a head that attends equally to every key it sees"});
    all.push_back({.path = patternScoresFolder + "slope_distance",
                   .axes = headAxes(),
                   .title = "Distance by the slope alone",
                   .definition = "distance of a head whose scores differ by −slope · (q − j) alone",
                   .unit = "tokens",
                   .condition = "with ALiBi"});
    return all;
}

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

struct SumsOfTokens {
    ScoreSums repeated, control;
};

template <typename Scalar>
Result<Done> addRun(const AnalysisContext& context, const std::vector<int>& tokens, int period,
                    ScoreSums& sums, const Task& task)
{
    const auto run = forward<Scalar>(context.circuits.weights(), tokens, withoutProgress(task));
    if (!run)
        return run.error();
    sums.add(*run, period);
    return Done{};
}

template <typename Scalar>
Result<Done> runSequences(const AnalysisContext& context, const RepetitionPlan& plan, RepeatedTokens& tokens,
                          SumsOfTokens& sums, const Task& task)
{
    const int all = plan.sequences * static_cast<int>(plan.periods.size());
    for (int i = 0; i < all; ++i) {
        const int period = plan.periods[static_cast<std::size_t>(i) % plan.periods.size()];
        const RepeatedSequences drawn = tokens.next(period);
        if (const auto done = addRun<Scalar>(context, drawn.repeated, period, sums.repeated, task); !done)
            return done;
        if (const auto done = addRun<Scalar>(context, drawn.control, period, sums.control, task); !done)
            return done;
        task.report(i + 1, all, "sequences of random tokens");
    }
    return Done{};
}

/// Returns the scores of uniform attention for one layer, averaged over the periods.
PatternScores nullOf(const ModelConfig& config, const RepetitionPlan& plan, int layer)
{
    PatternScores mean;
    for (const int period : plan.periods) {
        const PatternScores null =
            patternScores(uniformPattern(plan.length(period), config.windowOf(layer),
                                         config.bidirectional ? Sight::Everything : Sight::Causal),
                          period);
        for (const Measure& measure : measures)
            mean.*measure.value += null.*measure.value / static_cast<double>(plan.periods.size());
    }
    return mean;
}

/// Returns the scores of uniform attention for every layer. Layers differ only if their windows differ.
std::vector<PatternScores> nullScores(const ModelConfig& config, const RepetitionPlan& plan)
{
    std::vector<PatternScores> nulls;
    for (int layer = 0; layer < config.nLayers; ++layer) {
        const bool isSame = layer > 0 && config.windowOf(layer) == config.windowOf(layer - 1);
        nulls.push_back(isSame ? nulls.back() : nullOf(config, plan, layer));
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
        labels.push_back(nameOf(measure, Tokens::Repeated));
    results.put(patternScoresFolder + "null_scores", {nulls.size(), measures.size()}, std::move(values))
        .attributes["labels"] = std::move(labels);
}

void putSlopeDistances(Results& results, const AnalysisContext& context, const RepetitionPlan& plan)
{
    const ModelConfig& config = context.circuits.config();
    if (config.positional != Positional::Alibi || config.bidirectional)
        return;
    const std::vector<double> slopes = alibiSlopes(config.nHeads);
    RealNumbers distances = RealNumbers::perHead(config);
    for (const HeadId head : selectedHeads(config, context.options)) {
        const double slope = slopes[static_cast<std::size_t>(head.head)] * config.alibiScale;
        double sum = 0;
        for (const int period : plan.periods)
            sum += slopeDistance(slope, plan.length(period), period, config.windowOf(head.layer));
        distances.set(head, sum / static_cast<double>(plan.periods.size()));
    }
    results.put(patternScoresFolder + "slope_distance", std::move(distances));
}

RealNumbers scoresOf(const AnalysisContext& context, SumsOfTokens& sums, const Measure& measure,
                     Tokens tokens)
{
    RealNumbers scores = RealNumbers::perHead(context.circuits.config());
    for (const HeadId head : selectedHeads(context.circuits.config(), context.options)) {
        const double repeated = sums.repeated.of(head).*measure.value;
        const double control = sums.control.of(head).*measure.value;
        scores.set(head,
                   tokens == Tokens::Repeated      ? repeated
                       : tokens == Tokens::Control ? control
                                                   : repeated - control);
    }
    return scores;
}

void putScores(Results& results, const AnalysisContext& context, const RepetitionPlan& plan,
               SumsOfTokens& sums)
{
    const std::vector<PatternScores> nulls = nullScores(context.circuits.config(), plan);
    const bool isOneNull = std::all_of(nulls.begin(), nulls.end(),
                                       [&](const PatternScores& null) { return null == nulls.front(); });
    std::vector<std::string> lengths;
    for (const int period : plan.periods)
        lengths.push_back(fmt::format("{}", period));
    const double count = static_cast<double>(plan.sequences) * static_cast<double>(plan.periods.size());
    forEachScore([&](const Measure& measure, Tokens tokens) {
        RealNumbers scores = scoresOf(context, sums, measure, tokens);
        for (double& score : scores.values())
            score /= count;
        ResultArray& array = results.put(patternScoresFolder + nameOf(measure, tokens), std::move(scores));
        array.definition = fmt::format("{}, {} draws of random tokens for each N = {}",
                                       definitionOf(measure, tokens, plan.hasBos ? "BOS " : ""),
                                       plan.sequences, fmt::join(lengths, ", "));
        if (tokens == Tokens::Difference)
            array.nullMean = 0;
        else if (isOneNull && !nulls.empty())
            array.nullMean = nulls.front().*measure.value;
        array.attributes["sequences"] = count;
        array.attributes["copy_lengths"] = lengths;
        array.attributes["begins_with_bos"] = plan.hasBos;
    });
    putNulls(results, nulls);
    putSlopeDistances(results, context, plan);
}

Result<ResultSet> runPatternScores(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const RepetitionPlan plan(config);
    RepeatedTokens tokens(config, context.options, plan);
    Results results = resultsOf(context, patternScoresArrays());
    if (!tokens.areEnough()) {
        results.warn(
            "The scores on repeated random tokens were skipped: fewer than two ids of this vocabulary have a token.");
        return std::move(results).finish();
    }
    SumsOfTokens sums{ScoreSums(config), ScoreSums(config)};
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
    if (!RepetitionPlan(config).periods.empty())
        return {};
    return fmt::format("It needs a context of two copies of {} tokens; this model's is {}.",
                       shortestRepetition, config.nCtx);
}

AnalysisCost patternScoresCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const RepetitionPlan plan(config);
    const double n = plan.periods.empty() ? 0 : plan.length(plan.periods.front());
    const double patterns = static_cast<double>(config.nLayers) * config.nHeads * n * n;
    const double scalar = options.precision == Precision::F64 ? 8 : 4;
    const double layer = 2.0 * (config.gatedMlp ? 3 : 2) * config.dModel * std::max(1, config.dMlp);
    return {plan.sequences * plan.flops(config),
            scalar
                * (patterns + n * config.dVocabOut + layer / 2
                   + n * config.dModel * (config.nLayers + config.nHeads + 4.0))};
}

std::vector<Picture> patternScoresPictures()
{
    const std::string& folder = patternScoresFolder;
    return {
        {.kind = Picture::Kind::HeadGrid,
         .title = "Induction, previous and duplicate token",
         .arrays = {folder + "induction", folder + "previous", folder + "duplicate"},
         .signedColors = false,
         .note =
             "Shares of attention in the second copy of a random sequence. Induction and duplicate token subtract the same share with other tokens in the first copy. The rest follows the tokens, not their distance."},
        {.kind = Picture::Kind::HeadPlane,
         .title = "Induction on repeated and on unrepeated tokens",
         .arrays = {folder + "induction_repeated", folder + "induction_control"},
         .note = "Heads near the diagonal attend to that distance regardless of the tokens."},
        {Picture::Kind::HeadPlane,
         "Duplicate token on repeated and on unrepeated tokens",
         {folder + "duplicate_repeated", folder + "duplicate_control"}},
        {.kind = Picture::Kind::HeadGrid,
         .title = "Other attention statistics",
         .arrays = {folder + "first", folder + "current", folder + "entropy", folder + "distance"},
         .signedColors = false},
        {.kind = Picture::Kind::HeadPlane,
         .title = "Previous token: from the weights and on random tokens",
         .arrays = {"scores/previous_token", folder + "previous"},
         .note =
             "Heads off the diagonal get their pattern from tokens or earlier layers, not from positions alone."},
        {.kind = Picture::Kind::HeadPlane,
         .title = "Matching and copying, coloured by induction",
         .arrays = {"scores/matching", "scores/copying", folder + "induction"},
         .signedColors = false,
         .note =
             "Induction heads match and copy. If both are high and the colour is not, the head does something else on random tokens."},
        {Picture::Kind::Histogram,
         "Distribution of the scores",
         {folder + "induction", folder + "previous", folder + "duplicate"}}};
}

} // namespace

Analysis patternScoresAnalysis()
{
    return {
        .id = "pattern_scores",
        .number = "G2",
        .title = "Attention on repeated random tokens",
        .formula =
            "mean over the last N queries q of α[q, q−N+1], α[q, q−N], α[q, q−1] in t₁…t_N t₁…t_N, the first two less the same in u₁…u_N t₁…t_N",
        .citation = "Olsson et al. 2022, arXiv 2209.11895; TransformerLens head_detector.py",
        .whyNot = contextTooShort,
        .cost = patternScoresCost,
        .run = runPatternScores,
        .arrays = patternScoresArrays(),
        .needs = {.config = {ConfigField::Positions, ConfigField::RotaryBase, ConfigField::NormEps,
                             ConfigField::Activation, ConfigField::Context}},
        .pictures = patternScoresPictures(),
        .followsFilter = true};
}

} // namespace headwise
