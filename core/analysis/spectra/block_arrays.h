#pragma once

#include "core/results/result_set.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// The degenerate block (`degenerateBlocks`) of each of the first singular directions, for every circuit or matrix.
class BlockArrays {
public:
    /// \param shape of the arrays; the last axis is the direction
    BlockArrays(std::vector<ArrayAxis> axes, std::vector<std::size_t> shape);

    /// \param list row-major index over all axes but the last \param blocks of all its directions
    void set(std::size_t list, std::span<const int> blocks);

    /// Adds PATH_block and PATH_block_size; unset entries are −1.
    /// \param of suffix of the titles, " of QK" \param sigma the matrix of the singular values: "W_Q W_Kᵀ"
    void addTo(ResultSet& results, const std::string& path, const std::string& of,
               const std::string& sigma) const;

private:
    std::vector<ArrayAxis> m_axes;
    std::vector<std::size_t> m_shape;
    std::vector<std::int32_t> m_block, m_size;
};

} // namespace headwise
