#include "core/analysis/spectra/block_arrays.h"

#include <algorithm>

namespace headwise {

void BlockArrays::set(std::size_t list, std::span<const int> blocks)
{
    const std::span<std::int32_t> ids = block.list(list), sizes = size.list(list);
    for (std::size_t k = 0; k < std::min(blocks.size(), ids.size()); ++k) {
        ids[k] = blocks[k];
        sizes[k] = static_cast<std::int32_t>(std::count(blocks.begin(), blocks.end(), blocks[k]));
    }
}

void addBlockSpecs(std::vector<ArraySpec>& specs, const std::vector<ArrayAxis>& axes, const std::string& path,
                   const std::string& of, const std::string& sigma)
{
    const auto add = [&](const char* name, const char* title, const std::string& definition) {
        specs.push_back({.path = path + name,
                         .axes = axes,
                         .title = title + of,
                         .definition = definition + ", σ = singular values of " + sigma,
                         .type = NumberType::Whole});
    };
    add("_block", "Block of each direction",
        "number of the block: neighbours with (σ_k − σ_{k+1})/σ_k < 1e-2 share one; so do all with σ ≤ d_model ε σ₁, ε = 2^-23, the null space");
    add("_block_size", "Directions in the block",
        "directions in the block; above 1 only their span is meaningful");
}

void putBlocks(Results& results, const std::string& path, const BlockArrays& blocks)
{
    results.put(path + "_block", blocks.block);
    results.put(path + "_block_size", blocks.size);
}

} // namespace headwise
