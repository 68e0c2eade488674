#include "core/analysis/analyses.h"
#include "core/analysis/entry_lists.h"
#include "core/analysis/selected_heads.h"
#include "core/circuits/block.h"
#include "core/circuits/row_moments.h"
#include "core/circuits/scan/scan_kernel.h"
#include "core/circuits/scan/token_scan.h"
#include "core/circuits/token_table.h"

#include <algorithm>

namespace headwise {

namespace {

constexpr double directPathFlopLimit = 2e13; // of the direct path: minutes on a small machine

std::string directPathAt(const std::string& name)
{
    return "analyses/direct_path/" + name;
}

std::vector<ArraySpec> directPathArrays()
{
    std::vector<ArraySpec> all;
    const auto addIds = [&](const std::string& name, const std::vector<ArrayAxis>& axes, const char* title,
                            const std::string& definition) {
        all.push_back({.path = directPathAt(name + "ids"),
                       .axes = axes,
                       .title = title,
                       .definition = "ids of the " + definition,
                       .unit = "token",
                       .type = NumberType::Whole});
    };
    const auto addLogits = [&](const std::string& name, const std::vector<ArrayAxis>& axes, const char* title,
                               const std::string& definition) {
        all.push_back({.path = directPathAt(name),
                       .axes = axes,
                       .title = title,
                       .definition = definition,
                       .unit = "logits"});
    };
    const auto addTable = [&](const std::string& name, const char* ids, const char* values, const char* end) {
        const std::string what = std::string(end) + " entries of each row of E W_U";
        addIds(name, {Axis::Token, Axis::Rank}, ids, what + ", ties to the lower id; -1 where there is none");
        addLogits(name + "values", {Axis::Token, Axis::Rank}, values, what);
    };
    const auto addEnd = [&](const std::string& name, Axis axis, const char* ids, const char* values,
                            const std::string& what) { // an axis of its own: ids name the entries along it
        addIds(name, {axis}, ids, what + ", ties to the lower id");
        addLogits(name + "values", {axis}, values, what);
    };
    addTable("", "Next tokens of the direct path: ids", "Next tokens of the direct path", "largest");
    addTable("lowest_", "Least likely next tokens: ids", "Least likely next tokens", "smallest");
    addLogits("row_mean", {Axis::Token}, "Mean of the row",
              "mean over the tokens in use of each row of E W_U");
    addLogits("row_deviation", {Axis::Token}, "Deviation of the row",
              "deviation over the tokens in use of each row of E W_U");
    all.push_back({.path = directPathAt("row_null_z"),
                   .axes = {Axis::Rank},
                   .title = "Gaussian entries",
                   .definition = gaussianPlacesFormula,
                   .unit = "deviations"});
    for (ArraySpec& spec : all)
        spec.condition = "up to 2e13 operations";
    addLogits("b_U", {Axis::OutputToken}, "Unembedding bias", "b_U, added to every row of E W_U");
    addEnd("b_U_", Axis::RankInBias, "Tokens the bias favours most", "Bias of the most favoured tokens",
           "largest entries of b_U, falling");
    addEnd("b_U_lowest_", Axis::LowestRankInBias, "Tokens the bias favours least",
           "Bias of the least favoured tokens", "smallest entries of b_U, rising");
    const std::size_t first = all.size();
    addEnd("token_", Axis::RankInRow, "Most likely tokens after token t", "Logits of the most likely tokens",
           "largest entries of row t of E W_U + b_U, falling");
    addEnd("token_lowest_", Axis::LowestRankInRow, "Least likely tokens after token t",
           "Logits of the least likely tokens", "smallest entries of row t of E W_U + b_U, rising");
    for (std::size_t i = first; i < all.size(); ++i)
        all[i].condition = "with --token";
    return all;
}

/// Puts one end of a line of logits.
void putEnd(Results& results, const std::string& name, const std::vector<TokenEntry>& entries,
            const LineStatistics& line)
{
    EntryLists lists({entries.size()});
    lists.set(0, entries);
    results.put(directPathAt(name + "ids"), std::move(lists.ids));
    ResultArray& values = results.put(directPathAt(name + "values"), std::move(lists.values));
    values.nullMean = line.mean;
    values.nullDeviation = line.deviation;
}

void putBothEnds(Results& results, const std::string& name, const RowVector<double>& line,
                 const AnalysisOptions& options)
{
    const std::vector<bool> unused = marks(options.unusedTokens, line.size());
    const TokenEnds both = ends(line, options.tableSize, unused);
    const LineStatistics statistics = lineStatistics(line, unused);
    putEnd(results, name, both.top, statistics);
    putEnd(results, name + "lowest_", both.bottom, statistics);
}

/// Puts b_U and the tokens at both its ends: those the model predicts more and less, regardless of input.
void putBias(Results& results, const AnalysisContext& context)
{
    const RowVector<double> bias =
        context.circuits.weights().b_U<double>(0, context.circuits.config().dVocabOut);
    results.put(directPathAt("b_U"), std::vector<double>(bias.begin(), bias.end()));
    putBothEnds(results, "b_U_", bias, context.options);
}

/// Puts both ends of the row of the requested token, t in the contracts.
Result<Done> putRow(Results& results, const AnalysisContext& context, int token)
{
    const auto row = directPathLine(context.circuits, *context.tokens, true, TableSide::Row, token);
    if (!row)
        return row.error();
    const std::size_t first = results.arrays().size();
    putBothEnds(results, "token_", *row, context.options);
    const auto name = [&](std::string& text, const std::string& before) {
        if (const std::size_t at = text.find(before + " t"); at != std::string::npos)
            text.replace(at + before.size() + 1, 1, std::to_string(token));
    };
    for (std::size_t i = first; i < results.arrays().size(); ++i) {
        ResultArray& array = results.arrays()[i];
        name(array.title, "after token");
        name(array.definition, "row");
        array.attributes["token"] = static_cast<double>(token);
    }
    return Done{};
}

/// Puts the mean and deviation of each row of E W_U, and the null of the lists.
Result<Done> putDirectMoments(Results& results, const AnalysisContext& context, int k, const Task& task)
{
    const TokenSide& tokens = *context.tokens;
    const std::vector<bool> unusedRows = marks(context.options.unusedTokens, tokens.E.count());
    const std::vector<bool> unusedCols = marks(context.options.unusedTokens, tokens.W_U.count());
    const LeftOut leftOut{unusedRows, unusedCols};
    const auto found = tokens.E.isExact()
        ? rowMoments(*tokens.E.whole<double>(), *tokens.W_U.whole<double>(), leftOut, task)
        : rowMoments(*tokens.E.whole<float>(), *tokens.W_U.whole<float>(), leftOut, task);
    if (!found)
        return found.error();
    const auto put = [&](const char* name, const Eigen::VectorXd& values) {
        results.put(directPathAt(name), std::vector<double>(values.begin(), values.end()))
            .attributes["entries"] = static_cast<double>(found->entries);
    };
    put("row_mean", found->mean);
    put("row_deviation", found->deviation);
    results.put(directPathAt("row_null_z"), gaussianPlaces(k, found->entries));
    return Done{};
}

/// Returns the k largest and k smallest entries of every row of E W_U.
Result<RowEnds> directEnds(const AnalysisContext& context, int k, const Task& task)
{
    const TokenSide& tokens = *context.tokens;
    const auto rows32 = tokens.E.columns<float>(), cols32 = tokens.W_U.columns<float>();
    const auto rows64 = tokens.E.exactColumns(), cols64 = tokens.W_U.exactColumns();
    const std::vector<bool> unusedRows = marks(context.options.unusedTokens, tokens.E.count());
    const std::vector<bool> unusedCols = marks(context.options.unusedTokens, tokens.W_U.count());
    return scanRows({{*rows32, *rows64, unusedRows}, {*cols32, *cols64, unusedCols}, k, ScanEnds::Both},
                    task);
}

/// Puts both ends of every row of E W_U, and the moments of the rows.
Result<Done> putDirectTables(Results& results, const AnalysisContext& context, const Task& task)
{
    const Eigen::Index tokens = context.tokens->E.count();
    const int k = static_cast<int>(std::min<Eigen::Index>(context.options.tableSize, tokens));
    auto found = directEnds(context, k, task);
    if (!found)
        return found.error();
    RowEnds both = std::move(found).value();
    const auto put = [&](const std::string& name, const std::vector<int>& ids, std::vector<double> values) {
        const auto rows = static_cast<std::size_t>(tokens);
        const std::vector<std::size_t> shape{rows, ids.size() / rows};
        results.put(directPathAt(name + "ids"), shape, std::vector<std::int32_t>(ids.begin(), ids.end()));
        results.put(directPathAt(name + "values"), shape, std::move(values));
    };
    put("", both.ids, std::move(both.values));
    put("lowest_", both.lowestIds, std::move(both.lowestValues));
    return putDirectMoments(results, context, k, withoutProgress(task));
}

double tableFlops(const ModelConfig& config)
{
    const double V = config.dVocab, d = config.dModel;
    return 2 * V * config.dVocabOut * d + d * d * (config.dVocabOut + 2 * V);
}

bool hasTables(const ModelConfig& config)
{
    return tableFlops(config) <= directPathFlopLimit;
}

Result<ResultSet> runDirectPath(const AnalysisContext& context, const Task& task)
{
    Results results = resultsOf(context, directPathArrays());
    if (hasTables(context.circuits.config())) {
        if (const auto added = putDirectTables(results, context, task); !added)
            return added.error();
    } else {
        results.warn(
            "The direct path of every token would take more than 2e13 operations on this model. Only the requested token's row and b_U are given.");
    }
    putBias(results, context);
    if (const auto token = context.options.inputs.token) {
        if (const auto added = putRow(results, context, *token); !added)
            return added.error();
    }
    return std::move(results).finish();
}

AnalysisCost directPathCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double V = config.dVocab, d = config.dModel;
    const double row = 2 * d * config.dVocabOut, bytes = 24.0 * config.dVocabOut;
    if (!hasTables(config))
        return {row, bytes};
    const bool isHeld = holdsTokens(config, options.embedding, options.precision);
    const double copied = V + (isHeld ? 0 : config.dVocabOut); // E as columns, and W_U where it is read
    const double speed =
        scanKernels().front().isOfBytes ? 6.5 : 3.2; // measured; the second by that of the kernel
    return {tableFlops(config) + row, bytes + V * options.tableSize * 24.0 + 4.0 * d * copied, speed};
}

std::vector<Picture> directPathPictures()
{
    using Kind = Picture::Kind;
    return {
        {.kind = Kind::Table,
         .title = "Next tokens after one token, no layers",
         .arrays = {"analyses/direct_path/token_ids", "analyses/direct_path/token_values",
                    "analyses/direct_path/token_lowest_ids", "analyses/direct_path/token_lowest_values"},
         .note = "Both ends of the token's row of E W_U + b_U. The Tokens page shows other tokens."},
        {.kind = Kind::Table,
         .title = "Next tokens, no layers",
         .arrays = {"analyses/direct_path/row_mean", "analyses/direct_path/row_deviation",
                    "analyses/direct_path/ids", "analyses/direct_path/values",
                    "analyses/direct_path/lowest_ids", "analyses/direct_path/lowest_values"},
         .note =
             "One row per token. With tied, unprocessed weights this is a Gram matrix; the folded final norm makes it a bigram table."},
        {.kind = Kind::Table,
         .title = "Tokens the bias favours most and least",
         .arrays = {"analyses/direct_path/b_U_ids", "analyses/direct_path/b_U_values",
                    "analyses/direct_path/b_U_lowest_ids", "analyses/direct_path/b_U_lowest_values"},
         .note = "The model's own frequencies, independent of the input. Zeros if it has no bias."},
        {.kind = Kind::Lines, .title = "b_U by token", .arrays = {"analyses/direct_path/b_U"}},
        {.kind = Kind::Lines,
         .title = "Next tokens, Gaussian null",
         .arrays = {"analyses/direct_path/row_null_z"},
         .note = gaussianPlacesNote}};
}

} // namespace

Analysis directPathAnalysis()
{
    return {.id = "direct_path",
            .number = "A5",
            .title = "Direct path",
            .formula = "the k largest and smallest entries of each row of E W_U, and of b_U",
            .citation = "Elhage et al. 2021, \"Zero-Layer Transformers\"",
            .needsTokens = true,
            .whyNot = appliesAlways,
            .cost = directPathCost,
            .run = runDirectPath,
            .arrays = directPathArrays(),
            .pictures = directPathPictures(),
            .followsFilter = true,
            .uses = {.token = true},
            .everyToken = "analyses/direct_path/ids"};
}

} // namespace headwise
