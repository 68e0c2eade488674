#include "core/circuits/largest_entries.h"

#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"

#include <array>

namespace headwise {

namespace {

constexpr double largestEntriesFlopLimit = 2e13; // of all heads together: minutes on a small machine
constexpr int most = 100;                        // entries listed of each head and circuit

constexpr std::array<CircuitKind, 2> fullCircuits{CircuitKind::FullOv, CircuitKind::FullQk};

std::string largestEntriesPath(CircuitKind kind)
{
    return "analyses/largest_entries/" + std::string(circuitName(kind));
}

std::vector<ArraySpec> largestEntriesArrays()
{
    std::vector<ArraySpec> all;
    for (const CircuitKind kind : fullCircuits) {
        const std::string path = largestEntriesPath(kind);
        const std::string matrix = "M = " + std::string(circuitFormula(kind));
        const std::string what =
            "the largest entries of " + matrix + ", falling, ties to the lower row id, then column id";
        const bool isQk = kind == CircuitKind::FullQk;
        const auto addIds = [&](const char* name, const std::string& title) {
            all.push_back({.path = path + name,
                           .axes = headAxes({Axis::Rank}),
                           .title = title,
                           .definition = title + ", of " + what + "; -1 where there is none",
                           .unit = "token",
                           .type = NumberType::Whole});
        };
        addIds("_row_ids", isQk ? "Query token" : "Source token");
        addIds("_column_ids", isQk ? "Key token" : "Output token");
        all.push_back({.path = path + "_values",
                       .axes = headAxes({Axis::Rank}),
                       .title = isQk ? "Score" : "Logit",
                       .definition = what,
                       .unit = isQk ? "" : "logits"});
        all.push_back(
            {path + "_null", headAxes({Axis::Rank}), "Gaussian entries",
             "μ + σ Φ⁻¹(1 − (rank − ½)/n), rank = 1 …, μ, σ and n of the entries of " + matrix
                 + " between tokens in use: where the largest would lie if they were independent and Gaussian"});
    }
    return all;
}

int listedCount(const ModelConfig& config, CircuitKind kind)
{
    const double cols = kind == CircuitKind::FullOv ? config.dVocabOut : config.dVocab;
    return static_cast<int>(std::min<double>(most, config.dVocab * cols));
}

Result<ResultSet> runLargestEntries(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const std::vector<HeadId> heads = selectedHeads(config, context.options);
    Results results = resultsOf(context, largestEntriesArrays());
    int done = 0;
    for (const CircuitKind kind : fullCircuits) {
        const int count = listedCount(config, kind);
        WholeNumbers rowIds = WholeNumbers::perHead(config, count);
        WholeNumbers colIds = rowIds;
        RealNumbers values = RealNumbers::perHead(config, count);
        RealNumbers null = values;
        const EntrySearch search{static_cast<std::size_t>(count), context.options.unusedTokens,
                                 context.options.unusedTokens};
        for (const HeadId head : heads) {
            if (task.cancelled())
                return stopped();
            const auto matrix = context.circuits.circuit<double>(kind, head, context.tokens.get());
            const auto entries = largestEntries(matrix, search, withoutProgress(task));
            if (entries) {
                const std::vector<double> gaussian = largestGaussianEntries(matrix, search);
                for (std::size_t i = 0; i < entries->size(); ++i) {
                    rowIds.of(head)[i] = (*entries)[i].row;
                    colIds.of(head)[i] = (*entries)[i].col;
                    values.of(head)[i] = (*entries)[i].value;
                    null.of(head)[i] = gaussian[i];
                }
            } else if (entries.error().code == ErrorCode::Corrupt) {
                results.warn(leftOutWarnings(context, "largest entries", {head}));
            } else {
                return entries.error();
            }
            task.report(++done, static_cast<int>(2 * heads.size()), "largest entries");
        }
        results.put(largestEntriesPath(kind) + "_row_ids", std::move(rowIds));
        results.put(largestEntriesPath(kind) + "_column_ids", std::move(colIds));
        results.put(largestEntriesPath(kind) + "_values", std::move(values));
        results.put(largestEntriesPath(kind) + "_null", std::move(null));
    }
    return std::move(results).finish();
}

AnalysisCost largestEntriesCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double V = config.dVocab;
    const double out = config.dVocabOut;
    const double r = config.dHead;
    return {heads * r * (2 * V * (V + out) + 2 * config.dModel * (3 * V + out)),
            2 * (V + out) * r * (8 + 8 + 4) + heads * 2 * most * 24};
}

std::string tooManyHeads(const ModelConfig& config, const AnalysisOptions& options)
{
    if (!options.heads.empty() || largestEntriesCost(config, options).flops <= largestEntriesFlopLimit)
        return {};
    return "The largest entries of all heads may take more than 2e13 operations on this model; choose fewer (Heads in the window, --heads on the command line), or ask for one with headwise top.";
}

} // namespace

Analysis largestEntriesAnalysis()
{
    const std::string ov = largestEntriesPath(CircuitKind::FullOv);
    const std::string qk = largestEntriesPath(CircuitKind::FullQk);
    const auto arrays = [](const std::string& path) {
        return std::vector<std::string>{path + "_row_ids", path + "_column_ids", path + "_values",
                                        path + "_null"};
    };
    const std::string note =
        "Exact over the whole matrix. The last column is the value that as many Gaussian numbers with the same mean and deviation reach.";
    return {.id = "largest_entries",
            .number = "A11",
            .title = "Largest entries of a head",
            .formula = "the 100 largest entries of E W_V W_O W_U and of E W_Q W_Kᵀ Eᵀ",
            .citation = "Elhage et al. 2021, \"Summarizing OV/QK matrices\"",
            .needsTokens = true,
            .whyNot = tooManyHeads,
            .cost = largestEntriesCost,
            .run = runLargestEntries,
            .arrays = largestEntriesArrays(),
            .pictures = {{.kind = Picture::Kind::Table,
                          .title = "Largest entries of full OV",
                          .arrays = arrays(ov),
                          .note = note},
                         {.kind = Picture::Kind::Table,
                          .title = "Largest entries of full QK",
                          .arrays = arrays(qk),
                          .note = note},
                         {.kind = Picture::Kind::Lines,
                          .title = "Full OV against the null",
                          .arrays = {ov + "_values", ov + "_null"},
                          .logX = true},
                         {.kind = Picture::Kind::Lines,
                          .title = "Full QK against the null",
                          .arrays = {qk + "_values", qk + "_null"},
                          .logX = true}},
            .followsFilter = true,
            .crossesStreams = true};
}

} // namespace headwise
