#include "core/session/session_merge.h"

#include "core/analysis/catalogue.h"
#include "core/session/session_addition.h"
#include "core/session/session_file.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

namespace headwise {

namespace {

constexpr const char* headsName = "heads"; // attribute of lists of heads, and of their group

/// Returns the place of the analysis in the catalogue that gives this array; the catalogue's size for none.
std::size_t rowOfPath(const std::string& path)
{
    const std::span<const Analysis> rows = catalogue();
    const auto gives = [&](const Analysis& row) {
        return std::ranges::find(row.arrays, path, &ArraySpec::path) != row.arrays.end();
    };
    return static_cast<std::size_t>(std::ranges::find_if(rows, gives) - rows.begin());
}

bool isSplitPath(const std::string& path)
{
    const std::size_t row = rowOfPath(path);
    return row < catalogue().size() && catalogue()[row].isSplit;
}

bool isList(const ResultArray& array)
{
    return !array.axes.empty() && array.axes.front() == Axis::AnalysedHead;
}

/// Returns the first of the two dimensions that name the head by which an array is split; nothing if it has none.
std::optional<std::size_t> splitAxis(const ResultArray& array)
{
    const auto isAt = [&](std::size_t i, Axis layer, Axis head) {
        return i + 1 < array.axes.size() && array.axes[i] == layer && array.axes[i + 1] == head;
    };
    if (isAt(0, Axis::Layer, Axis::Head))
        return 0;
    if (isAt(2, Axis::LaterLayer, Axis::LaterHead))
        return 2;
    return std::nullopt;
}

std::size_t product(const std::vector<std::size_t>& shape, std::size_t first, std::size_t end)
{
    return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(first),
                           shape.begin() + static_cast<std::ptrdiff_t>(end), std::size_t{1},
                           std::multiplies<>());
}

/// Copies the numbers of one head from an array into another of the same shape and type. \param axis splitAxis of both
void copyHead(ResultArray& to, const ResultArray& from, std::size_t axis, HeadId head)
{
    const std::size_t heads = to.shape[axis + 1];
    const std::size_t outer = product(to.shape, 0, axis);
    const std::size_t all = product(to.shape, axis, axis + 2);
    const std::size_t inner = product(to.shape, axis + 2, to.shape.size());
    const std::size_t at = static_cast<std::size_t>(head.layer) * heads + static_cast<std::size_t>(head.head);
    std::visit(
        [&](auto& values) {
            const auto& source = std::get<std::decay_t<decltype(values)>>(from.values);
            for (std::size_t i = 0; i < outer; ++i) {
                const auto first = static_cast<std::ptrdiff_t>((i * all + at) * inner);
                std::copy_n(source.begin() + first, inner, values.begin() + first);
            }
        },
        to.values);
}

/// Adds the rows of one list behind those of another.
void appendRows(ResultArray& to, const ResultArray& from)
{
    std::visit(
        [&](auto& values) {
            const auto& more = std::get<std::decay_t<decltype(values)>>(from.values);
            values.insert(values.end(), more.begin(), more.end());
        },
        to.values);
    to.shape.front() += from.shape.front();
}

/// Puts the rows of a list into another order. \param order the old row for each new one
void reorderRows(ResultArray& array, const std::vector<std::size_t>& order)
{
    const std::size_t width = product(array.shape, 1, array.shape.size());
    std::visit(
        [&](auto& values) {
            std::decay_t<decltype(values)> sorted;
            sorted.reserve(values.size());
            for (const std::size_t row : order) {
                const auto first = values.begin() + static_cast<std::ptrdiff_t>(row * width);
                sorted.insert(sorted.end(), first, first + static_cast<std::ptrdiff_t>(width));
            }
            values = std::move(sorted);
        },
        array.values);
}

/// Returns the rows in the order of their heads.
std::vector<std::size_t> orderOf(const std::vector<std::string>& heads)
{
    std::vector<std::size_t> order(heads.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto headAt = [&](std::size_t i) { return parseHeadId(heads[i]).value_or(HeadId{}); };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return headAt(a) < headAt(b); });
    return order;
}

/// Compares the dimensions, except the length of a list of heads, and the type of the numbers.
bool areAlike(const ResultArray& a, const ResultArray& b)
{
    if (a.axes != b.axes || a.values.index() != b.values.index() || a.shape.size() != b.shape.size())
        return false;
    const std::size_t first = isList(a) ? 1 : 0;
    return std::equal(a.shape.begin() + static_cast<std::ptrdiff_t>(first), a.shape.end(),
                      b.shape.begin() + static_cast<std::ptrdiff_t>(first));
}

