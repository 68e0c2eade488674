#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/token_scan.h"
#include "core/analysis/token_table.h"

#include <algorithm>
#include <limits>

namespace headwise {

namespace {

constexpr double flopLimit = 2e13; // of the direct path: minutes on a small machine

/// A factored circuit laid out for the scan: a token per column, in float for the products and in double for the ranks.
struct ScanFactors {
    Matrix<double> rows, cols; // [r, V], [r, V out]
    Matrix<float> rows32, cols32;

    explicit ScanFactors(const FactoredMatrix<double>& circuit)
        : rows(circuit.left().transpose())
        , cols(circuit.right())
        , rows32(rows.cast<float>())
        , cols32(cols.cast<float>())
    {
    }
};

/// The six arrays of one circuit, growing head by head.
struct Tables {
    std::vector<std::int32_t> ids, lowestIds, columnIds;
    std::vector<double> values, lowestValues, columnValues;
};

struct TableSizes {
    std::size_t heads = 0, rows = 0, cols = 0;
    int k = 0;
};

/// So that no list is copied while it grows.
void reserve(Tables& tables, const TableSizes& sizes)
{
    const std::size_t perToken = sizes.heads * static_cast<std::size_t>(sizes.k);
    for (auto* ids : {&tables.ids, &tables.lowestIds})
        ids->reserve(sizes.rows * perToken);
    for (auto* values : {&tables.values, &tables.lowestValues})
        values->reserve(sizes.rows * perToken);
    tables.columnIds.reserve(sizes.cols * perToken);
    tables.columnValues.reserve(sizes.cols * perToken);
}

template <typename To, typename From>
void append(std::vector<To>& to, const std::vector<From>& from)
{
    to.insert(to.end(), from.begin(), from.end());
}

/// Marks for [V] tokens may be shorter than the other side of a circuit.
std::vector<bool> marks(const std::vector<bool>& unused, Eigen::Index count)
{
    std::vector<bool> sized = unused;
    if (!sized.empty())
        sized.resize(static_cast<std::size_t>(count), true);
    return sized;
}

Result<Done> addHead(Tables& tables, const ScanFactors& factors, const AnalysisOptions& options, int k,
                     const Task& task)
{
    const std::vector<bool> unusedRows = marks(options.unusedTokens, factors.rows.cols());
    const std::vector<bool> unusedCols = marks(options.unusedTokens, factors.cols.cols());
    const auto entry = [&](Eigen::Index row, Eigen::Index col) {
        return factors.rows.col(row).dot(factors.cols.col(col));
    };
    const auto byRow =
        scanRows({factors.rows32, factors.cols32, entry, unusedRows, unusedCols, k, ScanEnds::Both}, task);
    if (!byRow)
        return byRow.error();
    const auto mirrored = [&](Eigen::Index col, Eigen::Index row) { return entry(row, col); };
    const auto byColumn = scanRows(
        {factors.cols32, factors.rows32, mirrored, unusedCols, unusedRows, k, ScanEnds::Largest}, task);
    if (!byColumn)
        return byColumn.error();
    append(tables.ids, byRow->ids);
    append(tables.values, byRow->values);
    append(tables.lowestIds, byRow->lowestIds);
    append(tables.lowestValues, byRow->lowestValues);
    append(tables.columnIds, byColumn->ids);
    append(tables.columnValues, byColumn->values);
    return Done{};
}

/// A head whose weights are not finite keeps its place in the tables, empty.
void addEmptyHead(Tables& tables, Eigen::Index rows, Eigen::Index cols, int k)
{
    const double none = std::numeric_limits<double>::quiet_NaN();
    const auto size = [k](Eigen::Index tokens) {
        return static_cast<std::size_t>(tokens) * static_cast<std::size_t>(k);
    };
    for (auto* ids : {&tables.ids, &tables.lowestIds})
        ids->resize(ids->size() + size(rows), -1);
    for (auto* values : {&tables.values, &tables.lowestValues})
        values->resize(values->size() + size(rows), none);
    tables.columnIds.resize(tables.columnIds.size() + size(cols), -1);
    tables.columnValues.resize(tables.columnValues.size() + size(cols), none);
}

void addArrays(ResultSet& results, Tables tables, CircuitKind kind, const TableSizes& sizes,
               Precision precision)
{
    const std::string folder = "tables/" + std::string(circuitName(kind)) + "/";
    const std::string of = " of M = " + std::string(circuitFormula(kind)) + ", ties to the lower id";
    const bool isQk = kind == CircuitKind::FullQk;
    const std::string row = isQk ? "query token" : "source token";
    const std::string col = isQk ? "key token" : "output token";
    const auto add = [&](const char* name, std::vector<std::int32_t> ids, const char* valuesName,
                         std::vector<double> values, std::size_t tokens, const std::string& axis,
                         const std::string& what) {
        const std::vector<std::size_t> shape{sizes.heads, tokens, static_cast<std::size_t>(sizes.k)};
        const std::vector<std::string> axes{"analysed head", axis, "rank"};
        ResultArray idArray;
        idArray.path = folder + name;
        idArray.shape = shape;
        idArray.axes = axes;
        idArray.values = std::move(ids);
        idArray.title = what + ": ids";
        idArray.definition = "ids of the " + what + of + "; -1 where there is none";
        ResultArray valueArray = realArray(precision, folder + valuesName, shape, std::move(values), axes);
        valueArray.title = what;
        valueArray.definition = what + of;
        results.arrays.push_back(std::move(idArray));
        results.arrays.push_back(std::move(valueArray));
    };
    const std::string number = std::to_string(sizes.k);
    add("ids", std::move(tables.ids), "values", std::move(tables.values), sizes.rows, row,
        number + " largest entries of each row");
    add("lowest_ids", std::move(tables.lowestIds), "lowest_values", std::move(tables.lowestValues),
        sizes.rows, row, number + " smallest entries of each row");
    add("column_ids", std::move(tables.columnIds), "column_values", std::move(tables.columnValues),
        sizes.cols, col, number + " largest entries of each column");
}

Result<ResultSet> runTables(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const std::vector<HeadId> heads = selectedHeads(config, context.options);
    std::vector<std::string> names;
    names.reserve(heads.size());
    for (const HeadId head : heads)
        names.push_back(dottedHead(head));
    const Eigen::Index rows = context.tokens->E.rows();
    const int k = static_cast<int>(std::min<Eigen::Index>(context.options.tableSize, rows));
    ResultSet results;
    int done = 0;
    const int total = static_cast<int>(2 * heads.size());
    for (const CircuitKind kind : {CircuitKind::FullOv, CircuitKind::FullQk}) {
        const Eigen::Index cols = kind == CircuitKind::FullOv ? context.tokens->W_U.cols() : rows;
        Tables tables;
        reserve(tables, {heads.size(), static_cast<std::size_t>(rows), static_cast<std::size_t>(cols), k});
        for (const HeadId head : heads) {
            if (task.cancelled())
                return stopped();
            const ScanFactors factors(context.circuits.circuit<double>(kind, head, context.tokens.get()));
            const auto added = addHead(tables, factors, context.options, k, withoutProgress(task));
            if (!added && added.error().code != ErrorCode::Corrupt)
                return added.error();
            if (!added) {
                addEmptyHead(tables, rows, cols, k);
                results.warnings.push_back("The tables of " + headLabel(head)
                                           + " are empty because a weight is not a finite number.");
            }
            task.report(++done, total, "token tables");
        }
        addArrays(results, std::move(tables), kind,
                  {heads.size(), static_cast<std::size_t>(rows), static_cast<std::size_t>(cols), k},
                  context.options.precision);
        results.groupAttributes["tables/" + std::string(circuitName(kind))]["heads"] = names;
    }
    return results;
}

AnalysisCost tablesCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double V = config.dVocab;
    const double entries = heads * V * std::min<double>(options.tableSize, V);
    // Three lists of ids and values each: of one circuit as they are kept, of the other while they grow, in double.
    const double kept = 3 * (4.0 + (options.precision == Precision::F64 ? 8 : 4));
    return {heads * 2 * 2 * 2 * V * V * config.dHead, entries * (kept + 3 * (4.0 + 8))};
}

/// The tokens at both ends of b_U: what the model says more and less often whatever it read.
void addBiasEnds(ResultSet& results, const AnalysisContext& context, const RowVector<double>& bias)
{
    const TokenEnds both =
        ends(bias, context.options.tableSize, marks(context.options.unusedTokens, bias.size()));
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
        values.title = isTop ? "Their bias" : "Bias of these";
        values.unit = "logits";
        values.definition = what;
        results.arrays.push_back(std::move(ids));
        results.arrays.push_back(std::move(values));
    }
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
    return results;
}

