#include "core/circuits/largest_entries.h"

#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"

#include <array>

namespace headwise {

namespace {

constexpr double largestEntriesFlopLimit = 2e13; // of all heads together: minutes on a small machine
constexpr int most = 100;                        // entries listed of each head and circuit

constexpr std::array<CircuitKind, 2> fullCircuits{CircuitKind::FullOv, CircuitKind::FullQk};

/// The arrays of one circuit: [layers, heads, listed].
struct Listed {
    std::vector<std::int32_t> rowIds, colIds;
    PerHead values, null;

    Listed(const ModelConfig& config, int count)
        : values(config, count)
        , null(config, count)
    {
        rowIds.assign(static_cast<std::size_t>(config.nLayers) * config.nHeads * count, -1);
        colIds = rowIds;
    }

    void put(HeadId head, int nHeads, const std::vector<MatrixEntry>& entries,
             const std::vector<double>& gaussian)
    {
        const std::span<double> out = values.row(head);
        const std::size_t first = (static_cast<std::size_t>(head.layer) * nHeads + head.head) * out.size();
        for (std::size_t i = 0; i < entries.size(); ++i) {
            rowIds[first + i] = entries[i].row;
            colIds[first + i] = entries[i].col;
            out[i] = entries[i].value;
            null.row(head)[i] = gaussian[i];
        }
    }
};

ResultArray idArray(const ResultArray& like, std::string path, std::vector<std::int32_t> ids,
                    std::string title)
{
    ResultArray array;
    array.path = std::move(path);
    array.shape = like.shape;
    array.axes = like.axes;
    array.values = std::move(ids);
    array.title = std::move(title);
    array.unit = "token";
    array.definition = array.title + ", of " + like.definition + "; -1 where there is none";
    return array;
}

void addLargestEntriesArrays(ResultSet& results, Listed listed, CircuitKind kind, Precision precision)
{
    const std::string path = "analyses/largest_entries/" + std::string(circuitName(kind));
    const std::string matrix = "M = " + std::string(circuitFormula(kind));
    const bool isQk = kind == CircuitKind::FullQk;
    ResultArray values = listed.values.array(
        precision, path + "_values", isQk ? "Score" : "Logit",
        "the largest entries of " + matrix + ", falling, ties to the lower row id, then column id", Axis::Rank);
    values.unit = isQk ? "" : "logits";
    ResultArray null = listed.null.array(
        precision, path + "_null", "Of Gaussian entries",
        "μ + σ Φ⁻¹(1 − (rank − ½)/n), rank = 1 …, μ, σ and n of the entries of " + matrix
            + " between tokens that are not left out: where the largest would lie if they were independent and Gaussian",
        Axis::Rank);
    results.arrays.push_back(
        idArray(values, path + "_row_ids", std::move(listed.rowIds), isQk ? "Query token" : "Source token"));
    results.arrays.push_back(
        idArray(values, path + "_column_ids", std::move(listed.colIds), isQk ? "Key token" : "Output token"));
    results.arrays.push_back(std::move(values));
    results.arrays.push_back(std::move(null));
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
    ResultSet results;
    int done = 0;
    for (const CircuitKind kind : fullCircuits) {
        const int count = listedCount(config, kind);
        Listed listed(config, count);
        const EntrySearch search{static_cast<std::size_t>(count), context.options.unusedTokens,
                                 context.options.unusedTokens};
        for (const HeadId head : heads) {
            if (task.cancelled())
                return stopped();
            const auto matrix = context.circuits.circuit<double>(kind, head, context.tokens.get());
            const auto entries = largestEntries(matrix, search, withoutProgress(task));
            if (entries)
                listed.put(head, config.nHeads, *entries, largestGaussianEntries(matrix, search));
            else if (entries.error().code == ErrorCode::Corrupt)
                results.warnings.push_back("The largest entries of " + headLabel(head)
                                           + " were left out because a weight is not a finite number.");
            else
                return entries.error();
            task.report(++done, static_cast<int>(2 * heads.size()), "largest entries");
        }
        addLargestEntriesArrays(results, std::move(listed), kind, context.options.precision);
    }
    return results;
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
    return "The largest entries of every head may take more than 2e13 operations on this model; choose fewer (Heads in the window, --heads on the command line), or ask for one with headwise top.";
}

} // namespace

Analysis largestEntriesAnalysis()
{
    const std::string ov = "analyses/largest_entries/full_ov";
    const std::string qk = "analyses/largest_entries/full_qk";
    const auto arrays = [](const std::string& path) {
        return std::vector<std::string>{path + "_row_ids", path + "_column_ids", path + "_values",
                                        path + "_null"};
    };
    const std::string note =
        "Exact over the whole matrix. The last column is what as many Gaussian numbers of the same mean and deviation would reach.";
    return {.id = "largest_entries",
            .number = "A11",
            .title = "Largest entries of a head",
            .formula = "the 100 largest entries of E W_V W_O W_U and of E W_Q W_Kᵀ Eᵀ",
            .citation = "Elhage et al. 2021, \"Summarizing OV/QK matrices\"",
            .needsTokens = true,
            .whyNot = tooManyHeads,
            .cost = largestEntriesCost,
            .run = runLargestEntries,
            .pictures = {{Picture::Kind::Table, "Largest entries of full OV", arrays(ov), false, false, true,
                          note},
                         {Picture::Kind::Table, "Largest entries of full QK", arrays(qk), false, false, true,
                          note},
                         {Picture::Kind::Lines,
                          "Full OV against the null",
                          {ov + "_values", ov + "_null"},
                          true,
                          false,
                          true,
                          ""},
                         {Picture::Kind::Lines,
                          "Full QK against the null",
                          {qk + "_values", qk + "_null"},
                          true,
                          false,
                          true,
                          ""}},
            .followsFilter = true};
}

} // namespace headwise
