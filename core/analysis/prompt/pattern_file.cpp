#include "core/analysis/prompt/pattern_file.h"

#include "core/checkpoint/npy.h"
#include "core/files/hdf5.h"
#include "core/model/head_id.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <limits>
#include <type_traits>
#include <utility>

namespace headwise {

namespace {

constexpr double tolerance = 1e-3; // of probabilities that were stored in half precision
constexpr int mostGroups = 1000;   // of an HDF5 file that are looked into

using Shape = std::vector<std::int64_t>;

std::int64_t layersOf(const Shape& shape, const PatternSizes& sizes)
{
    const Shape ofOne{sizes.heads, sizes.positions, sizes.positions};
    if (shape == ofOne)
        return 1;
    const bool isOfSome = shape.size() == 4 && Shape(shape.begin() + 1, shape.end()) == ofOne;
    return isOfSome && (shape[0] == 1 || shape[0] == sizes.layers) ? shape[0] : 0;
}

std::string expected(const PatternSizes& sizes)
{
    return fmt::format(
        "[{0}, {1}, {2}, {2}] or [{1}, {2}, {2}]: layers, heads, and twice the tokens of the prompt",
        sizes.layers, sizes.heads, sizes.positions);
}

Result<PatternFile> patternsOf(const NpyNumbers& array, const PatternSizes& sizes, std::string source)
{
    const std::int64_t layers = layersOf(array.shape, sizes);
    const Eigen::Index n = sizes.positions;
    const float none = std::numeric_limits<float>::quiet_NaN();
    PatternFile file{{}, std::move(source)};
    file.patterns.assign(static_cast<std::size_t>(sizes.layers),
                         std::vector<Eigen::MatrixXf>(static_cast<std::size_t>(sizes.heads),
                                                      Eigen::MatrixXf::Constant(n, n, none)));
    std::size_t at = 0;
    for (int i = 0; i < layers; ++i) {
        const HeadId first{layers == sizes.layers ? i : sizes.layer, 0};
        for (int head = 0; head < sizes.heads; ++head) {
            Eigen::MatrixXf& pattern =
                file.patterns[static_cast<std::size_t>(first.layer)][static_cast<std::size_t>(head)];
            for (Eigen::Index query = 0; query < n; ++query)
                for (Eigen::Index key = 0; key < n; ++key) {
                    const double value = array.values[at++];
                    if (!(value >= -tolerance && value <= 1 + tolerance)) // NaN too
                        return Error{
                            ErrorCode::Corrupt,
                            fmt::format(
                                "In '{}' the attention of {} from query {} to key {} is {}; it must be between 0 and 1.",
                                file.source, dottedHead({first.layer, head}), query, key, value)};
                    pattern(query, key) = static_cast<float>(value);
                }
        }
    }
    return file;
}

NpyNumbers inDouble(const Hdf5Array& array)
{
    NpyNumbers numbers;
    numbers.shape.assign(array.shape.begin(), array.shape.end());
    std::visit(
        [&](const auto& values) {
            if constexpr (std::is_arithmetic_v<typename std::decay_t<decltype(values)>::value_type>)
                numbers.values.assign(values.begin(), values.end());
            else
                numbers.shape.clear(); // complex
        },
        array.values);
    return numbers;
}

Result<PatternFile> firstFitting(const std::filesystem::path& path, const PatternSizes& sizes,
                                 const Task& task)
{
    const auto reader = Hdf5Reader::open(path, task);
    if (!reader)
        return reader.error();
    std::vector<std::string> groups{""};
    for (std::size_t i = 0; i < groups.size() && i < mostGroups; ++i) {
        const auto entries = reader->entries(groups[i]);
        if (!entries)
            return entries.error();
        for (const Hdf5Entry& entry : *entries) {
            if (task.cancelled())
                return stopped();
            const std::string name = (groups[i].empty() ? "" : groups[i] + "/") + entry.name;
            if (entry.kind == Hdf5Kind::Group)
                groups.push_back(name);
            if (entry.kind != Hdf5Kind::Numbers)
                continue;
            const auto array = reader->readArray(name);
            if (!array)
                continue; // of a type that attention is not stored in
            const NpyNumbers numbers = inDouble(*array);
            if (layersOf(numbers.shape, sizes) > 0)
                return patternsOf(numbers, sizes, path.filename().string() + "/" + name);
        }
    }
    return Error{ErrorCode::Unsupported,
                 fmt::format("No dataset of '{}' has the shape {}.", path.string(), expected(sizes))};
}

} // namespace

Result<PatternFile> readPatternFile(const std::filesystem::path& path, const PatternSizes& sizes,
                                    const Task& task)
{
    if (isHdf5(path))
        return firstFitting(path, sizes, task);
    const auto numbers = readNpyNumbers(path);
    if (!numbers)
        return numbers.error();
    if (layersOf(numbers->shape, sizes) == 0)
        return Error{ErrorCode::Unsupported,
                     fmt::format("The array in '{}' has the shape [{}], expected {}.", path.string(),
                                 fmt::join(numbers->shape, ", "), expected(sizes))};
    return patternsOf(*numbers, sizes, path.filename().string());
}

ResultArray patternArray(const PatternFile& imported, std::vector<std::string> tokens)
{
    const std::size_t n = tokens.size(), layers = imported.patterns.size(),
                      heads = imported.patterns.empty() ? 0 : imported.patterns.front().size();
    std::vector<float> values;
    values.reserve(layers * heads * n * n);
    for (const auto& layer : imported.patterns)
        for (const Eigen::MatrixXf& pattern : layer)
            for (const auto row : pattern.rowwise())
                values.insert(values.end(), row.begin(), row.end());
    ResultArray array;
    array.path = importedPath;
    array.shape = {layers, heads, n, n};
    array.axes = {Axis::Layer, Axis::Head, Axis::Query, Axis::Key};
    array.values = std::move(values);
    array.title = "Imported attention";
    array.definition =
        "attention that another program computed, rows queries, columns keys; NaN for layers that were not imported";
    array.attributes = {{"file", imported.source}, {"labels", std::move(tokens)}};
    return array;
}

Result<PatternFile> patternsIn(const ResultArray& array, const PatternSizes& sizes)
{
    const auto at = [](int size) { return static_cast<std::size_t>(size); };
    const std::vector<std::size_t> shape{at(sizes.layers), at(sizes.heads), at(sizes.positions),
                                         at(sizes.positions)};
    const auto* values = std::get_if<std::vector<float>>(&array.values);
    if (array.shape != shape || !values || values->size() != shape[0] * shape[1] * shape[2] * shape[3])
        return Error{
            ErrorCode::Corrupt,
            fmt::format("'{}' of the session has shape {}, expected {}.", array.path, array.shape, shape)};
    using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    PatternFile file;
    if (const auto source = array.attributes.find("file"); source != array.attributes.end())
        if (const auto* name = std::get_if<std::string>(&source->second))
            file.source = *name;
    const float* next = values->data();
    for (int layer = 0; layer < sizes.layers; ++layer) {
        auto& patterns = file.patterns.emplace_back();
        for (int head = 0; head < sizes.heads; ++head, next += shape[2] * shape[3])
            patterns.emplace_back(Eigen::Map<const RowMajor>(next, sizes.positions, sizes.positions));
    }
    return file;
}

} // namespace headwise
