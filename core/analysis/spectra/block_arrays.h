#pragma once

#include "core/results/result_set.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// Which singular directions of each circuit or matrix share a block (`degenerateBlocks`), the first few of each.
class BlockArrays {
public:
    /// \param shape of the arrays; the last axis is the direction
    BlockArrays(std::vector<std::string> axes, std::vector<std::size_t> shape);

    /// \param list row-major index over all axes but the last \param blocks of all its directions
    void set(std::size_t list, std::span<const int> blocks);

    /// Adds PATH_block and PATH_block_size, −1 where nothing was set.
    /// \param of ends the titles, " of QK" \param sigma whose singular values: "W_Q W_Kᵀ"
    void addTo(ResultSet& results, const std::string& path, const std::string& of,
               const std::string& sigma) const;

private:
    std::vector<std::string> m_axes;
    std::vector<std::size_t> m_shape;
    std::vector<std::int32_t> m_block, m_size;
};

} // namespace headwise
