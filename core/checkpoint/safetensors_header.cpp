#include "core/checkpoint/file_kind.h"
#include "core/checkpoint/safetensors.h"
#include "core/files/utf8.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>

namespace headwise {
namespace {

constexpr std::size_t maxDepth = 128; // as the reference's JSON parser
constexpr std::size_t maxTensors = 1'000'000;
constexpr std::size_t maxNameBytes = 4096;
constexpr std::size_t safetensorsHeaderMaxRank = 16;
constexpr std::string_view metadataName = "__metadata__";

/// One entry as written, not validated yet.
struct Entry {
    std::string name;
    std::optional<DType> dtype;
    std::optional<std::vector<std::uint64_t>> shape;
    std::optional<std::vector<std::uint64_t>> offsets;
};

/// Turns the events of nlohmann's SAX parser into entries and stops at the first thing the format forbids. It builds no
/// tree, so a header of 100 MB of brackets needs no more memory than its own size.
class HeaderReader {
public:
    bool null()
    {
        const bool noMetadata = place() == Place::Tensors && m_name == metadataName;
        return noMetadata || ignores() || refuse(expectation());
    }
    bool boolean(bool) { return ignores() || refuse(expectation()); }
    bool number_integer(std::int64_t)
    {
        return ignores() || refuse(expectation());
    } // begins with a minus sign, as "-0" does too
    bool number_float(double, const std::string&) { return ignores() || refuse(expectation()); }
    bool binary(nlohmann::json::binary_t&) { return refuse(expectation()); }

    bool number_unsigned(std::uint64_t number)
    {
        if (place() != Place::Shape && place() != Place::Offsets)
            return ignores() || refuse(expectation());
        auto& numbers = place() == Place::Shape ? *m_entries.back().shape : *m_entries.back().offsets;
        if (numbers.size() == safetensorsHeaderMaxRank)
            return refuse(tensor() + " has more than " + std::to_string(safetensorsHeaderMaxRank)
                          + " dimensions");
        numbers.push_back(number);
        return true;
    }

    bool string(std::string& text)
    {
        if (place() == Place::Metadata) {
            metadata.emplace(m_field, text);
            return true;
        }
        if (place() != Place::Tensor || m_field != "dtype")
            return ignores() || refuse(expectation());
        m_entries.back().dtype = dtypeNamed(text);
        return m_entries.back().dtype
            || refuse(tensor() + " has the unknown dtype '" + text.substr(0, 40) + "'");
    }

    bool start_object(std::size_t)
    {
        if (place() == Place::Top)
            return open(Place::Tensors);
        if (place() != Place::Tensors)
            return ignores() ? open(Place::Ignored) : refuse(expectation());
        if (m_name == metadataName)
            return open(Place::Metadata);
        if (m_entries.size() == maxTensors)
            return refuse("it lists more than " + std::to_string(maxTensors) + " tensors");
        m_entries.push_back({.name = m_name, .dtype = {}, .shape = {}, .offsets = {}});
        return open(Place::Tensor);
    }

    bool start_array(std::size_t)
    {
        if (place() == Place::Tensor && m_field == "shape") {
            m_entries.back().shape.emplace();
            return open(Place::Shape);
        }
        if (place() == Place::Tensor && m_field == "data_offsets") {
            m_entries.back().offsets.emplace();
            return open(Place::Offsets);
        }
        return ignores() ? open(Place::Ignored) : refuse(expectation());
    }

    bool end_object()
    {
        if (place() == Place::Tensor) {
            const Entry& entry = m_entries.back();
            const char* missing = !entry.dtype ? "dtype"
                : !entry.shape                 ? "shape"
                : !entry.offsets               ? "data_offsets"
                                               : nullptr;
            if (missing)
                return refuse(tensor() + " has no " + missing);
        }
        return close();
    }

    bool end_array()
    {
        if (place() == Place::Offsets && m_entries.back().offsets->size() != 2)
            return refuse(tensor() + " has " + std::to_string(m_entries.back().offsets->size())
                          + " data_offsets where two are needed");
        return close();
    }

    bool key(std::string& name)
    {
        if (name.size() > maxNameBytes)
            return refuse("a name in its header is longer than " + std::to_string(maxNameBytes) + " bytes");
        if (!m_names.back().insert(name).second)
            return refuse(place() == Place::Tensors ? "its header names tensor '" + name + "' twice"
                                                    : "'" + name + "' occurs twice in "
                                  + (place() == Place::Metadata ? std::string(metadataName) : tensor()));
        (place() == Place::Tensors ? m_name : m_field) = name;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&)
    {
        return refuse("its header is not valid JSON at byte " + std::to_string(8 + position));
    }