AnalysisCost directPathCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double V = config.dVocab;
    return {2 * V * config.dVocabOut * config.dModel, V * (options.tableSize * 12.0 + 4.0 * config.dModel)};
}

std::string directPathTooLarge(const ModelConfig& config, const AnalysisOptions& options)
{
    if (directPathCost(config, options).flops <= flopLimit)
        return {};
    return "The direct path of every token would take more than 2e13 operations on this model; ask for "
           "single tokens.";
}

std::vector<Picture> tablesPictures()
{
    using Kind = Picture::Kind;
    std::vector<Picture> pictures;
    const auto add = [&](CircuitKind kind, const char* title, const char* ids, const char* values,
                         const char* note) {
        const std::string folder = "tables/" + std::string(circuitName(kind)) + "/";
        pictures.push_back(
            {.kind = Kind::Table, .title = title, .arrays = {folder + ids, folder + values}, .note = note});
    };
    constexpr const char* noScale = "Without scale and biases.";
    add(CircuitKind::FullOv, "What a source token raises", "ids", "values", "A row per source token.");
    add(CircuitKind::FullOv, "What a source token lowers", "lowest_ids", "lowest_values",
        "A row per source token.");
    add(CircuitKind::FullOv, "Which sources raise a token", "column_ids", "column_values",
        "A row per output token.");
    add(CircuitKind::FullQk, "What a query token attends to", "ids", "values", noScale);
    add(CircuitKind::FullQk, "What it attends to least", "lowest_ids", "lowest_values", noScale);
    add(CircuitKind::FullQk, "Which queries attend to a token", "column_ids", "column_values", noScale);
    return pictures;
}

