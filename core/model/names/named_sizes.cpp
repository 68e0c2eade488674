#include "core/model/names/named_sizes.h"

#include <algorithm>

namespace headwise {
namespace {

bool isHeads(SizeKind kind)
{
    return kind == SizeKind::Heads || kind == SizeKind::KvHeads;
}

/// The rows of a table behind those that are skipped.
std::int64_t withoutSkipped(const NamesRow& row, std::size_t axis, std::int64_t size)
{
    const auto& factors = row.axes[axis];
    const bool isTable = std::find(factors.begin(), factors.end(), row.roles[0]->rows) != factors.end();
    return isTable ? size - row.skip : size;
}

/// The beginning of a sentence about a tensor that contradicts its row.
std::string roleSentence(const NamedTensor& one, const WeightMap& file, const std::string& map)
{
    return "Tensor '" + file.tensors()[static_cast<std::size_t>(one.tensor)].name + "' of '"
        + file.path().string() + "' is " + std::string(one.row->roles[0]->name)
        + " according to the names map '" + map + "', so ";
}

} // namespace

std::int64_t NamedSizes::of(SizeKind kind) const
{
    const auto found = m_sizes.find(kind);
    return kind == SizeKind::One ? 1 : found == m_sizes.end() ? 0 : found->second;
}

std::vector<NamedSizes::Factor> NamedSizes::factorsOf(const std::vector<SizeKind>& axis, const NamesRow& row)
{
    std::vector<Factor> factors;
    for (std::size_t i = 0; i < axis.size(); ++i) {
        const bool isPair = i + 1 < axis.size()
            && ((axis[i] == SizeKind::Parts && isHeads(axis[i + 1]))
                || (isHeads(axis[i]) && axis[i + 1] == SizeKind::Parts));
        factors.push_back({axis[i], isPair && row.roles.size() > 1, axis[i] == SizeKind::Parts});
        i += factors.back().isPlaces ? 1 : 0;
    }
    return factors;
}

std::int64_t NamedSizes::sizeOf(const Factor& factor, const NamesRow& row) const
{
    if (!factor.isPlaces)
        return factor.kind == SizeKind::Parts ? static_cast<std::int64_t>(row.roles.size()) : of(factor.kind);
    std::int64_t places = 0;
    for (const NamedRole* role : row.roles) {
        if (of(role->heads) == 0)
            return 0;
        places += of(role->heads);
    }
    return places;
}

bool NamedSizes::solvePlaces(std::int64_t places, const NamesRow& row)
{
    std::int64_t known = 0, unknown = 0;
    SizeKind kind = SizeKind::One;
    for (const NamedRole* role : row.roles) {
        known += of(role->heads);
        if (of(role->heads) > 0)
            continue;
        if (unknown++ > 0 && kind != role->heads)
            return false;
        kind = role->heads;
    }
    if (unknown == 0 || places <= known || (places - known) % unknown != 0)
        return false;
    set(kind, (places - known) / unknown);
    return true;
}

bool NamedSizes::solveAxis(const std::vector<SizeKind>& axis, std::int64_t size, const NamesRow& row)
{
    std::int64_t rest = size;
    const std::vector<Factor> factors = factorsOf(axis, row);
    const Factor* unknown = nullptr;
    for (const Factor& factor : factors) {
        const std::int64_t known = sizeOf(factor, row);
        if (known == 0 && unknown)
            return false;
        if (known == 0)
            unknown = &factor;
        else if (rest % known != 0)
            return false;
        else
            rest /= known;
    }
    if (!unknown || rest < 1)
        return false;
    if (unknown->isPlaces)
        return solvePlaces(rest, row);
    set(unknown->kind, rest);
    return true;
}

bool NamedSizes::solveOnce(const std::vector<NamedTensor>& tensors, const WeightMap& file)
{
    bool isNew = false;
    for (const NamedTensor& one : tensors) {
        const auto& shape = file.tensors()[static_cast<std::size_t>(one.tensor)].shape;
        for (std::size_t i = 0; i < shape.size(); ++i)
            isNew = solveAxis(one.row->axes[i], withoutSkipped(*one.row, i, shape[i]), *one.row) || isNew;
    }
    return isNew;
}

void NamedSizes::solve(const std::vector<NamedTensor>& tensors, const WeightMap& file)
{
    const auto settle = [&] {
        while (solveOnce(tensors, file))
            continue; // every round settles one of nine sizes or is the last
    };
    settle();
    // As many keys and values as queries, unless something says otherwise.
    if (of(SizeKind::KvHeads) == 0 && of(SizeKind::Heads) > 0)
        set(SizeKind::KvHeads, of(SizeKind::Heads));
    if (of(SizeKind::Outputs) == 0)
        set(SizeKind::Outputs, of(SizeKind::Vocabulary));
    settle();
}

std::vector<std::int64_t> NamedSizes::shapeOf(const NamesRow& row) const
{
    std::vector<std::int64_t> shape;
    for (std::size_t i = 0; i < row.axes.size(); ++i) {
        std::int64_t size = 1;
        for (const Factor& factor : factorsOf(row.axes[i], row))
            if (__builtin_mul_overflow(size, sizeOf(factor, row), &size))
                size = 0; // no tensor is so large
        shape.push_back(size + (size - withoutSkipped(row, i, size)));
    }
    return shape;
}

Result<Done> NamedSizes::checkRanks(const std::vector<NamedTensor>& tensors, const WeightMap& file,
                                    const std::string& map) const
{
    for (const NamedTensor& one : tensors) {
        const StoredTensor& stored = file.tensors()[static_cast<std::size_t>(one.tensor)];
        if (stored.shape.size() != one.row->axes.size())
            return Error{ErrorCode::Corrupt,
                         roleSentence(one, file, map) + axesText(one.row->axes) + " is expected, but it has "
                             + shapeText(stored.shape) + "."};
    }
    return Done{};
}

Result<Done> NamedSizes::check(const std::vector<NamedTensor>& tensors, const WeightMap& file,
                               const std::string& map) const
{
    for (const NamedTensor& one : tensors) {
        const NamesRow& row = *one.row;
        const StoredTensor& stored = file.tensors()[static_cast<std::size_t>(one.tensor)];
        const std::string start = roleSentence(one, file, map);
        const bool isEmpty = of(row.roles[0]->rows) == 0 || of(row.roles[0]->cols) == 0;
        if (const auto expected = shapeOf(row); isEmpty || expected != stored.shape)
            return Error{ErrorCode::Corrupt,
                         start + axesText(row.axes) + " = " + shapeText(expected)
                             + " is expected, but it has " + shapeText(stored.shape) + "."};
        bool areApart = row.roles.size() > 1; // parts and heads on axes that are not neighbours
        for (const auto& axis : row.axes)
            for (const Factor& factor : factorsOf(axis, row))
                areApart = areApart && !factor.isPlaces;
        const bool divides = of(SizeKind::KvHeads) > 0 && of(SizeKind::Heads) % of(SizeKind::KvHeads) == 0;
        const bool isEven = of(SizeKind::Heads) == of(SizeKind::KvHeads);
        if (row.roles.size() > 1 && row.roles[0]->heads != SizeKind::One
            && (!divides || (areApart && !isEven)))
            return Error{ErrorCode::Corrupt,
                         start + "it cannot hold " + std::to_string(of(SizeKind::Heads)) + " query heads and "
                             + std::to_string(of(SizeKind::KvHeads)) + " key/value heads."};
    }
    return Done{};
}

std::int64_t NamedSizes::placeOf(const NamesRow& row, std::size_t role, std::int64_t head,
                                 bool partsAreOuter) const
{
    std::int64_t groups = of(row.roles[0]->heads);
    for (const NamedRole* one : row.roles)
        groups = std::min(groups, of(one->heads));
    std::int64_t before = 0, places = 0;
    for (std::size_t i = 0; i < row.roles.size(); ++i) {
        const std::int64_t count = of(row.roles[i]->heads) / (partsAreOuter ? 1 : groups);
        before += i < role ? count : 0;
        places += count;
    }
    if (partsAreOuter)
        return before + head;
    const std::int64_t own = of(row.roles[role]->heads) / groups;
    return head / own * places + before + head % own;
}

Slice NamedSizes::slice(const NamesRow& row, std::size_t role, std::int64_t head) const
{
    const NamedRole& part = *row.roles[role];
    Slice slice{0, of(part.rows), of(part.cols), of(part.cols), 1};
    std::int64_t stride = 1;
    for (auto axis = row.axes.rbegin(); axis != row.axes.rend(); ++axis) {
        const std::vector<Factor> factors = factorsOf(*axis, row);
        for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor) {
            if (factor->isPlaces)
                slice.offset += stride * placeOf(row, role, head, factor->partsAreOuter);
            else if (factor->kind == SizeKind::Parts)
                slice.offset += stride * static_cast<std::int64_t>(role);
            else if (isHeads(factor->kind))
                slice.offset += stride * head;
            else if (factor->kind == part.rows && part.rows != SizeKind::One)
                slice.rowStride = stride;
            else if (factor->kind == part.cols)
                slice.colStride = stride;
            stride *= sizeOf(*factor, row);
        }
    }
    if (row.skip > 0)
        slice.offset += row.skip * slice.rowStride;
    return slice;
}

} // namespace headwise
