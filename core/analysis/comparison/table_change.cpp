#include "core/analysis/comparison/table_change.h"

#include "core/analysis/selected_heads.h"
#include "core/base/matrix.h"
#include "core/base/parallel.h"
#include "core/circuits/token_table.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>

namespace headwise {

namespace {

constexpr int mostTokens = 32, fewestInSlice = 4;
constexpr double tableFlops = 1e12; // of both models together

const std::string tableChangeFolder = "comparison/full_ov/";

/// Returns the definition of the change. \param seed in brackets, or empty
std::string tableChangeText(const std::string& tokens, const std::string& seed, const std::string& k)
{
    return fmt::format(
        "mean over {} sampled source tokens{} of the share of the {} largest entries of their row of E W_V W_O W_U in A that are not among those in B; as many entered; ranked in float32; null: unrelated heads",
        tokens, seed, k);
}

/// Returns distinct ids of existing tokens, ascending.
std::vector<int> sampledTokens(const ModelConfig& config, const ComparisonOptions& options)
{
    std::vector<int> ids;
    for (int id = 0; id < config.dVocab; ++id)
        if (options.unusedTokens.empty() || !options.unusedTokens[static_cast<std::size_t>(id)])
            ids.push_back(id);
    std::mt19937_64 engine(options.seed);
    const std::size_t count = std::min(static_cast<std::size_t>(sampledTokenCount(config)), ids.size());
    for (std::size_t i = 0; i < count; ++i)
        std::swap(ids[i], ids[i + engine() % (ids.size() - i)]);
    ids.resize(count);
    std::sort(ids.begin(), ids.end());
    return ids;
}

/// The k largest entries of the sampled rows of every head's full OV.
struct Tops {
    std::vector<int> tokens; // [n]
    std::size_t length = 0;  // k
    int nLayers = 0, nHeads = 0;
    std::vector<TokenEntry> entries; // [n_layers, n_heads, n, k]

