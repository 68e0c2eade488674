#pragma once

#include "core/analysis/catalogue.h"
#include "core/circuits/token_table.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// Lists of entries (tokens, neurons) of equal length, one for each index of the axes, such as head and direction.
/// Missing entries have id −1 and value NaN.
class TopLists {
public:
    /// \param shape of the arrays; the last axis is the rank in a list
    TopLists(std::vector<ArrayAxis> axes, std::vector<std::size_t> shape);

    std::size_t length() const { return m_shape.back(); }
    /// \param list row-major index over all axes but the last
    void set(std::size_t list, std::span<const TokenEntry> entries);

    /// Returns the ids. The unit "token" shows them as tokens.
    ResultArray ids(std::string path, std::string title, std::string definition) const;
    ResultArray values(Precision precision, std::string path, std::string title,
                       std::string definition) const;

private:
    std::vector<ArrayAxis> m_axes;
    std::vector<std::size_t> m_shape;
    std::vector<std::int32_t> m_ids;
    std::vector<double> m_values;
};

/// Returns an array of integers; −1 marks entries that were not computed.
ResultArray integerArray(std::string path, std::vector<std::size_t> shape, std::vector<std::int32_t> values,
                         std::vector<ArrayAxis> axes);

} // namespace headwise