    const std::string& reason() const { return m_reason; }
    std::vector<Entry>& entries() { return m_entries; }

    std::map<std::string, std::string> metadata;

private:
    enum class Place { Top, Tensors, Metadata, Tensor, Shape, Offsets, Ignored };

    Place place() const { return m_places.empty() ? Place::Top : m_places.back(); }
    std::string tensor() const { return "tensor '" + m_name + "'"; }

    /// True if the next value belongs to a field of a tensor that the format does not define.
    bool ignores() const
    {
        return place() == Place::Ignored
            || (place() == Place::Tensor && m_field != "dtype" && m_field != "shape"
                && m_field != "data_offsets");
    }

    std::string expectation() const
    {
        switch (place()) {
        case Place::Top: return "its header is not a JSON object";
        case Place::Tensors: return "the entry '" + m_name + "' of its header is not a JSON object";
        case Place::Metadata: return "'" + m_field + "' in " + std::string(metadataName) + " is not a string";
        case Place::Shape:
            return tensor() + " has a size in its shape that is not a whole number of at least 0";
        case Place::Offsets: return tensor() + " has a data offset that is not a whole number of at least 0";
        default: return tensor() + " has a '" + m_field + "' of the wrong type";
        }
    }

    bool open(Place place)
    {
        if (m_places.size() == maxDepth)
            return refuse("its header is nested deeper than " + std::to_string(maxDepth) + " levels");
        m_places.push_back(place);
        m_names.emplace_back();
        return true;
    }

    bool close()
    {
        m_places.pop_back();
        m_names.pop_back();
        return true;
    }

    bool refuse(std::string reason)
    {
        m_reason = std::move(reason);
        return false;
    }

