#include "core/series/series_record.h"

#include "core/results/layer_null.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <map>

namespace headwise {
namespace {

constexpr float unknownValue = std::numeric_limits<float>::quiet_NaN();

bool isSpectrum(const std::string& path, const std::vector<ArrayAxis>& axes)
{
    return path.starts_with("spectra/") && path.ends_with("/singular_values") && axes.size() == 3
        && axes[0] == Axis::Layer && axes[1] == Axis::Head;
}

bool isPerHead(const std::vector<ArrayAxis>& axes)
{
    return axes.size() == 2 && axes[0] == Axis::Layer && axes[1] == Axis::Head;
}

/// "scores/copying" stays; "spectra/qk/effective_rank" is scores/qk_effective_rank, and
/// "analyses/pattern_scores/induction" is scores/pattern_scores_induction.
std::string scorePath(const std::string& path)
{
    if (path.starts_with("scores/"))
        return path;
    std::string name = path.substr(path.find('/') + 1);
    std::replace(name.begin(), name.end(), '/', '_');
    return "scores/" + name;
}

std::optional<std::vector<float>> floats(const ResultArray::Values& values)
{
    if (const auto* single = std::get_if<std::vector<float>>(&values))
        return *single;
    if (const auto* twice = std::get_if<std::vector<double>>(&values))
        return std::vector<float>(twice->begin(), twice->end());
    return std::nullopt;
}

void raise(std::optional<double>& number, std::optional<double> other)
{
    if (other && (!number || *other > *number))
        number = other;
}

/// Gives an array whose layers have nulls of their own the largest of them, so that no head is called special for its layer.
void takeLargestNull(ResultArray& array, const std::string& path, const ResultSet& results)
{
    for (int layer = 0; layer < static_cast<int>(array.shape[0]); ++layer) {
        const LayerNull null = layerNull(array, layer);
        raise(array.nullMean, null.mean);
        raise(array.nullDeviation, null.deviation);
    }
    const std::string folder = "analyses/" + path.substr(path.rfind('/') + 1);
    const auto largest = [&](const std::string& name) -> std::optional<double> {
        const ResultArray* byLayer = results.find(folder + name);
        const auto values = byLayer ? floats(byLayer->values) : std::nullopt;
        if (!values || values->empty() || byLayer->axes != std::vector<ArrayAxis>{Axis::Layer})
            return std::nullopt;
        return *std::max_element(values->begin(), values->end());
    };
    raise(array.nullMean, largest("/null_mean"));
    raise(array.nullDeviation, largest("/null_deviation"));
}

} // namespace

bool isKeptInSeries(const ArraySpec& spec)
{
    return spec.type == NumberType::Real && (isPerHead(spec.axes) || isSpectrum(spec));
}

bool isSpectrum(const ArraySpec& spec)
{
    return isSpectrum(spec.path, spec.axes);
}

std::vector<ResultArray> seriesArrays(const ResultSet& results)
{
    std::vector<ResultArray> kept;
    for (const ResultArray& array : results.arrays) {
        auto values = floats(array.values);
        const bool isScore = isPerHead(array.axes);
        if (!values || !(isScore || isSpectrum(array.path, array.axes)))
            continue;
        ResultArray copy = array;
        copy.values = *std::move(values);
        if (isScore) {
            takeLargestNull(copy, array.path, results);
            copy.path = scorePath(array.path);
        }
        kept.push_back(std::move(copy));
    }
    return kept;
}

std::string skippedSentence(const SeriesEntry& entry)
{
    return fmt::format("'{}' was skipped: {}", entry.name, entry.problem);
}

Result<Done> checkAnyGood(const SeriesRecord& record)
{
    if (std::ranges::any_of(record.entries, [](const auto& entry) { return entry.problem.empty(); }))
        return Done{};
    return Error{ErrorCode::Corrupt,
                 fmt::format("No member of '{}' could be read. {}: {}", record.frame.model.name,
                             record.entries.front().name, record.entries.front().problem)};
}

ResultSet joinedArrays(const SeriesRecord& record)
{
    std::vector<std::string> paths; // in the order of their first member
    std::map<std::string, const ResultArray*> last;
    for (const SeriesEntry& entry : record.entries)
        for (const ResultArray& array : entry.arrays) {
            if (!last.contains(array.path))
                paths.push_back(array.path);
            last[array.path] = &array;
        }
    ResultSet joined;
    for (const std::string& path : paths) {
        ResultArray whole = *last.at(path);
        const std::vector<std::size_t> shape = whole.shape;
        const std::size_t size = std::get<std::vector<float>>(whole.values).size();
        std::vector<float> values(record.entries.size() * size, unknownValue);
        for (std::size_t i = 0; i < record.entries.size(); ++i)
            for (const ResultArray& array : record.entries[i].arrays)
                if (array.path == path && array.shape == shape)
                    std::ranges::copy(std::get<std::vector<float>>(array.values),
                                      values.begin() + static_cast<std::ptrdiff_t>(i * size));
        whole.values = std::move(values);
        whole.shape.insert(whole.shape.begin(), record.entries.size());
        whole.axes.insert(whole.axes.begin(), Axis::Step);
        joined.arrays.push_back(std::move(whole));
    }
    return joined;
}

} // namespace headwise
