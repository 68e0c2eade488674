#include "core/analysis/spectra/block_arrays.h"

#include "core/analysis/top_lists.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace headwise {

BlockArrays::BlockArrays(std::vector<ArrayAxis> axes, std::vector<std::size_t> shape)
    : m_axes(std::move(axes))
    , m_shape(std::move(shape))
    , m_block(std::accumulate(m_shape.begin(), m_shape.end(), std::size_t{1}, std::multiplies<>()), -1)
    , m_size(m_block)
{
}

void BlockArrays::set(std::size_t list, std::span<const int> blocks)
{
    const std::size_t first = list * m_shape.back();
    for (std::size_t k = 0; k < std::min(blocks.size(), m_shape.back()); ++k) {
        m_block[first + k] = blocks[k];
        m_size[first + k] = static_cast<std::int32_t>(std::count(blocks.begin(), blocks.end(), blocks[k]));
    }
}

void BlockArrays::addTo(ResultSet& results, const std::string& path, const std::string& of,
                        const std::string& sigma) const
{
    const std::string where = ", σ = singular values of " + sigma;
    ResultArray block = integerArray(path + "_block", m_shape, m_block, m_axes);
    block.title = "Block of each direction" + of;
    block.definition =
        "number of the block: neighbours with (σ_k − σ_{k+1})/σ_k < 1e-2 share one; so do all with σ ≤ d_model ε σ₁, ε = 2^-23, the null space"
        + where;
    results.arrays.push_back(std::move(block));
    ResultArray size = integerArray(path + "_block_size", m_shape, m_size, m_axes);
    size.title = "Directions in the block" + of;
    size.definition = "directions in the block; above 1 their span alone means something" + where;
    results.arrays.push_back(std::move(size));
}

} // namespace headwise
