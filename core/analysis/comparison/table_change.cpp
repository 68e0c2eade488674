#include "core/analysis/comparison/table_change.h"

#include "core/analysis/per_head.h"
#include "core/analysis/token_table.h"
#include "core/analysis/top_lists.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace headwise {

namespace {

constexpr int mostTokens = 32, fewestTokens = 4;
constexpr double tableFlops = 1e12; // of both models together

/// Distinct ids of tokens that there are, ascending.
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
    int nHeads = 0;
    std::vector<TokenEntry> entries; // [n_layers, n_heads, n, k]

    std::size_t listOf(HeadId head, std::size_t sample) const
    {
        const auto index = static_cast<std::size_t>(head.layer) * static_cast<std::size_t>(nHeads)
            + static_cast<std::size_t>(head.head);
        return index * tokens.size() + sample;
    }
    std::span<const TokenEntry> list(HeadId head, std::size_t sample) const
    {
        return std::span(entries).subspan(listOf(head, sample) * length, length);
    }
};

/// Ranked in float32. \param tops tokens and sizes filled in
Result<std::vector<std::string>> fillTops(const Circuits& circuits, const ComparisonOptions& options,
                                          const Task& task, Tops& tops)
{
    const ModelConfig& config = circuits.config();
    const auto n = static_cast<Eigen::Index>(tops.tokens.size());
    Matrix<double> E(n, config.dModel);
    for (Eigen::Index i = 0; i < n; ++i)
        E.row(i) = circuits.weights().W_E<double>(tops.tokens[static_cast<std::size_t>(i)], 1);
    const Matrix<float> W_U = circuits.weights().W_U<float>(0, config.dVocabOut);
    tops.entries.assign(tops.listOf({config.nLayers, 0}, 0) * tops.length,
                        {-1, std::numeric_limits<double>::quiet_NaN()});
    const AnalysisContext context{circuits, nullptr, {}};
    return forEachHead(context, task, "token tables", [&](HeadId head) -> Result<Done> {
        const FactoredMatrix<double> ov = circuits.ov(head);
        const Matrix<float> written = (E * ov.left() * ov.right()).cast<float>();
        if (!written.allFinite())
            return Error{ErrorCode::Corrupt, "A weight is not finite."};
        const Matrix<float> rows = written * W_U;
        for (std::size_t i = 0; i < tops.tokens.size(); ++i) {
            const RowVector<double> row = rows.row(static_cast<Eigen::Index>(i)).cast<double>();
            const TokenEnds found = ends(row, static_cast<int>(tops.length), options.unusedTokens);
            std::copy(found.top.begin(), found.top.end(),
                      tops.entries.begin() + static_cast<std::ptrdiff_t>(tops.listOf(head, i) * tops.length));
        }
        return Done{};
    });
}

/// How many ids of `before` are not among `after`, over the length of the list.
double shareThatLeft(std::span<const TokenEntry> before, std::span<const TokenEntry> after)
{
    const auto left = std::count_if(before.begin(), before.end(), [&](const TokenEntry& old) {
        return std::none_of(after.begin(), after.end(),
                            [&](const TokenEntry& now) { return now.id == old.id; });
    });
    return static_cast<double>(left) / static_cast<double>(before.size());
}

ResultArray changeArray(const ModelConfig& config, const ComparisonOptions& options, const Tops& a,
                        const Tops& b)
{
    PerHead change(config);
    for (int layer = 0; layer < config.nLayers; ++layer)
        for (int index = 0; index < config.nHeads; ++index) {
            const HeadId head{layer, index};
            double sum = 0;
            for (std::size_t i = 0; i < a.tokens.size(); ++i)
                sum += shareThatLeft(a.list(head, i), b.list(head, i));
            if (a.list(head, 0)[0].id >= 0 && b.list(head, 0)[0].id >= 0) // else left out
                change.set(head, sum / static_cast<double>(a.tokens.size()));
        }
    ResultArray array = change.array(
        options.precision, "comparison/full_ov/table_change", "Tokens that left the top",
        fmt::format(
            "mean over {} sampled source tokens (seed {}) of the share of the {} largest entries of their "
            "row of E W_V W_O W_U in A that are not among those in B; as many entered; ranked in float32; "
            "null: unrelated heads",
            a.tokens.size(), options.seed, a.length));
    const double k = static_cast<double>(a.length), V = config.dVocabOut,
                 n = static_cast<double>(a.tokens.size());
    array.range = {0.0, 1.0};
    array.nullMean = 1 - k / V;
    // The overlap is hypergeometric.
    array.nullDeviation = V > 1 ? std::sqrt(k / V * (1 - k / V) * (V - k) / (V - 1) / k / n) : 0;
    return array;
}

ResultArray idsArray(const ModelConfig& config, const Tops& tops, const char* name, const char* title)
{
    TopLists lists({"layer", "head", "sample", "rank"},
                   {static_cast<std::size_t>(config.nLayers), static_cast<std::size_t>(config.nHeads),
                    tops.tokens.size(), tops.length});
    for (std::size_t list = 0; list * tops.length < tops.entries.size(); ++list)
        lists.set(list, std::span(tops.entries).subspan(list * tops.length, tops.length));
    return lists.ids(
        std::string("comparison/full_ov/") + name, title,
        "ids of the largest entries of the sampled tokens' rows of E W_V W_O W_U, falling, ties to "
        "the lower id");
}

} // namespace

int sampledTokenCount(const ModelConfig& config)
{
    const double perToken = 4.0 * config.nLayers * config.nHeads * config.dModel * config.dVocabOut;
    return static_cast<int>(std::clamp(tableFlops / perToken, double(fewestTokens), double(mostTokens)));
}

Result<ResultSet> tableChanges(const Circuits& older, const Circuits& newer, const ComparisonOptions& options,
                               const Task& task)
{
    const ModelConfig& config = older.config();
    Tops a;
    a.tokens = sampledTokens(config, options);
    const auto unused = std::count(options.unusedTokens.begin(), options.unusedTokens.end(), true);
    a.length = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(
        options.tableSize, 1, std::max<std::ptrdiff_t>(1, config.dVocabOut - unused)));
    a.nHeads = config.nHeads;
    Tops b = a;
    ResultSet results;
    if (a.tokens.empty())
        return results;
    for (const auto& [circuits, tops] : {std::pair(&older, &a), {&newer, &b}}) {
        auto warnings = fillTops(*circuits, options, task, *tops);
        if (!warnings)
            return warnings.error();
        results.warnings.insert(results.warnings.end(), warnings->begin(), warnings->end());
    }
    results.arrays.push_back(changeArray(config, options, a, b));
    results.arrays.push_back(idsArray(config, a, "ids_a", "Top tokens of A"));
    results.arrays.push_back(idsArray(config, b, "ids_b", "Top tokens of B"));
    ResultArray tokens = integerArray("comparison/full_ov/sampled_tokens", {a.tokens.size()},
                                      {a.tokens.begin(), a.tokens.end()}, {"sample"});
    tokens.title = "Sampled source tokens";
    tokens.definition =
        fmt::format("{} ids drawn without replacement with seed {}", a.tokens.size(), options.seed);
    tokens.unit = "token";
    results.arrays.push_back(std::move(tokens));
    return results;
}

} // namespace headwise