std::vector<Picture> directPathPictures()
{
    using Kind = Picture::Kind;
    return {
        {.kind = Kind::Table,
         .title = "Next tokens without any layer",
         .arrays = {"analyses/direct_path/ids", "analyses/direct_path/values"},
         .note =
             "A row per token. With tied weights as they are in the file this is a Gram matrix: the folded "
             "final norm makes it a bigram table."},
        {.kind = Kind::Table,
         .title = "What the bias says most and least",
         .arrays = {"analyses/direct_path/b_U_ids", "analyses/direct_path/b_U_values",
                    "analyses/direct_path/b_U_lowest_ids", "analyses/direct_path/b_U_lowest_values"},
         .note = "Whatever was read: the model's own frequencies. Zeros where it has no bias."},
        {.kind = Kind::Lines, .title = "b_U by token", .arrays = {"analyses/direct_path/b_U"}, .note = {}}};
}

} // namespace

Analysis tablesAnalysis()
{
    return {"tables",
            "A6, A7",
            "Token tables of full OV and full QK",
            "the k largest and smallest entries of each row, the k largest of each column, of E W_V W_O W_U "
            "and E W_Q W_Kᵀ Eᵀ",
            "Elhage et al. 2021, \"Summarizing OV/QK matrices\"",
            true,
            true,
            appliesAlways,
            tablesCost,
            runTables,
            {},
            tablesPictures()};
}

Analysis directPathAnalysis()
{
    return {"direct_path",
            "A5",
            "Direct path",
            "the k largest entries of each row of E W_U, and b_U",
            "Elhage et al. 2021, \"Zero-Layer Transformers\"",
            true,
            false,
            directPathTooLarge,
            directPathCost,
            runDirectPath,
            {},
            directPathPictures()};
}

} // namespace headwise
