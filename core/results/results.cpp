#include "core/results/results.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace headwise {
namespace {

std::size_t sizeOf(const std::vector<std::size_t>& shape)
{
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

std::size_t countOf(const ResultArray::Values& values)
{
    return std::visit([](const auto& list) { return list.size(); }, values);
}

} // namespace

Results::Results(const ModelConfig& config, Precision precision, std::vector<ArraySpec> specs)
    : m_nLayers(static_cast<std::size_t>(config.nLayers))
    , m_nHeads(static_cast<std::size_t>(config.nHeads))
    , m_precision(precision)
    , m_specs(std::move(specs))
{
}

ResultArray& Results::put(const std::string& path, RealNumbers numbers)
{
    std::vector<std::size_t> shape = numbers.shape();
    return put(path, std::move(shape), std::move(numbers.values()));
}

ResultArray& Results::put(const std::string& path, WholeNumbers numbers)
{
    std::vector<std::size_t> shape = numbers.shape();
    return put(path, std::move(shape), std::move(numbers.values()));
}

ResultArray& Results::put(const std::string& path, ComplexNumbers numbers)
{
    std::vector<std::size_t> shape = numbers.shape();
    return put(path, std::move(shape), std::move(numbers.values()));
}

ResultArray& Results::put(const std::string& path, std::vector<double> values)
{
    std::vector<std::size_t> shape{values.size()};
    return put(path, std::move(shape), std::move(values));
}

ResultArray& Results::put(const std::string& path, std::vector<std::int32_t> values)
{
    std::vector<std::size_t> shape{values.size()};
    return put(path, std::move(shape), std::move(values));
}

ResultArray& Results::put(const std::string& path, std::vector<std::size_t> shape, std::vector<double> values)
{
    const auto spec = std::ranges::find(m_specs, path, &ArraySpec::path);
    if (spec != m_specs.end() && spec->type == NumberType::Double)
        return add(path, NumberType::Double, std::move(shape), std::move(values));
    if (m_precision == Precision::F64)
        return add(path, NumberType::Real, std::move(shape), std::move(values));
    return add(path, NumberType::Real, std::move(shape), std::vector<float>(values.begin(), values.end()));
}

ResultArray& Results::put(const std::string& path, std::vector<std::size_t> shape,
                          std::vector<std::int32_t> values)
{
    return add(path, NumberType::Whole, std::move(shape), std::move(values));
}

ResultArray& Results::put(const std::string& path, std::vector<std::size_t> shape,
                          std::vector<std::complex<double>> values)
{
    if (m_precision == Precision::F64)
        return add(path, NumberType::Complex, std::move(shape), std::move(values));
    return add(path, NumberType::Complex, std::move(shape),
               std::vector<std::complex<float>>(values.begin(), values.end()));
}

void Results::warn(const std::vector<std::string>& warnings)
{
    m_set.warnings.insert(m_set.warnings.end(), warnings.begin(), warnings.end());
}

Result<ResultSet> Results::finish() &&
{
    if (!m_broken.empty())
        return Error{ErrorCode::Internal, m_broken};
    return std::move(m_set);
}

ResultArray& Results::add(const std::string& path, NumberType type, std::vector<std::size_t> shape,
                          ResultArray::Values values)
{
    const auto spec = std::find_if(m_specs.begin(), m_specs.end(),
                                   [&](const ArraySpec& each) { return each.path == path; });
    ResultArray& array = m_set.arrays.emplace_back();
    array.path = path;
    std::string reason = spec == m_specs.end() ? "it has no contract" : whyNot(*spec, type, shape);
    if (reason.empty() && countOf(values) != sizeOf(shape))
        reason = "its shape has " + std::to_string(sizeOf(shape)) + " numbers and it has "
            + std::to_string(countOf(values));
    if (!reason.empty() && m_broken.empty())
        m_broken = "The array " + path + " was computed wrongly: " + reason + ".";
    array.shape = std::move(shape);
    array.values = std::move(values);
    if (spec == m_specs.end())
        return array;
    array.axes = spec->axes;
    array.definition = spec->definition;
    array.title = spec->title;
    array.unit = spec->unit;
    array.range = spec->range;
    return array;
}

std::string Results::whyNot(const ArraySpec& spec, NumberType type,
                            const std::vector<std::size_t>& shape) const
{
    if (spec.type != type)
        return "its numbers are of another type";
    if (spec.axes.size() != shape.size())
        return "it has " + std::to_string(shape.size()) + " dimensions and "
            + std::to_string(spec.axes.size()) + " axes";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const Axis axis = spec.axes[i].axis();
        const bool isLayer = axis == Axis::Layer || axis == Axis::EarlierLayer || axis == Axis::LaterLayer;
        const bool isHead = axis == Axis::Head || axis == Axis::EarlierHead || axis == Axis::LaterHead;
        if ((isLayer && shape[i] != m_nLayers) || (isHead && shape[i] != m_nHeads))
            return "the axis \"" + std::string(axisName(axis)) + "\" has " + std::to_string(shape[i])
                + " entries";
    }
    return {};
}

std::vector<ArrayAxis> headAxes(std::vector<ArrayAxis> rest)
{
    rest.insert(rest.begin(), {Axis::Layer, Axis::Head});
    return rest;
}

std::vector<ArrayAxis> pairAxes()
{
    return {Axis::EarlierLayer, Axis::EarlierHead, Axis::LaterLayer, Axis::LaterHead};
}

} // namespace headwise
