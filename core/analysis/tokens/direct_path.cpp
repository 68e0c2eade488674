#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/row_moments.h"
#include "core/analysis/token_scan.h"
#include "core/analysis/token_table.h"

#include <algorithm>

namespace headwise {

namespace {

constexpr double flopLimit = 2e13; // of the direct path: minutes on a small machine

/// The tokens at both ends of b_U: what the model says more and less often whatever it read.
void addBiasEnds(ResultSet& results, const AnalysisContext& context, const RowVector<double>& bias)
{
    const std::vector<bool> unused = marks(context.options.unusedTokens, bias.size());
    const TokenEnds both = ends(bias, context.options.tableSize, unused);
    const LineStatistics statistics = lineStatistics(bias, unused);
    for (const bool isTop : {true, false}) {
        const std::vector<TokenEntry>& entries = isTop ? both.top : both.bottom;
        ResultArray ids;
        std::vector<std::int32_t> tokens;
        std::vector<double> numbers;
        tokens.reserve(entries.size());
        numbers.reserve(entries.size());
        for (const TokenEntry& entry : entries) {
            tokens.push_back(entry.id);
            numbers.push_back(entry.value);
        }
        const std::string start = std::string("analyses/direct_path/b_U_") + (isTop ? "" : "lowest_");
        const std::string what =
            isTop ? "largest entries of b_U, falling" : "smallest entries of b_U, rising";
        ids.path = start + "ids";
        ids.shape = {tokens.size()};
        ids.values = std::move(tokens);
        ids.axes = {"rank"};
        ids.title = isTop ? "Tokens said most, whatever was read" : "Tokens said least";
        ids.unit = "token";
        ids.definition = "ids of the " + what + ", ties to the lower id";
        ResultArray values =
            realArray(context.options.precision, start + "values", ids.shape, std::move(numbers), {"rank"});
        values.nullMean = statistics.mean;
        values.nullDeviation = statistics.deviation;
        values.title = isTop ? "Their bias" : "Bias of these";
        values.unit = "logits";
        values.definition = what;
        results.arrays.push_back(std::move(ids));
        results.arrays.push_back(std::move(values));
    }
}

/// What the rows of E W_U are like, beside their lists.
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
        ResultArray array =
            realArray(context.options.precision, std::string("analyses/direct_path/row_") + name,
                      {static_cast<std::size_t>(values.size())}, {values.begin(), values.end()}, {"token"});
        array.title = std::string(title) + " of the row";
        array.definition = name + std::string(" over the tokens in use of each row of E W_U");
        array.unit = "logits";
        array.attributes["entries"] = static_cast<double>(found->entries);
        results.arrays.push_back(std::move(array));
    };
    add("mean", "Mean", found->mean);
    add("deviation", "Deviation", found->deviation);
    ResultArray null = realArray(context.options.precision, "analyses/direct_path/row_null_z",
                                 {static_cast<std::size_t>(k)}, gaussianPlaces(k, found->entries), {"rank"});
    null.title = "Of Gaussian entries";
    null.unit = "deviations";
    null.definition = gaussianPlacesFormula;
    results.arrays.push_back(std::move(null));
    return Done{};
}

Result<ResultSet> runDirectPath(const AnalysisContext& context, const Task& task)
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
    auto ends = scanRows({rows32, tokens.W_U, entry, unusedRows, unusedCols, k, ScanEnds::Largest}, task);
    if (!ends)
        return ends.error();
    RowEnds table = std::move(ends).value();
    const std::vector<std::size_t> shape{static_cast<std::size_t>(tokens.E.rows()),
                                         static_cast<std::size_t>(k)};
    ResultArray ids;
    ids.path = "analyses/direct_path/ids";
    ids.shape = shape;
    ids.axes = {"token", "rank"};
    ids.values = std::vector<std::int32_t>(table.ids.begin(), table.ids.end());
    ids.title = "Next tokens of the direct path: ids";
    ids.definition =
        "ids of the largest entries of each row of E W_U, ties to the lower id; -1 where there is none";
    ResultArray values = realArray(context.options.precision, "analyses/direct_path/values", shape,
                                   std::move(table.values), {"token", "rank"});
    values.title = "Next tokens of the direct path";
    values.definition = "largest entries of each row of E W_U";
    values.unit = "logits";
    const ModelConfig& config = context.circuits.config();
    const RowVector<double> bias = context.circuits.weights().b_U<double>(0, config.dVocabOut);
    ResultArray b_U = realArray(context.options.precision, "analyses/direct_path/b_U",
                                {static_cast<std::size_t>(bias.size())},
                                std::vector<double>(bias.begin(), bias.end()), {"output token"});
    b_U.title = "Unembedding bias";
    b_U.definition = "b_U, added to every row of E W_U";
    b_U.unit = "logits";
    ResultSet results;
    results.arrays = {std::move(ids), std::move(values), std::move(b_U)};
    addBiasEnds(results, context, bias);
    if (const auto added = addDirectMoments(results, context, k, withoutProgress(task)); !added)
        return added.error();
    return results;
}

AnalysisCost directPathCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double V = config.dVocab;
    const double d = config.dModel;
    return {2 * V * config.dVocabOut * d + d * d * (config.dVocabOut + 2 * V),
            V * (options.tableSize * 12.0 + 4.0 * d)};
}

std::string directPathTooLarge(const ModelConfig& config, const AnalysisOptions& options)
{
    if (directPathCost(config, options).flops <= flopLimit)
        return {};
    return "The direct path of every token would take more than 2e13 operations on this model; ask for "
           "single tokens.";
}

std::vector<Picture> directPathPictures()
{
    using Kind = Picture::Kind;
    return {
        {.kind = Kind::Table,
         .title = "Next tokens without any layer",
         .arrays = {"analyses/direct_path/row_mean", "analyses/direct_path/row_deviation",
                    "analyses/direct_path/ids", "analyses/direct_path/values"},
         .note =
             "A row per token. With tied weights as they are in the file this is a Gram matrix: the folded "
             "final norm makes it a bigram table."},
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
            .formula = "the k largest entries of each row of E W_U, and b_U",
            .citation = "Elhage et al. 2021, \"Zero-Layer Transformers\"",
            .needsTokens = true,
            .whyNot = directPathTooLarge,
            .cost = directPathCost,
            .run = runDirectPath,
            .pictures = directPathPictures(),
            .followsFilter = true};
}

} // namespace headwise
