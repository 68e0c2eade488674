#include "core/analysis/analyses.h"
#include "core/analysis/shared/cards.h"

#include <cmath>

namespace headwise {

namespace {

std::string directionCardAt(const std::string& name)
{
    return "analyses/direction_card/" + name;
}

/// One list of tokens and the side of the head that x goes through to reach them.
struct List {
    const char* name;
    const char* title;
    const char* line;
    LineEnd end;
    RowVector<double> (*through)(const RowVector<double>& x, const HeadWeights<double>& w);
};

const std::array<List, 3>& lists()
{
    static const std::array<List, 3> all{
        {{"output", "Output", "x W_V W_O W_U", LineEnd::Outputs,
          [](const RowVector<double>& x, const HeadWeights<double>& w) -> RowVector<double> {
              return (x * w.W_V) * w.W_O;
          }},
         {"key", "Key", "x W_Q (E W_K)ᵀ: what a query along x attends to", LineEnd::Tokens,
          [](const RowVector<double>& x, const HeadWeights<double>& w) -> RowVector<double> {
              return (x * w.W_Q) * w.W_K.transpose();
          }},
         {"query", "Query", "x W_K (E W_Q)ᵀ: what attends to a key along x", LineEnd::Tokens,
          [](const RowVector<double>& x, const HeadWeights<double>& w) -> RowVector<double> {
              return (x * w.W_K) * w.W_Q.transpose();
          }}}};
    return all;
}

std::vector<ArraySpec> directionCardArrays()
{
    std::vector<ArraySpec> all{
        {directionCardAt("gain"), headAxes(), "Gain of OV along the direction", "‖x W_V W_O‖₂ / ‖x‖₂"},
        {directionCardAt("gain_null"), headAxes(), "Gain of OV over all directions",
         "‖W_V W_O‖_F / √d_model: root mean square over all directions"}};
    for (const List& list : lists()) {
        const auto specs = topListSpecs(directionCardAt(list.name), list.title, list.line);
        all.insert(all.end(), specs.begin(), specs.end());
    }
    return all;
}

/// ‖x W_OV‖ / ‖x‖, and its root mean square over all directions, ‖W_OV‖_F / √d.
Result<Done> putGain(Results& results, const AnalysisContext& context, const RowVector<double>& x,
                     const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    RealNumbers gain = RealNumbers::perHead(config);
    RealNumbers null = gain;
    const auto done = forEachHead(context, task, "gains", [&](HeadId head) -> Result<Done> {
        const auto w = context.circuits.weights().head<double>(head);
        const Matrix<double> writing = w.W_O * w.W_O.transpose();
        const RowVector<double> read = x * w.W_V;
        const Matrix<double> reading = w.W_V.transpose() * w.W_V;
        if (!writing.allFinite() || !reading.allFinite())
            return Error{ErrorCode::Corrupt, headLabel(head) + " holds NaN or infinity."};
        gain.set(head, (read * w.W_O).norm() / x.norm()); // 0/0: NaN
        null.set(head, std::sqrt(std::max(0.0, reading.cwiseProduct(writing).sum() / config.dModel)));
        return Done{};
    });
    if (!done)
        return done.error();
    results.warn(*done);
    results.put(directionCardAt("gain"), std::move(gain));
    results.put(directionCardAt("gain_null"), std::move(null));
    return Done{};
}

Result<ResultSet> runDirectionCard(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const std::vector<double>& given = context.options.inputs.direction;
    const RowVector<double> x =
        Eigen::Map<const RowVector<double>>(given.data(), static_cast<Eigen::Index>(given.size()));
    Results results = resultsOf(context, directionCardArrays());
    if (const auto done = putGain(results, context, x, task); !done)
        return done.error();
    for (const List& list : lists()) {
        const bool isOutput = list.end == LineEnd::Outputs;
        const int k = listSize(context.options, isOutput ? config.dVocabOut : config.dVocab);
        EntryLists entries = EntryLists::perHead(config, k);
        RealNumbers null = RealNumbers::perHead(config, k);
        const auto done =
            forEachLine(context, task,
                        {"tokens of the direction", list.end,
                         [&](HeadId, const HeadWeights<double>& w) { return list.through(x, w); },
                         [&](HeadId head, const RowVector<double>& line) {
                             putTop(entries, null, head, line, context.options);
                         }});
        if (!done)
            return done.error();
        putLists(results, directionCardAt(list.name), entries);
        results.put(directionCardAt(list.name) + "_null", std::move(null));
    }
    return std::move(results).finish();
}

AnalysisCost directionCardCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double d = config.dModel;
    return {heads * 2 * d * (2.0 * config.dVocab + config.dVocabOut + 4.0 * config.dHead * config.dHead),
            config.nHeads * 8.0 * 2 * config.dVocab + heads * options.tableSize * 60};
}

std::string whyNoDirection(const ModelConfig& config, const AnalysisOptions& options)
{
    const auto& x = options.inputs.direction;
    if (x.empty())
        return {}; // The row's `needs` already report the missing input.
    if (x.size() != static_cast<std::size_t>(config.dModel))
        return "The direction has " + std::to_string(x.size())
            + " numbers, but the residual stream of this model " + std::to_string(config.dModel) + ".";
    const bool isFinite = std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
    return isFinite ? "" : "The direction holds NaN or infinity.";
}

} // namespace

Analysis directionCardAnalysis()
{
    InputNeeds needs;
    needs.direction = true;
    const auto table = [](const char* title, const std::string& name, const char* note) {
        return Picture{.kind = Picture::Kind::Table,
                       .title = title,
                       .arrays = {directionCardAt(name + "_ids"), directionCardAt(name + "_values"),
                                  directionCardAt(name + "_null")},
                       .note = note};
    };
    return {
        .id = "direction_card",
        .number = "A10",
        .title = "Direction card",
        .formula =
            "one direction x of the residual stream through every head: ‖x W_V W_O‖/‖x‖, the largest entries of x W_V W_O W_U, x W_Q (E W_K)ᵀ and x W_K (E W_Q)ᵀ",
        .citation = "Elhage et al. 2021, \"Summarizing OV/QK matrices\"",
        .needsTokens = true,
        .whyNot = whyNoDirection,
        .cost = directionCardCost,
        .run = runDirectionCard,
        .arrays = directionCardArrays(),
        .needs = needs,
        .pictures = {{.kind = Picture::Kind::HeadGrid,
                      .title = "Gain of OV",
                      .arrays = {directionCardAt("gain"), directionCardAt("gain_null")},
                      .signedColors = false,
                      .note = "The null is the gain of a random direction."},
                     table("Outputs of the head for the direction", "output",
                           "The last column holds Gaussian numbers."),
                     table("Keys that the direction attends to as a query", "key",
                           "Without scale and bias, at offset 0."),
                     table("Queries that attend to the direction as a key", "query",
                           "Without scale and bias, at offset 0.")},
        .followsFilter = true};
}

} // namespace headwise