Error misfit(const std::string& name, const std::string& path, const std::string& why)
{
    return {ErrorCode::Corrupt,
            "'" + path + "' of the part '" + name + "' " + why + "; compute that part again."};
}

} // namespace

/// Returns the end of a sentence that begins with the name of the part; empty if it belongs to the others.
std::string SessionMerge::whyForeign(const Session& part) const
{
    const Session& whole = m_whole;
    ModelCard moved = part.model; // nodes may have the model in other places
    moved.source = whole.model.source;
    moved.name = whole.model.name;
    if (moved != whole.model)
        return fmt::format("is about another model, '{}' ({}, from '{}')", part.model.name,
                           part.model.architecture, part.model.source);
    if (part.headwiseVersion != whole.headwiseVersion)
        return "was written by another version of Headwise, " + part.headwiseVersion;
    if (part.processing != whole.processing)
        return "was computed with other processing switches";
    if (part.embedding != whole.embedding)
        return "was computed with --embedding " + part.embedding;
    if (part.namesFile != whole.namesFile)
        return "was computed with another --names option";
    if (part.adapterBase != whole.adapterBase)
        return "was computed with another --base option";
    if (part.overrides != whole.overrides || part.ignoredTensors != whole.ignoredTensors)
        return "was computed with other --set or --ignore options";
    if (part.tokenBytes != whole.tokenBytes)
        return "has the tokens of another tokenizer";
    if (part.part->shard.count != whole.part->shard.count)
        return fmt::format("is part {} of a run with a different number of shards",
                           shardName(part.part->shard));
    if (part.part->run != whole.part->run)
        return "was computed with other options: --analyses, --heads, --precision, -k or inputs";
    if (isAnotherCheckpoint(whole.model, part.model))
        return "is about other weights of the same shape, those of '" + part.model.source + "'";
    return {};
}

Result<Done> SessionMerge::add(Session part, const std::string& name)
{
    const auto refused = [&](const std::string& why) {
        return Error{ErrorCode::InvalidArgument, "'" + name + "' " + why + "."};
    };
    if (part.formatVersion > 1)
        return refused("was written by a later version of Headwise");
    if (!part.part)
        return refused("is not part of a sharded run; headwise analyze --shard i/n writes parts");
    const bool isFirst = m_names.empty();
    if (!isFirst) {
        if (const std::string why = whyForeign(part); !why.empty())
            return refused(why + ", unlike '" + m_first + "'");
    }
    const SessionPart mark = *part.part;
    if (const auto known = m_names.find(mark.shard.index); known != m_names.end())
        return refused(fmt::format("is part {}, and so is '{}'", shardName(mark.shard), known->second));
    for (const std::string& head : mark.heads)
        if (!m_heads.insert(head).second)
            return refused("has computed head " + head + ", which is in another part too");
    m_names[mark.shard.index] = name;
    m_withHeads += mark.heads.empty() ? 0 : 1;
    ResultSet found = std::move(part.results);
    part.results = {};
    if (isFirst) {
        m_first = name;
        m_whole = std::move(part);
    } else {
        addTexts(part);
    }
    for (ResultArray& array : found.arrays)
        if (const auto added = addArray(std::move(array), mark, name); !added)
            return added;
    found.arrays.clear();
    found.warnings.clear();
    for (auto& [group, values] : found.groupAttributes)
        m_whole.results.groupAttributes[group].merge(values); // those of the first stay
    return Done{};
}

/// Adds warnings, notes, bookmarks, figures and the time of creation.
void SessionMerge::addTexts(Session& part)
{
    for (std::string& warning : part.warnings)
        if (std::find(m_whole.warnings.begin(), m_whole.warnings.end(), warning) == m_whole.warnings.end())
            m_whole.warnings.push_back(std::move(warning));
    for (const auto& [head, note] : part.notes) {
        std::string& mine = m_whole.notes[head];
        if (mine.find(note) == std::string::npos)
            mine += (mine.empty() ? "" : "\n") + note;
    }
    for (std::string& head : part.bookmarks)
        if (std::find(m_whole.bookmarks.begin(), m_whole.bookmarks.end(), head) == m_whole.bookmarks.end())
            m_whole.bookmarks.push_back(std::move(head));
    if (m_whole.figures.empty())
        m_whole.figures = std::move(part.figures);
    m_whole.created = std::min(m_whole.created, part.created);
}

