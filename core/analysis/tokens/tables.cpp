#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/base/matrix.h"
#include "core/circuits/row_moments.h"
#include "core/circuits/scan/scan_kernel.h"
#include "core/circuits/scan/token_scan.h"
#include "core/circuits/token_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

namespace headwise {

namespace {

/// Returns the exponent of the power of two next to the largest entry; 0 for zeros and where one is not finite.
int exponentOf(const Matrix<double>& m)
{
    const double largest = m.cwiseAbs().maxCoeff();
    return largest > 0 && m.allFinite() ? std::ilogb(largest) : 0;
}

/// A factored circuit laid out for the scan: a token per column, in float for the products and in double for the ranks.
/// Each side is divided by a power of two, so that its products fit into a float and no digit changes.
struct ScanFactors {
    Matrix<double> rows, cols; // [r, V], [r, V out]
    Matrix<float> rows32, cols32;
    double scale; // entries of the circuit over products of these factors

    explicit ScanFactors(const FactoredMatrix<double>& circuit)
        : rows(circuit.left().transpose())
        , cols(circuit.right())
    {
        const int ofRows = exponentOf(rows), ofCols = exponentOf(cols);
        rows *= std::ldexp(1.0, -ofRows);
        cols *= std::ldexp(1.0, -ofCols);
        rows32 = rows.cast<float>();
        cols32 = cols.cast<float>();
        scale = std::ldexp(1.0, ofRows + ofCols);
    }
};

/// Moments of lines, head by head.
struct Moments {
    std::vector<double> mean, deviation;
    Eigen::Index entries = 0; // of each line

