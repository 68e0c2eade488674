#pragma once

#include "core/results/results.h"

#include <span>
#include <string>
#include <vector>

namespace headwise {

/// Degenerate block (`degenerateBlocks`) of each of the first singular directions and its size, for every circuit or matrix.
struct BlockArrays {
    WholeNumbers block, size;

    /// \param shape of both arrays; the last axis is the direction
    explicit BlockArrays(const std::vector<std::size_t>& shape)
        : block(shape)
        , size(shape)
    {
    }
    /// \param list row-major index over all axes but the last \param blocks of all its directions
    void set(std::size_t list, std::span<const int> blocks);
};

/// Adds the specs of PATH_block and PATH_block_size.
/// \param of suffix of the titles, " of QK" \param sigma the matrix of the singular values: "W_Q W_Kᵀ"
void addBlockSpecs(std::vector<ArraySpec>& specs, const std::vector<ArrayAxis>& axes, const std::string& path,
                   const std::string& of, const std::string& sigma);
void putBlocks(Results& results, const std::string& path, const BlockArrays& blocks);

} // namespace headwise