Result<Done> SessionMerge::addArray(ResultArray array, const SessionPart& part, const std::string& name)
{
    const std::string path = array.path;
    const bool isSplit = isSplitPath(path);
    if (isSplit) {
        ++m_givers[path];
        if (isList(array)) {
            if (array.shape.front() != part.heads.size())
                return misfit(name, path, "does not have a row for each head of the part");
            std::vector<std::string>& heads = m_lists[path];
            heads.insert(heads.end(), part.heads.begin(), part.heads.end());
        }
    }
    const auto known = std::ranges::find(m_whole.results.arrays, path, &ResultArray::path);
    if (known == m_whole.results.arrays.end()) {
        m_whole.results.arrays.push_back(std::move(array));
        return Done{};
    }
    if (!isSplit)
        return Error{
            ErrorCode::InvalidArgument,
            "'" + path + "' of the part '" + name
                + "' is in another part too, though only one of them should compute it; compute the parts again with the same command."};
    if (!areAlike(*known, array))
        return misfit(name, path, "has different dimensions than in '" + m_first + "'");
    return addRows(*known, array, part, name);
}

Result<Done> SessionMerge::addRows(ResultArray& whole, const ResultArray& array, const SessionPart& part,
                                   const std::string& name)
{
    if (isList(array)) {
        appendRows(whole, array);
        return Done{};
    }
    const auto axis = splitAxis(array);
    if (!axis)
        return Done{}; // of no head: a baseline, which every part computes alike
    for (const std::string& dotted : part.heads) {
        const auto head = parseHeadId(dotted);
        if (!head || static_cast<std::size_t>(head->layer) >= array.shape[*axis]
            || static_cast<std::size_t>(head->head) >= array.shape[*axis + 1])
            return misfit(name, array.path, "has no row for head " + dotted);
        copyHead(whole, array, *axis, *head);
    }
    return Done{};
}

/// Removes the split arrays that a part with heads did not give.
void SessionMerge::dropIncomplete()
{
    std::vector<ResultArray>& arrays = m_whole.results.arrays;
    for (const auto& [path, givers] : m_givers) {
        if (givers == m_withHeads)
            continue;
        const std::string dropped = path; // not a binding, for the lambdas
        std::erase_if(arrays, [&](const ResultArray& array) { return array.path == dropped; });
        const std::string group = dropped.substr(0, dropped.rfind('/'));
        if (std::ranges::none_of(
                arrays, [&](const ResultArray& array) { return array.path.starts_with(group + "/"); }))
            m_whole.results.groupAttributes.erase(group);
    }
}

/// Brings the rows of lists of heads into the order of their heads, and names them.
void SessionMerge::sortLists()
{
    for (ResultArray& array : m_whole.results.arrays) {
        const auto list = m_lists.find(array.path);
        if (list == m_lists.end())
            continue;
        const std::vector<std::size_t> order = orderOf(list->second);
        reorderRows(array, order);
        std::vector<std::string> heads;
        for (const std::size_t row : order)
            heads.push_back(list->second[row]);
        const std::string group = array.path.substr(0, array.path.rfind('/'));
        if (array.attributes.contains(headsName))
            array.attributes[headsName] = heads;
        const auto values = m_whole.results.groupAttributes.find(group);
        if (values != m_whole.results.groupAttributes.end() && values->second.contains(headsName))
            values->second[headsName] = std::move(heads);
    }
}

/// Brings the arrays into the order of the catalogue, in which one process writes them.
void SessionMerge::sortArrays()
{
    std::map<std::string, std::size_t> rows;
    for (const ResultArray& array : m_whole.results.arrays)
        rows[array.path] = rowOfPath(array.path);
    std::ranges::stable_sort(m_whole.results.arrays, {},
                             [&](const ResultArray& array) { return rows.at(array.path); });
}

Result<Session> SessionMerge::finish()
{
    if (m_names.empty())
        return Error{ErrorCode::InvalidArgument, "There are no parts to merge."};
    const int count = m_whole.part->shard.count;
    std::string missing;
    int lacking = 0;
    for (int i = 1; i <= count; ++i) {
        if (m_names.contains(i))
            continue;
        if (++lacking <= 8)
            missing += (missing.empty() ? "" : ", ") + shardName({i, count});
    }
    if (lacking > 0)
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("{} of the {} parts {} missing: {}{}.", lacking, count,
                                 lacking == 1 ? "is" : "are", missing, lacking > 8 ? ", …" : "")};
    dropIncomplete();
    sortLists();
    sortArrays();
    m_whole.part.reset();
    return std::move(m_whole);
}

Result<Session> mergedParts(std::span<const std::string> files, const Task& task)
{
    SessionMerge whole;
    const int count = static_cast<int>(files.size());
    for (int i = 0; i < count; ++i) {
        task.report(i, count, "parts");
        const std::string& name = files[static_cast<std::size_t>(i)];
        Result<Session> part = readSession(name, Task{task.stop, {}, task.threads});
        if (!part)
            return part.error();
        if (const auto added = whole.add(std::move(part).value(), name); !added)
            return added.error();
    }
    task.report(count, count, "parts");
    return whole.finish();
}

} // namespace headwise