    void add(const RowMoments& of)
    {
        mean.insert(mean.end(), of.mean.begin(), of.mean.end());
        deviation.insert(deviation.end(), of.deviation.begin(), of.deviation.end());
        entries = of.entries;
    }
    void addEmpty(Eigen::Index lines)
    {
        mean.resize(mean.size() + static_cast<std::size_t>(lines), std::numeric_limits<double>::quiet_NaN());
        deviation.resize(mean.size(), std::numeric_limits<double>::quiet_NaN());
    }
};

/// The six arrays of one circuit and the moments of its rows and columns, which grow head by head.
struct Tables {
    std::vector<std::int32_t> ids, lowestIds, columnIds;
    std::vector<double> values, lowestValues, columnValues;
    Moments rows, columns;
};

struct TableSizes {
    std::size_t heads = 0, rows = 0, cols = 0;
    int k = 0;
};

/// Reserves memory, so that no list is copied while it grows.
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

Result<Done> addMoments(Tables& tables, const FactoredMatrix<double>& circuit, const LeftOut& leftOut,
                        const Task& task)
{
    const auto rows = rowMoments(circuit.left(), circuit.right(), leftOut, task);
    if (!rows)
        return rows.error();
    const Matrix<double> left = circuit.right().transpose();
    const Matrix<double> right = circuit.left().transpose();
    const auto columns = rowMoments(left, right, {leftOut.cols, leftOut.rows}, task);
    if (!columns)
        return columns.error();
    tables.rows.add(*rows);
    tables.columns.add(*columns);
    return Done{};
}

Result<Done> addHead(Tables& tables, const FactoredMatrix<double>& circuit, const AnalysisOptions& options,
                     int k, const Task& task)
{
    const ScanFactors factors(circuit);
    const std::vector<bool> unusedRows = marks(options.unusedTokens, factors.rows.cols());
    const std::vector<bool> unusedCols = marks(options.unusedTokens, factors.cols.cols());
    const auto found = scanRows({{factors.rows32, factors.rows, unusedRows},
                                 {factors.cols32, factors.cols, unusedCols},
                                 k,
                                 ScanEnds::BothAndColumns},
                                task);
    if (!found)
        return found.error();
    if (const auto added = addMoments(tables, circuit, {unusedRows, unusedCols}, task); !added)
        return added;
    const auto appendScaled = [&](std::vector<double>& to, const std::vector<double>& values) {
        std::ranges::transform(values, std::back_inserter(to),
                               [&](double value) { return factors.scale * value; });
    };
    append(tables.ids, found->ids);
    appendScaled(tables.values, found->values);
    append(tables.lowestIds, found->lowestIds);
    appendScaled(tables.lowestValues, found->lowestValues);
    append(tables.columnIds, found->columnIds);
    appendScaled(tables.columnValues, found->columnValues);
    return Done{};
}

/// Adds empty entries for a head whose weights are not finite, to keep its place in the tables.
void addEmptyHead(Tables& tables, Eigen::Index rows, Eigen::Index cols, int k)
{
    const auto size = [k](Eigen::Index tokens) {
        return static_cast<std::size_t>(tokens) * static_cast<std::size_t>(k);
    };
    for (auto* ids : {&tables.ids, &tables.lowestIds})
        ids->resize(ids->size() + size(rows), -1);
    for (auto* values : {&tables.values, &tables.lowestValues})
        values->resize(values->size() + size(rows), notComputed);
    tables.columnIds.resize(tables.columnIds.size() + size(cols), -1);
    tables.columnValues.resize(tables.columnValues.size() + size(cols), notComputed);
    tables.rows.addEmpty(rows);
    tables.columns.addEmpty(cols);
}

constexpr std::array tablesCircuits{CircuitKind::FullOv, CircuitKind::FullQk};

std::string tablesFolder(CircuitKind kind)
{
    return "tables/" + std::string(circuitName(kind)) + "/";
}

/// Path of the moments that the z-score of an entry uses, and of the z-scores that Gaussian entries would have.
/// They go beside the tables, because the format of the tables' own arrays is fixed. \param line "row" or "column"
std::string tablesMomentsPath(CircuitKind kind, const std::string& line)
{
    return "analyses/tables/" + std::string(circuitName(kind)) + "_" + line;
}

/// Specs of one circuit. \param k length of the lists, or "k"
std::vector<ArraySpec> tablesSpecs(CircuitKind kind, const std::string& k)
{
    std::vector<ArraySpec> all;
    const bool isQk = kind == CircuitKind::FullQk;
    const Axis row = isQk ? Axis::QueryToken : Axis::SourceToken;
    const Axis col = isQk ? Axis::KeyToken : Axis::OutputToken;
    const std::string formula(circuitFormula(kind));
    const auto addTable = [&](const std::string& start, Axis axis, const std::string& which) {
        const std::string what = k + " " + which;
        const std::string definition = what + " of M = " + formula + ", ties to the lower id";
        const std::vector<ArrayAxis> axes{Axis::AnalysedHead, axis, Axis::Rank};
        all.push_back({.path = tablesFolder(kind) + start + "ids",
                       .axes = axes,
                       .title = what + ": ids",
                       .definition = "ids of the " + definition + "; -1 where there is none",
                       .type = NumberType::Whole});
        all.push_back({tablesFolder(kind) + start + "values", axes, what, definition});
    };
    addTable("", row, "largest entries of each row");
    addTable("lowest_", row, "smallest entries of each row");
    addTable("column_", col, "largest entries of each column");
    for (const std::string line : {"row", "column"}) {
        const std::string path = tablesMomentsPath(kind, line);
        const std::string over = " over the tokens in use of each " + line + " of " + formula;
        const std::vector<ArrayAxis> axes{Axis::AnalysedHead, line == "row" ? row : col};
        all.push_back({path + "_mean", axes, "Mean of the " + line, "mean" + over});
        all.push_back({path + "_deviation", axes, "Deviation of the " + line, "deviation" + over});
        all.push_back({.path = path + "_null_z",
                       .axes = {Axis::Rank},
                       .title = "Gaussian entries, " + line + "s of " + std::string(circuitTitle(kind)),
                       .definition = gaussianPlacesFormula,
                       .unit = "deviations"});
    }
    return all;
}

std::vector<ArraySpec> tablesArrays(const std::string& k = "k")
{
    std::vector<ArraySpec> all;
    for (const CircuitKind kind : tablesCircuits) {
        const auto specs = tablesSpecs(kind, k);
        all.insert(all.end(), specs.begin(), specs.end());
    }
    return all;
}

/// \param heads "5.1" …
void putTableMoments(Results& results, Moments moments, const std::string& path, int k,
                     const std::vector<std::string>& heads)
{
    const auto put = [&](const char* name, std::vector<double> values) {
        const std::vector<std::size_t> shape{heads.size(), values.size() / heads.size()};
        ResultArray& array = results.put(path + name, shape, std::move(values));
        array.attributes["heads"] = heads;
        array.attributes["entries"] = static_cast<double>(moments.entries);
    };
    put("_mean", std::move(moments.mean));
    put("_deviation", std::move(moments.deviation));
    results.put(path + "_null_z", gaussianPlaces(k, moments.entries));
}

void putTables(Results& results, Tables tables, CircuitKind kind, const TableSizes& sizes,
               const std::vector<std::string>& heads)
{
    const auto put = [&](const std::string& start, std::vector<std::int32_t> ids, std::vector<double> values,
                         std::size_t tokens) {
        const std::vector<std::size_t> shape{sizes.heads, tokens, static_cast<std::size_t>(sizes.k)};
        results.put(tablesFolder(kind) + start + "ids", shape, std::move(ids));
        results.put(tablesFolder(kind) + start + "values", shape, std::move(values));
    };
    put("", std::move(tables.ids), std::move(tables.values), sizes.rows);
    put("lowest_", std::move(tables.lowestIds), std::move(tables.lowestValues), sizes.rows);
    put("column_", std::move(tables.columnIds), std::move(tables.columnValues), sizes.cols);
    putTableMoments(results, std::move(tables.rows), tablesMomentsPath(kind, "row"), sizes.k, heads);
    putTableMoments(results, std::move(tables.columns), tablesMomentsPath(kind, "column"), sizes.k, heads);
    results.groupAttributes("tables/" + std::string(circuitName(kind)))["heads"] = heads;
}

Result<ResultSet> runTables(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    const std::vector<HeadId> heads = ownHeads(config, context.options);
    std::vector<std::string> names;
    names.reserve(heads.size());
    for (const HeadId head : heads)
        names.push_back(dottedHead(head));
    const Eigen::Index rows = context.tokens->E.count();
    const int k = static_cast<int>(std::min<Eigen::Index>(context.options.tableSize, rows));
    Results results = resultsOf(context, tablesArrays(std::to_string(k)));
    int done = 0;
    const int total = static_cast<int>(2 * heads.size());
    for (const CircuitKind kind : tablesCircuits) {
        const Eigen::Index cols = kind == CircuitKind::FullOv ? context.tokens->W_U.count() : rows;
        Tables tables;
        const TableSizes sizes{heads.size(), static_cast<std::size_t>(rows), static_cast<std::size_t>(cols),
                               k};
        reserve(tables, sizes);
        for (const HeadId head : heads) {
            if (task.cancelled())
                return stopped();
            const auto circuit = context.circuits.circuit<double>(kind, head, context.tokens.get());
            const auto added = addHead(tables, circuit, context.options, k, withoutProgress(task));
            if (!added && added.error().code != ErrorCode::Corrupt)
                return added.error();
            if (!added) {
                addEmptyHead(tables, rows, cols, k);
                results.warn(leftOutWarnings(context, "tables", {head}));
            }
            task.report(++done, total, "token tables");
        }
        putTables(results, std::move(tables), kind, sizes, names);
    }
    return std::move(results).finish();
}

AnalysisCost tablesCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double V = config.dVocab;
    const double entries = heads * V * std::min<double>(options.tableSize, V);
    // Three lists of ids and values each: of one circuit as they are kept, of the other while they grow, in double.
    const double kept = 3 * (4.0 + (options.precision == Precision::F64 ? 8 : 4));
    const double moments = heads * V * 2 * 2 * (config.dHead * 3.0 * config.dHead);
    const double products = heads * 2 * 2 * V * V * config.dHead;
    // Measured: products in whole numbers, moments, and what an entry of the lists takes beside them.
    const double productSpeed = scanKernels().front().isOfBytes ? 9 : 4.4;
    constexpr double momentSpeed = 2.4, placing = 2.0e5;
    const double work = products / productSpeed + moments / momentSpeed + entries * placing;
    const double flops = products + moments;
    const double ofScan = std::min(V * V / 16, 256e6);
    return {flops, entries * (kept + 3 * (4.0 + 8)) + heads * V * 4 * ((kept / 3 - 4) + 8) + ofScan,
            flops / work};
}

std::vector<Picture> tablesPictures()
{
    using Kind = Picture::Kind;
    std::vector<Picture> pictures;
    const auto add = [&](CircuitKind kind, const char* title, const char* ids, const char* values,
                         const char* note) {
        const std::string folder = "tables/" + std::string(circuitName(kind)) + "/";
        const bool isColumn = std::string_view(ids) == "column_ids";
        const std::string moments =
            "analyses/tables/" + std::string(circuitName(kind)) + (isColumn ? "_column_" : "_row_");
        pictures.push_back(
            {.kind = Kind::Table,
             .title = title,
             .arrays = {moments + "mean", moments + "deviation", folder + ids, folder + values},
             .note = note});
    };
    constexpr const char* noScale = "Without scale and biases.";
    add(CircuitKind::FullOv, "Outputs a source token promotes", "ids", "values", "One row per source token.");
    add(CircuitKind::FullOv, "Outputs a source token suppresses", "lowest_ids", "lowest_values",
        "One row per source token.");
    add(CircuitKind::FullOv, "Sources that promote a token", "column_ids", "column_values",
        "One row per output token.");
    add(CircuitKind::FullQk, "Keys a query token attends to", "ids", "values", noScale);
    add(CircuitKind::FullQk, "Keys it attends to least", "lowest_ids", "lowest_values", noScale);
    add(CircuitKind::FullQk, "Queries that attend to a token", "column_ids", "column_values", noScale);
    pictures.push_back(
        {.kind = Kind::Lines,
         .title = "Gaussian null of the tables",
         .arrays = {"analyses/tables/full_ov_row_null_z", "analyses/tables/full_qk_row_null_z"},
         .note = gaussianPlacesNote});
    return pictures;
}

} // namespace

Analysis tablesAnalysis()
{
    return {
        .id = "tables",
        .number = "A6, A7",
        .title = "Token tables of full OV and full QK",
        .formula =
            "the k largest and smallest entries of each row, the k largest of each column, of E W_V W_O W_U and E W_Q W_Kᵀ Eᵀ",
        .citation = "Elhage et al. 2021, \"Summarizing OV/QK matrices\"",
        .needsTokens = true,
        .isDefault = true,
        .whyNot = appliesAlways,
        .cost = tablesCost,
        .run = runTables,
        .arrays = tablesArrays(),
        .pictures = tablesPictures(),
        .followsFilter = true,
        .isSplit = true,
        .crossesStreams = true,
        .defaultBudget = 2e11};
}

} // namespace headwise
