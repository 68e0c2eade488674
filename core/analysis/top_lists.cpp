#include "core/analysis/top_lists.h"

#include "core/analysis/per_head.h"

#include <cassert>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace headwise {

TopLists::TopLists(std::vector<ArrayAxis> axes, std::vector<std::size_t> shape)
    : m_axes(std::move(axes))
    , m_shape(std::move(shape))
{
    const std::size_t size =
        std::accumulate(m_shape.begin(), m_shape.end(), std::size_t(1), std::multiplies<>());
    m_ids.assign(size, -1);
    m_values.assign(size, std::numeric_limits<double>::quiet_NaN());
}

void TopLists::set(std::size_t list, std::span<const TokenEntry> entries)
{
    assert(entries.size() <= length() && (list + 1) * length() <= m_ids.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        m_ids[list * length() + i] = entries[i].id;
        m_values[list * length() + i] = entries[i].value;
    }
}

ResultArray TopLists::ids(std::string path, std::string title, std::string definition) const
{
    ResultArray array = integerArray(std::move(path), m_shape, m_ids, m_axes);
    array.title = std::move(title);
    array.definition = std::move(definition);
    array.unit = "token";
    return array;
}

ResultArray TopLists::values(Precision precision, std::string path, std::string title,
                             std::string definition) const
{
    ResultArray array = realArray(precision, std::move(path), m_shape, m_values, m_axes);
    array.title = std::move(title);
    array.definition = std::move(definition);
    return array;
}

ResultArray integerArray(std::string path, std::vector<std::size_t> shape, std::vector<std::int32_t> values,
                         std::vector<ArrayAxis> axes)
{
    ResultArray array;
    array.path = std::move(path);
    array.shape = std::move(shape);
    array.axes = std::move(axes);
    array.values = std::move(values);
    return array;
}

} // namespace headwise
