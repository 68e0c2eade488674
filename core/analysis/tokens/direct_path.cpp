#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/circuits/block.h"
#include "core/circuits/row_moments.h"
#include "core/circuits/token_scan.h"
#include "core/circuits/token_table.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace headwise {

namespace {

constexpr double directPathFlopLimit = 2e13; // of the direct path: minutes on a small machine

/// One end of a line of logits: its paths, titles and definition.
struct EndNames {
    std::string path; // before "ids" and "values"
    Axis axis; // of its own: ids name the entries of what has their axis
    std::string ids, values, definition;
};

void addEnd(ResultSet& results, const std::vector<TokenEntry>& entries, const LineStatistics& line,
            const EndNames& names, Precision precision)
{
    ResultArray ids;
    std::vector<std::int32_t> tokens;
    std::vector<double> numbers;
    tokens.reserve(entries.size());
    numbers.reserve(entries.size());
    for (const TokenEntry& entry : entries) {
        tokens.push_back(entry.id);
        numbers.push_back(entry.value);
    }
    ids.path = names.path + "ids";
    ids.shape = {tokens.size()};
    ids.values = std::move(tokens);
    ids.axes = {names.axis};
    ids.title = names.ids;
    ids.unit = "token";
    ids.definition = "ids of the " + names.definition + ", ties to the lower id";
    ResultArray values =
        realArray(precision, names.path + "values", ids.shape, std::move(numbers), {names.axis});
    values.nullMean = line.mean;
    values.nullDeviation = line.deviation;
    values.title = names.values;
    values.unit = "logits";
    values.definition = names.definition;
    results.arrays.push_back(std::move(ids));
    results.arrays.push_back(std::move(values));
}

/// Adds b_U and the tokens at both its ends: those the model predicts more and less, regardless of input.
void addBias(ResultSet& results, const AnalysisContext& context)
{
    const Precision precision = context.options.precision;
    const RowVector<double> bias =
        context.circuits.weights().b_U<double>(0, context.circuits.config().dVocabOut);
    ResultArray b_U =
        realArray(precision, "analyses/direct_path/b_U", {static_cast<std::size_t>(bias.size())},
                  std::vector<double>(bias.begin(), bias.end()), {Axis::OutputToken});
    b_U.title = "Unembedding bias";
    b_U.definition = "b_U, added to every row of E W_U";
    b_U.unit = "logits";
    results.arrays.push_back(std::move(b_U));
    const std::vector<bool> unused = marks(context.options.unusedTokens, bias.size());
    const TokenEnds both = ends(bias, context.options.tableSize, unused);
    const LineStatistics statistics = lineStatistics(bias, unused);
    addEnd(results, both.top, statistics,
           {"analyses/direct_path/b_U_", Axis::RankInBias, "Tokens said most, whatever was read", "Their bias",
            "largest entries of b_U, falling"},
           precision);
    addEnd(results, both.bottom, statistics,
           {"analyses/direct_path/b_U_lowest_", Axis::LowestRankInBias, "Tokens said least", "Bias of these",
            "smallest entries of b_U, rising"},
           precision);
}

/// Adds both ends of the row of the requested token.
Result<Done> addRow(ResultSet& results, const AnalysisContext& context, int token)
{
    const auto row = directPathLine(context.circuits, *context.tokens, true, TableSide::Row, token);
    if (!row)
        return row.error();
    const std::vector<bool> unused = marks(context.options.unusedTokens, row->size());
    const TokenEnds both = ends(*row, context.options.tableSize, unused);
    const LineStatistics statistics = lineStatistics(*row, unused);
    const std::size_t first = results.arrays.size();
    const std::string after = fmt::format("entries of row {} of E W_U + b_U, ", token);
    const Precision precision = context.options.precision;
    addEnd(results, both.top, statistics,
           {"analyses/direct_path/token_", Axis::RankInRow,
            fmt::format("Tokens said most after token {}", token), "Logits of these",
            "largest " + after + "falling"},
           precision);
    addEnd(results, both.bottom, statistics,
           {"analyses/direct_path/token_lowest_", Axis::LowestRankInRow,
            fmt::format("Tokens said least after token {}", token), "Logits of those",
            "smallest " + after + "rising"},
           precision);
    for (std::size_t i = first; i < results.arrays.size(); ++i)
        results.arrays[i].attributes["token"] = static_cast<double>(token);
    return Done{};
}

/// Adds the mean and deviation of each row of E W_U, and the null of the lists.
Result<Done> addDirectMoments(ResultSet& results, const AnalysisContext& context, int k, const Task& task)
{
    const TokenSide& tokens = *context.tokens;
    const std::vector<bool> unusedRows = marks(context.options.unusedTokens, tokens.E.rows());
    const std::vector<bool> unusedCols = marks(context.options.unusedTokens, tokens.W_U.cols());
    const LeftOut leftOut{unusedRows, unusedCols};
    const auto found = tokens.E64.size() > 0 ? rowMoments(tokens.E64, tokens.W_U64, leftOut, task)
                                             : rowMoments(tokens.E, tokens.W_U, leftOut, task);
    if (!found)
        return found.error();
    const auto add = [&](const char* name, const char* title, const Eigen::VectorXd& values) {
        ResultArray array = realArray(
            context.options.precision, std::string("analyses/direct_path/row_") + name,
            {static_cast<std::size_t>(values.size())}, {values.begin(), values.end()}, {Axis::Token});
        array.title = std::string(title) + " of the row";
        array.definition = name + std::string(" over the tokens in use of each row of E W_U");
        array.unit = "logits";
        array.attributes["entries"] = static_cast<double>(found->entries);
        results.arrays.push_back(std::move(array));
    };
    add("mean", "Mean", found->mean);
    add("deviation", "Deviation", found->deviation);
    ResultArray null =
        realArray(context.options.precision, "analyses/direct_path/row_null_z", {static_cast<std::size_t>(k)},
                  gaussianPlaces(k, found->entries), {Axis::Rank});
    null.title = "Of Gaussian entries";
    null.unit = "deviations";
    null.definition = gaussianPlacesFormula;
    results.arrays.push_back(std::move(null));
    return Done{};
}

/// Adds one end of every row.
void addTable(ResultSet& results, std::vector<int> ids, std::vector<double> values, bool isTop,
              const AnalysisContext& context)
{
    const std::size_t rows = static_cast<std::size_t>(context.tokens->E.rows());
    const std::string start = std::string("analyses/direct_path/") + (isTop ? "" : "lowest_");
    const std::string what = std::string(isTop ? "largest" : "smallest") + " entries of each row of E W_U";
    ResultArray table;
    table.path = start + "ids";
    table.shape = {rows, ids.size() / rows};
    table.axes = {Axis::Token, Axis::Rank};
    table.values = std::vector<std::int32_t>(ids.begin(), ids.end());
    table.title = isTop ? "Next tokens of the direct path: ids" : "Least likely next tokens: ids";
    table.definition = "ids of the " + what + ", ties to the lower id; -1 where there is none";
    ResultArray logits = realArray(context.options.precision, start + "values", table.shape,
                                   std::move(values), {Axis::Token, Axis::Rank});
    logits.title = isTop ? "Next tokens of the direct path" : "Least likely next tokens";
    logits.definition = what;
    logits.unit = "logits";
    results.arrays.push_back(std::move(table));
    results.arrays.push_back(std::move(logits));
}

/// Adds both ends of every row of E W_U, and the moments of the rows.
Result<Done> addTables(ResultSet& results, const AnalysisContext& context, const Task& task)
{
    const TokenSide& tokens = *context.tokens;
    const Matrix<float> rows32 = tokens.E.transpose();
    const Matrix<double> rows64 = tokens.E64.transpose();
    const int k = static_cast<int>(std::min<Eigen::Index>(context.options.tableSize, tokens.E.rows()));
    const std::vector<bool> unusedRows = marks(context.options.unusedTokens, tokens.E.rows());
    const std::vector<bool> unusedCols = marks(context.options.unusedTokens, tokens.W_U.cols());
    const auto entry = [&](Eigen::Index row, Eigen::Index col) -> double {
        if (rows64.size() > 0)
            return rows64.col(row).dot(tokens.W_U64.col(col));
        return rows32.col(row).cast<double>().dot(tokens.W_U.col(col).cast<double>());
    };
    auto found = scanRows({rows32, tokens.W_U, entry, unusedRows, unusedCols, k, ScanEnds::Both}, task);
    if (!found)
        return found.error();
    RowEnds both = std::move(found).value();
    addTable(results, std::move(both.ids), std::move(both.values), true, context);
    addTable(results, std::move(both.lowestIds), std::move(both.lowestValues), false, context);
    return addDirectMoments(results, context, k, withoutProgress(task));
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
    ResultSet results;
    if (hasTables(context.circuits.config())) {
        if (const auto added = addTables(results, context, task); !added)
            return added.error();
    } else {
        results.warnings.emplace_back(
            "The direct path of every token would take more than 2e13 operations on this model: of its rows only that of a token asked for is given, and b_U.");
    }
    addBias(results, context);
    if (const auto token = context.options.inputs.token) {
        if (const auto added = addRow(results, context, *token); !added)
            return added.error();
    }
    return results;
}

AnalysisCost directPathCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double V = config.dVocab, d = config.dModel;
    const double row = 2 * d * config.dVocabOut, bytes = 24.0 * config.dVocabOut;
    if (!hasTables(config))
        return {row, bytes};
    return {tableFlops(config) + row, bytes + V * (options.tableSize * 24.0 + 4.0 * d)};
}