    std::vector<Place> m_places;                          ///< The objects and arrays around the next value.
    std::vector<std::unordered_set<std::string>> m_names; ///< Names met so far in each of them.
    std::string m_name;                                   ///< Last name at the top level.
    std::string m_field;                                  ///< Last name further down.
    std::vector<Entry> m_entries;
    std::string m_reason;
};

Error damagedHeader(std::string_view fileName, const std::string& reason)
{
    return {ErrorCode::Corrupt,
            "File '" + std::string(fileName) + "' is damaged: " + reason
                + ". Downloading it again usually helps."};
}

/// Computes the bytes that dtype and shape need, or an error if that number does not exist.
Result<std::uint64_t> neededBytes(const Entry& entry)
{
    std::uint64_t bits = 1;
    bool overflows = false, representable = true;
    for (const std::uint64_t size : *entry.shape) {
        overflows = overflows || __builtin_mul_overflow(bits, size, &bits);
        representable = representable && size <= std::uint64_t(std::numeric_limits<std::int64_t>::max());
    }
    overflows = overflows || __builtin_mul_overflow(bits, std::uint64_t(dtypeBits(*entry.dtype)), &bits);
    if (overflows || !representable)
        return Error{ErrorCode::Corrupt,
                     "tensor '" + entry.name + "' has a shape with more elements than can be counted"};
    if (bits % 8 != 0)
        return Error{ErrorCode::Corrupt,
                     "tensor '" + entry.name + "' has " + std::to_string(bits)
                         + " bits, which is not a whole number of bytes"};
    return bits / 8;
}

/// Explains why `entry` does not begin where the previous tensor ends; nothing if it does.
std::optional<std::string> misplaced(const Entry& entry, std::uint64_t previousEnd)
{
    const std::uint64_t begin = (*entry.offsets)[0], end = (*entry.offsets)[1];
    const std::string where = "the data of tensor '" + entry.name + "' (bytes " + std::to_string(begin)
        + " to " + std::to_string(end) + ") ";
    if (end < begin)
        return where + "end before they begin";
    if (begin < previousEnd)
        return where + "overlap with those of another tensor, which end at " + std::to_string(previousEnd);
    if (begin > previousEnd)
        return where + "leave a hole after byte " + std::to_string(previousEnd);
    return std::nullopt;
}

Result<Done> checkBeginning(std::span<const std::byte> file, std::string_view fileName)
{
    if (const auto other = notSafetensors(fileKind(file), fileName))
        return *other;
    if (file.size() < 8)
        return damagedHeader(fileName,
                             "it has " + std::to_string(file.size())
                                 + " bytes, but the length of a safetensors header already takes 8");
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    if (length > maxSafetensorsHeaderBytes) {
        if (length <= file.size() - 8 && file[8] == std::byte{'{'})
            return Error{ErrorCode::Unsupported,
                         "File '" + std::string(fileName) + "' has a header of " + std::to_string(length)
                             + " bytes; this version reads headers of up to 100000000."};
        return Error{ErrorCode::Corrupt,
                     "File '" + std::string(fileName)
                         + "' is not a safetensors file: it would have a header of " + std::to_string(length)
                         + " bytes, more than the 100000000 the format allows. Check what was downloaded."};
    }
    if (length > file.size() - 8)
        return damagedHeader(fileName,
                             "its header should have " + std::to_string(length) + " bytes and the file ends "
                                 + std::to_string(length - (file.size() - 8)) + " bytes too early");
    return Done{};
}

/// Returns the entries as validated tensors, in the order of their bytes.
Result<std::vector<StoredTensor>> placedTensors(std::vector<Entry>& entries, std::size_t dataBegin,
                                                std::size_t fileSize, std::string_view fileName)
{
    std::vector<Entry*> placed;
    placed.reserve(entries.size());
    for (Entry& entry : entries)
        placed.push_back(&entry);
    std::sort(placed.begin(), placed.end(), [](const Entry* a, const Entry* b) {
        return std::tie(*a->offsets, a->name) < std::tie(*b->offsets, b->name);
    });
    std::uint64_t end = 0;
    for (const Entry* entry : placed) {
        if (const auto reason = misplaced(*entry, end))
            return damagedHeader(fileName, *reason);
        end = (*entry->offsets)[1];
        const Result<std::uint64_t> needed = neededBytes(*entry);
        if (!needed)
            return damagedHeader(fileName, needed.error().message);
        if (*needed != end - (*entry->offsets)[0])
            return damagedHeader(
                fileName,
                "tensor '" + entry->name + "' has " + std::to_string(end - (*entry->offsets)[0])
                    + " bytes of data where its dtype and shape need " + std::to_string(*needed));
    }
    const std::uint64_t present = fileSize - dataBegin;
    if (end > present)
        return damagedHeader(
            fileName, "it is truncated, the last " + std::to_string(end - present) + " bytes are missing");
    if (end < present)
        return damagedHeader(fileName, std::to_string(present - end) + " bytes follow the last tensor");
    std::vector<StoredTensor> tensors;
    tensors.reserve(entries.size());
    for (Entry* entry : placed)
        tensors.push_back({.name = std::move(entry->name),
                           .dtype = *entry->dtype,
                           .shape = {entry->shape->begin(), entry->shape->end()},
                           .begin = dataBegin + static_cast<std::size_t>((*entry->offsets)[0]),
                           .byteCount = static_cast<std::size_t>((*entry->offsets)[1] - (*entry->offsets)[0]),
                           .shard = 0});
    return tensors;
}

} // namespace

Result<SafetensorsHeader> readSafetensorsHeader(std::span<const std::byte> file, std::string_view fileName,
                                                std::optional<std::size_t> fileSize)
{
    if (const Result<Done> good = checkBeginning(file, fileName); !good)
        return good.error();
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    const std::string_view json(reinterpret_cast<const char*>(file.data()) + 8,
                                static_cast<std::size_t>(length));
    if (const auto invalid = firstInvalidUtf8(json))
        return damagedHeader(fileName,
                             "its header is not valid UTF-8 at byte " + std::to_string(8 + *invalid));
    if (json.starts_with("\xef\xbb\xbf")) // a byte order mark, which nlohmann's parser would skip
        return damagedHeader(fileName, "its header begins with a byte order mark instead of '{'");
    HeaderReader reader;
    if (!nlohmann::json::sax_parse(json.data(), json.data() + json.size(), &reader))
        return damagedHeader(fileName, reader.reason());
    Result<std::vector<StoredTensor>> tensors =
        placedTensors(reader.entries(), 8 + json.size(), fileSize.value_or(file.size()), fileName);
    if (!tensors)
        return tensors.error();
    return SafetensorsHeader{std::move(tensors).value(), std::move(reader.metadata), 8 + json.size()};
}

} // namespace headwise
