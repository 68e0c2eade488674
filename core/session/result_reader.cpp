#include "core/base/log.h"
#include "core/session/session_layout.h"
#include "core/session/session_reading.h"

#include <algorithm>

namespace headwise {
namespace {

constexpr int maxDepth = 4;
constexpr std::size_t maxArrays = 10'000;

/// Converts whole numbers to doubles, the only numbers of an AttributeValue.
AttributeValue attributeValue(const Hdf5Attribute& value)
{
    const auto kept = []<typename T>(const T& held) -> AttributeValue {
        return static_cast<std::conditional_t<std::is_same_v<T, std::int64_t>, double, T>>(held);
    };
    return std::visit(kept, value);
}

/// Returns the shape that FORMAT.md gives this path; −1: any size; nothing: the axes decide.
std::optional<std::vector<int>> namedShape(std::string_view path, const ModelCard& m)
{
    const std::string_view root = path.substr(0, path.find('/'));
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const int L = m.nLayers;
    const int H = m.nHeads;
    if (root == "spectra")
        return name == "singular_values" ? std::vector<int>{L, H, m.dHead} : std::vector<int>{L, H};
    if (root == "eigenvalues")
        return std::vector<int>{L, H, m.dHead};
    if (root == "scores")
        return std::vector<int>{L, H};
    if (root == "composition")
        return std::vector<int>{L, H, L, H};
    if (root == "tables")
        return std::vector<int>{-1, -1, -1};
    if (root == "factors")
        return name == "a" ? std::vector<int>{L, H, m.dModel, m.dHead}
                           : std::vector<int>{L, H, m.dHead, m.dModel};
    if (root == "embedding")
        return std::vector<int>{m.dVocab, m.dModel};
    if (root == "unembedding")
        return std::vector<int>{m.dModel, -1};
    return std::nullopt;
}

Result<Done> checkShape(const SessionReading& reading, const ResultArray& array)
{
    const ModelCard& model = reading.session.model;
    const auto wrong = [&] {
        std::string shape;
        for (const std::size_t size : array.shape)
            shape += (shape.empty() ? "" : ", ") + std::to_string(size);
        return reading.corrupt(array.path,
                               "has shape [" + shape + "], which does not fit its axes or the model");
    };
    if (array.axes.size() != array.shape.size())
        return wrong();
    for (std::size_t i = 0; i < array.shape.size(); ++i) {
        const bool isLayer = array.axes[i] == Axis::Layer, isHead = array.axes[i] == Axis::Head;
        const int fixed = isLayer ? model.nLayers : isHead ? model.nHeads : -1;
        // A table lists only the analysed heads, so its rows belong to no layer.
        const bool ofTable = array.path.starts_with("tables/");
        if (ofTable && (isLayer || (isHead && i > 0)))
            return wrong();
        if (fixed >= 0 && !ofTable && array.shape[i] != static_cast<std::size_t>(fixed))
            return wrong();
    }
    const auto named = namedShape(array.path, model);
    if (!named)
        return Done{};
    if (named->size() != array.shape.size())
        return wrong();
    for (std::size_t i = 0; i < named->size(); ++i)
        if ((*named)[i] >= 0 && array.shape[i] != static_cast<std::size_t>((*named)[i]))
            return wrong();
    return Done{};
}

/// Returns nothing if a later version gives this path another shape, or if the array is foreign and stored in a way that
/// is not read: a reader ignores what it does not know.
Result<std::optional<ResultArray>> readArray(const SessionReading& reading, const std::string& path)
{
    Result<ResultArray> stored = readDescribedArray(reading.file, path);
    if (!stored && stored.error().code == ErrorCode::Unsupported
        && !namedShape(path, reading.session.model)) {
        logWarning(stored.error().message);
        return std::optional<ResultArray>(); // a foreign array
    }
    if (!stored)
        return stored.error();
    ResultArray array = std::move(stored).value();
    if (const Result<Done> fits = checkShape(reading, array); !fits) {
        if (reading.isNewer())
            return std::optional<ResultArray>();
        return fits.error();
    }
    return std::optional(std::move(array));
}

Result<Done> addArray(SessionReading& reading, const std::string& path)
{
    Result<std::optional<ResultArray>> array = readArray(reading, path);
    if (!array)
        return array.error();
    std::optional<ResultArray> found = std::move(array).value();
    if (found)
        reading.session.results.arrays.push_back(*std::move(found));
    return Done{};
}

Result<Done> readGroup(SessionReading& reading, const std::string& path, int depth)
{
    if (depth > maxDepth)
        return Done{};
    const Result<Hdf5Attributes> attributes = reading.file.attributes(path);
    if (!attributes)
        return attributes.error();
    for (const auto& [name, value] : *attributes)
        reading.session.results.groupAttributes[path].emplace(name, attributeValue(value));
    const Result<std::vector<Hdf5Entry>> entries = reading.file.entries(path);
    if (!entries)
        return entries.error();
    for (const Hdf5Entry& entry : *entries) {
        if (reading.task.cancelled())
            return stopped();
        const std::string child = path + "/" + entry.name;
        if (entry.kind == Hdf5Kind::Group) {
            if (const Result<Done> read = readGroup(reading, child, depth + 1); !read)
                return read;
        } else if (entry.kind == Hdf5Kind::Numbers) {
            if (reading.session.results.arrays.size() == maxArrays)
                return reading.corrupt(path, "holds more than " + std::to_string(maxArrays) + " arrays");
            if (const Result<Done> read = addArray(reading, child); !read)
                return read;
        }
    }
    return Done{};
}

Result<Done> readResults(SessionReading& reading)
{
    const Result<std::vector<Hdf5Entry>> entries = reading.file.entries("");
    if (!entries)
        return entries.error();
    int done = 0;
    for (const Hdf5Entry& entry : *entries) {
        reading.task.report(done++, static_cast<int>(entries->size()), "groups");
        if (std::find(layout::resultRoots.begin(), layout::resultRoots.end(), entry.name)
            == layout::resultRoots.end())
            continue;
        if (entry.kind == Hdf5Kind::Group) {
            if (const Result<Done> read = readGroup(reading, entry.name, 1); !read)
                return read;
        } else if (entry.kind == Hdf5Kind::Numbers) {
            if (const Result<Done> read = addArray(reading, entry.name); !read)
                return read;
        }
    }
    reading.task.report(done, done, "groups");
    return Done{};
}

/// Checks that the heads of each table belong to the model, one per row, and that its ids are tokens.
Result<Done> tablesFit(const SessionReading& reading)
{
    const ResultSet& results = reading.session.results;
    for (const ResultArray& array : results.arrays) {
        if (!array.path.starts_with("tables/"))
            continue;
        const std::string group = array.path.substr(0, array.path.rfind('/'));
        const auto attributes = results.groupAttributes.find(group);
        const auto heads = attributes == results.groupAttributes.end() ? std::vector<std::string>()
            : attributes->second.contains("heads") && attributes->second.at("heads").index() == 3
            ? std::get<std::vector<std::string>>(attributes->second.at("heads"))
            : std::vector<std::string>();
        const bool known = std::all_of(heads.begin(), heads.end(), [&](const std::string& head) {
            return stored::headOf(reading.session.model, head).has_value();
        });
        if (heads.size() != array.shape[0] || !known)
            return reading.corrupt(group, "does not name the head of each of its rows in 'heads'");
        const ResultArray* columns = results.find(group + "/column_ids");
        const auto limit = std::max(static_cast<std::size_t>(reading.session.model.dVocab),
                                    columns ? columns->shape[1] : std::size_t(0));
        if (const auto* ids = std::get_if<std::vector<std::int32_t>>(&array.values))
            if (std::any_of(ids->begin(), ids->end(), [&](std::int32_t id) {
                    return id < -1 || (id >= 0 && std::size_t(id) >= limit);
                }))
                return reading.corrupt(array.path, "holds token ids outside the vocabulary");
    }
    return Done{};
}

/// Infers the number of output tokens, which is stored nowhere else: column tables have one entry for each column of W_U.
Result<Done> checkUnembedding(SessionReading& reading)
{
    const ResultSet& results = reading.session.results;
    const ResultArray* unembedding = results.find("unembedding");
    const ResultArray* columns = results.find("tables/full_ov/column_ids");
    if (!unembedding || !columns || unembedding->shape[1] == columns->shape[1] || reading.isNewer())
        return Done{};
    return reading.corrupt("unembedding",
                           "has " + std::to_string(unembedding->shape[1]) + " columns, expected "
                               + std::to_string(columns->shape[1]) + " as tables/full_ov/column_ids has");
}

/// Checks the tables. A later version may store them differently; in ours, a mismatch means a damaged file.
Result<Done> checkTables(SessionReading& reading)
{
    const Result<Done> fit = tablesFit(reading);
    if (fit || !reading.isNewer())
        return fit;
    std::erase_if(reading.session.results.arrays,
                  [](const ResultArray& array) { return array.path.starts_with("tables/"); });
    return Done{};
}

} // namespace

Result<ResultArray> readDescribedArray(const Hdf5Reader& file, const std::string& path)
{
    Result<Hdf5Array> stored = file.readArray(path);
    if (!stored)
        return stored.error();
    const Result<Hdf5Attributes> attributes = file.attributes(path);
    if (!attributes)
        return attributes.error();
    ResultArray array;
    array.path = path;
    Hdf5Array numbers = std::move(stored).value();
    array.shape = std::move(numbers.shape);
    array.values = std::move(numbers.values);
    array.axes = axesNamed(stored::textsOf(*attributes, "axes"));
    array.definition = stored::textOf(*attributes, "definition");
    array.title = stored::textOf(*attributes, "title");
    array.unit = stored::textOf(*attributes, "unit");
    array.nullMean = stored::numberOf(*attributes, "null_mean");
    array.nullDeviation = stored::numberOf(*attributes, "null_deviation");
    const auto low = stored::numberOf(*attributes, "range_low");
    const auto high = stored::numberOf(*attributes, "range_high");
    if (low && high)
        array.range = {*low, *high};
    for (const auto& [name, value] : *attributes)
        if (std::find(layout::arrayAttributes.begin(), layout::arrayAttributes.end(), name)
            == layout::arrayAttributes.end())
            array.attributes.emplace(name, attributeValue(value));
    if (array.axes.empty()) // an array that another program added
        for (std::size_t i = 0; i < array.shape.size(); ++i)
            array.axes.push_back(ArrayAxis::named("axis " + std::to_string(i)));
    return array;
}

Result<Done> readSessionResults(SessionReading& reading)
{
    for (const auto step : {readResults, checkTables, checkUnembedding}) {
        if (reading.task.cancelled())
            return stopped();
        if (const Result<Done> done = step(reading); !done)
            return done;
    }
    return Done{};
}

} // namespace headwise
