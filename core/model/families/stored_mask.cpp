#include "core/model/families/stored_mask.h"

#include <algorithm>
#include <vector>

namespace headwise {
namespace {

/// The first and the last key that a query sees.
struct SeenKeys {
    std::int64_t first = 0, last = -1;
};

/// Returns the keys that a query sees; nothing if there are none, or a gap among them.
std::optional<SeenKeys> seenKeys(const std::vector<float>& row, bool isAdded)
{
    const auto isSeen = [&](float x) { return isAdded ? x == 0 : x != 0; };
    const auto first = std::find_if(row.begin(), row.end(), isSeen);
    const auto end = std::find_if_not(first, row.end(), isSeen);
    if (first == row.end() || std::find_if(end, row.end(), isSeen) != row.end())
        return std::nullopt;
    return SeenKeys{first - row.begin(), end - row.begin() - 1};
}

bool isMaskName(std::string_view name)
{
    return name.ends_with(".attn.mask") || name.ends_with(".attn.bias") || name.ends_with(".attention.bias");
}

} // namespace

std::optional<StoredMask> storedMask(const WeightMap& file, const std::string& name)
{
    using enum StoredMask::Kind;
    const int tensor = file.find(name);
    if (tensor < 0 || !file.holdsNumbers(tensor))
        return std::nullopt;
    const auto& shape = file.tensors()[static_cast<std::size_t>(tensor)].shape;
    const auto rank = static_cast<std::ptrdiff_t>(shape.size());
    if (rank < 2 || shape.back() != shape[shape.size() - 2] || shape.back() < 2
        || std::count(shape.begin(), shape.end(), 1) < rank - 2)
        return std::nullopt;
    const std::int64_t n = shape.back();
    const auto rowOf = [&](std::int64_t query) {
        std::vector<float> row(static_cast<std::size_t>(n));
        file.readNumbers(tensor, query * n, n, row.data());
        return row;
    };
    // The first query's row decides how all are written: zeros of the last one alone would not tell.
    const std::vector<float> firstRow = rowOf(0);
    const bool isAdded = std::any_of(firstRow.begin(), firstRow.end(), [](float x) { return x < 0; });
    const auto top = seenKeys(firstRow, isAdded), middle = seenKeys(rowOf(n / 2), isAdded),
               bottom = seenKeys(rowOf(n - 1), isAdded);
    if (!top || !middle || !bottom)
        return StoredMask{};
    if (top->last == n - 1 && middle->last == n - 1 && bottom->last == n - 1)
        return StoredMask{top->first + middle->first + bottom->first == 0 ? Everything : Other, 0};
    if (top->last != 0 || middle->last != n / 2 || bottom->last != n - 1)
        return StoredMask{};
    const std::int64_t window = n - bottom->first;
    if (middle->first != std::max<std::int64_t>(0, n / 2 - window + 1))
        return StoredMask{};
    return window == n ? StoredMask{Causal, 0} : StoredMask{Window, static_cast<int>(window)};
}

StoredDirection storedDirection(const WeightMap& file)
{
    using enum StoredMask::Kind;
    int everything = 0, causal = 0, others = 0;
    for (const StoredTensor& tensor : file.tensors()) {
        const auto mask = isMaskName(tensor.name) ? storedMask(file, tensor.name) : std::nullopt;
        if (!mask)
            continue;
        const bool isCausal = mask->kind == Causal || mask->kind == Window;
        ++(mask->kind == Everything ? everything : isCausal ? causal : others);
    }
    if (others > 0 || (everything > 0 && causal > 0))
        return StoredDirection::Unclear;
    return everything > 0 ? StoredDirection::Bidirectional : StoredDirection::NotTold;
}

} // namespace headwise