std::vector<Picture> directPathPictures()
{
    using Kind = Picture::Kind;
    return {
        {.kind = Kind::Table,
         .title = "What follows one token without any layer",
         .arrays = {"analyses/direct_path/token_ids", "analyses/direct_path/token_values",
                    "analyses/direct_path/token_lowest_ids", "analyses/direct_path/token_lowest_values"},
         .note = "Both ends of its row of E W_U + b_U; any other token's at once on the Tokens page."},
        {.kind = Kind::Table,
         .title = "Next tokens without any layer",
         .arrays = {"analyses/direct_path/row_mean", "analyses/direct_path/row_deviation",
                    "analyses/direct_path/ids", "analyses/direct_path/values",
                    "analyses/direct_path/lowest_ids", "analyses/direct_path/lowest_values"},
         .note =
             "A row per token. With tied weights as they are in the file this is a Gram matrix: the folded final norm makes it a bigram table."},
        {.kind = Kind::Table,
         .title = "What the bias says most and least",
         .arrays = {"analyses/direct_path/b_U_ids", "analyses/direct_path/b_U_values",
                    "analyses/direct_path/b_U_lowest_ids", "analyses/direct_path/b_U_lowest_values"},
         .note = "Whatever was read: the model's own frequencies. Zeros where it has no bias."},
        {.kind = Kind::Lines, .title = "b_U by token", .arrays = {"analyses/direct_path/b_U"}, .note = {}},
        {.kind = Kind::Lines,
         .title = "How far out chance would list next tokens",
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
            .pictures = directPathPictures(),
            .followsFilter = true};
}

} // namespace headwise