    int listCount() const { return nLayers * nHeads * static_cast<int>(tokens.size()); }
    std::size_t listOf(HeadId head, std::size_t sample) const
    {
        const auto index = static_cast<std::size_t>(head.layer) * static_cast<std::size_t>(nHeads)
            + static_cast<std::size_t>(head.head);
        return index * tokens.size() + sample;
    }
    std::span<TokenEntry> list(int index)
    {
        return std::span(entries).subspan(static_cast<std::size_t>(index) * length, length);
    }
    std::span<const TokenEntry> list(HeadId head, std::size_t sample) const
    {
        return std::span(entries).subspan(listOf(head, sample) * length, length);
    }
};

/// The output of every head for each sampled token, one column per list in the tops. NaN for a skipped head.
struct Written {
    Matrix<float> vectors; // [d, lists]
    std::vector<std::string> warnings;
};

Result<Written> writtenBy(const Circuits& circuits, const Tops& tops, const Task& task)
{
    const ModelConfig& config = circuits.config();
    const auto n = static_cast<Eigen::Index>(tops.tokens.size());
    Matrix<double> E(n, config.dModel);
    for (Eigen::Index i = 0; i < n; ++i)
        E.row(i) = circuits.weights().W_E<double>(tops.tokens[static_cast<std::size_t>(i)], 1);
    Written written;
    written.vectors.setConstant(config.dModel, tops.listCount(), static_cast<float>(notComputed));
    const AnalysisContext context{circuits, nullptr, {}};
    auto warnings = forEachHead(context, task, "token tables", [&](HeadId head) -> Result<Done> {
        const FactoredMatrix<double> ov = circuits.ov(head);
        const Matrix<float> rows = (E * ov.left() * ov.right()).cast<float>();
        if (!rows.allFinite())
            return Error{ErrorCode::Corrupt, "A weight is NaN or infinite."};
        written.vectors.middleCols(static_cast<Eigen::Index>(tops.listOf(head, 0)), n) = rows.transpose();
        return Done{};
    });
    if (!warnings)
        return warnings.error();
    written.warnings = *std::move(warnings);
    return written;
}

/// Inserts an entry into a falling list and drops the last one.
void insert(std::span<TokenEntry> list, const TokenEntry& entry)
{
    auto place = list.end() - 1;
    for (; place != list.begin() && !((place - 1)->value >= entry.value); --place) // not of NaN either
        *place = *(place - 1);
    *place = entry;
}

constexpr Eigen::Index listsPerBlock = 384, columnsPerTile = 512; // the tile stays in the second cache
constexpr Eigen::Index chunk = 64; // entries of which the largest is looked at first

/// Adds the entries of one list's row in the columns from `first` on. Columns must arrive in rising order, to break ties.
void addColumns(std::span<TokenEntry> list, const Eigen::Ref<const Eigen::VectorXf>& entries,
                Eigen::Index first, const std::vector<bool>& unused)
{
    const auto least = [&] {
        return list.back().id < 0 ? -std::numeric_limits<double>::infinity() : list.back().value;
    };
    for (Eigen::Index at = 0; at < entries.size(); at += chunk) {
        const Eigen::Index end = std::min(at + chunk, entries.size());
        const float largest = end - at == chunk ? entries.segment<chunk>(at).maxCoeff()
                                                : entries.segment(at, end - at).maxCoeff();
        for (Eigen::Index i = at; largest > least() && i < end; ++i) {
            const auto id = static_cast<std::size_t>(first + i);
            if (entries(i) > least() && (id >= unused.size() || !unused[id]))
                insert(list, {static_cast<int>(id), entries(i)});
        }
    }
}

/// Rows of full OV, vectorsᵀ W_U.
struct Rows {
    const Matrix<float>& vectors; // [d, lists]
    const Matrix<float>& W_U;
    const std::vector<bool>& unused;
};

/// Ranks the rows of these lists in float32, one tile of the product at a time.
Result<Done> rank(const Rows& rows, const std::vector<int>& lists, const Task& task, Tops& tops)
{
    const auto blocks = (std::ssize(lists) + listsPerBlock - 1) / listsPerBlock;
    return parallelFor(static_cast<int>(blocks), task, "token tables", [&](int block) -> Result<Done> {
        const auto first = block * listsPerBlock;
        const std::vector<int> some(lists.begin() + first,
                                    lists.begin() + std::min(first + listsPerBlock, std::ssize(lists)));
        for (const int list : some)
            std::ranges::fill(tops.list(list), TokenEntry{-1, notComputed});
        const Matrix<float> vectors = rows.vectors(Eigen::all, some);
        Matrix<float> entries; // [columns, lists]
        for (Eigen::Index column = 0; column < rows.W_U.cols(); column += columnsPerTile) {
            if (task.cancelled())
                return stopped();
            const Eigen::Index count = std::min(columnsPerTile, rows.W_U.cols() - column);
            entries.noalias() = rows.W_U.middleCols(column, count).transpose() * vectors;
            for (Eigen::Index i = 0; i < entries.cols(); ++i)
                addColumns(tops.list(some[static_cast<std::size_t>(i)]), entries.col(i), column, rows.unused);
        }
        return Done{};
    });
}

/// Overwrites `out` [d, V] with the model's W_U. \returns whether it differs from the old contents
Result<bool> readUnembedding(const ProcessedWeights& weights, const Task& task, Matrix<float>& out)
{
    const auto blocks = static_cast<int>((out.cols() + columnsPerTile - 1) / columnsPerTile);
    std::atomic<bool> isOther = false;
    const auto done =
        parallelFor(blocks, withoutProgress(task), "unembedding", [&](int block) -> Result<Done> {
            const Eigen::Index first = block * columnsPerTile;
            const Eigen::Index count = std::min(columnsPerTile, out.cols() - first);
            const Matrix<float> read = weights.W_U<float>(first, count);
            if (out.middleCols(first, count) != read) {
                out.middleCols(first, count) = read;
                isOther = true;
            }
            return Done{};
        });
    if (!done)
        return done.error();
    return isOther.load();
}

/// Computes the tops of both models. If head outputs and W_U are the same, the newer model reuses the older one's.
/// \param tops tokens and sizes filled in
Result<std::vector<std::string>> fillTops(const std::array<Circuits, 2>& models,
                                          const ComparisonOptions& options, const Task& task,
                                          std::array<Tops, 2>& tops)
{
    std::vector<std::string> warnings;
    std::array<Matrix<float>, 2> vectors;
    for (std::size_t model = 0; model < models.size(); ++model) {
        auto found = writtenBy(models[model], tops[0], task);
        if (!found)
            return found.error();
        Written written = std::move(found).value();
        vectors[model] = std::move(written.vectors);
        std::ranges::move(written.warnings, std::back_inserter(warnings));
    }
    const ModelConfig& config = models[0].config();
    Matrix<float> W_U = Matrix<float>::Zero(config.dModel, config.dVocabOut);
    tops[0].entries.resize(static_cast<std::size_t>(tops[0].listCount()) * tops[0].length);
    for (std::size_t model = 0; model < models.size(); ++model) {
        const auto isOther = readUnembedding(models[model].weights(), task, W_U);
        if (!isOther)
            return isOther.error();
        if (model > 0)
            tops[model] = tops[0];
        std::vector<int> lists;
        for (int list = 0; list < vectors[model].cols(); ++list)
            if (model == 0 || *isOther || vectors[model].col(list) != vectors[0].col(list))
                lists.push_back(list);
        if (const auto done = rank({vectors[model], W_U, options.unusedTokens}, lists, task, tops[model]);
            !done)
            return done.error();
    }
    return warnings;
}

/// Returns the share of the ids in `before` that are not in `after`.
double shareThatLeft(std::span<const TokenEntry> before, std::span<const TokenEntry> after)
{
    const auto left = std::count_if(before.begin(), before.end(), [&](const TokenEntry& old) {
        return std::none_of(after.begin(), after.end(),
                            [&](const TokenEntry& now) { return now.id == old.id; });
    });
    return static_cast<double>(left) / static_cast<double>(before.size());
}

void putChange(Results& results, const ModelConfig& config, const ComparisonOptions& options, const Tops& a,
               const Tops& b)
{
    RealNumbers change = RealNumbers::perHead(config);
    for (int layer = 0; layer < config.nLayers; ++layer)
        for (int index = 0; index < config.nHeads; ++index) {
            const HeadId head{layer, index};
            double sum = 0;
            for (std::size_t i = 0; i < a.tokens.size(); ++i)
                sum += shareThatLeft(a.list(head, i), b.list(head, i));
            if (a.list(head, 0)[0].id >= 0 && b.list(head, 0)[0].id >= 0) // else left out
                change.set(head, sum / static_cast<double>(a.tokens.size()));
        }
    ResultArray& array = results.put(tableChangeFolder + "table_change", std::move(change));
    array.definition =
        tableChangeText(std::to_string(a.tokens.size()), " (seed " + std::to_string(options.seed) + ")",
                        std::to_string(a.length));
    const double k = static_cast<double>(a.length), V = config.dVocabOut,
                 n = static_cast<double>(a.tokens.size());
    array.nullMean = 1 - k / V;
    // The overlap is hypergeometric.
    array.nullDeviation = V > 1 ? std::sqrt(k / V * (1 - k / V) * (V - k) / (V - 1) / k / n) : 0;
}

void putIds(Results& results, const ModelConfig& config, const Tops& tops, const char* name)
{
    WholeNumbers ids = WholeNumbers::perHead(config, tops.tokens.size(), tops.length);
    std::ranges::transform(tops.entries, ids.values().begin(), &TokenEntry::id);
    results.put(tableChangeFolder + name, std::move(ids));
}

} // namespace

std::vector<ArraySpec> tableChangeArrays()
{
    const auto ids = [](const char* name, std::vector<ArrayAxis> axes, const char* title,
                        const char* definition) {
        return ArraySpec{.path = tableChangeFolder + name,
                         .axes = std::move(axes),
                         .title = title,
                         .definition = definition,
                         .unit = "token",
                         .type = NumberType::Whole};
    };
    const char* largest =
        "ids of the largest entries of the sampled tokens' rows of E W_V W_O W_U, falling, ties to the lower id";
    std::vector<ArraySpec> all{
        {tableChangeFolder + "table_change", headAxes(), "Tokens that left the top",
         tableChangeText("n", "", "k"), "", std::pair(0.0, 1.0)},
        ids("ids_a", headAxes({Axis::Sample, Axis::Rank}), "Top tokens of A", largest),
        ids("ids_b", headAxes({Axis::Sample, Axis::Rank}), "Top tokens of B", largest),
        ids("sampled_tokens", {Axis::Sample}, "Sampled source tokens", "ids drawn without replacement")};
    for (ArraySpec& spec : all)
        spec.condition = "one vocabulary in both models";
    return all;
}

int sampledTokenCount(const ModelConfig& config)
{
    const double perToken = 4.0 * config.nLayers * config.nHeads * config.dModel * config.dVocabOut;
    return static_cast<int>(std::clamp(tableFlops / perToken, double(fewestInSlice), double(mostTokens)));
}

Result<Done> putTableChanges(const Circuits& older, const Circuits& newer, const ComparisonOptions& options,
                             const Task& task, Results& results)
{
    const ModelConfig& config = older.config();
    std::array<Tops, 2> tops;
    auto& [a, b] = tops;
    a.tokens = sampledTokens(config, options);
    const auto unused = std::count(options.unusedTokens.begin(), options.unusedTokens.end(), true);
    a.length = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(
        options.tableSize, 1, std::max<std::ptrdiff_t>(1, config.dVocabOut - unused)));
    a.nLayers = config.nLayers;
    a.nHeads = config.nHeads;
    if (a.tokens.empty())
        return Done{};
    auto warnings = fillTops({older, newer}, options, task, tops);
    if (!warnings)
        return warnings.error();
    results.warn(*warnings);
    putChange(results, config, options, a, b);
    putIds(results, config, a, "ids_a");
    putIds(results, config, b, "ids_b");
    results.put(tableChangeFolder + "sampled_tokens", a.tokens).definition =
        fmt::format("{} ids drawn without replacement with seed {}", a.tokens.size(), options.seed);
    return Done{};
}

} // namespace headwise
