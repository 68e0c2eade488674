#pragma once

#include "core/model/names/names_map.h"
#include "core/model/recipes.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace headwise {

/// A stored tensor that a row of a map is about.
struct NamedTensor {
    const NamesRow* row = nullptr;
    int tensor = -1; ///< Index in WeightMap::tensors().
    NameNumbers numbers;
};

/// The sizes of a model, solved from the shapes of its tensors: every axis is a product of sizes.
class NamedSizes {
public:
    void set(SizeKind kind, std::int64_t size) { m_sizes[kind] = size; }
    /// 0 if it is unknown.
    std::int64_t of(SizeKind kind) const;

    /// Sets every size that follows from the shapes and those set before.
    void solve(const std::vector<NamedTensor>& tensors, const WeightMap& file);

    /// The numbers of axes alone. Errors: as check().
    Result<Done> checkRanks(const std::vector<NamedTensor>& tensors, const WeightMap& file,
                            const std::string& map) const;

    /// Every shape against the sizes; all must be known. Errors: Corrupt, naming tensor, expected and found shape.
    Result<Done> check(const std::vector<NamedTensor>& tensors, const WeightMap& file,
                       const std::string& map) const;

    /// Returns the numbers of one head of the row's `role`-th matrix. The shape must have passed check().
    Slice slice(const NamesRow& row, std::size_t role, std::int64_t head) const;

private:
    /// A factor of an axis: one size, or the places of all heads of all parts.
    struct Factor {
        SizeKind kind;
        bool isPlaces = false;      ///< Parts and heads side by side.
        bool partsAreOuter = false; ///< All heads of the first part, then all of the second.
    };
    static std::vector<Factor> factorsOf(const std::vector<SizeKind>& axis, const NamesRow& row);
    std::int64_t sizeOf(const Factor& factor, const NamesRow& row) const; ///< 0 if it is unknown.
    bool solveAxis(const std::vector<SizeKind>& axis, std::int64_t size, const NamesRow& row);
    bool solvePlaces(std::int64_t places, const NamesRow& row);
    bool solveOnce(const std::vector<NamedTensor>& tensors, const WeightMap& file);
    std::int64_t placeOf(const NamesRow& row, std::size_t role, std::int64_t head, bool partsAreOuter) const;
    std::vector<std::int64_t> shapeOf(const NamesRow& row) const;

    std::map<SizeKind, std::int64_t> m_sizes;
};

} // namespace headwise
