#pragma once

#include "core/analysis/catalogue.h"
#include "core/circuits/token_table.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// Lists of entries (tokens, neurons) of one length, one per head and direction or whatever the axes say: ids −1 and values NaN
/// where there is none.
class TopLists {
public:
    /// \param shape of the arrays; the last axis is the rank in a list
    TopLists(std::vector<std::string> axes, std::vector<std::size_t> shape);

    std::size_t length() const { return m_shape.back(); }
    /// \param list row-major index over all axes but the last
    void set(std::size_t list, std::span<const TokenEntry> entries);

    /// Unit "token": shown as tokens.
    ResultArray ids(std::string path, std::string title, std::string definition) const;
    ResultArray values(Precision precision, std::string path, std::string title,
                       std::string definition) const;

private:
    std::vector<std::string> m_axes;
    std::vector<std::size_t> m_shape;
    std::vector<std::int32_t> m_ids;
    std::vector<double> m_values;
};

/// Of integers: −1 where nothing was computed.
ResultArray integerArray(std::string path, std::vector<std::size_t> shape, std::vector<std::int32_t> values,
                         std::vector<std::string> axes);

} // namespace headwise
