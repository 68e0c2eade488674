#include "core/results/stored_table.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace headwise {

namespace {

/// The row of `head` in the first dimension of the tables under `group`, −1 if it was not analysed.
std::ptrdiff_t tableOf(const ResultSet& results, const std::string& group, HeadId head)
{
    const auto attributes = results.groupAttributes.find(group);
    if (attributes == results.groupAttributes.end())
        return -1;
    const auto heads = attributes->second.find("heads");
    if (heads == attributes->second.end())
        return -1;
    const auto* names = std::get_if<std::vector<std::string>>(&heads->second);
    if (!names)
        return -1;
    const auto found = std::find(names->begin(), names->end(), dottedHead(head));
    return found == names->end() ? -1 : found - names->begin();
}

double valueAt(const ResultArray& values, std::size_t index)
{
    if (const auto* floats = std::get_if<std::vector<float>>(&values.values);
        floats && index < floats->size())
        return static_cast<double>((*floats)[index]);
    if (const auto* doubles = std::get_if<std::vector<double>>(&values.values);
        doubles && index < doubles->size())
        return (*doubles)[index];
    return std::nan("");
}

/// The entries of one line of `ids` and `values` [heads, V, k]; padding (id −1) is left out.
std::vector<TokenEntry> lineOf(const ResultArray* ids, const ResultArray* values, std::size_t table,
                               std::size_t token)
{
    std::vector<TokenEntry> entries;
    const auto* numbers = ids ? std::get_if<std::vector<std::int32_t>>(&ids->values) : nullptr;
    if (!numbers || !values || ids->shape.size() != 3 || ids->shape != values->shape || table >= ids->shape[0]
        || token >= ids->shape[1])
        return entries;
    const std::size_t k = ids->shape[2];
    const std::size_t first = (table * ids->shape[1] + token) * k;
    for (std::size_t i = first; i < first + k && i < numbers->size(); ++i)
        if ((*numbers)[i] >= 0)
            entries.push_back({(*numbers)[i], valueAt(*values, i)});
    return entries;
}

} // namespace

std::optional<TokenEnds> storedEnds(const ResultSet& results, CircuitKind kind, HeadId head, TableSide side,
                                    int token)
{
    const std::string group = "tables/" + std::string(circuitName(kind));
    const std::ptrdiff_t table = tableOf(results, group, head);
    if (table < 0 || token < 0)
        return std::nullopt;
    const auto line = [&](const char* ids, const char* values) {
        return lineOf(results.find(group + "/" + ids), results.find(group + "/" + values),
                      static_cast<std::size_t>(table), static_cast<std::size_t>(token));
    };
    TokenEnds ends;
    if (side == TableSide::Row)
        ends = {line("ids", "values"), line("lowest_ids", "lowest_values")};
    else
        ends.top = line("column_ids", "column_values");
    if (ends.top.empty())
        return std::nullopt;
    return ends;
}

std::optional<LineStatistics> storedStatistics(const ResultSet& results, CircuitKind kind, HeadId head,
                                               TableSide side, int token)
{
    const std::string circuit(circuitName(kind));
    const std::ptrdiff_t table = tableOf(results, "tables/" + circuit, head);
    const std::string path = "analyses/tables/" + circuit + (side == TableSide::Row ? "_row_" : "_column_");
    const ResultArray* mean = results.find(path + "mean");
    const ResultArray* deviation = results.find(path + "deviation");
    if (table < 0 || token < 0 || !mean || !deviation || mean->shape.size() != 2
        || deviation->shape != mean->shape || static_cast<std::size_t>(table) >= mean->shape[0]
        || static_cast<std::size_t>(token) >= mean->shape[1])
        return std::nullopt;
    const auto entries = mean->attributes.find("entries");
    const double* count = entries == mean->attributes.end() ? nullptr : std::get_if<double>(&entries->second);
    const std::size_t at = static_cast<std::size_t>(table) * mean->shape[1] + static_cast<std::size_t>(token);
    const double mu = valueAt(*mean, at), sigma = valueAt(*deviation, at);
    if (!count || !std::isfinite(mu) || !std::isfinite(sigma))
        return std::nullopt;
    return LineStatistics{mu, sigma, std::sqrt(*count * (mu * mu + sigma * sigma))};
}

} // namespace headwise
